//! A new configuration becomes requests: what differs between it and the members as they are now.
//!
//! Everything is judged before anything is changed. The requests go to the machine as one batch, those that add first
//! and those that remove last; none of them can be refused, and how they go on is told by events.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use backend_api::{Backend, Error, ErrorKind, MemberName};
use tokio::sync::oneshot;

use super::answer::Caller;
use super::directory::Difference;
use super::{Core, Driver, guard, guarded, lock};
use crate::config::{GroupConfig, MemberConfig};
use crate::event::EventKind;
use crate::health::CheckPlan;
use crate::machine::{Input, MemberId, Membership, Request};
use crate::reload::{Reloaded, differences, fixed};

/// A new configuration, or why there is none, and who wants to know what it changed.
pub(super) type Order<B> = (
    Result<Box<GroupConfig<<B as Backend>::Settings>>, Error>,
    oneshot::Sender<Result<Reloaded, Error>>,
);

/// What is to be asked of the machine.
#[derive(Default)]
struct Plan {
    changes: Reloaded,
    group: Option<Request>,
    /// Members that come or go on.
    coming: Vec<Request>,
    changing: Vec<Request>,
    going: Vec<Request>,
}

impl Plan {
    /// So that the group is never without members.
    fn in_order(self) -> impl Iterator<Item = Request> {
        let members = self.coming.into_iter().chain(self.changing);
        self.group.into_iter().chain(members).chain(self.going)
    }
}

/// The members as they are now.
struct Standing {
    members: HashMap<MemberId, Membership>,
    /// By the member whose place each of them is to take.
    successors: HashMap<MemberId, MemberId>,
}

impl<B: Backend> Driver<B> {
    /// Looks at one configuration; what follows from it is in the batch.
    pub(super) fn reload(&mut self, (config, reply): Order<B>, batch: &mut Vec<Input>) {
        if self.closing {
            let _ = reply.send(Err(Error::new(ErrorKind::Closed, "the group is closed")));
            return;
        }
        let core = self.core.clone();
        let plan = config.and_then(|config| {
            let config = self.judged(*config)?;
            let mut core = lock(&core);
            fixed(&core.rules, &config.rules)?;
            Ok(self.plan_of(&mut core, config))
        });
        let answer = plan.map(|plan| {
            let changes = plan.changes.clone();
            if !changes.is_unchanged() {
                self.emit(EventKind::ConfigReloaded {
                    changes: Box::new(changes.clone()),
                });
            }
            for request in plan.in_order() {
                batch.push(self.request(request, Caller::Nobody));
            }
            changes
        });
        if let Err(cause) = &answer {
            let cause = cause.clone();
            self.emit(EventKind::ReloadFailed { cause });
        }
        // Whoever gave up the answer sees the events.
        let _ = reply.send(answer);
    }

    /// The same checks, and the same finish, as when a group is opened.
    fn judged(
        &self,
        mut config: GroupConfig<B::Settings>,
    ) -> Result<GroupConfig<B::Settings>, Error> {
        guarded("the backend", || {
            config.check(&*self.backend, &self.known)?;
            let defaults = self.backend.default_checks();
            config.rules.member.health.name_checks(&defaults);
            for member in &mut config.members {
                member.rules.health.name_checks(&defaults);
            }
            Ok(config)
        })?
    }

    fn plan_of(&mut self, core: &mut Core<B>, config: GroupConfig<B::Settings>) -> Plan {
        let mut plan = Plan::default();
        plan.changes.group = differences(&core.rules, &config.rules);
        if !plan.changes.group.is_empty() {
            let mut rules = config.rules;
            guard(&mut rules);
            core.rules = Arc::new(rules);
            self.sampler.tune(&core.rules);
            self.slot.set_overdue(self.sampler.overdue());
            plan.group = Some(Request::SetGroupRules(core.rules.clone()));
        }
        let standing = Standing {
            members: core
                .machine
                .memberships()
                .map(|member| (member.id, member))
                .collect(),
            successors: core
                .machine
                .memberships()
                .filter_map(|member| Some((member.replaces?, member.id)))
                .collect(),
        };
        let before: Vec<(MemberId, MemberName)> = core
            .directory
            .named()
            .map(|(id, entry)| (id, entry.member.name.clone()))
            .collect();
        let mut wanted = HashSet::new();
        for config in config.members {
            wanted.insert(config.member.name.clone());
            let now = core
                .directory
                .number(&config.member.name)
                .and_then(|id| standing.members.get(&id))
                .filter(|member| !member.removed);
            match now {
                Some(now) => {
                    if core.directory.is_discovered(now.id) {
                        core.directory.discover(now.id, false);
                        if !now.outgoing {
                            plan.changes.added.push(config.member.name.clone());
                        }
                    }
                    let successor = standing.successors.get(&now.id).copied();
                    self.compare(core, &mut plan, (now, successor), config);
                }
                None => {
                    plan.changes.added.push(config.member.name.clone());
                    let checks = CheckPlan::new(&config.rules.health, &self.checks);
                    let new = core.directory.insert_anew(config, checks);
                    plan.coming.push(Request::Add(new));
                }
            }
        }
        let told = self.told(core);
        for (id, name) in before {
            let now = standing.members.get(&id);
            let now = now.filter(|member| !member.removed && !member.outgoing);
            let Some(now) = now.filter(|_| !wanted.contains(&name)) else {
                continue;
            };
            let discovered = core.directory.is_discovered(id);
            if discovered || told.contains(&name) {
                if !discovered {
                    core.directory.discover(id, true);
                    plan.changes.discovered.push(name);
                }
                self.leave_to_discovery(core, &mut plan, now, standing.successors.get(&id));
                continue;
            }
            plan.changes.removed.push(name);
            plan.going.push(Request::PhaseOut {
                member: id,
                remove: true,
            });
        }
        // Whoever was to go, or has become a member like another, may be told of.
        self.discovery.look();
        plan
    }

    /// A member that no configuration names and that is told of stays as it is, under the rules of the group.
    fn leave_to_discovery(
        &self,
        core: &mut Core<B>,
        plan: &mut Plan,
        now: &Membership,
        successor: Option<&MemberId>,
    ) {
        let latest = core.directory.entries.get(successor.unwrap_or(&now.id));
        let Some(entry) = latest else {
            return;
        };
        let mut member = (*entry.member).clone();
        member.weight = now.weight;
        let config = MemberConfig {
            member,
            enabled: now.enabled,
            rules: core.rules.member.clone(),
        };
        self.compare(core, plan, (now, successor.copied()), config);
    }

    /// What differs of a member that is there.
    fn compare(
        &self,
        core: &mut Core<B>,
        plan: &mut Plan,
        (now, successor): (&Membership, Option<MemberId>),
        config: MemberConfig<B::Settings>,
    ) {
        let (id, name) = (now.id, config.member.name.clone());
        let changes = &mut plan.changes;
        let mut changed = now.weight != config.member.weight;
        if changed {
            plan.changing
                .push(Request::SetWeight(id, config.member.weight));
        }
        // A member that was about to go comes back.
        if config.enabled && (now.outgoing || !now.enabled) {
            let list = if now.outgoing {
                &mut changes.added
            } else {
                &mut changes.enabled
            };
            list.push(name.clone());
            plan.coming.push(Request::Enable(id));
        } else if !config.enabled && (now.outgoing || now.enabled) {
            changes.disabled.push(name.clone());
            plan.going.push(Request::PhaseOut {
                member: id,
                remove: false,
            });
        }
        match core.directory.difference(id, successor, &config) {
            Difference::None => {}
            Difference::Rules => {
                changed = true;
                plan.changing.push(self.retune(core, id, config));
            }
            Difference::Back => {
                changes.replaced.push(name.clone());
                plan.changing.push(Request::KeepAsIs(id));
                plan.changing.push(self.retune(core, id, config));
            }
            Difference::Connection => {
                changes.replaced.push(name.clone());
                let checks = CheckPlan::new(&config.rules.health, &self.checks);
                let new = core.directory.insert_beside(config, checks);
                plan.changing.push(Request::Replace { old: id, new });
            }
        }
        if changed {
            changes.changed.push(name);
        }
    }

    fn retune(
        &self,
        core: &mut Core<B>,
        id: MemberId,
        config: MemberConfig<B::Settings>,
    ) -> Request {
        let rules = Arc::new(config.rules);
        if let Some(entry) = core.directory.entries.get_mut(&id) {
            entry.plan = Arc::new(CheckPlan::new(&rules.health, &self.checks));
            entry.rules = rules.clone();
        }
        Request::SetRules(id, rules)
    }
}
