//! Moving traffic: prove, promote, move, end the old. One move at a time, and the active stays what it is until its
//! successor is proven and promoted.

use super::member::{Link, Stage, TaskKind};
use super::timers::Timer;
use super::{
    Action, Answer, End, Kind, Machine, MemberId, News, Phase, Reason, Refusal, RequestId, Time,
};
use crate::config::Standby;

/// The move under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Switch {
    pub(super) to: MemberId,
    pub(super) reason: Reason,
    pub(super) end: End,
    pub(super) step: Step,
    /// Who asked for it.
    pub(super) caller: Option<RequestId>,
    /// Whoever asked for it knows that the target is held back.
    pub(super) force: bool,
    /// The cause: when the active was lost, or when the move began.
    pub(super) since: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// The target's connection is awaited.
    Connecting,
    Proving,
    /// A lost active still has its chance to answer the redial.
    Proven,
    Promoting,
    /// Promoted ahead, and a lost active still has its chance.
    Promoted,
}

impl Step {
    /// Whether something of what lives on an active may be there already.
    pub(super) fn has_begun(self) -> bool {
        matches!(self, Step::Promoting | Step::Promoted)
    }
}

impl Machine {
    /// Begins to move traffic to a member with an open connection, or one that is to be dialled for it.
    pub(super) fn begin_switch(
        &mut self,
        to: MemberId,
        reason: Reason,
        end: End,
        caller: Option<RequestId>,
    ) {
        let since = if self.active.is_some() {
            self.now
        } else {
            self.lost_at
        };
        self.switch = Some(Switch {
            to,
            reason,
            end,
            step: Step::Connecting,
            caller,
            force: false,
            since,
        });
        self.returning = None;
        self.timers.clear(Timer::Failback);
        self.choose_target();
    }

    /// The target has a connection that may be proven now.
    fn choose_target(&mut self) {
        let now = self.now;
        let Some(to) = self.switch.as_ref().map(|switch| switch.to) else {
            return;
        };
        let Some(open) = self.member_mut(to).and_then(|member| member.open_mut()) else {
            return;
        };
        let armed = match open.stage {
            Stage::Ready | Stage::Draining => false,
            Stage::Standby => true,
            Stage::Unproven | Stage::Chosen { .. } | Stage::Active => return,
        };
        let drained = open.stage == Stage::Draining;
        open.stage = Stage::Chosen { armed };
        let fresh = open.proven == Some(now);
        if drained {
            self.timers.clear(Timer::Drain(to));
            self.start_check(to);
            self.tell(News::DrainEnded(to, true));
        }
        self.timers.clear(Timer::Target);
        if self.promotes_ahead() {
            self.set_step(Step::Promoting);
            self.start_task(to, TaskKind::Promote);
        } else if fresh {
            self.cancel_task(to);
            self.target_proven();
        } else {
            self.set_step(Step::Proving);
            self.start_task(to, TaskKind::Prove);
        }
    }

    fn set_step(&mut self, step: Step) {
        if let Some(switch) = &mut self.switch {
            switch.step = step;
        }
    }

    /// The target passed its proof.
    pub(super) fn target_proven(&mut self) {
        self.set_step(Step::Proven);
        self.advance_switch();
    }

    /// A lost active leaves nothing to spoil: its successor is promoted at once, which is its proof as well, while it is
    /// still being found out whether the traffic has to go there.
    pub(super) fn promotes_ahead(&self) -> bool {
        self.capabilities.promotes_ahead() && self.phase == Phase::Running && self.active.is_none()
    }

    /// Nobody else has the chance to keep the traffic.
    fn is_decided(&self, to: MemberId) -> bool {
        self.redial.is_none_or(|redialled| redialled == to)
    }

    /// Takes the next step that nothing stands in the way of any more.
    pub(super) fn advance_switch(&mut self) {
        let Some(switch) = &self.switch else {
            return;
        };
        let to = switch.to;
        match switch.step {
            Step::Connecting => {
                self.dial_target(to);
                self.choose_target();
            }
            Step::Proven if self.is_decided(to) => {
                self.set_step(Step::Promoting);
                self.start_task(to, TaskKind::Promote);
            }
            Step::Proven | Step::Proving | Step::Promoting | Step::Promoted => {}
        }
    }

    /// Everything is on the other side.
    pub(super) fn promoted(&mut self, to: MemberId) {
        let now = self.now;
        if self.capabilities.promotes_ahead()
            && let Some(member) = self.member_mut(to)
        {
            member.excused.proof = false;
            if let Some(open) = member.open_mut() {
                open.proven = Some(now);
            }
        }
        self.set_step(Step::Promoted);
        self.settle_promoted();
    }

    /// Who was promoted gets the traffic, once nobody else has the chance to keep it.
    pub(super) fn settle_promoted(&mut self) {
        if let Some(switch) = &self.switch
            && switch.step == Step::Promoted
            && self.is_decided(switch.to)
        {
            self.activate(switch.to);
        }
    }

    /// Traffic moves.
    fn activate(&mut self, to: MemberId) {
        let Some(switch) = self.switch.take() else {
            return;
        };
        let now = self.now;
        let Some(open) = self.member_mut(to).and_then(|member| member.open_mut()) else {
            return;
        };
        open.stage = Stage::Active;
        let generation = open.generation;
        let replaced = self.member(to).and_then(|member| member.replaces);
        let from = self
            .last_active
            .map(|(id, _)| id)
            .filter(|id| self.member(*id).is_some());
        self.forced = switch.force.then_some(to);
        let old = self.active.replace(to);
        self.last_active = Some((to, generation));
        for member in &mut self.members {
            member.tried = false;
        }
        self.timers.clear(Timer::Round);
        self.end_redial();
        self.act(Action::Activate(to, generation));
        if let Some(replaced) = replaced {
            self.take_over(replaced, to);
        }
        // A member that goes on with other settings has not failed.
        let left = from.filter(|from| replaced != Some(*from));
        self.after_move(left, to, switch.reason);
        self.attempts = 0;
        let kind = match (old, switch.end) {
            (None, _) => Kind::Failover,
            (Some(_), End::Steal) => Kind::Steal,
            (Some(_), End::Drain(_)) => Kind::Drain,
        };
        self.tell(News::Switched {
            from,
            to,
            reason: switch.reason,
            kind,
            took: now.since(switch.since),
        });
        if let Some(old) = old {
            self.end_old(old, switch.end);
        }
        if let Some(caller) = switch.caller {
            self.answer(caller, Answer::Switched { from, to });
        }
        if matches!(self.phase, Phase::Starting { .. }) {
            self.run();
        }
    }

    /// The old active may finish what is under way, until its window ends.
    pub(super) fn end_old(&mut self, old: MemberId, end: End) {
        let window = match end {
            End::Steal => self.rules.switch_grace,
            End::Drain(window) => window,
        };
        if let Some(open) = self.member_mut(old).and_then(|member| member.open_mut()) {
            open.stage = Stage::Draining;
            self.stop_checks(old);
            self.timers.clear(Timer::Suspicion(old));
            self.start_task(old, TaskKind::Drain);
            self.timers.set(Timer::Drain(old), self.now + window);
            self.tell(News::DrainStarted(old, window));
        }
    }

    /// Nothing is under way any more on a connection that drained.
    pub(super) fn drained(&mut self, id: MemberId) {
        self.timers.clear(Timer::Drain(id));
        let Some(member) = self
            .member(id)
            .filter(|member| member.stage() == Some(Stage::Draining))
        else {
            return;
        };
        let again = self.can_serve_again(member);
        if again {
            if let Some(open) = self.member_mut(id).and_then(|member| member.open_mut()) {
                open.stage = Stage::Ready;
            }
            self.start_check(id);
        } else {
            self.retire(id);
        }
        self.tell(News::DrainEnded(id, again));
    }

    /// The window is over, and something is still under way: the connection ends, and that with it.
    pub(super) fn drain_over(&mut self, id: MemberId) {
        if self
            .member(id)
            .is_some_and(|member| member.stage() == Some(Stage::Draining))
        {
            self.retire(id);
            self.tell(News::DrainEnded(id, false));
        }
    }

    /// A draining connection that can be a standby afterwards needs no successor.
    pub(super) fn can_serve_again(&self, member: &super::member::Member) -> bool {
        self.capabilities.serves_again_after_drain()
            && member.takes_part()
            && member.mark.is_none()
            && !member.broken
            && !matches!(member.health, super::member::Health::Unhealthy { .. })
    }

    /// Gives up the move under way; the active is what it was.
    pub(super) fn abort_switch(&mut self) {
        let Some(switch) = self.switch.take() else {
            return;
        };
        self.put_back(switch.to, switch.step);
        self.tell(News::SwitchAborted(switch.to, switch.reason));
        if let Some(caller) = switch.caller {
            self.refuse(caller, Refusal::Aborted(switch.to));
        }
    }

    /// A target that is not needed any more goes back to its place.
    pub(super) fn put_back(&mut self, to: MemberId, step: Step) {
        self.timers.clear(Timer::Target);
        if let Some(Stage::Chosen { armed }) = self.member(to).and_then(|member| member.stage()) {
            if step.has_begun() {
                // Half of what lives on an active may be there already: it starts anew.
                self.retire(to);
                return;
            }
            let incurable =
                |member: &super::member::Member| member.is_unhealthy() && !member.is_checked();
            if self.member(to).is_some_and(incurable) {
                // Without checks nothing would ever notice that it recovered.
                self.lost(to);
                return;
            }
            self.cancel_task(to);
            if let Some(open) = self.member_mut(to).and_then(|member| member.open_mut()) {
                open.stage = if armed { Stage::Standby } else { Stage::Ready };
            }
        }
    }

    /// A planned move waits for this member's connection.
    pub(super) fn awaits(&self, id: MemberId) -> bool {
        self.switch
            .as_ref()
            .is_some_and(|switch| switch.to == id && switch.step == Step::Connecting)
    }

    pub(super) fn target_overdue(&mut self) {
        if self
            .switch
            .as_ref()
            .is_some_and(|switch| switch.step == Step::Connecting)
        {
            self.abort_switch();
        }
    }

    /// The active's connection is gone. A planned move under way becomes the failover; otherwise the lost member gets
    /// one chance to answer a redial while its standby is proven or promoted: one reset connection does not move a
    /// region.
    pub(super) fn active_lost(&mut self, id: MemberId, was_fit: bool) {
        self.active = None;
        self.lost_at = self.now;
        if matches!(self.rules.standby, Standby::Count(_)) {
            // The one loop asks everybody anew, whatever a dial said while there was an active. Loops of their own, with
            // `all`, go on through that: what they know is never older than a delay.
            for member in &mut self.members {
                member.tried = false;
            }
        }
        self.act(Action::Deactivate);
        // A target that has no connection yet is no use to a failover.
        if self
            .switch
            .as_ref()
            .is_some_and(|switch| switch.step == Step::Connecting)
        {
            self.abort_switch();
        }
        if let Some(switch) = &mut self.switch {
            switch.reason = Reason::Lost;
            return;
        }
        let window = self.rules.loss_redial;
        let worth = was_fit && self.member(id).is_some_and(|member| member.takes_part());
        if worth && !window.is_zero() && self.phase == Phase::Running {
            self.redial = Some(id);
            self.timers.set(Timer::Redial, self.now + window);
        }
    }

    /// Why a group without an active gets one.
    pub(super) fn reason_without_active(&self) -> Reason {
        if self.last_active.is_some() {
            Reason::Lost
        } else {
            Reason::Startup
        }
    }

    /// A connection of this member is on its way, or can be had.
    pub(super) fn is_reachable(&self, id: MemberId) -> bool {
        self.member(id).is_some_and(|member| {
            matches!(
                member.link,
                Link::Cold | Link::Dialling { .. } | Link::Retiring { .. }
            )
        })
    }
}
