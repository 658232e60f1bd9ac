//! Stand-ins for the primitives, for exploring every order in which threads can run.
//!
//! loom instruments atomics and mutexes. It has no weak references, and arc_swap and tokio are not instrumented when
//! they are dependencies. Each stand-in is therefore plain data that is changed in one go, behind one [`Step`]: that is
//! where loom lets other threads in, and what carries "happened before" from thread to thread. No loom operation may
//! happen while the plain data is locked: all threads of a model share one thread of the system, which would wait for
//! itself.

mod arc;
pub(crate) mod mpsc;
mod swap;
pub(crate) mod watch;

use std::sync::{Mutex as Plain, MutexGuard as PlainGuard, PoisonError};
use std::time::Duration;

pub(crate) use arc::{Arc, Weak};
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use loom::sync::atomic::{AtomicUsize, Ordering};
pub(crate) use loom::sync::{Mutex, MutexGuard};
pub(crate) use swap::ArcSwapOption;

/// What a counter that nobody else can reach any more has come to. loom fails when somebody could.
pub(crate) fn final_count(counter: &mut AtomicU64) -> u64 {
    counter.with_mut(|count| *count)
}

/// Nothing takes time in a model: what waits for ever is a deadlock, and loom says so.
pub(crate) async fn timeout<F: Future>(_: Duration, future: F) -> Result<F::Output, Elapsed> {
    Ok(future.await)
}

/// Never happens.
pub(crate) enum Elapsed {}

/// One indivisible step on something shared. Always a read and a write, because only those see the newest value.
#[derive(Debug, Default)]
struct Step(AtomicUsize);

impl Step {
    fn take(&self, order: Ordering) {
        // A model that failed is being taken down: one more failure on the way would hide what was found.
        if !std::thread::panicking() {
            self.0.fetch_add(1, order);
        }
    }
}

/// Plain data that is looked at and changed one step at a time.
#[derive(Debug, Default)]
struct Stepped<T> {
    step: Step,
    data: Plain<T>,
}

impl<T> Stepped<T> {
    fn new(data: T) -> Self {
        Self {
            step: Step::default(),
            data: Plain::new(data),
        }
    }

    /// The guard must be gone before the next operation of loom.
    fn step(&self) -> PlainGuard<'_, T> {
        self.step.take(Ordering::AcqRel);
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
