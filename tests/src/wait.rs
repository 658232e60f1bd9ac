//! Waiting for something that another task or another process brings about.
//!
//! A sleep of fixed length is either too short on a busy machine or too long on all others. This polls, so that a
//! condition that holds is seen within a millisecond, and gives up with the name of what did not happen.
//!
//! Never to come in: an unbounded wait.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use tokio::time::{Instant, sleep};

const POLL: Duration = Duration::from_millis(1);

/// Waits until `condition` holds, at most `bound`.
///
/// The bound is measured on tokio's clock: under a paused clock it is virtual time, like everything else there.
///
/// # Panics
///
/// When `bound` has passed: the message says `what` was awaited, and the caller's line.
///
/// ```
/// # use failover_testkit::wait_until;
/// # use std::{cell::Cell, time::Duration};
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let looks = Cell::new(0);
/// wait_until(Duration::from_secs(5), "a third look", || {
///     looks.set(looks.get() + 1);
///     looks.get() == 3
/// })
/// .await;
/// # });
/// ```
#[track_caller]
pub fn wait_until<'a>(
    bound: Duration,
    what: &'a str,
    mut condition: impl FnMut() -> bool + 'a,
) -> impl Future<Output = ()> + 'a {
    let caller = Location::caller();
    async move {
        let deadline = Instant::now() + bound;
        while !condition() {
            assert!(
                Instant::now() < deadline,
                "{caller}: waited {bound:?} in vain for {what}"
            );
            sleep(POLL).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_condition_that_comes_true_is_seen() {
        let start = Instant::now();
        let due = start + Duration::from_secs(2);
        wait_until(Duration::from_secs(3), "two seconds", || {
            Instant::now() >= due
        })
        .await;
        assert!(start.elapsed() < Duration::from_millis(2010));
    }

    #[tokio::test(start_paused = true)]
    #[should_panic(expected = "in vain for a miracle")]
    async fn a_condition_that_never_holds_is_named() {
        wait_until(Duration::from_secs(3), "a miracle", || false).await;
    }
}
