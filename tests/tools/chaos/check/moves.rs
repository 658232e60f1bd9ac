//! `moves`: moves that cost never exceed the budget.
//!
//! A move costs if it leaves an active that still accepts dials, because of a failure: its connection ended, it fell
//! silent, its checks or its operations failed. Free are moves away from a member that refuses dials, planned moves
//! ([`PLANNED`]: by hand, announced, back), and the first active after none.
//!
//! The budget begins with [`bounds::MOVES`] and never holds more. What was spent comes back one by one: after each
//! `failback.stable` without such a move, and after each `failback.grace` at the latest. That clock runs while the budget
//! is not full, so it starts with the move that spends from a full one.
//!
//! A member that takes over from itself, on a new connection, is no move. That is the matter of `replaced`.
//!
//! With an empty budget a silent active is left after [`bounds::SILENT_FOR_GOOD`] times `silence`. So a move is no violation
//! if the member that it left was not fit for so long.

use super::lost::PLANNED;
use super::run::{Run, meet, seconds};
use super::{Verdict, bounds};
use crate::record::{Micros, Move};

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let mut budget = Budget::full(run);
    let mut costly = 0;
    for step in run.record.moves.iter().filter(|step| costs(step)) {
        costly += 1;
        if !budget.spend(step.at) && !silent_for_good(run, step) {
            let members: Vec<_> = step.from.into_iter().chain([step.to]).collect();
            verdict.add(step.at, &[], &members, || {
                let from = step.from.map_or("nobody", |from| run.name(from));
                let (to, reason, at) = (run.name(step.to), &step.reason, seconds(step.at));
                format!("the move from {from} to {to} ({reason}) at {at} exceeds the budget of {} moves", bounds::MOVES.value)
            });
        }
    }
    let moved = run
        .record
        .moves
        .iter()
        .filter(|step| step.from != Some(step.to));
    verdict.figure("moves", moved.count() as u64);
    verdict.figure("moves_that_cost", costly);
}

fn costs(step: &Move) -> bool {
    let planned = PLANNED.contains(&step.reason.as_str());
    !step.refused && !planned && step.from.is_some_and(|from| from != step.to)
}

fn silent_for_good(run: &Run<'_>, step: &Move) -> bool {
    let long = run
        .record
        .silence
        .saturating_mul(bounds::SILENT_FOR_GOOD.value);
    let (Some(from), Some(since)) = (step.from, step.at.checked_sub(long)) else {
        return false;
    };
    // It falls silent a moment before it is unfit for the record, or the other way round.
    let late = bounds::LATE_EVENT.micros();
    let silent = since + late..step.at.saturating_sub(late);
    let fit = run.fit.get(usize::from(from));
    fit.is_some_and(|fit| !fit.iter().any(|span| meet(span, &silent)))
}

struct Budget {
    left: u32,
    stable: Micros,
    grace: Micros,
    /// Since when there was neither such a move nor a credit.
    quiet_since: Micros,
    /// The last credit, or when it stopped being full.
    credited: Micros,
}

impl Budget {
    fn full(run: &Run<'_>) -> Self {
        Self {
            left: bounds::MOVES.value,
            stable: run.record.stable,
            grace: run.record.grace,
            quiet_since: 0,
            credited: 0,
        }
    }

    /// Whether there was one left.
    fn spend(&mut self, at: Micros) -> bool {
        while self.left < bounds::MOVES.value {
            let stable = self.quiet_since.saturating_add(self.stable);
            let next = stable.min(self.credited.saturating_add(self.grace));
            if next > at.saturating_add(bounds::LATE_EVENT.micros()) {
                break;
            }
            self.left += 1;
            self.credited = next;
            self.quiet_since = next;
        }
        if self.left == bounds::MOVES.value {
            self.credited = at;
        }
        self.quiet_since = at;
        let had = self.left > 0;
        self.left = self.left.saturating_sub(1);
        had
    }
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{Fit, Micros};

    /// A move to and fro each time, from six seconds on.
    fn swapping(count: u32, every: Micros, reason: &str, refused: bool) -> Forge {
        let mut forge = Forge::redis();
        forge.record.stable = 5 * S;
        forge.record.grace = 8 * S;
        for step in 0..count {
            forge.go(6 * S + step * every, 1 - (step % 2) as u8, reason, refused);
        }
        forge
    }

    #[test]
    fn the_fifth_move_in_a_row_is_found() {
        for reason in ["lost", "health", "breaker", "a reason of tomorrow"] {
            only(
                &check(&swapping(4, 500 * MS, reason, false).record),
                "moves",
                0,
            );
            only(
                &check(&swapping(5, 500 * MS, reason, false).record),
                "moves",
                1,
            );
        }
    }

    #[test]
    fn what_costs_nothing_is_not_counted() {
        for reason in ["manual", "lame_duck", "failback", "removed"] {
            only(
                &check(&swapping(9, 500 * MS, reason, false).record),
                "moves",
                0,
            );
        }
        only(
            &check(&swapping(9, 500 * MS, "lost", true).record),
            "moves",
            0,
        );
    }

    #[test]
    fn one_comes_back_after_stable_and_after_grace() {
        // Four at 6.0, 6.5, 7.0, 7.5; quiet until 12.5.
        for (at, count) in [(12_300, 1), (12_500, 0)] {
            let mut forge = swapping(4, 500 * MS, "lost", false);
            forge.go(at * MS, 1, "lost", false);
            only(&check(&forge.record), "moves", count);
        }
        // A move every three seconds is never quiet for five; eight seconds of grace give one back at 14 s.
        only(
            &check(&swapping(4, 3 * S, "lost", false).record),
            "moves",
            0,
        );
        for (at, count) in [(15_100, 0), (15_200, 0)] {
            let mut forge = swapping(4, 3 * S, "lost", false);
            forge.go(at * MS, 1, "lost", false);
            only(&check(&forge.record), "moves", count);
            forge.go((at + 10) * MS, 0, "lost", false);
            only(&check(&forge.record), "moves", count + 1);
        }
    }

    #[test]
    fn a_member_that_is_silent_for_good_may_be_left() {
        let mut forge = swapping(4, 100 * MS, "lost", false);
        let (length, at) = (forge.record.length, 10 * S + 900 * MS);
        forge.go(at, 1, "lost", false);
        only(&check(&forge.record), "moves", 1);
        // Member 0 was silent for four times the silence.
        forge.record.fit = vec![
            Fit {
                member: 0,
                during: 0..at - 4 * S,
            },
            Fit {
                member: 1,
                during: 0..length,
            },
        ];
        only(&check(&forge.record), "moves", 0);
        // Not if it was fit for a moment, or until just before.
        for fit in [at - 3 * S..at - 2 * S, at - 5 * S..at - 2 * S] {
            let mut forge = Forge {
                record: forge.record.clone(),
            };
            forge.record.fit.push(Fit {
                member: 0,
                during: fit,
            });
            only(&check(&forge.record), "moves", 1);
        }
    }

    #[test]
    fn at_the_beginning_nobody_was_silent_for_good() {
        let mut forge = Forge::redis();
        forge.record.fit.retain(|fit| fit.member == 1);
        for step in 0..5 {
            forge.go(S + step * 100 * MS, 1 - (step % 2) as u8, "lost", false);
        }
        only(&check(&forge.record), "moves", 1);
    }
}
