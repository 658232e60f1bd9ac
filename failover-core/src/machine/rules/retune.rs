//! Other rules while the group runs. They hold from here on: what is awaited keeps the deadline that it was given, but
//! nobody waits for a delay that the new rules would never have set.

use std::sync::Arc;

use crate::config::{MemberRules, Rules};
use crate::machine::member::{Member, Stage};
use crate::machine::timers::Timer;
use crate::machine::{Answer, Machine, MemberId, Refusal, RequestId};

impl Machine {
    pub(in crate::machine) fn set_rules(
        &mut self,
        request: RequestId,
        id: MemberId,
        rules: &Arc<MemberRules>,
    ) {
        let checked = |member: &Member| member.is_checked();
        let Some(before) = self.member(id).map(checked) else {
            self.refuse(request, Refusal::Unknown);
            return;
        };
        if before == rules.health.is_empty() {
            // What unchecked connections are healthy by is another rule: they are replaced, not retuned.
            self.refuse(request, Refusal::NotEligible(id));
            return;
        }
        let successor = self.successor(id);
        for id in std::iter::once(id).chain(successor) {
            if let Some(member) = self.member_mut(id) {
                member.rules = rules.clone();
            }
            self.no_later(Timer::Dial(id), rules.reconnect.max);
            // The schedule begins anew, and a verdict by the old rules is asked for again.
            let open = self
                .member(id)
                .and_then(|member| member.stage())
                .is_some_and(|stage| stage != Stage::Draining);
            if open {
                self.start_check(id);
            }
        }
        self.answer(request, Answer::Done);
    }

    pub(in crate::machine) fn set_group_rules(&mut self, request: RequestId, rules: &Rules) {
        let mut rules = rules.clone();
        rules.startup = self.rules.startup.clone();
        if rules.failback != self.rules.failback {
            // Whoever traffic is about to go back to is looked at under the new rules.
            self.returning = None;
            self.timers.clear(Timer::Failback);
        }
        self.no_later(Timer::Round, rules.member.reconnect.max);
        self.no_later(Timer::Rearm, rules.failback.jitter);
        self.rules = Arc::new(rules);
        self.answer(request, Answer::Done);
    }

    fn no_later(&mut self, timer: Timer, most: std::time::Duration) {
        let latest = self.now + most;
        if self.timers.at(timer).is_some_and(|at| at > latest) {
            self.timers.set(timer, latest);
        }
    }
}
