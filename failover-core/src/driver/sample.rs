//! One steady tick serves three purposes: leases measure their age by it, outcomes are sampled for the breaker, and its
//! lateness shows that this process was stalled.

use std::collections::HashMap;
use std::time::Duration;

use backend_api::Generation;
use backend_api::engine::Tally;
use tokio::time::Instant;

use crate::config::Rules;
use crate::machine::MemberId;

/// The tick is this fraction of an operation's timeout, so an overdue lease is seen at most a quarter late.
const TICKS_PER_OPERATION: u32 = 4;

const SHORTEST_TICK: Duration = Duration::from_millis(5);
const LONGEST_TICK: Duration = Duration::from_millis(250);

/// For how many ticks the outcomes are still taken of operations that end after their connection did.
const LATE_TICKS: u32 = 2 * TICKS_PER_OPERATION;

/// How many samples after a stall say nothing about members: the one that shows it, and the one with what piled up.
const DISCOUNTED_SAMPLES: u32 = 2;

/// What ended on one connection since the last sample.
pub(super) struct Sample {
    pub(super) member: MemberId,
    pub(super) generation: Generation,
    pub(super) success: u64,
    pub(super) failure: u64,
}

struct Counted<C> {
    member: MemberId,
    tally: Tally<C>,
    success: u64,
    failure: u64,
}

impl<C> Counted<C> {
    fn sample(&mut self, generation: Generation) -> Option<Sample> {
        let (success, failure) = self.tally.totals();
        let sample = Sample {
            member: self.member,
            generation,
            // A stripe that is just being dropped is in neither sum for a moment; it is in the next.
            success: success.saturating_sub(self.success),
            failure: failure.saturating_sub(self.failure),
        };
        self.success += sample.success;
        self.failure += sample.failure;
        (sample.success != 0 || sample.failure != 0).then_some(sample)
    }
}

pub(super) struct Sampler<C> {
    period: Duration,
    overdue: u32,
    /// A wake-up later than this is a stall.
    tolerance: Duration,
    next: Instant,
    /// By connection, its current or last turn as active.
    counted: HashMap<Generation, Counted<C>>,
    /// Turns that are over, and for how many ticks they are still looked at.
    over: Vec<(u32, Generation, Counted<C>)>,
    discounted: u32,
}

impl<C> Sampler<C> {
    pub(super) fn new(rules: &Rules) -> Self {
        let mut sampler = Self {
            period: SHORTEST_TICK,
            overdue: u32::MAX,
            tolerance: SHORTEST_TICK,
            next: Instant::now(),
            counted: HashMap::new(),
            over: Vec::new(),
            discounted: 0,
        };
        sampler.tune(rules);
        sampler
    }

    /// Ticks as these rules want it, from here on.
    pub(super) fn tune(&mut self, rules: &Rules) {
        let member = &rules.member;
        let operation = member.timeouts.operation;
        let period = (operation / TICKS_PER_OPERATION)
            .min(member.breaker.window / 10)
            .clamp(SHORTEST_TICK, LONGEST_TICK);
        let overdue = operation.as_micros().div_ceil(period.as_micros());
        // Being late by half a timeout makes a timeout meaningless.
        let tolerance = (member.timeouts.prove.min(member.health.timeout) / 2)
            .clamp(Duration::from_millis(20), Duration::from_millis(100));
        self.period = period;
        self.overdue = u32::try_from(overdue).unwrap_or(u32::MAX);
        self.tolerance = tolerance;
        self.next = Instant::now() + period;
    }

    /// After how many ticks an operation that is given up counts as timed out.
    pub(super) fn overdue(&self) -> u32 {
        self.overdue
    }

    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// Whether a wake-up that was due at `due` shows that the process was stalled.
    pub(super) fn is_stalled(&mut self, due: Instant, now: Instant) -> bool {
        let stalled = now.saturating_duration_since(due) > self.tolerance;
        if stalled {
            self.discounted = DISCOUNTED_SAMPLES;
        }
        stalled
    }

    /// A connection begins a turn as active.
    pub(super) fn count(&mut self, member: MemberId, generation: Generation, tally: Tally<C>) {
        self.forget(generation);
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

    /// The next failure on this connection is told again, also by an operation that began in an older turn: after a drain
    /// that was undone they are on the connection that carries traffic.
    pub(super) fn listen(&self, generation: Generation) {
        let over = self.over.iter().filter(|(_, of, _)| *of == generation);
        let current = self.counted.get(&generation).into_iter();
        for counted in current.chain(over.map(|(_, _, counted)| counted)) {
            counted.tally.listen();
        }
    }

    /// The connection is being ended. What its operations report from here on is still counted for its member.
    pub(super) fn forget(&mut self, generation: Generation) {
        if let Some(counted) = self.counted.remove(&generation) {
            self.over.push((LATE_TICKS, generation, counted));
        }
    }

    /// If the tick is due: what ended since the last one, and whether it says anything about the members.
    pub(super) fn tick(&mut self, now: Instant) -> Option<(Vec<Sample>, bool)> {
        if now < self.next {
            return None;
        }
        self.next = now + self.period;
        let samples = self.sample();
        for (ticks, ..) in &mut self.over {
            *ticks -= 1;
        }
        self.over.retain(|(ticks, ..)| *ticks > 0);
        let telling = self.discounted == 0;
        self.discounted = self.discounted.saturating_sub(1);
        Some((samples, telling))
    }

    /// What ended since the last sample.
    pub(super) fn sample(&mut self) -> Vec<Sample> {
        let current = self.counted.iter_mut();
        let current = current.filter_map(|(generation, counted)| counted.sample(*generation));
        let over = self.over.iter_mut();
        current
            .chain(over.filter_map(|(_, generation, counted)| counted.sample(*generation)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use backend_api::engine::SlotOwner;
    use backend_api::{Error, ErrorKind, MemberName, Outcome};

    use super::*;

    #[tokio::test]
    async fn operations_of_an_older_turn_tell_their_failures_again_too() -> Result<(), Error> {
        let absent = Error::new(ErrorKind::NoActive, "not yet");
        let (mut owner, slot) = SlotOwner::new(Duration::ZERO, absent);
        let (name, generation) = (MemberName::from("a"), Generation(1));
        let mut sampler = Sampler::new(&Rules::default());
        let told = Arc::new(AtomicU32::new(0));
        let mut leases = Vec::new();
        for _ in 0..2 {
            let teller = told.clone();
            let (tally, _) = owner.activate(&name, generation, &(), move || {
                teller.fetch_add(1, Relaxed);
            });
            sampler.count(MemberId(0), generation, tally);
            leases.extend([slot.try_lease()?, slot.try_lease()?]);
        }
        // Four operations, two of each turn: each turn tells once, until somebody listens again.
        for expected in [1, 2, 3, 4] {
            if expected == 3 {
                sampler.listen(generation);
            }
            let place = if expected % 2 == 1 {
                0
            } else {
                leases.len() - 1
            };
            leases.remove(place).finish(Outcome::Failure);
            assert_eq!(told.load(Relaxed), expected);
        }
        Ok(())
    }
}
