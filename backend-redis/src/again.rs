//! Whether something that failed may be tried once more, and when: the waiting between two actives, the same for every
//! driver. Which attempts may be repeated is decided elsewhere; here nothing is sent.
//!
//! Bounded as a whole by the slot's `wait` from the first failure on: an operation is not carried from member to member
//! for longer than it would wait for an active. Where only an answer is missing the wait is shorter: the engine proves the
//! connection, and if that is well nothing will move.

use backend_api::{Epoch, Error, ErrorKind, Slot};
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

/// Where a member finds itself another server, beside the engine finding another member.
pub(crate) trait Within: Sync {
    /// Resolves once another server of the member than the one on which it failed is there.
    fn next(&self) -> impl Future<Output = ()> + Send;

    /// The server on which it failed is gone, and the next one is not there yet.
    fn is_under_way(&self) -> bool;
}

/// Of members that are one server there is no value.
#[cfg(feature = "fred")]
pub(crate) enum Nowhere {}

#[cfg(feature = "fred")]
impl Within for Nowhere {
    async fn next(&self) {
        match *self {}
    }

    fn is_under_way(&self) -> bool {
        match *self {}
    }
}

/// Waits for the next active, or the next server `within` it, if there is anything to wait for. `deadline` is kept from one
/// failure to the next.
pub(crate) async fn next<C>(
    slot: &Slot<C>,
    past: Past,
    within: Option<&impl Within>,
    deadline: &mut Option<Instant>,
) -> Next {
    if !past.again {
        return Next::Failed;
    }
    let deadline = *deadline.get_or_insert_with(|| Instant::now() + slot.wait());
    if past.doubtful && stays(slot, past.epoch, within, deadline).await {
        return Next::Failed;
    }
    match tokio::time::timeout_at(deadline, elsewhere(slot, past.epoch, within)).await {
        Ok(Ok(())) => Next::Attempt,
        // A member that looks for its next server is active all the while, and says itself what is missing.
        Ok(Err(reason)) if past.unsent && within.is_none() => Next::NoActive(reason),
        // The slot waits as long from now on as the operation from its first failure on: this may be over first.
        Err(_elapsed) if past.unsent && within.is_none() => Next::NoActive(nobody_else(slot)),
        Ok(Err(_)) | Err(_) => Next::Failed,
    }
}

/// Why there is no other active.
fn nobody_else<C>(slot: &Slot<C>) -> Error {
    slot.try_lease().err().unwrap_or_else(|| {
        let text = "no other member became active within the time allowed";
        Error::new(ErrorKind::NoActive, text)
    })
}

/// Whether the active is still the same when the engine has proven it. Without any active there is more to wait for.
async fn stays<C>(
    slot: &Slot<C>,
    epoch: Epoch,
    within: Option<&impl Within>,
    deadline: Instant,
) -> bool {
    let verdict = deadline.min(Instant::now() + slot.verdict_within());
    let moved = tokio::time::timeout_at(verdict, elsewhere(slot, epoch, within)).await;
    !matches!(moved, Ok(Ok(())))
        && slot.epoch() == Some(epoch)
        && !within.is_some_and(Within::is_under_way)
}

/// Resolves once there is somewhere else to go.
async fn elsewhere<C>(
    slot: &Slot<C>,
    epoch: Epoch,
    within: Option<&impl Within>,
) -> Result<(), Error> {
    let moved = async { slot.moved_from(epoch).await.map(drop) };
    match within {
        None => moved.await,
        Some(within) => tokio::select! {
            moved = moved => moved,
            () = within.next() => Ok(()),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backend_api::Generation;
    use backend_api::engine::SlotOwner;

    use super::*;

    struct Nothing;

    impl Within for Nothing {
        async fn next(&self) {
            std::future::pending::<()>().await;
        }

        fn is_under_way(&self) -> bool {
            false
        }
    }

    // What was never sent says that an active is missing, whichever of the two bounds is over first.
    #[tokio::test]
    async fn the_bound_of_the_whole_operation_says_what_the_slot_would_say() {
        for active in [true, false] {
            let absent = Error::new(ErrorKind::NoActive, "killed");
            let (mut owner, slot) = SlotOwner::new(Duration::from_secs(60), absent.clone());
            owner.activate(&"east".into(), Generation(1), &(), || {});
            let lease = slot.try_lease().unwrap();
            let epoch = lease.epoch();
            drop(lease);
            if !active {
                owner.clear(absent);
            }
            for unsent in [true, false] {
                let past = Past {
                    epoch,
                    again: true,
                    unsent,
                    doubtful: false,
                };
                let mut deadline = Some(Instant::now() + Duration::from_millis(5));
                let next = next(&slot, past, None::<&Nothing>, &mut deadline).await;
                match next {
                    Next::NoActive(reason) => {
                        assert!(unsent);
                        assert_eq!(reason.kind(), ErrorKind::NoActive);
                        assert_eq!(reason.message() == "killed", !active, "{reason}");
                    }
                    other => assert!(!unsent, "{other:?}"),
                }
            }
        }
    }
}
