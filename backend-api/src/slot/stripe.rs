//! The count behind a lease: ownership itself.
//!
//! Counting leases the obvious way (load the pointer, count up, look again, count down) makes every thread write
//! to the same cache line twice. Here an active connection is held by a number of stripes; a lease is a reference
//! to the stripe of its thread, and the reference count of that stripe is the count. The active slot holds one
//! reference of each stripe; when it lets go and the last lease is dropped, the last stripe drops [`Common`], whose
//! channel end tells whoever waits in [`Leases::ended`](super::Leases::ended). No lock, no allocation, no unsafe, and
//! nothing to look at twice: a lease taken during a switch simply belongs to the connection that it holds.
//!
//! A lease does not remember when it began: reading a clock costs more than all the rest, and a lease of more than one
//! word is slower to move. Instead the engine replaces the stripes at every tick at which leases are held, so that a stripe
//! knows since when its leases can have been taken.

use std::sync::atomic::Ordering;

use crate::sync::{Arc, AtomicBool, AtomicU32, AtomicU64, final_count, watch};
use crate::{Epoch, Generation, MemberName};

/// What all stripes of one active connection have in common.
pub(crate) struct Common {
    pub(crate) member: MemberName,
    pub(crate) generation: Generation,
    pub(crate) epoch: Epoch,
    pub(crate) suspicion: Suspicion,
    pub(crate) clock: Arc<Clock>,
    pub(crate) past: Arc<Past>,
    /// Dropped with the last stripe: that is the news that the leases have ended.
    pub(crate) _ended: watch::Sender<()>,
}

/// Tells the engine, once until it has looked, that an operation failed.
pub(crate) struct Suspicion {
    pub(crate) raised: Arc<AtomicBool>,
    pub(crate) tell: Box<dyn Fn() + Send + Sync>,
}

impl Suspicion {
    #[cold]
    pub(crate) fn raise(&self) {
        if !self.raised.swap(true, Ordering::AcqRel) {
            (self.tell)();
        }
    }
}

/// One thread's share of an active connection, for one tick. Aligned to two cache lines (processors fetch them in
/// pairs), so that neighbours never share one.
#[repr(align(128))]
pub(crate) struct Stripe<C> {
    pub(crate) success: AtomicU64,
    pub(crate) failure: AtomicU64,
    pub(crate) connection: C,
    pub(crate) common: Arc<Common>,
    /// The tick at which its leases can have been taken at the earliest.
    born: u32,
}

impl<C> Stripe<C> {
    pub(crate) fn new(connection: C, common: Arc<Common>) -> Self {
        Self {
            success: AtomicU64::new(0),
            failure: AtomicU64::new(0),
            connection,
            born: common.clock.now(),
            common,
        }
    }

    /// Whether whatever was begun on it is older than an operation may become.
    pub(crate) fn is_overdue(&self) -> bool {
        self.common.clock.is_overdue(self.born)
    }
}

impl<C> Drop for Stripe<C> {
    fn drop(&mut self) {
        let (success, failure) = (&mut self.success, &mut self.failure);
        let past = &self.common.past;
        past.add(final_count(success), final_count(failure));
    }
}

/// The outcomes of stripes that are gone.
#[derive(Default)]
pub(crate) struct Past {
    success: AtomicU64,
    failure: AtomicU64,
}

impl Past {
    fn add(&self, success: u64, failure: u64) {
        self.success.fetch_add(success, Ordering::AcqRel);
        self.failure.fetch_add(failure, Ordering::AcqRel);
    }

    pub(crate) fn totals(&self) -> (u64, u64) {
        (
            self.success.load(Ordering::Acquire),
            self.failure.load(Ordering::Acquire),
        )
    }
}

/// A coarse clock that the engine advances.
#[derive(Default)]
pub(crate) struct Clock {
    ticks: AtomicU32,
    limit: AtomicU32,
}

impl Clock {
    fn now(&self) -> u32 {
        self.ticks.load(Ordering::Relaxed)
    }

    pub(crate) fn advance(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }

    /// After how many ticks an operation that is given up counts as timed out.
    pub(crate) fn set_limit(&self, ticks: u32) {
        self.limit.store(ticks, Ordering::Relaxed);
    }

    fn is_overdue(&self, born: u32) -> bool {
        // A lease can be younger than its stripe by up to a tick: it is only overdue for certain one tick later.
        let limit = self.limit.load(Ordering::Relaxed).max(1);
        self.now().wrapping_sub(born) > limit
    }
}
