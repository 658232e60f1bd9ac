//! The one redial of a lost active: one reset connection does not move a region.
//!
//! It runs beside the proof of the standby, or beside its promotion where the backend promotes ahead, and holds up the move for a
//! moment at most. Whoever refuses it, or turns out to be held back, has had its chance.

use super::choose::Fitness;
use super::member::{Link, Stage};
use super::timers::Timer;
use super::{End, Machine, MemberId, Reason};
use crate::config::Standby;

impl Machine {
    /// The one redial of a lost active, beside the proof of its standby, as soon as the old connection is gone.
    pub(super) fn redial_lost(&mut self) {
        if let Some(id) = self.redial
            && self
                .member(id)
                .is_some_and(|member| member.link == Link::Cold)
        {
            if self.switch.is_none() && matches!(self.rules.standby, Standby::Count(_)) {
                // There is no failover to hold up: it is one more whom the one loop dials, in its turn.
                self.end_redial();
            } else {
                self.dial(id);
            }
        }
    }

    pub(super) fn end_redial(&mut self) {
        self.redial = None;
        self.timers.clear(Timer::Redial);
    }

    /// The redialled member, once it is connected and proven.
    pub(super) fn answered_redial(&self) -> Option<MemberId> {
        let id = self.redial?;
        let member = self.member(id)?;
        let proven = member.stage() == Some(Stage::Ready);
        (proven && self.is_usable(member)).then_some(id)
    }

    /// A redialled member that turns out to be held back has had its chance.
    pub(super) fn reconsider_redial(&mut self) {
        let hopeless = self
            .redial
            .and_then(|id| self.member(id))
            .is_some_and(|member| self.fitness(member) >= Fitness::HeldBack);
        if hopeless {
            self.end_redial();
        }
    }

    /// The lost active is back: traffic stays where it was.
    pub(super) fn return_to_redialled(&mut self, id: MemberId) {
        let caller = match self.switch.take() {
            Some(switch) if switch.to == id => {
                self.switch = Some(switch);
                return;
            }
            Some(switch) if switch.step.has_begun() => {
                // It was promoted ahead: what came to it goes again, and it stands by.
                self.end_old(switch.to, End::Steal);
                switch.caller
            }
            Some(switch) => {
                self.put_back(switch.to, switch.step);
                switch.caller
            }
            None => None,
        };
        self.begin_switch(id, Reason::Lost, End::Steal, caller);
    }
}
