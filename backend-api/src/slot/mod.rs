//! The active connection as clients see it.
//!
//! The engine fills and empties the slot; clients take leases from it and never talk to the engine's task. See
//! [`stripe`] for why a lease is cheap and cannot be lost over a switch.

mod lease;
mod owner;
mod places;
pub(crate) mod stripe;
#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::atomic::Ordering;
use std::time::Duration;

pub use lease::{Lease, Leases};
pub use owner::{SlotOwner, Tally};
use places::{PLACES, thread_index};
use stripe::Stripe;

use crate::sync::{Arc, ArcSwapOption, mpsc, timeout, watch};
use crate::{Epoch, Error, ErrorKind};

/// The stripes of the active connection, by the number of the thread.
struct Active<C> {
    places: [Arc<Stripe<C>>; PLACES],
}

/// What those who wait look at.
#[derive(Clone)]
enum State {
    Active(Epoch),
    Absent(Error),
    Closed,
}

struct Shared<C> {
    active: ArcSwapOption<Active<C>>,
    state: watch::Sender<State>,
    wait: Duration,
    /// In nanoseconds. An ordinary atomic in models too: no order of threads depends on it.
    verdict_within: std::sync::atomic::AtomicU64,
}

struct Handle<C> {
    shared: Arc<Shared<C>>,
    /// Dropped with the last slot: that is how the engine learns that nobody uses the group any more.
    _alive: mpsc::Sender<std::convert::Infallible>,
}

/// The active connection of a group, whichever it is at the moment. Cheap to clone; the group lives for as long as
/// one is held.
pub struct Slot<C> {
    handle: Arc<Handle<C>>,
}

impl<C> Clone for Slot<C> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
        }
    }
}

impl<C> Slot<C> {
    /// A lease on the active connection. Without an active it waits up to [`wait`](Self::wait) for one, and then fails
    /// with [`ErrorKind::NoActive`] and every member's state. Cancel-safe.
    pub async fn lease(&self) -> Result<Lease<C>, Error> {
        match self.leased() {
            Some(lease) => Ok(lease),
            None => self.lease_later().await,
        }
    }

    /// A lease on the active connection now, or the reason why there is none.
    pub fn try_lease(&self) -> Result<Lease<C>, Error> {
        self.leased().ok_or_else(|| self.reason())
    }

    /// Waits until something other than `epoch` is active, and says which. This is how a client whose operation failed
    /// waits for the next active before it tries again. Bounded by [`wait`](Self::wait); cancel-safe.
    pub async fn moved_from(&self, epoch: Epoch) -> Result<Epoch, Error> {
        self.until(|state| match state {
            State::Active(now) if *now != epoch => Some(Ok(*now)),
            State::Active(_) | State::Absent(_) => None,
            State::Closed => Some(Err(closed())),
        })
        .await
    }

    /// Resolves when `epoch` is no longer the active turn: something else is active, nothing is, or the group is closed. For
    /// streams that work on one connection until the traffic moves. Unlike [`moved_from`](Self::moved_from) it has no bound.
    /// Cancel-safe.
    pub async fn left(&self, epoch: Epoch) {
        let mut states = self.handle.shared.state.subscribe();
        while matches!(*states.borrow_and_update(), State::Active(now) if now == epoch) {
            if states.changed().await.is_err() {
                return;
            }
        }
    }

    /// Resolves when the group is closed: for streams that go on over switches and end with the group. Cancel-safe.
    pub async fn closed(&self) {
        let mut states = self.handle.shared.state.subscribe();
        while !matches!(*states.borrow_and_update(), State::Closed) {
            if states.changed().await.is_err() {
                return;
            }
        }
    }

    /// The turn that is active now, if any.
    pub fn epoch(&self) -> Option<Epoch> {
        match *self.handle.shared.state.borrow() {
            State::Active(epoch) => Some(epoch),
            State::Absent(_) | State::Closed => None,
        }
    }

    /// How long operations wait for an active (`unavailable.wait`).
    pub fn wait(&self) -> Duration {
        self.handle.shared.wait
    }

    /// How long it takes until a connection on which an operation failed is found well, or its turn has ended; never
    /// longer than [`wait`](Self::wait). An operation that had no answer need not wait longer for another active while
    /// [`epoch`](Self::epoch) is what it was: the member is slow, not gone.
    pub fn verdict_within(&self) -> Duration {
        let verdict = self.handle.shared.verdict_within.load(Ordering::Relaxed);
        Duration::from_nanos(verdict).min(self.wait())
    }

    fn leased(&self) -> Option<Lease<C>> {
        let active = self.handle.shared.active.load();
        let active = active.as_ref()?;
        Some(Lease::new(active.places[thread_index() % PLACES].clone()))
    }

    #[cold]
    async fn lease_later(&self) -> Result<Lease<C>, Error> {
        self.until(|state| match state {
            State::Closed => Some(Err(closed())),
            State::Active(_) | State::Absent(_) => self.leased().map(Ok),
        })
        .await
    }

    /// Looks at every state until `look` is content, for `wait` at most. The state is marked as seen before it is
    /// looked at, so no change is missed between a look and the wait for the next.
    async fn until<T>(
        &self,
        mut look: impl FnMut(&State) -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut states = self.handle.shared.state.subscribe();
        let waiting = async {
            loop {
                let state = states.borrow_and_update().clone();
                if let Some(found) = look(&state) {
                    return found;
                }
                if states.changed().await.is_err() {
                    return Err(closed());
                }
            }
        };
        match timeout(self.wait(), waiting).await {
            Ok(found) => found,
            Err(_elapsed) => Err(self.reason()),
        }
    }

    fn reason(&self) -> Error {
        match &*self.handle.shared.state.borrow() {
            State::Absent(reason) => reason.clone(),
            State::Closed => closed(),
            State::Active(_) => Error::new(
                ErrorKind::NoActive,
                "no other member became active within the time allowed",
            ),
        }
    }
}

impl<C> std::fmt::Debug for Slot<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot")
            .field("epoch", &self.epoch())
            .finish_non_exhaustive()
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the group is closed")
}
