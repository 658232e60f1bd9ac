//! Whether something that failed may be tried once more, and when: the waiting between two actives, the same for every
//! driver. Which attempts may be repeated is decided elsewhere; here nothing is sent.
//!
//! Bounded as a whole by the slot's `wait` from the first failure on: an operation is not carried from member to member
//! for longer than it would wait for an active. Where only an answer is missing the wait is shorter: the engine proves the
//! connection, and if that is well nothing will move.

use backend_api::{Epoch, Error, Slot};
use tokio::time::Instant;

/// An attempt that failed, as far as the next one depends on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Past {
    /// The turn on which it failed.
    pub(crate) epoch: Epoch,
    /// It may run on the next active.
    pub(crate) again: bool,
    /// It never left: a lack of an active explains it better than the end of a connection.
    pub(crate) unsent: bool,
    /// Only an answer is missing: the connection may be well, and then nothing else becomes active.
    pub(crate) doubtful: bool,
}

/// What follows.
#[derive(Debug)]
pub(crate) enum Next {
    /// Another active is there, and it may run on it.
    Attempt,
    /// It stays at what the last attempt came to.
    Failed,
    /// It never left, and there is nobody to send it to.
    NoActive(Error),
}

/// Waits for the next active, if there is anything to wait for. `deadline` is kept from one failure to the next.
pub(crate) async fn next<C>(slot: &Slot<C>, past: Past, deadline: &mut Option<Instant>) -> Next {
    if !past.again {
        return Next::Failed;
    }
    let deadline = *deadline.get_or_insert_with(|| Instant::now() + slot.wait());
    if past.doubtful && stays(slot, past.epoch, deadline).await {
        return Next::Failed;
    }
    match tokio::time::timeout_at(deadline, slot.moved_from(past.epoch)).await {
        Ok(Ok(_moved)) => Next::Attempt,
        Ok(Err(reason)) if past.unsent => Next::NoActive(reason),
        Ok(Err(_)) | Err(_) => Next::Failed,
    }
}

/// Whether the active is still the same when the engine has proven it. Without any active there is more to wait for.
async fn stays<C>(slot: &Slot<C>, epoch: Epoch, deadline: Instant) -> bool {
    let verdict = deadline.min(Instant::now() + slot.verdict_within());
    let moved = tokio::time::timeout_at(verdict, slot.moved_from(epoch)).await;
    !matches!(moved, Ok(Ok(_))) && slot.epoch() == Some(epoch)
}
