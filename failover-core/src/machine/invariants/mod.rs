//! What must hold whatever happens: the invariants of the machine, checked over each step of a table test, a random
//! history or the exhaustive search.
//!
//! An [`Observer`] keeps what it saw go in and come out, independently of the machine's own books, so that the machine
//! cannot vouch for itself. It decides nothing and never feeds anything back.

mod links;
mod membership;
mod promises;
mod traffic;

use std::collections::{BTreeMap, BTreeSet};

use backend_api::Generation;

use super::{Action, Identity, Input, Machine, MemberId, Op, RequestId, Time};

/// A broken invariant, in words.
pub(super) type Violation = String;

/// One call of the machine.
pub(super) struct Step<'a> {
    pub(super) before: &'a Machine,
    pub(super) inputs: &'a [Input],
    pub(super) actions: &'a [Action],
    pub(super) after: &'a Machine,
}

/// A connection as the outside knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Seen {
    member: MemberId,
    /// When it last passed a proof.
    proven: Option<Time>,
    promoted: bool,
    /// Something of what lives on an active may be on it.
    laden: bool,
    /// Its end was asked for.
    retired: bool,
}

/// What an operation is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Job {
    Connect,
    Prove,
    Promote,
    Other,
}

/// See the [module](self).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Observer {
    seen: BTreeMap<Generation, Seen>,
    jobs: BTreeMap<Op, (Job, MemberId, Generation)>,
    active: Option<(MemberId, Generation)>,
    asked: BTreeSet<RequestId>,
    /// Where the last connection of each member ended.
    servers: BTreeMap<MemberId, Option<Identity>>,
    started: bool,
    failed: bool,
    closed: bool,
}

impl Observer {
    /// Checks one step and remembers it.
    pub(super) fn check(&mut self, step: &Step<'_>) -> Result<(), Violation> {
        let checked = self.check_all(step);
        self.forget(step.inputs);
        checked
    }

    fn check_all(&mut self, step: &Step<'_>) -> Result<(), Violation> {
        self.hear(step);
        traffic::old_connections_move_nothing(self, step)?;
        for action in step.actions {
            traffic::only_proven_and_promoted_become_active(self, step, action)?;
            traffic::an_open_active_stays(self, step, action)?;
            traffic::a_redial_is_heard_out(step, action)?;
            links::one_dial_per_member(self, action)?;
            links::one_loop_in_an_outage(self, step, action)?;
            links::nobody_is_dialled_to_share(self, step, action)?;
            links::retired_once(self, action)?;
            promises::answered_once(self, action)?;
            promises::told_once(self, action)?;
            membership::proven_before_it_replaces(self, step, action)?;
            self.see(action);
        }
        traffic::at_most_one_active(self, step)?;
        traffic::nobody_stands_by_laden(self, step)?;
        traffic::the_fit_come_first(step)?;
        traffic::other_servers_come_first(self, step)?;
        traffic::no_replica_carries_traffic(step)?;
        traffic::failback_goes_up(step)?;
        membership::somebody_takes_part(step)?;
        membership::successors_stand_aside(step)?;
        membership::only_the_active_is_believed(step)?;
        links::nothing_is_forgotten(self, step)?;
        promises::everything_has_a_deadline(step)?;
        promises::nothing_is_left_undone(step)?;
        promises::the_view_agrees(step)
    }

    /// How many callers still wait.
    pub(super) fn waiting(&self) -> usize {
        self.asked.len()
    }

    /// The last connection of a member ended where the active's did.
    pub(super) fn is_twin(&self, machine: &Machine, id: MemberId) -> bool {
        let server = |id| self.servers.get(&id).copied().flatten();
        machine.active.is_some_and(|active| {
            active != id && server(id).is_some() && server(active) == server(id)
        })
    }

    /// Connections that were opened and whose end nobody asked for.
    pub(super) fn open(&self) -> impl Iterator<Item = (MemberId, Generation)> + '_ {
        self.seen
            .iter()
            .filter(|(_, seen)| !seen.retired)
            .map(|(generation, seen)| (seen.member, *generation))
    }

    fn hear(&mut self, step: &Step<'_>) {
        for input in step.inputs {
            match *input {
                Input::Connected(member, generation, op, server) => {
                    let awaited = self.jobs.remove(&op).is_some();
                    if awaited {
                        self.servers.insert(member, server);
                    }
                    self.seen.insert(
                        generation,
                        Seen {
                            member,
                            proven: None,
                            promoted: false,
                            laden: false,
                            retired: false,
                        },
                    );
                }
                Input::Done(_, op) => {
                    if let Some((job, _, generation)) = self.jobs.remove(&op)
                        && let Some(seen) = self.seen.get_mut(&generation)
                    {
                        // A promotion that may come ahead of its decision is a proof as well.
                        let proof = job == Job::Promote && step.after.capabilities.promotes_ahead();
                        if job == Job::Prove || proof {
                            seen.proven = Some(step.after.now);
                        }
                        seen.promoted |= job == Job::Promote;
                    }
                }
                Input::ConnectFailed(_, op) => {
                    self.jobs.remove(&op);
                }
                Input::Retired(_, generation) => {
                    self.seen.remove(&generation);
                }
                Input::Request(id, _) => {
                    self.asked.insert(id);
                }
                _ => {}
            }
        }
    }

    fn see(&mut self, action: &Action) {
        match *action {
            Action::Connect(id, generation, op, _) => {
                self.jobs.insert(op, (Job::Connect, id, generation));
            }
            Action::Prove(id, generation, op) => {
                self.jobs.insert(op, (Job::Prove, id, generation));
            }
            Action::Promote(id, generation, op, _) => {
                self.jobs.insert(op, (Job::Promote, id, generation));
                if let Some(seen) = self.seen.get_mut(&generation) {
                    seen.laden = true;
                }
            }
            Action::Drain(id, generation, op) => {
                self.jobs.insert(op, (Job::Other, id, generation));
                if let Some(seen) = self.seen.get_mut(&generation) {
                    seen.laden = false;
                }
            }
            Action::Arm(id, generation, op) | Action::Check(id, generation, op) => {
                self.jobs.insert(op, (Job::Other, id, generation));
            }
            Action::Cancel(op) => {
                self.jobs.remove(&op);
            }
            Action::Activate(id, generation) => {
                self.active = Some((id, generation));
                if let Some(seen) = self.seen.get_mut(&generation) {
                    seen.promoted = false;
                }
            }
            Action::Deactivate => self.active = None,
            Action::Retire(_, generation) => {
                if let Some(seen) = self.seen.get_mut(&generation) {
                    seen.retired = true;
                }
            }
            Action::Answer(id, _) => {
                self.asked.remove(&id);
            }
            Action::Started => self.started = true,
            Action::StartFailed => self.failed = true,
            Action::Closed => self.closed = true,
            Action::Forget(id) => {
                self.servers.remove(&id);
            }
            Action::Replaced(..) | Action::Tell(_) => {}
        }
    }

    /// Failures explain the step that they are part of, and are forgotten after it.
    fn forget(&mut self, inputs: &[Input]) {
        for input in inputs {
            if let Input::Failed(_, op, _) | Input::Checked(_, op, _) = input {
                self.jobs.remove(op);
            }
        }
    }
}
