//! Which stripe a thread takes its leases from. Only numbers: what a stripe is stands in [`stripe`](super::stripe).

#[cfg(not(loom))]
pub(super) use real::{PLACES, stripe_count, thread_index};
#[cfg(loom)]
pub(super) use small::{PLACES, stripe_count, thread_index};

#[cfg(not(loom))]
mod real {
    use std::cell::Cell;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The places from which threads take their stripe. More places than stripes: a power of two that no thread count
    /// needs to be compared with.
    pub(in crate::slot) const PLACES: usize = 64;

    /// How many stripes an active connection is held by: threads beyond that share. A power of two. Asked once: the answer is
    /// read from files of the operating system.
    pub(in crate::slot) fn stripe_count() -> usize {
        static COUNT: LazyLock<usize> = LazyLock::new(|| {
            let threads = std::thread::available_parallelism().map_or(4, usize::from);
            (threads * 2).next_power_of_two().min(PLACES)
        });
        *COUNT
    }

    /// This thread's number. Threads are numbered as they come, so neighbours get different stripes.
    #[inline]
    pub(in crate::slot) fn thread_index() -> usize {
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
}

/// Two stripes, so that the threads of a model both meet on one and hold different ones, and numbers that begin anew with
/// every run of a model.
#[cfg(loom)]
mod small {
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub(in crate::slot) const PLACES: usize = 2;

    pub(in crate::slot) fn stripe_count() -> usize {
        PLACES
    }

    #[inline]
    pub(in crate::slot) fn thread_index() -> usize {
        loom::lazy_static! {
            static ref NEXT: AtomicUsize = AtomicUsize::new(0);
        }
        loom::thread_local! {
            static INDEX: usize = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        INDEX.with(|number| *number)
    }
}
