//! Names, settings and last words of the members: what the machine does not need to decide, and people need to
//! understand.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Backend, Error, ErrorKind, Member, MemberName};

use super::sample::Sample;
use crate::config::Timeouts;
use crate::health::CheckPlan;
use crate::machine::{LinkView, Machine, MemberId, MemberView};
use crate::status::{MemberStatus, Operations, Status};

/// How many members an error text names; the status names all.
const NAMED: usize = 8;

/// What is kept of one member beside the machine.
pub(crate) struct Entry<B: Backend> {
    pub(crate) member: Arc<Member<B::Settings>>,
    pub(crate) plan: Arc<CheckPlan<B>>,
    pub(crate) timeouts: Timeouts,
    pub(crate) last_error: Option<Error>,
    pub(crate) round_trip: Option<Duration>,
    pub(crate) operations: Operations,
}

/// All members by number, and their numbers by name.
pub(crate) struct Directory<B: Backend> {
    pub(crate) entries: BTreeMap<MemberId, Entry<B>>,
    numbers: HashMap<MemberName, MemberId>,
    next: u32,
}

impl<B: Backend> Directory<B> {
    pub(crate) fn new() -> Self {
        Self {
            entries: BTreeMap::new(),
            numbers: HashMap::new(),
            next: 0,
        }
    }

    /// Gives a member its number. A name that is taken is refused.
    pub(crate) fn insert(
        &mut self,
        member: Member<B::Settings>,
        plan: CheckPlan<B>,
        timeouts: Timeouts,
    ) -> Result<MemberId, Error> {
        let name = member.name.clone();
        if self.numbers.contains_key(&name) {
            return Err(Error::new(
                ErrorKind::DuplicateMember,
                "there is a member of that name already",
            )
            .with_member(&name));
        }
        let id = MemberId(self.next);
        self.next += 1;
        self.numbers.insert(name, id);
        self.entries.insert(
            id,
            Entry {
                member: Arc::new(member),
                plan: Arc::new(plan),
                timeouts,
                last_error: None,
                round_trip: None,
                operations: Operations::default(),
            },
        );
        Ok(id)
    }

    pub(crate) fn remove(&mut self, id: MemberId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.numbers.remove(&entry.member.name);
        }
    }

    /// The number of a name.
    pub(crate) fn find(&self, name: &MemberName) -> Result<MemberId, Error> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let mut text = String::from("there is no member of that name; there are ");
            for (index, entry) in self.entries.values().take(NAMED).enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}{}", entry.member.name);
            }
            if self.entries.len() > NAMED {
                let _ = write!(text, " and {} more", self.entries.len() - NAMED);
            }
            Error::new(ErrorKind::UnknownMember, text).with_member(name)
        })
    }

    pub(crate) fn name(&self, id: MemberId) -> MemberName {
        match self.entries.get(&id) {
            Some(entry) => entry.member.name.clone(),
            None => format!("member {}", id.0).into(),
        }
    }

    /// How long a proof, an arming and a promotion may take.
    pub(crate) fn proof_bound(&self, id: MemberId) -> Duration {
        self.entries
            .get(&id)
            .map_or(Duration::MAX, |entry| entry.timeouts.prove)
    }

    pub(crate) fn cause(&self, id: MemberId) -> Option<Error> {
        self.entries.get(&id)?.last_error.clone()
    }

    /// Operations that ended on a member.
    pub(super) fn count(&mut self, sample: &Sample) {
        if let Some(entry) = self.entries.get_mut(&sample.member) {
            entry.operations.success += sample.success;
            entry.operations.failure += sample.failure;
        }
    }

    pub(crate) fn note(&mut self, id: MemberId, error: &Error) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.last_error = Some(error.clone().with_member(&entry.member.name));
        }
    }

    /// It is well: what was wrong before explains nothing that happens from here on.
    pub(crate) fn well(&mut self, id: MemberId) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.last_error = None;
        }
    }

    /// One line that names every member's state, for whoever is told that there is no active.
    pub(crate) fn states(&self, machine: &Machine) -> String {
        let mut text = String::new();
        let members = machine.member_views();
        let more = members.len().saturating_sub(NAMED);
        for (index, member) in members.take(NAMED).enumerate() {
            let comma = if index == 0 { "" } else { "; " };
            let _ = write!(text, "{comma}{}: {}", self.name(member.id), state(&member));
            if let Some(error) = self.cause(member.id) {
                let _ = write!(text, " ({})", error.message());
            }
        }
        if more > 0 {
            let _ = write!(text, "; and {more} more");
        }
        text
    }

    pub(crate) fn status(&self, group: Arc<str>, machine: &Machine) -> Status {
        let view = machine.view();
        Status {
            group,
            active: view.active.map(|id| self.name(id)),
            degraded: view.degraded,
            switching_to: view.switching_to.map(|id| self.name(id)),
            failback_suspended: view.failback_suspended,
            attempts: view.attempts,
            members: view
                .members
                .iter()
                .map(|member| self.member_status(member))
                .collect(),
        }
    }

    fn member_status(&self, view: &MemberView) -> MemberStatus {
        let entry = self.entries.get(&view.id);
        MemberStatus {
            name: self.name(view.id),
            weight: view.weight,
            enabled: view.enabled,
            link: view.link,
            generation: view.generation,
            healthy: view.healthy,
            read_only: view.read_only,
            lame_duck: view.lame_duck,
            breaker_open: view.broken,
            grace: view.grace,
            failures: view.failures,
            next_dial: view.next_dial,
            round_trip: entry.and_then(|entry| entry.round_trip),
            operations: entry.map(|entry| entry.operations).unwrap_or_default(),
            last_error: entry
                .and_then(|entry| entry.last_error.as_ref())
                .map(|error| error.message().to_owned()),
        }
    }
}

fn state(member: &MemberView) -> &'static str {
    if !member.enabled {
        return "disabled";
    }
    match member.link {
        LinkView::Cold | LinkView::Retiring => "not connected",
        LinkView::Connecting => "connecting",
        _ if member.read_only => "a read-only replica",
        _ if member.healthy == Some(false) => "unhealthy",
        LinkView::Connected => "connected, not yet in use",
        LinkView::Standby => "standing by",
        LinkView::Active => "active",
        LinkView::Draining => "draining",
    }
}
