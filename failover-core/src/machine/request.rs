//! Control operations: each is answered exactly once, and planned moves wait for one another.

use backend_api::Role;

use super::choose::Fitness;
use super::member::{Link, Member, Stage};
use super::timers::Timer;
use super::{Answer, End, Machine, MemberId, Phase, Reason, Refusal, Request, RequestId};

impl Machine {
    pub(super) fn request(&mut self, id: RequestId, request: Request) {
        if matches!(self.phase, Phase::Closing | Phase::Closed)
            && !matches!(request, Request::Close)
        {
            self.refuse(id, Refusal::Closed);
            return;
        }
        // Whoever is yet to take a place has no name that anybody could call.
        if Self::subject(&request).is_some_and(|member| self.is_successor(member)) {
            self.refuse(id, Refusal::Unknown);
            return;
        }
        match request {
            Request::Close => self.close_requested(id),
            // Moves are taken in turn; everything else at once.
            Request::SwitchTo { .. } | Request::SwitchToPassive { .. } => {
                self.queue.push_back((id, request));
            }
            Request::Add(new) => self.add(id, new),
            Request::Remove(member) => self.remove(id, member),
            Request::SetWeight(member, weight) => self.set_weight(id, member, weight),
            Request::Enable(member) => self.enable(id, member),
            Request::Disable(member) => self.disable(id, member),
            Request::Pin => self.pin(id),
            Request::Release => self.release(id),
            Request::Mark(member) => self.operator_mark(id, member),
            Request::ClearMark(member) => self.operator_clear(id, member),
            Request::Rehome => self.rehome(id),
            Request::PhaseOut { member, remove } => self.phase_out(id, member, remove),
            Request::Untold { member, by } => self.untold(id, member, by),
            Request::Replace { old, new } => self.replace(id, old, new),
            Request::KeepAsIs(member) => self.keep_as_is(id, member),
            Request::SetRules(member, rules) => self.set_rules(id, member, &rules),
            Request::SetGroupRules(rules) => self.set_group_rules(id, &rules),
        }
    }

    /// The member that a request is about.
    fn subject(request: &Request) -> Option<MemberId> {
        match request {
            Request::SwitchTo { to: id, .. }
            | Request::Remove(id)
            | Request::SetWeight(id, _)
            | Request::Enable(id)
            | Request::Disable(id)
            | Request::Mark(id)
            | Request::ClearMark(id)
            | Request::PhaseOut { member: id, .. }
            | Request::Untold { member: id, .. }
            | Request::Replace { old: id, .. }
            | Request::KeepAsIs(id)
            | Request::SetRules(id, _) => Some(*id),
            Request::SwitchToPassive { .. }
            | Request::Close
            | Request::Add(_)
            | Request::Pin
            | Request::Release
            | Request::Rehome
            | Request::SetGroupRules(_) => None,
        }
    }

    /// Begins the next planned move once nothing else moves.
    pub(super) fn settle_requests(&mut self) {
        while self.switch.is_none() && !self.queue.is_empty() {
            // A group that can have an active gets it first.
            if self.active.is_none() && self.last_resort().is_some() {
                return;
            }
            let Some((id, request)) = self.queue.pop_front() else {
                return;
            };
            match request {
                Request::SwitchTo { to, end, force } => self.switch_to(id, to, end, force),
                Request::SwitchToPassive { end } => match self.best_by_hand() {
                    Some(to) => self.planned(id, to, end),
                    None => self.refuse(id, Refusal::NoStandby),
                },
                _ => {}
            }
        }
    }

    fn switch_to(&mut self, id: RequestId, to: MemberId, end: End, force: bool) {
        if self.active == Some(to) {
            self.answer(id, Answer::Done);
            return;
        }
        let Some(member) = self.member(to) else {
            self.refuse(id, Refusal::Unknown);
            return;
        };
        // A manual move ignores grace; checks, breaker and mark it does not.
        let fit = match &member.link {
            Link::Open(open) => {
                let good = self.is_good_by_hand(member);
                (good || force) && open.stage != Stage::Unproven && self.is_usable(member)
            }
            // With `standby = N` the target may be cold: it is dialled for the move.
            Link::Cold | Link::Dialling { .. } | Link::Retiring { .. } => {
                // One that refused a moment ago is not tried again for the move.
                let refused = self.timers.is_set(Timer::Dial(to));
                let good = member.mark.is_none() && !member.broken && !refused;
                member.takes_part() && (good || force)
            }
        };
        if fit {
            self.planned(id, to, end);
            if let Some(switch) = &mut self.switch {
                switch.force = force;
            }
        } else {
            self.refuse(id, Refusal::NotEligible(to));
        }
    }

    /// What an operator may move the traffic to, who knows better than the grace.
    fn is_good_by_hand(&self, member: &Member) -> bool {
        match self.fitness(member) {
            Fitness::Fit | Fitness::Unknown => true,
            Fitness::HeldBack => {
                member.mark.is_none() && !member.broken && member.outgoing.is_none()
            }
            Fitness::Unhealthy => false,
        }
    }

    /// The best for a move by hand that names nobody: whoever is fit, or else a standby that only grace holds back or that
    /// no check has looked at yet.
    fn best_by_hand(&self) -> Option<MemberId> {
        let good = |member: &Member| {
            Some(member.id) != self.active && self.is_usable(member) && self.is_good_by_hand(member)
        };
        let apart = |member: &Member| good(member) && !self.is_twin(member);
        self.best_fit()
            .or_else(|| self.best(Role::Active, apart))
            .or_else(|| self.best(Role::Active, good))
    }

    fn planned(&mut self, id: RequestId, to: MemberId, end: End) {
        self.begin_switch(to, Reason::Manual, end, Some(id));
        if self.is_reachable(to) {
            let bound = self
                .member(to)
                .map(|member| member.rules.timeouts.connect + member.rules.timeouts.prove);
            self.timers
                .set(Timer::Target, self.now + bound.unwrap_or_default());
            self.dial_target(to);
        }
    }
}
