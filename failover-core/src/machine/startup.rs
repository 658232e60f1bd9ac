//! Safe startup: all members are dialled and checked in parallel, and the walk by weight waits for whoever is pending
//! before it takes a lower one. The policy is one more gate.

use backend_api::Role;

use super::choose::Fitness;
use super::member::{Health, Member, Stage};
use super::timers::Timer;
use super::{Action, End, Machine, Phase, Reason};
use crate::config::{Startup, StartupTally, StartupVerdict};

/// Where a member stands in the walk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Pending,
    Available,
    Failed,
}

impl Machine {
    pub(super) fn begin_startup(&mut self) {
        // Every step of every member is bounded; the sum is the longest that a start can take.
        let longest = self
            .members
            .iter()
            .map(|member| {
                let rules = &member.rules;
                rules.timeouts.connect + 2 * rules.timeouts.prove + 2 * rules.health.bound()
            })
            .max()
            .unwrap_or_default();
        self.timers.set(Timer::Startup, self.now + longest);
    }

    fn standing(&self, member: &Member) -> Standing {
        if member.tried || matches!(member.health, Health::Unhealthy { .. }) {
            return Standing::Failed;
        }
        let proven = matches!(
            member.stage(),
            Some(Stage::Ready | Stage::Standby | Stage::Chosen { .. })
        );
        if proven && (member.is_healthy() || !self.timers.is_set(Timer::Startup)) {
            Standing::Available
        } else {
            Standing::Pending
        }
    }

    fn tally(&self) -> StartupTally {
        let mut tally = StartupTally {
            total: 0,
            available: 0,
            failed: 0,
        };
        for member in self.members.iter().filter(|member| member.takes_part()) {
            tally.total += 1;
            match self.standing(member) {
                Standing::Available => tally.available += 1,
                Standing::Failed => tally.failed += 1,
                Standing::Pending => {}
            }
        }
        tally
    }

    pub(super) fn settle_startup(&mut self) {
        self.reconsider_switch();
        if self.switch.is_some() {
            self.advance_switch();
            return;
        }
        let lazy = matches!(self.rules.startup, Startup::Lazy);
        if lazy && self.phase == (Phase::Starting { told: false }) {
            self.phase = Phase::Starting { told: true };
            self.act(Action::Started);
        }
        let tally = self.tally();
        let verdict = match verdict(&self.rules.startup, tally) {
            // Nobody will come any more, whatever the policy hopes for.
            _ if tally.available == 0 && tally.pending() == 0 => StartupVerdict::Fail,
            StartupVerdict::Wait if tally.pending() == 0 => StartupVerdict::Fail,
            verdict => verdict,
        };
        match (verdict, lazy) {
            (StartupVerdict::Wait, _) => {}
            (StartupVerdict::Ready, _) => self.walk(),
            (StartupVerdict::Fail, true) => self.run(),
            (StartupVerdict::Fail, false) => {
                self.act(Action::StartFailed);
                self.begin_close();
            }
        }
    }

    /// The heaviest member that has not failed is waited for; a lower one is never taken while it is pending.
    fn walk(&mut self) {
        let stands =
            |member: &Member| member.takes_part() && self.standing(member) != Standing::Failed;
        // A member that is held back is the last resort here too.
        let first = self
            .best(Role::Active, |member| {
                stands(member) && self.fitness(member) < Fitness::HeldBack
            })
            .or_else(|| self.best(Role::Active, stands));
        if let Some(id) = first
            && let Some(member) = self.member(id)
            && self.standing(member) == Standing::Available
        {
            self.begin_switch(id, Reason::Startup, End::Steal, None);
        }
    }

    /// Whoever has not answered by now counts as failed, and whoever is connected as available.
    pub(super) fn startup_overdue(&mut self) {
        for member in &mut self.members {
            if !matches!(
                member.stage(),
                Some(Stage::Ready | Stage::Standby | Stage::Chosen { .. })
            ) {
                member.tried = true;
            }
        }
    }

    /// Startup is over: members that failed are dialled on, members that were slow come when they come.
    pub(super) fn run(&mut self) {
        if self.phase == (Phase::Starting { told: false }) {
            self.act(Action::Started);
        }
        self.phase = Phase::Running;
        self.timers.clear(Timer::Startup);
        for member in &mut self.members {
            member.tried = false;
        }
    }
}

fn verdict(policy: &Startup, tally: StartupTally) -> StartupVerdict {
    let reachable = |needed: usize| {
        if tally.available >= needed {
            StartupVerdict::Ready
        } else if tally.total - tally.failed < needed {
            StartupVerdict::Fail
        } else {
            StartupVerdict::Wait
        }
    };
    match policy {
        Startup::One | Startup::Lazy => reachable(1),
        Startup::Majority => reachable(tally.total / 2 + 1),
        Startup::All => reachable(tally.total),
        Startup::Custom(policy) => policy.decide(tally),
    }
}
