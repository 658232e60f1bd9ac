//! What the machine knows of one member.

use std::sync::Arc;

use backend_api::{Candidate, Generation, Weight};

use super::io::Identity;
use super::rules::breaker::Window;
use super::time::Time;
use super::{MemberId, Op};
use crate::config::MemberRules;

/// The one connection that a member can have, in the order of its life.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Link {
    Cold,
    Dialling {
        generation: Generation,
        op: Op,
        /// See [`Task::discounted`].
        discounted: bool,
    },
    Open(Open),
    Retiring {
        generation: Generation,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Open {
    pub(super) generation: Generation,
    pub(super) since: Time,
    /// When it last passed a proof.
    pub(super) proven: Option<Time>,
    pub(super) stage: Stage,
    /// The one thing under way on it, checks aside.
    pub(super) task: Option<Task>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// Its proof is under way, or failed with a reason that a check may lift.
    Unproven,
    /// Proven, not armed.
    Ready,
    /// Armed: a warm standby.
    Standby,
    /// The target of the running switch; it goes back to standby if that is given up and it was `armed`.
    Chosen {
        armed: bool,
    },
    Active,
    /// Was active; finishes what is under way.
    Draining,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Task {
    pub(super) op: Op,
    pub(super) kind: TaskKind,
    /// The process was stalled meanwhile: a failure by time says nothing, and a backend has timers of its own.
    pub(super) discounted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum TaskKind {
    Prove,
    Arm,
    Promote,
    Drain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Health {
    Unknown,
    Healthy { since: Time },
    Unhealthy { read_only: bool },
}

/// A running check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Check {
    pub(super) op: Op,
    /// When the next is due by the schedule.
    pub(super) next: Time,
    /// Something happened meanwhile: check again at once.
    pub(super) again: bool,
    /// See [`Task::discounted`].
    pub(super) discounted: bool,
}

/// What a stall has excused, and what has not succeeded since: nothing is excused twice in a row, or a process that
/// stalls again and again would never notice that a member is frozen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Excused {
    pub(super) dial: bool,
    pub(super) proof: bool,
    pub(super) check: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// The member said so, on this connection.
    Announced(Generation),
    /// The operator said so; only the operator clears it.
    Operator,
}

/// What a member waits for before it goes, and who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Leaving {
    Disable,
    Remove,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) id: MemberId,
    pub(super) weight: Weight,
    pub(super) rules: Arc<MemberRules>,
    pub(super) enabled: bool,
    /// It goes, and the call that waits for that, if any does.
    pub(super) leaving: Option<(Leaving, Option<super::RequestId>)>,
    /// It goes as soon as the group can do without it; until then it serves on, as a last resort.
    pub(super) outgoing: Option<Leaving>,
    /// It takes this one's place once it is proven and fit. Until then it is nobody's member: no traffic, no standby, in
    /// no count.
    pub(super) replaces: Option<MemberId>,
    /// Its place in the declared order; whoever replaces a member inherits it.
    pub(super) place: u32,
    pub(super) link: Link,
    /// Where its last connection ended, as far as anybody knows; also while it has none.
    pub(super) server: Option<Identity>,
    pub(super) health: Health,
    /// The verdict that was last told, so that only changes are news.
    pub(super) told: Option<bool>,
    pub(super) check: Option<Check>,
    /// When the last check of this connection began.
    pub(super) checked: Option<Time>,
    /// Failed dials and short-lived connections in a row.
    pub(super) failures: u32,
    pub(super) last_failure: Option<Time>,
    pub(super) ticket: u64,
    /// Failed since the group started, or since all members were last tried in vain.
    pub(super) tried: bool,
    pub(super) excused: Excused,
    pub(super) mark: Option<Mark>,
    pub(super) broken: bool,
    pub(super) window: Window,
    /// Doublings of the next grace.
    pub(super) streak: u32,
    /// When it last became active by failback.
    pub(super) returned: Option<Time>,
}

impl Member {
    pub(super) fn new(new: super::NewMember, ticket: u64) -> Self {
        Self {
            id: new.id,
            weight: new.weight,
            rules: new.rules,
            enabled: new.enabled,
            leaving: None,
            outgoing: None,
            replaces: None,
            place: new.id.0,
            link: Link::Cold,
            server: None,
            health: Health::Unknown,
            told: None,
            check: None,
            checked: None,
            failures: 0,
            last_failure: None,
            ticket,
            tried: false,
            excused: Excused::default(),
            mark: None,
            broken: false,
            window: Window::default(),
            streak: 0,
            returned: None,
        }
    }

    pub(super) fn open(&self) -> Option<&Open> {
        match &self.link {
            Link::Open(open) => Some(open),
            Link::Cold | Link::Dialling { .. } | Link::Retiring { .. } => None,
        }
    }

    pub(super) fn open_mut(&mut self) -> Option<&mut Open> {
        match &mut self.link {
            Link::Open(open) => Some(open),
            Link::Cold | Link::Dialling { .. } | Link::Retiring { .. } => None,
        }
    }

    pub(super) fn stage(&self) -> Option<Stage> {
        self.open().map(|open| open.stage)
    }

    /// Its open connection is this one.
    pub(super) fn is(&self, generation: Generation) -> bool {
        self.open()
            .is_some_and(|open| open.generation == generation)
    }

    /// It takes part: neither disabled, nor on its way out, nor yet to take another's place.
    pub(super) fn takes_part(&self) -> bool {
        self.enabled && self.leaving.is_none() && self.replaces.is_none()
    }

    /// It takes part, and nobody asked it to go.
    pub(super) fn stays(&self) -> bool {
        self.takes_part() && self.outgoing.is_none()
    }

    pub(super) fn is_checked(&self) -> bool {
        // `None` are the backend's default checks, which the driver has put in place by name before.
        !self.rules.health.is_empty()
    }

    pub(super) fn is_healthy(&self) -> bool {
        matches!(self.health, Health::Healthy { .. })
    }

    pub(super) fn is_unhealthy(&self) -> bool {
        matches!(self.health, Health::Unhealthy { .. })
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self.health, Health::Unhealthy { read_only: true })
    }

    pub(super) fn candidate(&self, now: Time) -> Candidate {
        let mut candidate = Candidate::new(self.weight, self.place);
        candidate.failures = self.failures;
        candidate.last_failure = self.last_failure.map(|at| now.since(at));
        candidate.ticket = self.ticket;
        candidate.connected = self.open().is_some();
        candidate
    }
}
