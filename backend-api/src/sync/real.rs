//! What normal builds use: the real primitives. Anything beyond a re-export here must cost nothing.

pub(crate) use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, Weak};

pub(crate) use arc_swap::ArcSwapOption;
pub(crate) use tokio::sync::{mpsc, watch};
pub(crate) use tokio::time::timeout;

/// What a counter that nobody else can reach any more has come to.
pub(crate) fn final_count(counter: &mut AtomicU64) -> u64 {
    *counter.get_mut()
}
