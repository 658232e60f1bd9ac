//! When members are dialled: at most one attempt each, with backoff, and in a whole outage one loop for the group.

use std::time::Duration;

use backend_api::{Generation, Role};

use super::member::{Link, Member, Stage, TaskKind};
use super::mutation::Mutation;
use super::timers::Timer;
use super::{Action, Machine, MemberId, News, Phase};
use crate::config::{LameDuckAction, Standby};

impl Machine {
    /// Dials and arms what should be warm, and ends what should not.
    pub(super) fn settle_links(&mut self) {
        match self.phase {
            Phase::Starting { .. } => {
                self.dial_all(true);
                self.prove_again();
            }
            Phase::Running => {
                // Room is made before it is filled.
                self.retire_unwanted();
                self.arm_ready();
                self.prove_again();
                self.redial_lost();
                match (self.active, self.rules.standby) {
                    (_, Standby::All) => self.dial_all(false),
                    (Some(_), Standby::Count(count)) => self.keep_warm(count as usize),
                    (None, Standby::Count(_)) => self.dial_in_turn(),
                }
            }
            Phase::Closing | Phase::Closed => {}
        }
    }

    /// A member may be dialled: it takes part, has no connection and no delay running.
    fn is_dialable(&self, member: &Member) -> bool {
        let cold = member.link == Link::Cold
            || (matches!(member.link, Link::Dialling { .. }) && self.mutated(Mutation::DoubleDial));
        cold && member.takes_part() && !self.timers.is_set(Timer::Dial(member.id))
    }

    /// Marked members are passed over, unless everybody else was tried in vain.
    fn shuns_marked(&self) -> bool {
        self.active.is_some()
            || self.members.iter().any(|member| {
                let hopeful = member.failures == 0 || self.is_usable(member);
                member.takes_part() && member.mark.is_none() && hopeful
            })
    }

    /// One loop per member. While starting, everybody is dialled once.
    fn dial_all(&mut self, starting: bool) {
        let shun = self.shuns_marked();
        let due: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| self.is_dialable(member))
            .filter(|member| !(shun && member.mark.is_some()))
            .filter(|member| !(starting && member.tried))
            .map(|member| member.id)
            .collect();
        for id in due {
            self.dial(id);
        }
    }

    fn dial(&mut self, id: MemberId) {
        self.next_generation += 1;
        let generation = Generation(self.next_generation);
        let op = self.op();
        let ticket = self.random.ticket();
        let Some(member) = self.member_mut(id) else {
            return;
        };
        let timeout = member.rules.timeouts.connect;
        member.link = Link::Dialling { generation, op };
        member.ticket = ticket;
        self.timers.clear(Timer::Dial(id));
        if !self.mutated(Mutation::NoDialDeadline) {
            self.timers.set(Timer::Connect(id), self.now + timeout);
        }
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

    /// The one redial of a lost active, beside the proof of its standby, as soon as the old connection is gone.
    fn redial_lost(&mut self) {
        if let Some(id) = self.redial
            && self
                .member(id)
                .is_some_and(|member| member.link == Link::Cold)
        {
            if self.switch.is_none() && matches!(self.rules.standby, Standby::Count(_)) {
                // There is no failover to hold up: it is one more whom the one loop dials, in its turn.
                self.end_redial();
            } else {
                self.dial(id);
            }
        }
    }

    /// `standby = N` with an active: the best N, and whoever traffic could go back to.
    fn keep_warm(&mut self, count: usize) {
        let Some(active) = self.active.and_then(|id| self.member(id)) else {
            return;
        };
        let heavier = active.weight;
        let failback = self.rules.failback.enabled;
        // A heavier one that is being tried does not stand in for a standby.
        let coming = |member: &Member| {
            matches!(member.link, Link::Dialling { .. }) && member.weight <= heavier
        };
        let warm = self
            .members
            .iter()
            .filter(|member| self.is_warm(member) || coming(member))
            .count();
        let mut due: Vec<MemberId> = Vec::new();
        // The spread is for a fleet that misses its standbys, not for an active that has to go.
        let now = !self.timers.is_set(Timer::Rearm) || self.must_move(active.id).is_some();
        if warm < count && now {
            let next = self.best(Role::Standby, |member| {
                self.is_dialable(member) && member.mark.is_none()
            });
            due.extend(next);
        }
        // A heavier member must be connected before anybody can know that it is fit again.
        due.extend(
            self.members
                .iter()
                .filter(|member| failback && member.weight > heavier)
                .filter(|member| self.is_dialable(member) && member.mark.is_none())
                .map(|member| member.id),
        );
        let mut more = false;
        for id in due {
            if self
                .member(id)
                .is_some_and(|member| member.link == Link::Cold)
            {
                self.dial(id);
                more = true;
            }
        }
        if more {
            self.keep_warm(count);
        }
    }

    /// It is, or is about to be, a standby. A member that failed before proves itself first.
    pub(super) fn is_warm(&self, member: &Member) -> bool {
        match &member.link {
            Link::Dialling { .. } => member.failures == 0,
            Link::Open(open) => match open.stage {
                Stage::Unproven => open.task.is_some() && member.failures == 0,
                Stage::Ready | Stage::Standby => !member.is_unhealthy(),
                Stage::Chosen { .. } => true,
                Stage::Draining => self.can_serve_again(member),
                Stage::Active => false,
            },
            Link::Cold | Link::Retiring { .. } => false,
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

    /// Ends standbys that announced their shutdown, and those beyond `standby = N`.
    fn retire_unwanted(&mut self) {
        let acts = self.rules.lame_duck.action != LameDuckAction::None;
        if acts && self.active.is_some() {
            let marked: Vec<MemberId> = self
                .members
                .iter()
                .filter(|member| member.mark.is_some() && !self.awaits(member.id))
                .filter(|member| {
                    matches!(
                        member.stage(),
                        Some(Stage::Unproven | Stage::Ready | Stage::Standby)
                    )
                })
                .map(|member| member.id)
                .collect();
            for id in marked {
                self.retire(id);
            }
        }
        let (Standby::Count(count), Some(active)) = (self.rules.standby, self.active) else {
            return;
        };
        let heavier = self.member(active).map(|member| member.weight);
        let spared = |member: &Member| {
            self.rules.failback.enabled && heavier.is_some_and(|weight| member.weight > weight)
        };
        let standing =
            |member: &Member| matches!(member.stage(), Some(Stage::Ready | Stage::Standby));
        let warm = self
            .members
            .iter()
            .filter(|member| member.open().is_some() && self.is_warm(member))
            .count();
        let beyond = warm.saturating_sub(count as usize);
        let (mut surplus, unhealthy): (Vec<&Member>, Vec<&Member>) = self
            .members
            .iter()
            .filter(|member| standing(member) && !spared(member))
            .partition(|member| !member.is_unhealthy());
        surplus.sort_by(|a, b| self.order(Role::Standby, a, b));
        // An unhealthy one is kept until there are enough that are known to be better: else two that are both unhealthy
        // would take turns.
        let better = surplus.iter().filter(|member| member.is_healthy()).count();
        let worse = if better >= count as usize {
            unhealthy
        } else {
            Vec::new()
        };
        let gone: Vec<MemberId> = surplus
            .iter()
            .rev()
            .take(beyond)
            .chain(&worse)
            .map(|member| member.id)
            .collect();
        for id in gone {
            self.retire(id);
        }
    }

    /// A dial came to nothing.
    pub(super) fn dial_failed(&mut self, id: MemberId) {
        if self.redial == Some(id) {
            self.end_redial();
        }
        self.tell(News::DialFailed(id));
        self.count_failure(id, true);
        if let Some(switch) = &self.switch
            && switch.to == id
        {
            self.abort_switch();
        }
    }

    /// After a failover the clients of one member all miss their standby at once: they arm the next one spread in time.
    /// After a whole outage others are still without an active, and those come first: whoever is back keeps away from
    /// the servers for a while before it begins.
    pub(super) fn spread_rearming(&mut self) {
        if matches!(self.rules.standby, Standby::Count(_)) {
            let jitter = self.rules.failback.jitter;
            let mut spread = self.random.spread(jitter);
            if self.attempts > 0 && !spread.is_zero() {
                spread += jitter;
            }
            if !spread.is_zero() {
                self.timers.set(Timer::Rearm, self.now + spread);
            }
        }
    }

    pub(super) fn end_redial(&mut self) {
        self.redial = None;
        self.timers.clear(Timer::Redial);
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
        let delay = if self.mutated(Mutation::NeverRedial) {
            Duration::MAX
        } else {
            delay
        };
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
