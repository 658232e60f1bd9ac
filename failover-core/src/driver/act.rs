//! Doing what the machine says.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Backend, Dial, Error, ErrorKind, Generation};
use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::message::{Answered, Reply};
use super::running::Errand;
use super::{Core, Driver, Line, Voice};
use crate::event::EventKind;
use crate::machine::{Action, Failure, Input, MemberId, News, Op, Verdict};

impl<B: Backend> Driver<B> {
    pub(super) fn act(&mut self, core: &mut Core<B>, action: Action) {
        match action {
            Action::Connect(id, generation, op, timeout) => {
                self.connect(core, id, generation, op, timeout);
            }
            Action::Prove(id, generation, op) => self.prove(core, id, generation, op),
            Action::Arm(id, generation, op) => {
                let errand = Errand::new(id, "arm").within(core.directory.proof_bound(id));
                self.on_line(errand, generation, op, |backend, line| async move {
                    backend.arm(&line).await
                });
            }
            Action::Promote(id, generation, op, from) => {
                let from = from.and_then(|from| self.last(from));
                let errand = Errand::new(id, "promote").within(core.directory.proof_bound(id));
                self.on_line(errand, generation, op, |backend, line| async move {
                    backend.promote(&line, from.as_ref()).await
                });
            }
            Action::Drain(id, generation, op) => self.drain(id, generation, op),
            Action::Check(id, generation, op) => self.check(core, id, generation, op),
            Action::Cancel(op) => self.cancel(core, op),
            Action::Activate(id, generation) => self.activate(core, id, generation),
            Action::Deactivate => {
                let leases = self.slot.clear(self.absence(core));
                self.keep_leases(leases);
            }
            Action::Retire(id, generation) => self.retire(id, generation),
            Action::Started => self.started(Ok(())),
            Action::StartFailed => {
                self.closing = true;
                let states = core.directory.states(&core.machine);
                let text = format!(
                    "the startup policy `{:?}` cannot be met: {states}",
                    core.rules.startup
                );
                self.started(Err(Error::new(ErrorKind::Startup, text)));
            }
            Action::Answer(request, answer) => self.reply(core, request, answer),
            Action::Forget(id) => {
                if let Some(gone) = core.directory.remove(id) {
                    self.discovery.made_room();
                    self.emit(EventKind::MemberRemoved {
                        member: gone.member.name.clone(),
                        discovered: gone.discovered,
                    });
                }
            }
            Action::Replaced(old, new) => {
                core.directory.rename(old, new);
                let member = core.directory.name(new);
                self.emit(EventKind::Replaced { member });
            }
            Action::Tell(news) => self.tell(core, news),
            Action::Closed => {}
        }
    }

    fn started(&mut self, result: Result<(), Error>) {
        if let Some(started) = self.started.take() {
            // Whoever opened the group may have given up; then the slot is gone too, and the group closes.
            let _ = started.send(result);
        }
    }

    fn connect(
        &mut self,
        core: &Core<B>,
        id: MemberId,
        generation: Generation,
        op: Op,
        timeout: Duration,
    ) {
        let Some(entry) = core.directory.entries.get(&id) else {
            return;
        };
        let (member, backend) = (entry.member.clone(), self.backend.clone());
        let operation = entry.rules.timeouts.operation;
        let prove = entry.rules.timeouts.prove;
        let signals = self.source.signals(member.name.clone(), generation);
        self.voices.insert(generation, Voice::new(signals.clone()));
        let reply = Reply::new(
            self.answers.clone(),
            Input::ConnectFailed(id, op),
            id,
            "connect",
        );
        let mut errand = Errand::new(id, "connect").within(timeout);
        errand.dials = Some(generation);
        self.spawn(op, errand, async move {
            let dial = Dial::new(&member, generation, signals)
                .with_timeout(timeout)
                .with_operation(operation)
                .with_prove(prove);
            let answer = match backend.connect(dial).await {
                Ok(connection) => Answered::Connected(id, generation, op, connection),
                Err(error) => Answered::Plain(
                    Input::ConnectFailed(id, op),
                    id,
                    Some(error.with_operation("connect")),
                ),
            };
            reply.send(answer);
        });
    }

    fn prove(&mut self, core: &Core<B>, id: MemberId, generation: Generation, op: Op) {
        let (backend, reply) = (self.backend.clone(), self.reply_to(id, op, "prove"));
        let Some(connection) = self.connection(generation) else {
            return;
        };
        let errand = Errand::new(id, "prove").within(core.directory.proof_bound(id));
        self.spawn(op, errand, async move {
            let began = Instant::now();
            let answer = match backend.prove(&connection).await {
                Ok(()) => Answered::Proven(id, op, began.elapsed()),
                Err(error) => failed(id, op, error.with_operation("prove")),
            };
            reply.send(answer);
        });
    }

    /// Runs a step of the contract on a connection.
    fn on_line<F>(
        &mut self,
        errand: Errand,
        generation: Generation,
        op: Op,
        step: impl FnOnce(Arc<B>, B::Connection) -> F,
    ) where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let Errand {
            member: id, name, ..
        } = errand;
        let reply = self.reply_to(id, op, name);
        let Some(connection) = self.connection(generation) else {
            return;
        };
        let step = step(self.backend.clone(), connection);
        self.spawn(op, errand, async move {
            let answer = match step.await {
                Ok(()) => Answered::Plain(Input::Done(id, op), id, None),
                Err(error) => failed(id, op, error.with_operation(name)),
            };
            reply.send(answer);
        });
    }

    /// Lets a connection finish: the backend's part, and the operations of all its turns as active.
    fn drain(&mut self, id: MemberId, generation: Generation, op: Op) {
        let backend = self.backend.clone();
        let reply = Reply::new(self.answers.clone(), Input::Done(id, op), id, "drain");
        let Some(line) = self.lines.get_mut(&generation) else {
            return;
        };
        let (connection, mut leases) = (line.connection.clone(), line.leases.clone());
        self.spawn(op, Errand::new(id, "drain"), async move {
            // There are none where a promotion was called off.
            let latest = leases.pop().unwrap_or_else(backend_api::Leases::none);
            backend.drain(&connection, latest).await;
            for earlier in leases {
                earlier.ended().await;
            }
            reply.send(Answered::Plain(Input::Done(id, op), id, None));
        });
    }

    fn check(&mut self, core: &Core<B>, id: MemberId, generation: Generation, op: Op) {
        let Some(entry) = core.directory.entries.get(&id) else {
            return;
        };
        let (member, plan) = (entry.member.clone(), entry.plan.clone());
        let (backend, sick) = (
            self.backend.clone(),
            Verdict::Unhealthy { read_only: false },
        );
        let reply = Reply::new(
            self.answers.clone(),
            Input::Checked(id, op, sick),
            id,
            "check",
        );
        let Some(connection) = self.connection(generation) else {
            return;
        };
        self.spawn(op, Errand::new(id, "check"), async move {
            let (verdict, error) = plan.run(&backend, &member, &connection).await;
            reply.send(Answered::Plain(Input::Checked(id, op, verdict), id, error));
        });
    }

    fn activate(&mut self, core: &Core<B>, id: MemberId, generation: Generation) {
        let Some(Line {
            connection,
            signals,
            ..
        }) = self.lines.get(&generation)
        else {
            return;
        };
        let (connection, signals) = (connection.clone(), signals.clone());
        let name = core.directory.name(id);
        let (tally, leases) = self
            .slot
            .activate(&name, generation, &connection, move || signals.suspect());
        self.keep_leases(leases);
        self.sampler.count(id, generation, tally);
        self.last_active = Some((generation, connection));
        self.discovery.look();
    }

    /// The leases of the connection that was active until now.
    fn keep_leases(&mut self, leases: Option<backend_api::Leases>) {
        if let (Some(leases), Some((generation, _))) = (leases, &self.last_active)
            && let Some(line) = self.lines.get_mut(generation)
        {
            // A connection may be drained and promoted again many times over.
            line.leases
                .retain(|earlier| earlier.ended().now_or_never().is_none());
            line.leases.push(leases);
        }
    }

    fn retire(&mut self, id: MemberId, generation: Generation) {
        self.sampler.forget(generation);
        self.voices.remove(&generation);
        let Some(line) = self.lines.remove(&generation) else {
            return;
        };
        if !line.told.is_empty() {
            self.discovery.look();
        }
        let backend = self.backend.clone();
        let reply = Reply::new(
            self.answers.clone(),
            Input::Retired(id, generation),
            id,
            "retire",
        );
        self.retiring.spawn(async move {
            backend.retire(line.connection).await;
            reply.send(Answered::Plain(Input::Retired(id, generation), id, None));
        });
    }

    fn connection(&self, generation: Generation) -> Option<B::Connection> {
        self.lines
            .get(&generation)
            .map(|line| line.connection.clone())
    }

    /// The connection that was active last, retired or not.
    fn last(&self, generation: Generation) -> Option<B::Connection> {
        match &self.last_active {
            Some((last, connection)) if *last == generation => Some(connection.clone()),
            _ => self.connection(generation),
        }
    }

    fn reply_to(&self, id: MemberId, op: Op, name: &'static str) -> Reply<B> {
        Reply::new(
            self.answers.clone(),
            Input::Failed(id, op, Failure::Dead),
            id,
            name,
        )
    }

    fn spawn(&mut self, op: Op, errand: Errand, task: impl Future<Output = ()> + Send + 'static) {
        self.running.begin(op, errand, self.tasks.spawn(task));
    }

    fn cancel(&mut self, core: &mut Core<B>, op: Op) {
        let Some((errand, overdue)) = self.running.cancel(op) else {
            return;
        };
        if let Some(generation) = errand.dials {
            self.voices.remove(&generation);
        }
        if let Some(error) = overdue {
            core.directory.note(errand.member, &error);
        }
    }

    fn tell(&mut self, core: &Core<B>, news: News) {
        let directory = &core.directory;
        let name = |id| directory.name(id);
        self.emit(match news {
            News::Added(id) => EventKind::MemberAdded {
                member: name(id),
                discovered: directory.is_discovered(id),
            },
            News::Connected(id, generation) => EventKind::Connected {
                member: name(id),
                generation,
            },
            News::Lost(id, generation) => EventKind::Lost {
                member: name(id),
                generation,
                cause: directory.cause(id),
            },
            News::DialFailed(id) => EventKind::DialFailed {
                member: name(id),
                cause: directory.cause(id),
            },
            News::Health(id, healthy) => EventKind::HealthChanged {
                member: name(id),
                healthy,
                cause: if healthy { None } else { directory.cause(id) },
            },
            News::Breaker(id, open) => EventKind::BreakerChanged {
                member: name(id),
                open,
            },
            News::LameDuck(id, marked) => EventKind::LameDuck {
                member: name(id),
                marked,
            },
            News::Switched {
                from,
                to,
                reason,
                kind,
                took,
            } => EventKind::Switched {
                from: from.map(name),
                to: name(to),
                reason,
                kind,
                took,
            },
            News::SwitchAborted(id, reason) => EventKind::SwitchAborted {
                to: name(id),
                reason,
                cause: core.cause_of_abort(id),
            },
            News::StandbyArmed(id, generation) => EventKind::StandbyArmed {
                member: name(id),
                generation,
            },
            News::Degraded => EventKind::Degraded,
            News::Whole => EventKind::WholeAgain,
            News::AllDown(attempt) => EventKind::AllMembersDown { attempt },
            News::DrainStarted(id, window) => EventKind::DrainStarted {
                member: name(id),
                window,
            },
            News::DrainEnded(id, kept) => EventKind::DrainEnded {
                member: name(id),
                kept,
            },
            News::Stalled => EventKind::Stalled,
            News::ReplacementFailed(id) => EventKind::ReplacementFailed {
                member: name(id),
                cause: directory.cause(id),
            },
        });
    }
}

fn failed<B: Backend>(id: MemberId, op: Op, error: Error) -> Answered<B> {
    let failure = Failure::from(error.kind());
    Answered::Plain(Input::Failed(id, op, failure), id, Some(error))
}
