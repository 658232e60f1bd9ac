//! The steady tick of the driver: when outcomes are sampled, and how its lateness shows that this process was stalled.
//!
//! The figures are those of the driver's `Sampler`, whose counters cannot be used here: they count real leases.

use std::time::Duration;

use crate::config::Rules;

/// How many samples after a stall say nothing about members.
const DISCOUNTED: u32 = 2;

pub(super) struct Ticks {
    period: u64,
    tolerance: u64,
    next: u64,
    discounted: u32,
}

impl Ticks {
    pub(super) fn new(rules: &Rules) -> Self {
        let member = &rules.member;
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let period = (millis(member.timeouts.operation) / 4)
            .min(millis(member.breaker.window) / 10)
            .clamp(5, 250);
        let prove = member.timeouts.prove.min(member.health.timeout);
        Self {
            period,
            tolerance: (millis(prove) / 2).clamp(20, 100),
            next: period,
            discounted: 0,
        }
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Whether a turn that was due at `due` shows that this process was stalled.
    pub(super) fn is_stalled(&mut self, due: u64, now: u64) -> bool {
        let stalled = now.saturating_sub(due) > self.tolerance;
        if stalled {
            self.discounted = DISCOUNTED;
        }
        stalled
    }

    /// If the tick is due: whether its sample says anything about members.
    pub(super) fn tick(&mut self, now: u64) -> Option<bool> {
        if now < self.next {
            return None;
        }
        self.next = now + self.period;
        let telling = self.discounted == 0;
        self.discounted = self.discounted.saturating_sub(1);
        Some(telling)
    }
}
