//! Whether a connection has ended, and the waking of whoever still waits on it.
//!
//! fred leaves commands that come after the end of a socket waiting for ever. Every operation therefore also waits for the
//! end of its connection, and every operation passes here: threads wait at different places, so that they do not meet on
//! one lock.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Notify;

pub(super) const PLACES: usize = 16;

#[derive(Default)]
pub(super) struct State {
    ended: AtomicBool,
    retired: AtomicBool,
    waiting: [Place; PLACES],
}

/// Two cache lines, which processors fetch in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Place(Notify);

impl State {
    /// Nothing of it moves any more: what is sent from here on certainly does not leave.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// It ended because the engine said so.
    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// What had ended by itself was lost: that is what its operations are told. Wakes nobody yet.
    pub(super) fn retire(&self) {
        if !self.has_ended() {
            self.retired.store(true, Ordering::Release);
        }
        self.ended.store(true, Ordering::Release);
    }

    /// It has ended, and whoever waits on it is woken.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        for place in &self.waiting {
            place.0.notify_waiters();
        }
    }

    /// Does `work` until the connection ends; `None` then.
    pub(super) async fn until_end<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        // Listens before it looks, so that the end is not missed in between.
        let end = self.waiting[place()].0.notified();
        if self.has_ended() {
            return None;
        }
        tokio::select! {
            biased;
            done = work => Some(done),
            () = end => None,
        }
    }
}

/// This thread's place. Threads are numbered as they come, so neighbours get different ones.
pub(super) fn place() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PLACE: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    PLACE.with(|place| {
        if place.get() == usize::MAX {
            place.set(NEXT.fetch_add(1, Ordering::Relaxed) % PLACES);
        }
        place.get()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn the_end_cuts_off_what_waits_and_what_comes_later() {
        let state = Arc::new(State::default());
        let waiting = tokio::spawn({
            let state = state.clone();
            async move { state.until_end(std::future::pending::<()>()).await }
        });
        tokio::task::yield_now().await;
        assert_eq!(state.until_end(async { 1 }).await, Some(1));
        state.end();
        assert_eq!(waiting.await.unwrap(), None);
        assert_eq!(state.until_end(async { 1 }).await, None);
    }

    #[test]
    fn only_what_had_not_ended_by_itself_is_retired() {
        let (lost, well) = (State::default(), State::default());
        lost.end();
        for state in [&lost, &well] {
            state.retire();
            assert!(state.has_ended());
        }
        assert!(!lost.is_retired() && well.is_retired());
    }
}
