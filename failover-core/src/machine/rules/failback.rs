//! Failback: traffic returns to a member of strictly higher weight, once its health has been unbroken for long enough,
//! by event and spread over a few seconds, so that a fleet does not move in one step.

use backend_api::Role;

use crate::machine::member::{Health, Member, Stage};
use crate::machine::timers::Timer;
use crate::machine::{Answer, Machine, Reason, RequestId};

/// Failback waits for the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::machine) enum Suspension {
    /// After a manual move: until released, or until its target fails.
    Moved,
    /// Pinned: until released.
    Pinned,
}

impl Machine {
    /// Adopts whoever traffic should return to, waits until that is due, and begins the move.
    pub(in crate::machine) fn settle_failback(&mut self) {
        let candidate = if self.rules.failback.enabled && self.suspended.is_none() {
            self.failback_candidate()
        } else {
            None
        };
        if candidate != self.returning {
            self.returning = candidate;
            self.timers.clear(Timer::Failback);
            let stable = candidate.and_then(|id| self.stable_at(id));
            if let Some(stable) = stable {
                let spread = self.random.spread(self.rules.failback.jitter);
                self.timers
                    .set(Timer::Failback, stable.max(self.now) + spread);
            }
        }
        if let Some(to) = self.returning
            && self
                .timers
                .at(Timer::Failback)
                .is_none_or(|at| at <= self.now)
        {
            self.timers.clear(Timer::Failback);
            self.begin_switch(to, Reason::Failback, self.usual_drain(), None);
        }
    }

    fn failback_candidate(&self) -> Option<crate::machine::MemberId> {
        let weight = self.active.and_then(|id| self.member(id))?.weight;
        let heaviest = self
            .members
            .iter()
            .filter(|member| member.weight > weight)
            .filter(|member| self.is_fit(member))
            .filter(|member| matches!(member.stage(), Some(Stage::Ready | Stage::Standby)))
            .map(|member| member.weight)
            .max()?;
        self.best(Role::Active, |member| {
            member.weight == heaviest
                && self.is_fit(member)
                && matches!(member.stage(), Some(Stage::Ready | Stage::Standby))
        })
    }

    /// Nothing that was decided meanwhile speaks against going back to it.
    pub(in crate::machine) fn may_return_to(&self, target: &Member) -> bool {
        let active = self.active.and_then(|id| self.member(id));
        self.rules.failback.enabled
            && self.suspended.is_none()
            && active.is_some_and(|active| target.weight > active.weight)
    }

    fn stable_at(&self, id: crate::machine::MemberId) -> Option<crate::machine::Time> {
        match self.member(id)?.health {
            Health::Healthy { since } => Some(since + self.rules.failback.stable),
            Health::Unknown | Health::Unhealthy { .. } => None,
        }
    }

    pub(in crate::machine) fn suspend(&mut self) {
        self.suspended.get_or_insert(Suspension::Moved);
    }

    /// The target of a manual move failed: failback takes over again, unless it is pinned.
    pub(in crate::machine) fn end_suspension(&mut self) {
        if self.suspended == Some(Suspension::Moved) {
            self.suspended = None;
        }
    }

    pub(in crate::machine) fn pin(&mut self, id: RequestId) {
        self.suspended = Some(Suspension::Pinned);
        self.answer(id, Answer::Done);
    }

    pub(in crate::machine) fn release(&mut self, id: RequestId) {
        self.suspended = None;
        self.forced = None;
        self.answer(id, Answer::Done);
    }
}
