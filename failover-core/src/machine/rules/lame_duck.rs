//! Lame duck: a member announced its own shutdown. Its mark keeps it out while anybody else can serve; the active leaves
//! it for the warm standby, a standby on it is re-homed, and nothing is ever worse than without the rule.

use std::time::Duration;

use backend_api::{Generation, Role};

use crate::config::{LameDuckAction, Standby};
use crate::machine::member::{Mark, Member, Stage};
use crate::machine::timers::Timer;
use crate::machine::{Answer, End, Machine, MemberId, News, Refusal, RequestId};

/// How long an announcement keeps a member out, if nothing clears it before: servers take up to two minutes to go, and
/// a restarted one should be found again.
const MARK_EXPIRES: Duration = Duration::from_secs(120);

impl Machine {
    pub(in crate::machine) fn announced(&mut self, id: MemberId, generation: Generation) {
        // Also of a connection that drains: no traffic moves for it, but it will not become a standby.
        if self.member(id).is_some_and(|member| member.is(generation)) {
            self.mark(id, Mark::Announced(generation));
        }
    }

    fn mark(&mut self, id: MemberId, mark: Mark) {
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let before = member.mark;
        if before != Some(Mark::Operator) {
            member.mark = Some(mark);
        }
        match mark {
            Mark::Announced(_) => {
                // While it dies it may still accept connections: nobody asks it before it had time to come back.
                let ask = self.now + self.rules.failback.stable;
                self.timers.set(Timer::Ask(id), ask);
                self.timers.set(Timer::Mark(id), self.now + MARK_EXPIRES);
            }
            Mark::Operator => self.timers.clear(Timer::Mark(id)),
        }
        if before.is_none() {
            self.tell(News::LameDuck(id, true));
        }
    }

    /// A check passed: on a connection younger than the announcement, that means the member is back.
    pub(in crate::machine) fn fit_again(&mut self, id: MemberId) {
        let back = self
            .member(id)
            .is_some_and(|member| match (member.mark, member.open()) {
                (Some(Mark::Announced(old)), Some(open)) => open.generation > old,
                _ => false,
            });
        if back {
            self.clear_mark(id, false);
        }
    }

    pub(in crate::machine) fn clear_mark(&mut self, id: MemberId, by_operator: bool) {
        let Some(member) = self.member_mut(id) else {
            return;
        };
        if member.mark == Some(Mark::Operator) && !by_operator {
            return;
        }
        if member.mark.take().is_some() {
            self.timers.clear(Timer::Mark(id));
            self.timers.clear(Timer::Ask(id));
            self.tell(News::LameDuck(id, false));
        }
    }

    /// Whether, and how, an active with a mark gives up its traffic.
    pub(in crate::machine) fn lame_duck_moves(&self, active: &Member) -> Option<End> {
        active.mark?;
        match self.rules.lame_duck.action {
            LameDuckAction::None | LameDuckAction::PassiveOnly => None,
            LameDuckAction::SwitchToPassive => Some(End::Steal),
            LameDuckAction::DrainToPassive => Some(End::Drain(self.rules.lame_duck.drain_window)),
        }
    }

    pub(in crate::machine) fn operator_mark(&mut self, request: RequestId, id: MemberId) {
        if self.member(id).is_none() {
            self.refuse(request, Refusal::Unknown);
            return;
        }
        self.mark(id, Mark::Operator);
        self.answer(request, Answer::Done);
    }

    pub(in crate::machine) fn operator_clear(&mut self, request: RequestId, id: MemberId) {
        if self.member(id).is_none() {
            self.refuse(request, Refusal::Unknown);
            return;
        }
        self.clear_mark(id, true);
        self.answer(request, Answer::Done);
    }

    /// Replaces the standbys by fresh connections; with `standby = N` to the best members of now. The best of several is
    /// replaced last, so that the group is not without any meanwhile. A lone one has nobody to wait for.
    pub(in crate::machine) fn rehome(&mut self, request: RequestId) {
        let standbys: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| matches!(member.stage(), Some(Stage::Ready | Stage::Standby)))
            .map(|member| member.id)
            .collect();
        let last = self.best(Role::Standby, is_standby).filter(|_| {
            standbys.len() > 1 && self.rules.standby != Standby::Count(1) && self.active.is_some()
        });
        for id in standbys.into_iter().filter(|id| Some(*id) != last) {
            self.retire(id);
        }
        self.rehoming = last
            .and_then(|id| self.member(id)?.open())
            .map(|open| open.generation);
        self.answer(request, Answer::Done);
    }

    /// The standby that was left for last goes as soon as another one stands by.
    pub(in crate::machine) fn settle_rehoming(&mut self) {
        let Some(last) = self.rehoming else {
            return;
        };
        let kept = self.members.iter().find(|member| member.is(last));
        let Some(kept) = kept.filter(|member| member.stage() == Some(Stage::Standby)) else {
            // It went another way, or carries traffic.
            self.rehoming = None;
            return;
        };
        let id = kept.id;
        let another = |member: &Member| member.id != id && is_standby(member);
        if self.members.iter().any(another) {
            self.rehoming = None;
            self.retire(id);
        }
    }
}

/// Armed, and worth something.
fn is_standby(member: &Member) -> bool {
    member.stage() == Some(Stage::Standby) && !member.is_unhealthy()
}
