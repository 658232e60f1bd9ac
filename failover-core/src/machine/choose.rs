//! Which member: the hard rules, then what holds a member back, then the pool's order.

use std::cmp::Ordering;

use backend_api::Role;

use super::member::{Health, Member, Stage};
use super::mutation::Mutation;
use super::timers::Timer;
use super::{Machine, MemberId};

/// How willingly a member is made active, best first. Anything below `Fit` only rather than having no active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fitness {
    Fit,
    /// Not checked yet.
    Unknown,
    /// Healthy, but held back by grace, breaker or mark, or about to go.
    HeldBack,
    /// Fails its checks.
    Unhealthy,
}

impl Machine {
    /// The hard rules: it takes part, has a proven connection, and is no read-only replica.
    pub(super) fn is_usable(&self, member: &Member) -> bool {
        member.takes_part()
            && (!member.is_read_only() || self.mutated(Mutation::PromoteReadOnly))
            && matches!(
                member.stage(),
                Some(Stage::Ready | Stage::Standby | Stage::Draining)
            )
    }

    pub(super) fn fitness(&self, member: &Member) -> Fitness {
        let held = member.mark.is_some()
            || member.broken
            || member.outgoing.is_some()
            || self.in_grace(member.id);
        match member.health {
            Health::Unhealthy { .. } => Fitness::Unhealthy,
            _ if held => Fitness::HeldBack,
            Health::Unknown => Fitness::Unknown,
            Health::Healthy { .. } => Fitness::Fit,
        }
    }

    pub(super) fn is_fit(&self, member: &Member) -> bool {
        self.is_usable(member) && self.fitness(member) == Fitness::Fit
    }

    pub(super) fn in_grace(&self, id: MemberId) -> bool {
        self.timers.is_set(Timer::Grace(id)) && !self.mutated(Mutation::IgnoreGrace)
    }

    /// The pool's order, with the declared order among equals.
    pub(super) fn order(&self, role: Role, a: &Member, b: &Member) -> Ordering {
        let (x, y) = (a.candidate(self.now), b.candidate(self.now));
        self.rules
            .pool
            .compare(role, &x, &y)
            .then((a.place, a.id).cmp(&(b.place, b.id)))
    }

    /// The first of those that `select` lets through.
    pub(super) fn best(&self, role: Role, select: impl Fn(&Member) -> bool) -> Option<MemberId> {
        self.members
            .iter()
            .filter(|member| select(member))
            .min_by(|a, b| self.order(role, a, b))
            .map(|member| member.id)
    }

    /// The best fit member other than the active, on another server if there is one.
    pub(super) fn best_fit(&self) -> Option<MemberId> {
        let fit = |member: &Member| Some(member.id) != self.active && self.is_fit(member);
        let apart = |member: &Member| !self.is_twin(member) || self.mutated(Mutation::MoveToTwin);
        self.best(Role::Active, |member| fit(member) && apart(member))
            .or_else(|| self.best(Role::Active, fit))
    }

    /// Whoever can carry traffic at all, the fittest first: rather a doubtful active than none.
    pub(super) fn last_resort(&self) -> Option<MemberId> {
        self.members
            .iter()
            .filter(|member| self.is_usable(member))
            .min_by(|a, b| {
                // Whatever befell the last active may have befallen its server.
                self.fitness(a)
                    .cmp(&self.fitness(b))
                    .then_with(|| self.is_twin(a).cmp(&self.is_twin(b)))
                    .then_with(|| self.order(Role::Active, a, b))
            })
            .map(|member| member.id)
    }
}
