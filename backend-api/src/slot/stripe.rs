//! The count behind a lease: ownership itself.
//!
//! Counting leases the obvious way (load the pointer, count up, look again, count down) makes every thread write
//! to the same cache line twice. Here an active connection is held by a fixed number of stripes; a lease clones
//! the stripe of its thread, and the reference count of that stripe is the count. The active slot holds one
//! reference of each stripe; when it lets go and the last lease is dropped, the last stripe drops [`Common`], whose
//! channel end tells whoever waits in [`Leases::ended`](super::Leases::ended). No lock, no allocation, no unsafe, and
//! nothing to look at twice: a lease taken during a switch simply belongs to the connection that it holds.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::watch;

use crate::{Epoch, Generation, MemberName};

/// What all stripes of one active connection have in common.
pub(crate) struct Common {
    pub(crate) member: MemberName,
    pub(crate) generation: Generation,
    pub(crate) epoch: Epoch,
    pub(crate) suspicion: Suspicion,
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

/// One thread's share of an active connection. Aligned to two cache lines (processors fetch them in pairs), so that
/// neighbours never share one.
#[repr(align(128))]
pub(crate) struct Stripe<C> {
    pub(crate) connection: C,
    pub(crate) common: Arc<Common>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) counts: Arc<Counts>,
}

/// Outcomes of the operations of one stripe. The engine samples them; they outlive the stripe.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) success: AtomicU64,
    pub(crate) failure: AtomicU64,
}

/// A coarse clock that the engine advances: reading it costs a load, reading the real one 25 ns.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Clock {
    ticks: AtomicU32,
    limit: AtomicU32,
}

impl Clock {
    pub(crate) fn now(&self) -> u32 {
        self.ticks.load(Ordering::Relaxed)
    }

    pub(crate) fn advance(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
    }

    /// After how many ticks an operation that is given up counts as timed out.
    pub(crate) fn set_limit(&self, ticks: u32) {
        self.limit.store(ticks, Ordering::Relaxed);
    }

    pub(crate) fn overdue(&self, since: u32) -> bool {
        self.now().wrapping_sub(since) >= self.limit.load(Ordering::Relaxed).max(1)
    }
}

/// How many stripes an active connection is held by: threads beyond that share.
pub(crate) fn stripe_count() -> usize {
    let threads = std::thread::available_parallelism().map_or(4, usize::from);
    (threads * 2).next_power_of_two().min(64)
}

/// This thread's number. Threads are numbered as they come, so neighbours get different stripes.
pub(crate) fn thread_index() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static INDEX: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    INDEX.with(|index| {
        let mut number = index.get();
        if number == usize::MAX {
            number = NEXT.fetch_add(1, Ordering::Relaxed);
            index.set(number);
        }
        number
    })
}
