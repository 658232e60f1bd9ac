//! How often something is tried again while a cluster elects leaders, and how long before anybody is told.

use std::time::Duration;

use tokio::time::Instant;

/// How long what certainly passes (an election, a redial) gets before it is told as an error. Leaders that were killed are
/// replaced after 4 to 9 seconds.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

const FIRST: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(500);

/// Attempts in a row that failed.
#[derive(Debug, Default)]
pub(super) struct Pace {
    since: Option<Instant>,
    failures: u32,
}

impl Pace {
    /// It works.
    pub(super) fn heard(&mut self) {
        *self = Self::default();
    }

    /// It failed once more: whether that has lasted for `patience`, and a new span of it begins.
    pub(super) fn failed(&mut self, patience: Duration) -> bool {
        self.failures = self.failures.saturating_add(1);
        let now = Instant::now();
        let long = now - *self.since.get_or_insert(now) >= patience;
        if long {
            self.since = Some(now);
        }
        long
    }

    /// Until the next attempt.
    pub(super) fn pause(&self) -> Duration {
        match self.failures {
            0 => Duration::ZERO,
            n => FIRST.saturating_mul(1 << (n - 1).min(5)).min(LONGEST),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_and_patience_ends_once_a_span() {
        let mut pace = Pace::default();
        assert_eq!(pace.pause(), Duration::ZERO);
        assert!(!pace.failed(PATIENCE));
        assert_eq!(pace.pause(), FIRST);
        for _ in 0..9 {
            assert!(!pace.failed(PATIENCE));
        }
        assert_eq!(pace.pause(), LONGEST);
        tokio::time::advance(PATIENCE).await;
        assert!(pace.failed(PATIENCE));
        assert!(!pace.failed(PATIENCE));
        pace.heard();
        assert_eq!(pace.pause(), Duration::ZERO);
    }
}
