//! One steady tick serves three purposes: leases measure their age by it, outcomes are sampled for the breaker, and its
//! lateness shows that this process was stalled.

use std::collections::HashMap;
use std::time::Duration;

use backend_api::Generation;
use backend_api::engine::Tally;
use tokio::time::Instant;

use crate::config::Rules;
use crate::machine::{Input, MemberId};

/// The tick is this fraction of an operation's timeout, so an overdue lease is seen at most a quarter late.
pub(super) const TICKS_PER_OPERATION: u32 = 4;

const SHORTEST_TICK: Duration = Duration::from_millis(5);
const LONGEST_TICK: Duration = Duration::from_millis(250);

struct Counted<C> {
    member: MemberId,
    tally: Tally<C>,
    success: u64,
    failure: u64,
}

pub(super) struct Sampler<C> {
    period: Duration,
    /// A wake-up later than this is a stall.
    tolerance: Duration,
    next: Instant,
    /// By connection; one that was drained and serves again counts anew.
    counted: HashMap<Generation, Counted<C>>,
}

impl<C> Sampler<C> {
    pub(super) fn new(rules: &Rules) -> Self {
        let member = &rules.member;
        let period = (member.timeouts.operation / TICKS_PER_OPERATION)
            .min(member.breaker.window / 10)
            .clamp(SHORTEST_TICK, LONGEST_TICK);
        // Being late by half a timeout makes a timeout meaningless.
        let tolerance = (member.timeouts.prove.min(member.health.timeout) / 2)
            .clamp(Duration::from_millis(20), Duration::from_millis(100));
        Self {
            period,
            tolerance,
            next: Instant::now() + period,
            counted: HashMap::new(),
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Whether a wake-up that was due at `due` shows that the process was stalled.
    pub(super) fn is_stalled(&self, due: Instant, now: Instant) -> bool {
        now.saturating_duration_since(due) > self.tolerance
    }

    pub(super) fn count(&mut self, member: MemberId, generation: Generation, tally: Tally<C>) {
        self.counted.insert(
            generation,
            Counted {
                member,
                tally,
                success: 0,
                failure: 0,
            },
        );
    }

    /// The next failure on this connection is told again.
    pub(super) fn listen(&self, generation: Generation) {
        if let Some(counted) = self.counted.get(&generation) {
            counted.tally.listen();
        }
    }

    pub(super) fn forget(&mut self, generation: Generation) {
        self.counted.remove(&generation);
    }

    /// If the tick is due: what ended since the last one.
    pub(super) fn tick(&mut self, now: Instant) -> Option<Vec<Input>> {
        if now < self.next {
            return None;
        }
        self.next = now + self.period;
        let mut samples = Vec::new();
        for (generation, counted) in &mut self.counted {
            let (success, failure) = counted.tally.totals();
            // A stripe that is just being dropped is in neither sum for a moment; it is in the next.
            let new = (
                success.saturating_sub(counted.success),
                failure.saturating_sub(counted.failure),
            );
            counted.success += new.0;
            counted.failure += new.1;
            if new != (0, 0) {
                samples.push(Input::Outcomes {
                    member: counted.member,
                    generation: *generation,
                    success: u32::try_from(new.0).unwrap_or(u32::MAX),
                    failure: u32::try_from(new.1).unwrap_or(u32::MAX),
                });
            }
        }
        Some(samples)
    }
}
