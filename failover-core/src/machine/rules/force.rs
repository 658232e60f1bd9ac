//! A forced move: the operator knows what holds the member back, and wants the traffic there all the same. What was
//! known then does not move it away again; from the moment that the member is fit it is an active like any other.

use crate::machine::choose::Fitness;
use crate::machine::{Machine, MemberId};

impl Machine {
    /// Whether the active stays although checks, breaker or mark speak against it.
    pub(in crate::machine) fn is_held_by_force(&self, active: MemberId) -> bool {
        self.forced == Some(active)
    }

    /// A forced active that is fit needs no force any more.
    pub(in crate::machine) fn settle_force(&mut self) {
        let fit = self.forced.is_some_and(|id| {
            self.member(id)
                .is_none_or(|member| self.fitness(member) == Fitness::Fit)
        });
        if fit {
            self.forced = None;
        }
    }
}
