//! Other connection settings for a member: a new connection is made beside the old one, and takes its place when it is
//! proven and fit. Until then it counts for nothing, and the member goes on as it is, however long that may take.
//!
//! A member without a connection of use has nothing to lose: it is replaced at once, so that settings that could never
//! work do not stand in the way of those that do. What an operator decided (weight, disabled, marked) goes with the place;
//! what was learnt under the old settings (grace, breaker, failures) does not.

use crate::machine::choose::Fitness;
use crate::machine::member::{Leaving, Link, Mark, Member, Stage};
use crate::machine::timers::Timer;
use crate::machine::{Action, Answer, Machine, MemberId, NewMember, Refusal, Request, RequestId};

impl Machine {
    pub(in crate::machine) fn replace(
        &mut self,
        request: RequestId,
        old: MemberId,
        new: NewMember,
    ) {
        let id = new.id;
        let place = self.member(old).map(|member| member.place);
        let known = self.members.last().is_some_and(|last| last.id >= id);
        let Some(place) = place.filter(|_| !known) else {
            self.refuse(request, Refusal::Unknown);
            return;
        };
        self.drop_successor(old);
        let mut member = Member::new(new, self.random.ticket());
        member.replaces = Some(old);
        member.place = place;
        self.members.push(member);
        self.shifting = true;
        self.answer(request, Answer::Done);
    }

    pub(in crate::machine) fn keep_as_is(&mut self, request: RequestId, id: MemberId) {
        if self.member(id).is_none() {
            self.refuse(request, Refusal::Unknown);
            return;
        }
        self.drop_successor(id);
        self.answer(request, Answer::Done);
    }

    /// It is yet to take another's place.
    pub(in crate::machine) fn is_successor(&self, id: MemberId) -> bool {
        self.member(id)
            .is_some_and(|member| member.replaces.is_some())
    }

    /// Who is to take this one's place.
    pub(in crate::machine) fn successor(&self, of: MemberId) -> Option<MemberId> {
        self.members
            .iter()
            .find(|member| member.replaces == Some(of))
            .map(|member| member.id)
    }

    /// Whoever was to take this one's place goes.
    pub(in crate::machine) fn drop_successor(&mut self, of: MemberId) {
        let Some(id) = self.successor(of) else {
            return;
        };
        if self.switch.as_ref().is_some_and(|switch| switch.to == id) {
            self.abort_switch();
        }
        if let Some(member) = self.member_mut(id) {
            member.replaces = None;
            member.leaving = Some((Leaving::Remove, None));
        }
    }

    /// Who the active's traffic goes to because it takes the active's place.
    pub(in crate::machine) fn ready_successor(&self, active: MemberId) -> Option<MemberId> {
        if !self.shifting {
            return None;
        }
        let may = self
            .member(active)
            .is_some_and(|member| member.leaving.is_none());
        self.members
            .iter()
            .find(|member| may && member.replaces == Some(active) && self.is_ready(member))
            .map(|member| member.id)
    }

    fn is_ready(&self, member: &Member) -> bool {
        member.stage() == Some(Stage::Ready) && self.fitness(member) == Fitness::Fit
    }

    /// Gives their places to those that are ready, and to those in whose place there is nothing to lose. Whether there
    /// were any.
    pub(in crate::machine) fn settle_successors(&mut self) -> bool {
        let ready: Vec<(MemberId, MemberId)> = self
            .members
            .iter()
            .filter_map(|member| Some((member, self.member(member.replaces?)?)))
            .filter(|(_, old)| old.leaving.is_none())
            .filter(|(_, old)| !self.is_engaged(old.id))
            .filter(|(member, old)| !self.is_usable(old) || self.is_ready(member))
            .map(|(member, old)| (old.id, member.id))
            .collect();
        let any = !ready.is_empty();
        for (old, new) in ready {
            self.take_over(old, new);
        }
        any
    }

    /// The place of one member becomes another's; the old one goes as soon as it carries nothing.
    pub(in crate::machine) fn take_over(&mut self, old: MemberId, new: MemberId) {
        let Some(member) = self.member_mut(old) else {
            return;
        };
        let (weight, enabled) = (member.weight, member.enabled);
        let outgoing = member.outgoing.take();
        let marked = member.mark == Some(Mark::Operator);
        member.leaving.get_or_insert((Leaving::Remove, None));
        if let Some(member) = self.member_mut(new) {
            member.replaces = None;
            member.weight = weight;
            member.enabled = enabled;
            member.outgoing = outgoing;
            if marked {
                member.mark = Some(Mark::Operator);
            }
        }
        if marked {
            self.timers.clear(Timer::Mark(new));
        }
        if !enabled {
            self.retire(new);
        }
        if self.forced == Some(old) {
            self.forced = Some(new);
        }
        if self.returning == Some(old) {
            self.returning = None;
            self.timers.clear(Timer::Failback);
        }
        for (_, request) in &mut self.queue {
            if let Request::SwitchTo { to, .. } = request
                && *to == old
            {
                *to = new;
            }
        }
        self.act(Action::Replaced(old, new));
    }

    /// Dials those that are to take a place, while there is an active: an outage has one loop for all, and whoever has
    /// no connection in it is replaced at once.
    pub(in crate::machine) fn dial_successors(&mut self) {
        if self.active.is_none() || !self.shifting {
            return;
        }
        let due: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| member.link == Link::Cold && member.mark.is_none())
            .filter(|member| {
                member
                    .replaces
                    .and_then(|old| self.member(old))
                    .is_some_and(|old| old.takes_part())
            })
            .filter(|member| !self.timers.is_set(Timer::Dial(member.id)))
            .map(|member| member.id)
            .collect();
        for id in due {
            self.dial(id);
        }
    }
}
