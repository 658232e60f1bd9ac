//! Whether the group is whole, told once when that changes.

use super::member::{Link, Member, Stage};
use super::{Machine, News, Phase};
use crate::config::Standby;

impl Machine {
    pub(super) fn settle_condition(&mut self) {
        if self.phase != Phase::Running {
            return;
        }
        let degraded = self.is_degraded();
        if degraded != self.degraded {
            self.degraded = degraded;
            self.tell(if degraded {
                News::Degraded
            } else {
                News::Whole
            });
        }
    }

    /// Without an active, or without the standby that it should have. A standby that is on its way for the first time,
    /// or that a drain is about to give back, is not missed.
    fn is_degraded(&self) -> bool {
        let Some(active) = self.active else {
            return self.switch.is_none() || self.degraded;
        };
        let others = self
            .members
            .iter()
            .filter(|member| member.takes_part() && member.id != active);
        let wanted = match self.rules.standby {
            Standby::All => others.take(1).count(),
            Standby::Count(count) => others.take(count as usize).count(),
        };
        let at_hand = |member: &Member| {
            if !member.takes_part() {
                return false;
            }
            // Once missed, only an armed one makes the group whole.
            (member.stage() == Some(Stage::Standby) && !member.is_unhealthy())
                || (!self.degraded && self.is_coming(member))
        };
        let at_hand_apart = |member: &&Member| at_hand(member) && !self.is_second_choice(member);
        let apart = self.members.iter().filter(at_hand_apart).take(wanted);
        let apart = apart.count();
        if apart == wanted {
            return false;
        }
        let here = self.members.iter().filter(|member| at_hand(member));
        let could = self
            .members
            .iter()
            .filter(|member| self.could_stand_apart(member));
        // One on the active's own server counts only where nobody could stand by on another.
        here.take(wanted).count() < wanted || apart < wanted.min(could.count())
    }

    /// On its way to be one, as far as anybody knows.
    fn is_coming(&self, member: &Member) -> bool {
        self.is_warm(member)
            || (matches!(member.link, Link::Dialling { .. }) && member.failures == 0)
    }
}
