//! `standby = N`: who is kept warm beside the active, and which connections are too many.

use backend_api::{Role, Weight};

use super::member::{Link, Mark, Member, Stage};
use super::timers::Timer;
use super::{Machine, MemberId};
use crate::config::{LameDuckAction, Standby};

/// How many standbys are missing.
struct Missing {
    /// Wherever they are.
    any: usize,
    /// On other servers than the active's.
    apart: usize,
}

impl Missing {
    /// Whether one more is of use; `second`: on the active's own server.
    fn wants(&self, second: bool) -> bool {
        if second { self.any > 0 } else { self.apart > 0 }
    }

    /// There is one more, if it `counts`.
    fn fill(&mut self, counts: bool, second: bool) {
        self.any = self.any.saturating_sub(usize::from(counts));
        self.apart = self.apart.saturating_sub(usize::from(counts && !second));
    }
}

impl Machine {
    /// How many are kept warm: N, and somebody at least where the active is to go.
    fn warm_count(&self, active: &Member, count: u32) -> usize {
        let count = count as usize;
        if active.outgoing.is_some() {
            count.max(1)
        } else {
            count
        }
    }

    /// `standby = N` with an active: the best N, and whoever traffic could go back to.
    pub(super) fn keep_warm(&mut self, count: u32) {
        let Some(active) = self.active.and_then(|id| self.member(id)) else {
            return;
        };
        let wanted = self.warm_count(active, count);
        let (id, heavier) = (active.id, active.weight);
        let failback = self.rules.failback.enabled;
        let mut missing = self.missing(wanted, heavier);
        // The spread is for a fleet that misses its standbys, not for an active that has to go.
        let now = !self.timers.is_set(Timer::Rearm) || self.must_move(id).is_some();
        let mut picks = if missing.apart > 0 && now {
            self.to_be_warmed().into_iter().peekable()
        } else {
            Vec::new().into_iter().peekable()
        };
        // A heavier member must be connected before anybody can know that it is fit again.
        let heavier_ones: Vec<MemberId> = self
            .members
            .iter()
            .filter(|member| failback && member.weight > heavier)
            .filter(|member| self.is_dialable(member) && member.mark.is_none())
            .map(|member| member.id)
            .collect();
        // The first pick does not depend on them; for the others, they may be standbys too.
        let first = picks.next_if(|(_, second)| missing.wants(*second));
        for id in first.map(|(id, _)| id).into_iter().chain(heavier_ones) {
            self.dial_target(id);
        }
        if picks.peek().is_none() {
            return;
        }
        missing = self.missing(wanted, heavier);
        for (id, second) in picks {
            // Those on other servers come first: once a pick is not wanted, none after it is.
            if !missing.wants(second) {
                break;
            }
            self.dial_target(id);
            let counted = self
                .member(id)
                .is_some_and(|member| self.counts_as_warm(member, heavier));
            missing.fill(counted, second);
        }
    }

    /// It is, or is about to be, a standby beside an active of this weight.
    fn counts_as_warm(&self, member: &Member, heavier: Weight) -> bool {
        // A heavier one that is being tried does not stand in for a standby.
        let coming = || {
            self.may_stand_in(member)
                && matches!(member.link, Link::Dialling { .. })
                && member.weight <= heavier
        };
        self.is_warm(member) || coming()
    }

    fn missing(&self, wanted: usize, heavier: Weight) -> Missing {
        let mut missing = Missing {
            any: wanted,
            apart: wanted,
        };
        for member in &self.members {
            let counted = self.counts_as_warm(member, heavier);
            missing.fill(counted, self.is_second_choice(member));
        }
        missing
    }

    /// Who may be dialled to become a standby, and whether only for want of one on another server: the best first, the
    /// marked after them, and those of the active's own server last.
    fn to_be_warmed(&self) -> Vec<(MemberId, bool)> {
        let shun = self.shuns_marked();
        let mut candidates: Vec<(&Member, bool)> = self
            .members
            .iter()
            .filter(|member| self.is_dialable(member))
            .filter(|member| member.mark.is_none() || !self.is_shunned(member, shun))
            .map(|member| (member, self.is_second_choice(member)))
            .collect();
        candidates.sort_by(|(a, second), (b, other)| {
            let marked = a.mark.is_some().cmp(&b.mark.is_some());
            second
                .cmp(other)
                .then(marked)
                .then_with(|| self.order(Role::Standby, a, b))
        });
        candidates
            .into_iter()
            .map(|(member, second)| (member.id, second))
            .collect()
    }

    /// It may be counted on beside an active: it stays, or nobody does.
    fn may_stand_in(&self, member: &Member) -> bool {
        let lasts = || !self.members.iter().any(|other| other.stays());
        member.stays() || (member.takes_part() && lasts())
    }

    /// It is, or is about to be, a standby. A member that failed before proves itself first, and one that is to go, or
    /// that has no place yet, stands in for nobody.
    pub(super) fn is_warm(&self, member: &Member) -> bool {
        if !self.may_stand_in(member) {
            return false;
        }
        match &member.link {
            Link::Dialling { .. } => member.failures == 0,
            Link::Open(open) => match open.stage {
                Stage::Unproven => open.task.is_some() && member.failures == 0,
                // A marked one is not armed any more.
                Stage::Ready => !member.is_unhealthy() && member.mark.is_none(),
                Stage::Standby => !member.is_unhealthy(),
                Stage::Chosen { .. } => true,
                Stage::Draining => self.can_serve_again(member),
                Stage::Active => false,
            },
            Link::Cold | Link::Retiring { .. } => false,
        }
    }

    /// Ends standbys that announced their shutdown, and those beyond `standby = N`.
    pub(super) fn retire_unwanted(&mut self) {
        let acts = self.rules.lame_duck.action != LameDuckAction::None;
        if acts && self.active.is_some() {
            let marked: Vec<MemberId> = self
                .members
                .iter()
                .filter(|member| is_lame(member) && !self.awaits(member.id))
                .filter(|member| {
                    matches!(
                        member.stage(),
                        Some(Stage::Unproven | Stage::Ready | Stage::Standby)
                    )
                })
                .map(|member| member.id)
                .collect();
            for id in marked {
                // It is asked again after a delay, as after any dial in vain.
                self.count_failure(id, false);
                self.retire(id);
            }
        }
        let Standby::Count(count) = self.rules.standby else {
            return;
        };
        let Some(active) = self.active.and_then(|id| self.member(id)) else {
            return;
        };
        let count = self.warm_count(active, count);
        let heavier = active.weight;
        let spared = |member: &Member| self.rules.failback.enabled && member.weight > heavier;
        let standing = |member: &Member| {
            member.takes_part() && matches!(member.stage(), Some(Stage::Ready | Stage::Standby))
        };
        // Nobody gives way to a connection that has yet to prove itself.
        let proven = |member: &Member| !matches!(member.stage(), None | Some(Stage::Unproven));
        let warm = self
            .members
            .iter()
            .filter(|member| proven(member) && self.is_warm(member))
            // One on the active's own server that is kept for failback takes no standby's place.
            .filter(|member| !(spared(member) && self.is_second_choice(member)))
            .count();
        let beyond = warm.saturating_sub(count);
        let (mut surplus, unfit): (Vec<&Member>, Vec<&Member>) = self
            .members
            .iter()
            .filter(|member| standing(member) && !spared(member))
            .partition(|member| self.is_warm(member));
        surplus.sort_by(|a, b| {
            let second = self.is_second_choice(a).cmp(&self.is_second_choice(b));
            second.then_with(|| self.order(Role::Standby, a, b))
        });
        // An unfit one is kept until there are enough that are known to be better: else two that are both unhealthy
        // would take turns.
        let better = surplus
            .iter()
            .filter(|member| member.is_healthy() && !self.is_second_choice(member))
            .count();
        let worse = if better >= count { unfit } else { Vec::new() };
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

    /// After a failover the clients of one member all miss their standby at once: they arm the next one spread in time.
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
}

/// It is marked, and its connection is not younger than the announcement: one that is has yet to tell.
fn is_lame(member: &Member) -> bool {
    match (member.mark, member.open()) {
        (Some(Mark::Announced(when)), Some(open)) => open.generation <= when,
        (mark, _) => mark.is_some(),
    }
}
