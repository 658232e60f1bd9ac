//! What the rest of the program sees of the machine: a copy, in the words of the design.

use std::time::Duration;

use backend_api::{Generation, Weight};

use super::member::{Health, Leaving, Link, Stage};
use super::timers::Timer;
use super::{Machine, MemberId, Phase};

/// A copy of what matters of the machine's state.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Startup is over.
    pub started: bool,
    /// Who carries traffic.
    pub active: Option<MemberId>,
    /// Without an active, or without its standby.
    pub degraded: bool,
    /// A move is under way.
    pub switching_to: Option<MemberId>,
    /// Failback waits for a release.
    pub failback_suspended: bool,
    /// How often all members were tried in vain.
    pub attempts: u32,
    /// The members, by number.
    pub members: Vec<MemberView>,
}

/// One member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberView {
    /// Its number.
    pub id: MemberId,
    /// Its weight.
    pub weight: Weight,
    /// Whether it takes part.
    pub enabled: bool,
    /// Its connection.
    pub link: LinkView,
    /// The number of that connection.
    pub generation: Option<Generation>,
    /// What its checks said last; `None`: not checked on this connection yet.
    pub healthy: Option<bool>,
    /// A replica.
    pub read_only: bool,
    /// It announced its shutdown, or an operator did.
    pub lame_duck: bool,
    /// Its breaker is open.
    pub broken: bool,
    /// How long its grace goes on.
    pub grace: Option<Duration>,
    /// Failed dials and short-lived connections in a row.
    pub failures: u32,
    /// When it is dialled next.
    pub next_dial: Option<Duration>,
    /// On its way out, or to go as soon as the group can do without it.
    pub leaving: bool,
    /// Whose place it takes once it is proven and fit; it is no member of its own yet.
    pub replaces: Option<MemberId>,
    /// Its place in the declared order.
    pub place: u32,
}

/// Where a member stands between one configuration and the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Membership {
    /// Its number.
    pub id: MemberId,
    /// Its weight.
    pub weight: Weight,
    /// Whether it takes part, and is to go on doing so.
    pub enabled: bool,
    /// It is to be removed, and that can be taken back.
    pub outgoing: bool,
    /// It is being removed, and that cannot.
    pub removed: bool,
    /// Whose place it takes once it is proven and fit.
    pub replaces: Option<MemberId>,
}

/// The connection of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LinkView {
    /// None.
    Cold,
    /// Being dialled.
    Connecting,
    /// Open, not armed.
    Connected,
    /// Ready to be promoted.
    Standby,
    /// Carries traffic.
    Active,
    /// Finishes what is under way.
    Draining,
    /// Being ended.
    Retiring,
}

impl Machine {
    /// A copy for the rest of the program.
    pub fn view(&self) -> View {
        View {
            started: matches!(self.phase, Phase::Running | Phase::Starting { told: true }),
            active: self.active,
            degraded: self.degraded,
            switching_to: self.switch.as_ref().map(|switch| switch.to),
            failback_suspended: self.suspended.is_some(),
            attempts: self.attempts,
            members: self.member_views().collect(),
        }
    }

    /// What a new configuration is compared with.
    pub fn memberships(&self) -> impl Iterator<Item = Membership> + '_ {
        self.members.iter().map(|member| {
            let how = member.leaving.map(|(how, _)| how);
            Membership {
                id: member.id,
                weight: member.weight,
                enabled: member.enabled
                    && how != Some(Leaving::Disable)
                    && member.outgoing != Some(Leaving::Disable),
                outgoing: member.outgoing == Some(Leaving::Remove),
                removed: how == Some(Leaving::Remove),
                replaces: member.replaces,
            }
        })
    }

    /// Copies of the members' states, one by one: whoever needs only the first few pays for those.
    pub fn member_views(&self) -> impl ExactSizeIterator<Item = MemberView> + '_ {
        self.members.iter().map(|member| self.member_view(member))
    }

    /// It has checks, and failed them.
    pub fn fails_checks(&self, id: MemberId) -> bool {
        self.member(id)
            .is_some_and(|member| member.is_checked() && member.is_unhealthy())
    }

    /// The member is there, neither disabled nor on its way out.
    pub fn takes_part(&self, id: MemberId) -> bool {
        self.member(id)
            .is_some_and(super::member::Member::takes_part)
    }

    fn member_view(&self, member: &super::member::Member) -> MemberView {
        let (link, generation) = match &member.link {
            Link::Cold => (LinkView::Cold, None),
            Link::Dialling { generation, .. } => (LinkView::Connecting, Some(*generation)),
            Link::Retiring { generation } => (LinkView::Retiring, Some(*generation)),
            Link::Open(open) => (
                match open.stage {
                    Stage::Unproven | Stage::Ready => LinkView::Connected,
                    Stage::Standby | Stage::Chosen { armed: true } => LinkView::Standby,
                    Stage::Chosen { armed: false } => LinkView::Connected,
                    Stage::Active => LinkView::Active,
                    Stage::Draining => LinkView::Draining,
                },
                Some(open.generation),
            ),
        };
        let left = |timer| self.timers.at(timer).map(|at| at.since(self.now));
        MemberView {
            id: member.id,
            weight: member.weight,
            enabled: member.enabled,
            link,
            generation,
            healthy: match member.health {
                Health::Unknown => None,
                Health::Healthy { .. } => Some(true),
                Health::Unhealthy { .. } => Some(false),
            },
            read_only: member.is_read_only(),
            lame_duck: member.mark.is_some(),
            broken: member.broken,
            grace: left(Timer::Grace(member.id)),
            failures: member.failures,
            next_dial: left(Timer::Dial(member.id)),
            leaving: member.leaving.is_some() || member.outgoing.is_some(),
            replaces: member.replaces,
            place: member.place,
        }
    }
}
