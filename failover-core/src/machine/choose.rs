//! Which member: the hard rules, then what holds a member back, then the pool's order.

use std::cmp::Ordering;

use backend_api::Role;

use super::member::{Health, Member, Stage};
use super::timers::Timer;
use super::{Machine, MemberId, Reason};

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
            && !member.is_read_only()
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
        self.timers.is_set(Timer::Grace(id))
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
        let apart = |member: &Member| fit(member) && !self.is_twin(member);
        self.best(Role::Active, apart)
            .or_else(|| self.best(Role::Active, fit))
    }

    /// Where to, from an active that has to be left: whoever is fit, or else, if it serves nobody, whoever only grace holds
    /// back. Grace keeps traffic from a member that may fail again; here it would keep it on one that does fail.
    pub(super) fn refuge(&self, reason: Reason) -> Option<MemberId> {
        let good = |member: &Member| {
            Some(member.id) != self.active
                && self.is_usable(member)
                && self.is_refuge(member, reason)
        };
        let apart = |member: &Member| good(member) && !self.is_twin(member);
        self.best_fit()
            .or_else(|| self.best(Role::Active, apart))
            .or_else(|| self.best(Role::Active, good))
    }

    /// Whether a member will do for that reason although grace holds it back.
    pub(super) fn is_refuge(&self, member: &Member, reason: Reason) -> bool {
        matches!(reason, Reason::Health | Reason::Breaker)
            && member.is_healthy()
            && member.mark.is_none()
            && !member.broken
            && member.outgoing.is_none()
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
