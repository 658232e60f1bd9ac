//! A move takes a while, and the world goes on: whether its target is still worth moving to.
//!
//! Looked at once per settling, whatever it was that changed: a verdict, a mark, a weight, a pin.

use super::choose::Fitness;
use super::switch::Step;
use super::{Machine, Phase, Reason};

impl Machine {
    /// Gives up a move whose target is not what it was chosen for any more; the choice is then made again.
    pub(super) fn reconsider_switch(&mut self) {
        if self.is_outdated() {
            self.abort_switch();
        }
    }

    fn is_outdated(&self) -> bool {
        let Some(switch) = &self.switch else {
            return false;
        };
        let Some(target) = self.member(switch.to) else {
            return true;
        };
        let fitness = self.fitness(target);
        if target.is_read_only() {
            return true;
        }
        if switch.step == Step::Connecting {
            // Without an active nobody waits for a dial, or for one that is held back, while another is at hand.
            let doubtful = fitness >= Fitness::HeldBack;
            let late = self.active.is_none()
                && self
                    .last_resort()
                    .and_then(|other| self.member(other))
                    .is_some_and(|other| {
                        !self.is_usable(target) || (doubtful && self.fitness(other) < fitness)
                    });
            return late || (fitness == Fitness::Unhealthy && !switch.force);
        }
        if switch.force {
            return false;
        }
        // A mark during a promotion is acted upon after it: what has been brought over need not come back.
        let held_back = fitness == Fitness::HeldBack && !switch.step.has_begun();
        match self.active {
            Some(_) if switch.reason == Reason::Manual => fitness == Fitness::Unhealthy,
            Some(_) if switch.reason == Reason::Failback => {
                fitness != Fitness::Fit || !self.may_return_to(target)
            }
            Some(_) => {
                let refuge = || self.is_refuge(target, switch.reason) && self.best_fit().is_none();
                fitness == Fitness::Unhealthy || (held_back && !refuge())
            }
            None if self.phase != Phase::Running => fitness == Fitness::Unhealthy,
            // Rather a doubtful active than none, but the least doubtful.
            None => {
                (fitness == Fitness::Unhealthy || held_back)
                    && self
                        .last_resort()
                        .and_then(|other| self.member(other))
                        .is_some_and(|other| self.fitness(other) < fitness)
            }
        }
    }
}
