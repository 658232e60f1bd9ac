//! When members are dialled: at most one attempt each, with backoff, and in a whole outage one loop for the group.

use std::time::Duration;

use backend_api::{Generation, Role};

use super::member::{Link, Mark, Member, Stage, TaskKind};
use super::timers::Timer;
use super::{Action, Machine, MemberId, News, Phase};
use crate::config::Standby;

impl Machine {
    /// Dials and arms what should be warm, and ends what should not.
    pub(super) fn settle_links(&mut self) {
        match self.phase {
            Phase::Starting { .. } => {
                self.dial_all(true);
                self.prove_again();
            }
            Phase::Running => {
                self.settle_rehoming();
                // Room is made before it is filled.
                self.retire_unwanted();
                self.arm_ready();
                self.prove_again();
                self.redial_lost();
                self.dial_successors();
                match (self.active, self.rules.standby) {
                    (_, Standby::All) => self.dial_all(false),
                    (Some(_), Standby::Count(count)) => self.keep_warm(count),
                    (None, Standby::Count(_)) => self.dial_in_turn(),
                }
            }
            Phase::Closing | Phase::Closed => {}
        }
    }

    /// A member may be dialled: it takes part, has no connection and no delay running.
    pub(super) fn is_dialable(&self, member: &Member) -> bool {
        member.link == Link::Cold
            && member.takes_part()
            && !self.timers.is_set(Timer::Dial(member.id))
    }

    /// Marked members are passed over, unless everybody else was tried in vain: the only way to learn that one is back is
    /// to ask it.
    pub(super) fn shuns_marked(&self) -> bool {
        self.members.iter().any(|member| {
            let proven = !matches!(member.stage(), None | Some(Stage::Unproven));
            let hopeful = member.failures == 0 || (proven && !member.is_unhealthy());
            let other = self.active != Some(member.id);
            other && member.takes_part() && member.mark.is_none() && hopeful
        })
    }

    /// Beside an active, an operator's mark is final.
    pub(super) fn is_shunned(&self, member: &Member, shun: bool) -> bool {
        match member.mark {
            None => false,
            Some(Mark::Announced(_)) => {
                let dying = self.active.is_some() && self.timers.is_set(Timer::Ask(member.id));
                shun || dying
            }
            Some(Mark::Operator) => shun || self.active.is_some(),
        }
    }

    /// One loop per member. While starting, everybody is dialled once.
    fn dial_all(&mut self, starting: bool) {
        let shun = self.shuns_marked();
        let due: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| self.is_dialable(member))
            .filter(|member| !self.is_shunned(member, shun))
            .filter(|member| !(starting && member.tried))
            .map(|member| member.id)
            .collect();
        for id in due {
            self.dial(id);
        }
    }

    pub(super) fn dial(&mut self, id: MemberId) {
        self.next_generation += 1;
        let generation = Generation(self.next_generation);
        let op = self.op();
        let ticket = self.random.ticket();
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let timeout = member.rules.timeouts.connect;
        member.link = Link::Dialling {
            generation,
            op,
            discounted: false,
        };
        member.ticket = ticket;
        self.timers.clear(Timer::Dial(id));
        self.timers.set(Timer::Connect(id), self.now + timeout);
        self.act(Action::Connect(id, generation, op, timeout));
    }

    /// A planned move wants this member now, whatever its delay.
    pub(super) fn dial_target(&mut self, id: MemberId) {
        if self
            .member(id)
            .is_some_and(|member| member.link == Link::Cold)
        {
            self.dial(id);
        }
    }

    /// A whole outage with `standby = N`: one loop for the group, backing off per round. Dead connections are closed
    /// before anybody is dialled.
    fn dial_in_turn(&mut self) {
        let busy = self.members.iter().any(|member| match &member.link {
            Link::Dialling { .. } | Link::Retiring { .. } => true,
            Link::Open(open) => open.stage != Stage::Unproven || open.task.is_some(),
            Link::Cold => false,
        });
        if busy || self.timers.is_set(Timer::Round) {
            return;
        }
        let candidate =
            |member: &Member| member.link == Link::Cold && member.takes_part() && !member.tried;
        // The marked come last in a round.
        let next = self
            .best(Role::Active, |member| {
                candidate(member) && member.mark.is_none()
            })
            .or_else(|| self.best(Role::Active, candidate));
        match next {
            Some(id) => self.dial(id),
            // Whoever was left to try has gone meanwhile: the round is over all the same.
            None if self.members.iter().any(|member| member.tried) => self.count_attempt(),
            None => {}
        }
    }

    /// Proven connections become standbys once there is an active beside which to stand.
    fn arm_ready(&mut self) {
        if self.active.is_none() {
            return;
        }
        let ready: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| member.mark.is_none() && member.takes_part())
            .filter(|member| {
                member
                    .open()
                    .is_some_and(|open| open.stage == Stage::Ready && open.task.is_none())
            })
            .map(|member| member.id)
            .collect();
        for id in ready {
            self.start_task(id, TaskKind::Arm);
        }
    }

    /// What failed its proof for a reason that a check has lifted is proven again.
    fn prove_again(&mut self) {
        let again: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| member.is_healthy())
            .filter(|member| {
                member
                    .open()
                    .is_some_and(|open| open.stage == Stage::Unproven && open.task.is_none())
            })
            .map(|member| member.id)
            .collect();
        for id in again {
            self.start_task(id, TaskKind::Prove);
        }
    }

    /// A dial came to nothing.
    pub(super) fn dial_failed(&mut self, id: MemberId) {
        if self.redial == Some(id) {
            self.end_redial();
        }
        self.tell(if self.is_successor(id) {
            News::ReplacementFailed(id)
        } else {
            News::DialFailed(id)
        });
        self.count_failure(id, true);
        if let Some(switch) = &self.switch
            && switch.to == id
        {
            self.abort_switch();
        }
    }

    /// Counts a failed dial or a lost connection, and delays the next dial: exponential, capped, with full jitter. A
    /// connection that lived for a while starts the count anew. `in_vain`: it never served.
    pub(super) fn count_failure(&mut self, id: MemberId, in_vain: bool) {
        let now = self.now;
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let reconnect = member.rules.reconnect;
        let lived = member
            .open()
            .map_or(Duration::ZERO, |open| now.since(open.since));
        if lived >= reconnect.max {
            member.failures = 0;
        }
        member.failures = member.failures.saturating_add(1);
        member.last_failure = Some(now);
        member.tried |= in_vain;
        let failures = member.failures;
        let delay = self.random.up_to(backoff(reconnect, failures));
        self.timers.set(Timer::Dial(id), now + delay);
        self.count_attempt();
    }

    /// All members were tried in vain: say so, once per round. In an outage the one loop then rests.
    pub(super) fn count_attempt(&mut self) {
        if self.phase != Phase::Running || self.active.is_some() {
            return;
        }
        let in_vain = |member: &Member| {
            let unfit = member
                .open()
                .is_some_and(|open| open.stage == Stage::Unproven && open.task.is_none());
            !member.takes_part() || member.tried || unfit
        };
        if self.members.iter().all(in_vain) {
            self.attempts += 1;
            for member in &mut self.members {
                member.tried = false;
            }
            self.tell(News::AllDown(self.attempts));
        }
        self.rest();
    }

    /// The first round looks for a survivor, and nobody waits between its dials. From then on it is known that all are
    /// down, and the loop rests after every dial: a burst per round would cost the brokers of a fleet as many times more
    /// as there are members. The rests of a round together are no longer than the cap of one delay, so that whoever
    /// returns alone is found as soon as with a burst.
    fn rest(&mut self) {
        let Some(rounds) = self.attempts.checked_sub(1) else {
            return;
        };
        let taking_part = self.members.iter().filter(|member| member.takes_part());
        let (members, tried) = taking_part.fold((0_u32, 0), |(all, tried), member| {
            (all + 1, tried + u32::from(member.tried))
        });
        let in_vain = rounds.saturating_mul(members).saturating_add(tried);
        let reconnect = self.rules.member.reconnect;
        let longest = reconnect.max / members.max(1);
        let most = backoff(reconnect, in_vain.saturating_add(1)).min(longest);
        let delay = self.random.up_to(most);
        self.timers.set(Timer::Round, self.now + delay);
    }
}

fn backoff(reconnect: crate::config::Reconnect, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(20);
    reconnect
        .initial
        .saturating_mul(1 << doublings)
        .min(reconnect.max)
}
