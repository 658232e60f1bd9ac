//! Grace: a member that traffic had to leave is not chosen again for a while, and longer each time that it fails soon
//! after traffic came back. That is what keeps a flapping member from dragging the group with it.

use crate::machine::timers::Timer;
use crate::machine::{Machine, MemberId, Reason};

/// Doublings at most: 16 times the configured grace.
const MOST_DOUBLINGS: u32 = 4;

impl Machine {
    /// Traffic has moved. What that means for the member that it left, and for failback.
    pub(in crate::machine) fn after_move(
        &mut self,
        from: Option<MemberId>,
        to: MemberId,
        reason: Reason,
    ) {
        let now = self.now;
        let failed = matches!(
            reason,
            Reason::Lost | Reason::Health | Reason::Breaker | Reason::LameDuck
        );
        if failed && let Some(from) = from.filter(|from| *from != to) {
            self.begin_grace(from);
            self.end_suspension();
        }
        if failed {
            self.spread_rearming();
        }
        if reason == Reason::Manual {
            self.suspend();
        }
        if let Some(member) = self.member_mut(to) {
            member.returned = (reason == Reason::Failback).then_some(now);
        }
    }

    /// A breaker that the grace held open may be tried.
    pub(in crate::machine) fn grace_over(&mut self, id: MemberId) {
        let waits = self
            .member(id)
            .is_some_and(|member| member.broken && !self.timers.is_set(Timer::Breaker(id)));
        if waits {
            self.try_breaker(id);
        }
    }

    fn begin_grace(&mut self, id: MemberId) {
        let (now, grace) = (self.now, self.rules.failback.grace);
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let soon = member.returned.is_some_and(|at| now.since(at) < grace);
        member.streak = if soon {
            (member.streak + 1).min(MOST_DOUBLINGS)
        } else {
            0
        };
        let length = grace.saturating_mul(1 << member.streak);
        if !length.is_zero() {
            self.timers.set(Timer::Grace(id), now + length);
        }
    }
}
