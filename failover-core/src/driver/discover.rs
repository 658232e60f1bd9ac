//! What members tell of other members becomes requests: who joins, who goes, and whose settings are others now.
//!
//! It is looked at as a whole, like a new configuration, whenever the answer may have changed: a connection tells
//! something new, another one is active, one that told something is gone. What counts then is the latest list of every
//! connection whose word counts (`machine::rules::discovery`), the active's first:
//!
//! - Whoever is told of and unknown joins, with the group's rules and the weight that it is told with. Where two lists
//!   give one name different settings, the active's hold, then those of the oldest connection.
//! - A discovered member goes, as patiently as one that a new configuration leaves out, when the active's connection has
//!   told of members and not of it, and no other connection tells of it. A connection to a member is no witness for that
//!   member itself, the active's aside: whoever was cut off would vouch for itself.
//! - Whoever a configuration or a call named is never touched, whatever is told of that name or of the same settings.
//! - Nobody joins before startup is over: its policy is about configured members.
//!
//! Nothing is connected here, and nothing is decided that depends on how a member is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backend_api::{Backend, Generation, Member, MemberName};

use super::answer::Caller;
use super::directory::Difference;
use super::{Core, Driver, guarded, lock};
use crate::config::MemberConfig;
use crate::event::EventKind;
use crate::health::CheckPlan;
use crate::machine::{Input, MemberId, Membership, Request, Word};

/// How many discovered members a group has at most. A cluster of more is no cluster, or somebody is telling tales.
pub(super) const MOST: usize = 256;

/// What is kept between two looks.
#[derive(Default)]
pub(super) struct Discovery {
    /// Something may have changed since the last look.
    due: bool,
    /// People know that there are more than [`MOST`].
    full: bool,
    /// Told members that no group would take, so that people hear of each once.
    refused: HashSet<MemberName>,
}

impl Discovery {
    /// There is something to look at, once the machine has settled.
    pub(super) fn look(&mut self) {
        self.due = true;
    }

    /// A member is gone; others may have been left out for it.
    pub(super) fn made_room(&mut self) {
        self.due |= self.full;
    }
}

/// What is told at a moment, by name.
pub(super) struct Told<S> {
    /// In the order in which they would join.
    members: Vec<Teller<S>>,
    places: HashMap<MemberName, usize>,
    /// The active's connection, if it has told anything.
    decides: Option<Generation>,
}

/// A member that is told of, and by whom first.
struct Teller<S> {
    member: Member<S>,
    by: (MemberId, Generation),
}

impl<S> Told<S> {
    pub(super) fn contains(&self, name: &MemberName) -> bool {
        self.places.contains_key(name)
    }
}

impl<B: Backend> Driver<B> {
    /// What is told now by those whose word counts.
    pub(super) fn told(&self, core: &Core<B>) -> Told<B::Settings> {
        let mut tellers: Vec<(Generation, MemberId, Word)> = self
            .lines
            .iter()
            .filter(|(_, line)| !line.told.is_empty())
            .filter_map(|(generation, line)| {
                let word = core.machine.word(line.member, *generation)?;
                Some((*generation, line.member, word))
            })
            .collect();
        tellers.sort_by_key(|(generation, _, word)| (*word != Word::Decides, *generation));
        let mut told = Told {
            members: Vec::new(),
            places: HashMap::new(),
            decides: tellers
                .first()
                .filter(|(_, _, word)| *word == Word::Decides)
                .map(|(generation, ..)| *generation),
        };
        for (generation, id, word) in tellers {
            let own = core.directory.name(id);
            for member in self
                .lines
                .get(&generation)
                .into_iter()
                .flat_map(|line| &line.told)
            {
                let vouches = word == Word::Decides || member.name != own;
                if vouches && !told.contains(&member.name) {
                    told.places.insert(member.name.clone(), told.members.len());
                    told.members.push(Teller {
                        member: member.clone(),
                        by: (id, generation),
                    });
                }
            }
        }
        told
    }

    /// Looks at what is told, if there is something new. Whether anything follows from it; that is in the batch then.
    pub(super) fn discover(&mut self, batch: &mut Vec<Input>) -> bool {
        if !self.discovery.due || self.closing {
            return false;
        }
        let core = self.core.clone();
        let mut core = lock(&core);
        if !core.machine.is_running() {
            return false;
        }
        self.discovery.due = false;
        let told = self.told(&core);
        let requests = self.compare_told(&mut core, &told);
        for request in requests {
            batch.push(self.request(request, Caller::Nobody));
        }
        !batch.is_empty()
    }

    fn compare_told(&mut self, core: &mut Core<B>, told: &Told<B::Settings>) -> Vec<Request> {
        let standing: HashMap<MemberId, Membership> = core
            .machine
            .memberships()
            .map(|member| (member.id, member))
            .collect();
        let successors: HashMap<MemberId, MemberId> = standing
            .values()
            .filter_map(|member| Some((member.replaces?, member.id)))
            .collect();
        let mut requests = Vec::new();
        let mut count = core.directory.discovered().count();
        let mut left_out = None;
        for teller in &told.members {
            let known = core
                .directory
                .number(&teller.member.name)
                .and_then(|id| standing.get(&id))
                .filter(|known| !known.removed);
            let Some(known) = known else {
                if count >= MOST {
                    left_out.get_or_insert(teller.by);
                } else if let Some(request) = self.join(core, teller) {
                    requests.push(request);
                    count += 1;
                }
                continue;
            };
            if known.outgoing {
                // Nobody configures it any more, or it was not told of for a while: it is back before it was gone.
                core.directory.discover(known.id, true);
                requests.push(Request::Enable(known.id));
            }
            if core.directory.is_discovered(known.id) {
                let successor = successors.get(&known.id).copied();
                requests.extend(self.resettle(core, known.id, successor, &teller.member));
            }
        }
        if let Some(by) = told.decides {
            let untold = core.directory.discovered().filter(|(id, entry)| {
                let stays = |known: &Membership| !known.outgoing && !known.removed;
                !told.contains(&entry.member.name) && standing.get(id).is_some_and(stays)
            });
            requests.extend(untold.map(|(member, _)| Request::Untold { member, by }));
        }
        self.discovery.refused.retain(|name| told.contains(name));
        self.report_crowd(core, left_out);
        requests
    }

    /// A member that nobody knew.
    fn join(&mut self, core: &mut Core<B>, teller: &Teller<B::Settings>) -> Option<Request> {
        let member = &teller.member;
        // What would be dialled under another name already is no new place.
        let same = |entry: &Arc<Member<B::Settings>>| entry.settings == member.settings;
        let configured = core
            .directory
            .named()
            .filter(|(_, entry)| !entry.discovered);
        if configured.map(|(_, entry)| &entry.member).any(same) {
            return None;
        }
        let mut config = MemberConfig {
            member: member.clone(),
            enabled: true,
            rules: core.rules.member.clone(),
        };
        match self.plan(&core.rules, &mut config) {
            Ok(checks) => {
                let new = core.directory.insert_anew(config, checks);
                core.directory.discover(new.id, true);
                Some(Request::Add(new))
            }
            Err(error) => {
                let heard_of = &mut self.discovery.refused;
                if heard_of.len() < MOST && heard_of.insert(member.name.clone()) {
                    let text = format!("it tells of {}, which cannot join: {error}", member.name);
                    self.notice(core, teller.by, "bad_member", text);
                }
                None
            }
        }
    }

    /// Other settings for a discovered member, as a new configuration would bring them.
    fn resettle(
        &self,
        core: &mut Core<B>,
        id: MemberId,
        successor: Option<MemberId>,
        told: &Member<B::Settings>,
    ) -> Option<Request> {
        let rules = core.directory.entries.get(&id)?.rules.clone();
        let config = MemberConfig {
            member: told.clone(),
            enabled: true,
            rules: (*rules).clone(),
        };
        match core.directory.difference(id, successor, &config) {
            Difference::None | Difference::Rules => None,
            Difference::Back => Some(Request::KeepAsIs(id)),
            Difference::Connection => {
                let judge = || self.backend.validate(&config.member.settings);
                if !matches!(guarded("the backend", judge), Ok(Ok(()))) {
                    return None;
                }
                let checks = CheckPlan::new(&config.rules.health, &self.checks);
                let new = core.directory.insert_beside(config, checks);
                Some(Request::Replace { old: id, new })
            }
        }
    }

    /// Says once that there are too many, until there are fewer again.
    fn report_crowd(&mut self, core: &Core<B>, left_out: Option<(MemberId, Generation)>) {
        let Some(by) = left_out else {
            self.discovery.full = false;
            return;
        };
        if !std::mem::replace(&mut self.discovery.full, true) {
            let text = format!("it tells of more than {MOST} members; the rest does not join");
            self.notice(core, by, "too_many_members", text);
        }
    }

    fn notice(
        &self,
        core: &Core<B>,
        (member, generation): (MemberId, Generation),
        what: &'static str,
        text: String,
    ) {
        self.emit(EventKind::Notice {
            member: core.directory.name(member),
            generation,
            what,
            text,
        });
    }
}
