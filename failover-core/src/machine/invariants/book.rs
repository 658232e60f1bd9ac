//! What the outside can know of each member: the observer's own books, kept from what went in and what came out.
//!
//! The machine's state is never copied into them. Where the books and the machine tell different things, one of the two
//! is wrong, and that is a violation.

use std::sync::Arc;

use backend_api::{Generation, Weight};

use crate::config::MemberRules;
use crate::machine::{NewMember, Time};

/// What its checks, its proofs and the member itself said last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Known {
    Unknown,
    Healthy { since: Time },
    Unhealthy { read_only: bool },
}

impl Known {
    pub(super) fn is_healthy(self) -> bool {
        matches!(self, Known::Healthy { .. })
    }

    pub(super) fn is_unhealthy(self) -> bool {
        matches!(self, Known::Unhealthy { .. })
    }
}

/// Who said that the member is about to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Marked {
    Announced { on: Generation, until: Time },
    Operator,
}

/// What a stall has excused since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::machine) struct Excuses {
    pub(in crate::machine) dial: bool,
    pub(in crate::machine) proof: bool,
    pub(in crate::machine) check: bool,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(in crate::machine) struct Book {
    /// Its rules, as its owner knows them.
    pub(in crate::machine) rules: Arc<MemberRules>,
    pub(in crate::machine) weight: Weight,
    pub(in crate::machine) health: Known,
    /// The same before the step that is being looked at.
    pub(in crate::machine) health_before: Known,
    pub(in crate::machine) mark: Option<Marked>,
    /// When its grace ends.
    pub(in crate::machine) grace: Option<Time>,
    /// Doublings of that grace.
    pub(in crate::machine) streak: u32,
    /// When traffic last failed back to it.
    pub(in crate::machine) returned: Option<Time>,
    /// Outcomes of operations on one connection, the oldest first.
    pub(in crate::machine) window: Vec<(Time, u32, u32)>,
    pub(in crate::machine) window_of: Option<Generation>,
    /// Its breaker is open, at least until then.
    pub(in crate::machine) broken: Option<Time>,
    /// It failed while the group was starting.
    pub(in crate::machine) failed: bool,
    /// Dials in vain in a row, and when the last one ended.
    pub(in crate::machine) refused: u32,
    pub(in crate::machine) refused_at: Time,
    pub(in crate::machine) excused: Excuses,
}

impl Book {
    pub(super) fn new(new: &NewMember) -> Self {
        Self {
            rules: new.rules.clone(),
            weight: new.weight,
            health: Known::Unknown,
            health_before: Known::Unknown,
            mark: None,
            grace: None,
            streak: 0,
            returned: None,
            window: Vec::new(),
            window_of: None,
            broken: None,
            failed: false,
            refused: 0,
            refused_at: Time::default(),
            excused: Excuses::default(),
        }
    }

    pub(super) fn is_checked(&self) -> bool {
        self.rules
            .health
            .checks
            .as_ref()
            .is_none_or(|checks| !checks.is_empty())
    }

    pub(super) fn in_grace(&self, now: Time) -> bool {
        self.grace.is_some_and(|until| until > now)
    }

    /// Something other than its health speaks against it.
    pub(super) fn is_held_back(&self, now: Time) -> bool {
        self.mark.is_some() || self.broken.is_some() || self.in_grace(now)
    }

    /// A check passed, or a proof where nothing is checked.
    pub(super) fn pass(&mut self, now: Time) {
        if !self.health.is_healthy() {
            self.health = Known::Healthy { since: now };
        }
    }
}
