//! Names, settings and last words of the members: what the machine does not need to decide, and people need to
//! understand.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Backend, Error, ErrorKind, Member, MemberName};

use super::sample::Sample;
use crate::config::{MemberConfig, MemberRules};
use crate::health::CheckPlan;
use crate::machine::{LinkView, Machine, MemberId, MemberView, NewMember};
use crate::status::{MemberStatus, Operations, Status};

/// How many members an error text names; the status names all.
const NAMED: usize = 8;

/// What is kept of one member beside the machine.
pub(crate) struct Entry<B: Backend> {
    pub(crate) member: Arc<Member<B::Settings>>,
    pub(crate) plan: Arc<CheckPlan<B>>,
    pub(crate) rules: Arc<MemberRules>,
    /// It is here because another member tells of it.
    pub(crate) discovered: bool,
    pub(crate) last_error: Option<Error>,
    pub(crate) round_trip: Option<Duration>,
    pub(crate) operations: Operations,
}

/// How a member's configuration differs from what it runs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    None,
    /// In rules that can be changed under its connection.
    Rules,
    /// It needs another connection.
    Connection,
    /// It was about to get another connection, and is to keep the one that it has.
    Back,
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
        config: MemberConfig<B::Settings>,
        plan: CheckPlan<B>,
    ) -> Result<NewMember, Error> {
        let name = config.member.name.clone();
        if self.numbers.contains_key(&name) {
            return Err(Error::new(
                ErrorKind::DuplicateMember,
                "there is a member of that name already",
            )
            .with_member(&name));
        }
        Ok(self.insert_anew(config, plan))
    }

    /// The same where the name may be that of a member that is going: it means the new one from here on.
    pub(crate) fn insert_anew(
        &mut self,
        config: MemberConfig<B::Settings>,
        plan: CheckPlan<B>,
    ) -> NewMember {
        let name = config.member.name.clone();
        let new = self.insert_beside(config, plan);
        self.numbers.insert(name, new.id);
        new
    }

    /// The same beside the member of that name, which keeps it until [`rename`](Self::rename).
    pub(crate) fn insert_beside(
        &mut self,
        config: MemberConfig<B::Settings>,
        plan: CheckPlan<B>,
    ) -> NewMember {
        let id = MemberId(self.next);
        self.next += 1;
        let rules = Arc::new(config.rules);
        let new = NewMember {
            id,
            weight: config.member.weight,
            enabled: config.enabled,
            rules: rules.clone(),
        };
        self.entries.insert(
            id,
            Entry {
                member: Arc::new(config.member),
                plan: Arc::new(plan),
                rules,
                discovered: false,
                last_error: None,
                round_trip: None,
                operations: Operations::default(),
            },
        );
        new
    }

    /// Who has a name: members that are going or coming under the name of another are left out.
    pub(crate) fn named(&self) -> impl Iterator<Item = (MemberId, &Entry<B>)> + '_ {
        self.entries
            .iter()
            .filter(|(id, entry)| self.numbers.get(&entry.member.name) == Some(id))
            .map(|(id, entry)| (*id, entry))
    }

    /// What changed between a member, as it is or is about to be, and a new configuration of it.
    pub(crate) fn difference(
        &self,
        id: MemberId,
        successor: Option<MemberId>,
        config: &MemberConfig<B::Settings>,
    ) -> Difference {
        let entry = |id: &MemberId| self.entries.get(id);
        let (Some(now), coming) = (entry(&id), successor.as_ref().and_then(entry)) else {
            return Difference::None;
        };
        // Beside the settings, what a connection is dialled with, and what it is healthy by.
        let same_connection = |entry: &Entry<B>| {
            let (ours, theirs) = (&*entry.rules, &config.rules);
            entry.member.settings == config.member.settings
                && ours.timeouts.operation == theirs.timeouts.operation
                && ours.health.is_empty() == theirs.health.is_empty()
        };
        match coming {
            Some(coming) if same_connection(coming) && *coming.rules == config.rules => {
                Difference::None
            }
            Some(_) if same_connection(now) => Difference::Back,
            Some(_) => Difference::Connection,
            None if !same_connection(now) => Difference::Connection,
            None if *now.rules != config.rules => Difference::Rules,
            None => Difference::None,
        }
    }

    /// The number of a name, if there is one.
    pub(crate) fn number(&self, name: &MemberName) -> Option<MemberId> {
        self.numbers.get(name).copied()
    }

    /// Forgets a member. Its name stays if it means another by now; otherwise whoever is gone is returned.
    pub(crate) fn remove(&mut self, id: MemberId) -> Option<Entry<B>> {
        let entry = self.entries.remove(&id)?;
        if self.numbers.get(&entry.member.name) != Some(&id) {
            return None;
        }
        self.numbers.remove(&entry.member.name);
        Some(entry)
    }

    /// The name of `old` means `new` from here on. What was counted under it goes on.
    pub(crate) fn rename(&mut self, old: MemberId, new: MemberId) {
        let before = self.entries.get(&old);
        let (operations, discovered) =
            before.map_or_else(Default::default, |old| (old.operations, old.discovered));
        if let Some(entry) = self.entries.get_mut(&new) {
            (entry.operations, entry.discovered) = (operations, discovered);
            self.numbers.insert(entry.member.name.clone(), new);
        }
    }

    /// The number of a name.
    pub(crate) fn find(&self, name: &MemberName) -> Result<MemberId, Error> {
        self.numbers.get(name).copied().ok_or_else(|| {
            let mut text = String::from("there is no member of that name; there are ");
            for (index, (_, entry)) in self.named().take(NAMED).enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}{}", entry.member.name);
            }
            if self.numbers.len() > NAMED {
                let _ = write!(text, " and {} more", self.numbers.len() - NAMED);
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
            .map_or(Duration::MAX, |entry| entry.rules.timeouts.prove)
    }

    /// Whether a member is here because another one tells of it.
    pub(crate) fn discover(&mut self, id: MemberId, discovered: bool) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.discovered = discovered;
        }
    }

    /// Those that are.
    pub(crate) fn discovered(&self) -> impl Iterator<Item = (MemberId, &Entry<B>)> + '_ {
        self.named().filter(|(_, entry)| entry.discovered)
    }

    pub(crate) fn is_discovered(&self, id: MemberId) -> bool {
        self.entries.get(&id).is_some_and(|entry| entry.discovered)
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
        let more = self.numbers.len().saturating_sub(NAMED);
        let members = machine
            .member_views()
            .filter(|member| self.is_named(member));
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
        let mut view = machine.view();
        let coming: HashMap<MemberId, MemberId> = view
            .members
            .iter()
            .filter_map(|member| Some((member.replaces?, member.id)))
            .collect();
        view.members.retain(|member| self.is_named(member));
        view.members.sort_by_key(|member| member.place);
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
                .map(|member| self.member_status(member, coming.get(&member.id).copied()))
                .collect(),
        }
    }

    fn is_named(&self, member: &MemberView) -> bool {
        let entry = self.entries.get(&member.id);
        entry.is_some_and(|entry| self.numbers.get(&entry.member.name) == Some(&member.id))
    }

    fn member_status(&self, view: &MemberView, coming: Option<MemberId>) -> MemberStatus {
        let entry = self.entries.get(&view.id);
        // Why its new settings do not work yet is what people want to know first.
        let coming_error = coming.and_then(|id| self.cause(id));
        MemberStatus {
            name: self.name(view.id),
            weight: view.weight,
            enabled: view.enabled,
            discovered: entry.is_some_and(|entry| entry.discovered),
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
            replacing: coming.is_some(),
            leaving: view.leaving,
            last_error: coming_error
                .as_ref()
                .or(entry.and_then(|entry| entry.last_error.as_ref()))
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
        LinkView::Standby if member.healthy.is_none() => "standing by, not checked yet",
        LinkView::Standby => "standing by",
        LinkView::Active => "active",
        LinkView::Draining => "draining",
    }
}
