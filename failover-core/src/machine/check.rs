//! When members are checked, and what a verdict changes. How many probes make a verdict is not known here.

use std::time::Duration;

use super::member::{Check, Health, Stage};
use super::timers::Timer;
use super::{Action, Machine, MemberId, News, Op, Verdict};

/// Least time between the starts of two checks of a connection: whatever asks for checks out of turn must not make
/// them a storm.
const CHECK_SPACING: Duration = Duration::from_millis(20);

impl Machine {
    /// Checks a connected member now, or again right after the check that is running.
    pub(super) fn start_check(&mut self, id: MemberId) {
        let (now, op) = (self.now, self.op());
        let Some(member) = self.member_mut(id) else {
            return;
        };
        if !member.is_checked() {
            return;
        }
        let Some(generation) = member.open().map(|open| open.generation) else {
            return;
        };
        if member.stage() == Some(Stage::Draining) {
            return;
        }
        if let Some(check) = &mut member.check {
            check.again = true;
            return;
        }
        let soonest = member.checked.map(|at| at + CHECK_SPACING);
        if let Some(at) = soonest.filter(|at| *at > now) {
            self.timers.set(Timer::Check(id), at);
            return;
        }
        let (interval, bound) = (member.rules.health.interval, member.rules.health.bound());
        let next = now + self.random.around(interval);
        if let Some(member) = self.member_mut(id) {
            member.checked = Some(now);
            member.check = Some(Check {
                op,
                next,
                again: false,
                discounted: false,
            });
        }
        self.timers.clear(Timer::Check(id));
        // The probes are bounded one by one; this is for the case that even that fails.
        self.timers
            .set(Timer::CheckBound(id), now + bound + bound / 10);
        self.act(Action::Check(id, generation, op));
    }

    pub(super) fn stop_checks(&mut self, id: MemberId) {
        self.timers.clear(Timer::Check(id));
        self.timers.clear(Timer::CheckBound(id));
        if let Some(check) = self.member_mut(id).and_then(|member| member.check.take()) {
            self.act(Action::Cancel(check.op));
        }
    }

    pub(super) fn checked(&mut self, id: MemberId, op: Op, verdict: Verdict) {
        let awaited = self
            .member(id)
            .and_then(|member| member.check)
            .filter(|check| check.op == op);
        // Anything else is a check of an older connection, or one that was given up.
        if let Some(check) = awaited {
            self.check_ended(id, check, verdict);
        }
    }

    pub(super) fn check_overdue(&mut self, id: MemberId) {
        if let Some(check) = self.member(id).and_then(|member| member.check) {
            self.act(Action::Cancel(check.op));
            self.check_ended(id, check, Verdict::Unhealthy { read_only: false });
        }
    }

    fn check_ended(&mut self, id: MemberId, check: Check, verdict: Verdict) {
        let now = self.now;
        self.timers.clear(Timer::CheckBound(id));
        let Some(member) = self.member_mut(id) else {
            return;
        };
        member.check = None;
        let verdict = match verdict {
            Verdict::Unhealthy { read_only: false } if check.discounted => Verdict::Inconclusive,
            other => other,
        };
        // A check that was put off or asked for again runs at once, and so does one that learnt nothing because the
        // process was stalled.
        let excused = check.discounted && verdict == Verdict::Inconclusive;
        member.excused.check = (member.excused.check || excused) && verdict != Verdict::Healthy;
        match verdict {
            Verdict::Inconclusive => {}
            Verdict::Unhealthy { read_only } => {
                self.set_health(id, Health::Unhealthy { read_only });
            }
            Verdict::Healthy => {
                self.set_health(id, Health::Healthy { since: now });
                self.passed(id);
            }
        }
        let again = check.again || excused;
        let next = if again { now } else { check.next.max(now) };
        self.timers.set(Timer::Check(id), next);
    }

    /// Records a verdict; only a change is news.
    pub(super) fn set_health(&mut self, id: MemberId, health: Health) {
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let (was, is) = (
            member.is_healthy(),
            matches!(health, Health::Healthy { .. }),
        );
        // Health that goes on is unbroken since its first check.
        if !(was && is) {
            member.health = health;
        }
        if health == Health::Unknown || member.told == Some(is) {
            return;
        }
        // That a member is healthy at first is no news.
        let first = member.told.replace(is).is_none();
        if self.is_successor(id) {
            if !is {
                self.tell(News::ReplacementFailed(id));
            }
        } else if !(first && is) {
            self.tell(News::Health(id, is));
        }
    }
}
