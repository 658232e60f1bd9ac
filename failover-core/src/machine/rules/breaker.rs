//! The breaker: a member on which too many operations fail is broken although its checks pass.
//!
//! Both a rate and a number of failures are needed, within a sliding window of the member's current connection. The
//! window is kept in slots; what is older than the window is forgotten exactly.

use std::collections::VecDeque;
use std::time::Duration;

use backend_api::Generation;

use crate::config::Breaker;
use crate::machine::timers::Timer;
use crate::machine::{Machine, MemberId, News, Time};

/// An open breaker is seen by at least one round of decisions, also where there is no grace.
const SOONEST: Duration = Duration::from_millis(1);

/// Samples of outcomes, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::machine) struct Window {
    generation: Option<Generation>,
    samples: VecDeque<(Time, u32, u32)>,
}

impl Window {
    /// Adds a sample of the connection `generation`; an older connection's samples count for nothing.
    fn add(&mut self, now: Time, generation: Generation, success: u32, failure: u32) {
        if self.generation != Some(generation) {
            self.generation = Some(generation);
            self.samples.clear();
        }
        match self.samples.back_mut() {
            Some((at, successes, failures)) if *at == now => {
                *successes = successes.saturating_add(success);
                *failures = failures.saturating_add(failure);
            }
            _ => self.samples.push_back((now, success, failure)),
        }
    }

    fn forget(&mut self, now: Time, width: Duration) {
        while let Some((at, ..)) = self.samples.front()
            && now.since(*at) >= width
        {
            self.samples.pop_front();
        }
    }

    fn is_over(&self, rules: &Breaker) -> bool {
        let (success, failure) = self.samples.iter().fold((0_u64, 0_u64), |sum, sample| {
            (sum.0 + u64::from(sample.1), sum.1 + u64::from(sample.2))
        });
        if failure == 0 {
            return false;
        }
        #[allow(clippy::cast_precision_loss)]
        let rate = failure as f64 / (success + failure) as f64;
        failure >= u64::from(rules.min_failures) && rate >= rules.failure_rate
    }

    pub(in crate::machine) fn clear(&mut self) {
        self.samples.clear();
    }

    /// For those who look at the whole state.
    #[cfg(test)]
    pub(in crate::machine) fn parts(&self) -> (Option<Generation>, &VecDeque<(Time, u32, u32)>) {
        (self.generation, &self.samples)
    }
}

impl Machine {
    pub(in crate::machine) fn outcomes(
        &mut self,
        id: MemberId,
        generation: Generation,
        success: u32,
        failure: u32,
    ) {
        let (now, grace) = (self.now, self.rules.failback.grace);
        let Some(member) = self.member_mut(id).filter(|member| member.is(generation)) else {
            return;
        };
        let rules = member.rules.breaker;
        member.window.forget(now, rules.window);
        member.window.add(now, generation, success, failure);
        if member.broken || !member.window.is_over(&rules) {
            return;
        }
        member.broken = true;
        // If traffic moves away, the grace that begins then holds it open for as long as that lasts.
        self.timers
            .set(Timer::Breaker(id), now + grace.max(SOONEST));
        self.tell(News::Breaker(id, true));
    }

    /// The time of an open breaker is over: the next check that passes closes it.
    pub(in crate::machine) fn try_breaker(&mut self, id: MemberId) {
        if self.member(id).is_some_and(|member| member.is_checked()) {
            self.start_check(id);
        } else {
            self.passed(id);
        }
    }

    /// A check passed: an open breaker whose time is over closes.
    pub(in crate::machine) fn passed(&mut self, id: MemberId) {
        self.fit_again(id);
        let held = self.in_grace(id) || self.timers.is_set(Timer::Breaker(id));
        let Some(member) = self.member_mut(id).filter(|member| member.broken && !held) else {
            return;
        };
        member.broken = false;
        // What it counted until now is the reason for which it was open.
        member.window.clear();
        self.tell(News::Breaker(id, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Breaker = Breaker {
        window: Duration::from_secs(2),
        failure_rate: 0.5,
        min_failures: 4,
    };
    const FIRST: Generation = Generation(1);

    fn over(samples: &[(u64, u32, u32)], rules: Breaker) -> bool {
        let mut window = Window::default();
        for &(millis, success, failure) in samples {
            let now = Time(millis * 1000);
            window.forget(now, rules.window);
            window.add(now, FIRST, success, failure);
        }
        window.is_over(&rules)
    }

    #[test]
    fn both_thresholds_are_needed_and_exactly_reached_counts() {
        // P80, P83, P84
        assert!(!over(&[(0, 0, 3)], RULES));
        assert!(!over(&[(0, 5, 4)], RULES));
        assert!(over(&[(0, 4, 4)], RULES));
        assert!(!over(&[(0, 0, 0)], RULES));
        assert!(!over(&[], RULES));
    }

    #[test]
    fn a_zero_threshold_leaves_it_to_the_other() {
        // P81, P82
        let rate_alone = Breaker {
            min_failures: 0,
            ..RULES
        };
        assert!(over(&[(0, 1, 1)], rate_alone));
        assert!(!over(&[(0, 2, 1)], rate_alone));
        let count_alone = Breaker {
            failure_rate: 0.0,
            ..RULES
        };
        assert!(over(&[(0, 1000, 4)], count_alone));
        assert!(!over(&[(0, 1000, 3)], count_alone));
    }

    #[test]
    fn the_windows_edge_is_exact_and_a_full_turn_forgets_all() {
        // P89
        assert!(over(&[(0, 0, 2), (1999, 0, 2)], RULES));
        assert!(!over(&[(0, 0, 2), (2000, 0, 2)], RULES));
        assert!(!over(&[(0, 0, 100), (10_000, 0, 0)], RULES));
    }

    #[test]
    fn another_connection_starts_anew() {
        // P88
        let mut window = Window::default();
        window.add(Time(0), FIRST, 0, 3);
        window.add(Time(1), Generation(2), 0, 1);
        assert!(!window.is_over(&RULES));
    }
}
