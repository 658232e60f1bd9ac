//! Members and weights at run time. Whoever leaves while active hands its traffic over first; the last one stays.

use backend_api::Weight;

use crate::machine::member::{Leaving, Link, Member};
use crate::machine::timers::Timer;
use crate::machine::{Action, Answer, Machine, MemberId, NewMember, News, Refusal, RequestId};

impl Machine {
    pub(in crate::machine) fn add(&mut self, request: RequestId, new: NewMember) {
        if self.members.last().is_some_and(|last| last.id >= new.id) {
            self.refuse(request, Refusal::Duplicate);
            return;
        }
        let (id, ticket) = (new.id, self.random.ticket());
        self.members.push(Member::new(new, ticket));
        self.tell(News::Added(id));
        self.answer(request, Answer::Done);
    }

    pub(in crate::machine) fn set_weight(
        &mut self,
        request: RequestId,
        id: MemberId,
        weight: Weight,
    ) {
        let Some(member) = self.member_mut(id) else {
            self.refuse(request, Refusal::Unknown);
            return;
        };
        member.weight = weight;
        self.answer(request, Answer::Done);
    }

    pub(in crate::machine) fn enable(&mut self, request: RequestId, id: MemberId) {
        let Some(member) = self.member_mut(id) else {
            self.refuse(request, Refusal::Unknown);
            return;
        };
        member.enabled = true;
        member.outgoing = None;
        member.failures = 0;
        let pending = match member.leaving {
            Some((Leaving::Disable, pending)) => {
                member.leaving = None;
                Some(pending)
            }
            Some((Leaving::Remove, _)) | None => None,
        };
        self.timers.clear(Timer::Dial(id));
        if let Some(pending) = pending.flatten() {
            self.refuse(pending, Refusal::Aborted(id));
        }
        self.answer(request, Answer::Done);
    }

    pub(in crate::machine) fn disable(&mut self, request: RequestId, id: MemberId) {
        self.leave(request, id, Leaving::Disable);
    }

    pub(in crate::machine) fn remove(&mut self, request: RequestId, id: MemberId) {
        self.leave(request, id, Leaving::Remove);
    }

    fn leave(&mut self, request: RequestId, id: MemberId, how: Leaving) {
        let Some(member) = self.member(id) else {
            self.refuse(request, Refusal::Unknown);
            return;
        };
        if member.leaving.is_some() {
            self.refuse(request, Refusal::NotEligible(id));
            return;
        }
        let others = self
            .members
            .iter()
            .any(|other| other.id != id && other.takes_part());
        if member.takes_part() && !others {
            self.refuse(request, Refusal::LastMember);
            return;
        }
        if self.active == Some(id) && self.best_fit().is_none() {
            // Nowhere to go: nothing is changed, and the caller knows at once.
            self.refuse(request, Refusal::NoStandby);
            return;
        }
        if let Some(member) = self.member_mut(id) {
            member.leaving = Some((how, Some(request)));
        }
        let successor = self.successor(id);
        let concerns = |to| to == id || successor == Some(to);
        if self
            .switch
            .as_ref()
            .is_some_and(|switch| concerns(switch.to))
        {
            self.abort_switch();
        }
        if self.redial == Some(id) {
            self.end_redial();
        }
    }

    /// Members on their way out go as soon as they carry nothing. Whether anybody went, or stays after all.
    pub(in crate::machine) fn settle_departures(&mut self) -> bool {
        let leaving: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| member.leaving.is_some() && self.active != Some(member.id))
            .map(|member| member.id)
            .collect();
        let mut changed = false;
        for id in leaving {
            changed |= self.depart(id);
        }
        // The move that a departure waited for came to nothing: the member stays, and the caller is told.
        let stuck = self.active.filter(|id| {
            self.switch.is_none()
                && self
                    .member(*id)
                    .is_some_and(|member| member.leaving.is_some())
        });
        if let Some(id) = stuck
            && let Some((_, request)) = self.member_mut(id).and_then(|member| member.leaving.take())
        {
            if let Some(request) = request {
                self.refuse(request, Refusal::NoStandby);
            }
            changed = true;
        }
        changed
    }

    /// Whether it is gone.
    fn depart(&mut self, id: MemberId) -> bool {
        let Some(member) = self.member(id) else {
            return false;
        };
        let Some((how, request)) = member.leaving else {
            return false;
        };
        match &member.link {
            Link::Cold => {}
            // Its window goes on; the departure waits for its end.
            Link::Open(open) if open.stage == crate::machine::member::Stage::Draining => {
                return false;
            }
            Link::Retiring { .. } => return false,
            Link::Open(_) | Link::Dialling { .. } => {
                self.retire(id);
                if self
                    .member(id)
                    .is_some_and(|member| member.link != Link::Cold)
                {
                    return false;
                }
            }
        }
        match how {
            Leaving::Disable => {
                if let Some(member) = self.member_mut(id) {
                    member.enabled = false;
                    member.leaving = None;
                }
            }
            Leaving::Remove => {
                self.drop_successor(id);
                self.timers.forget(id);
                self.members.retain(|member| member.id != id);
                if self.returning == Some(id) {
                    self.returning = None;
                }
                self.act(Action::Forget(id));
            }
        }
        if let Some(request) = request {
            self.answer(request, Answer::Done);
        }
        true
    }
}
