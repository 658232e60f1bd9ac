//! Taking what happened: one wait for everything, then all that is there, as one batch.

use std::hash::{Hash as _, Hasher as _};

use backend_api::engine::Heard;
use backend_api::{Backend, Generation, Signal};
use tokio::time::Instant;

use super::answer::Caller;
use super::message::{Answered, Call, Control};
use super::{Driver, Line, Voice, guarded, lock};
use crate::event::EventKind;
use crate::machine::{Failure, Identity, Input, MemberId, Request, Verdict};

enum Woken<B: Backend> {
    Answered(Answered<B>),
    Heard(Heard<B::Settings>),
    Called(Call<B>),
    Abandoned,
    Due,
}

impl<B: Backend> Driver<B> {
    /// Waits until something happens or is due, and puts all that happened into `batch`. A stall of this process comes
    /// first, so that what timed out during it is seen for what it is. Says whether a deadline of the machine has come.
    pub(super) async fn listen(&mut self, batch: &mut Vec<Input>) -> bool {
        let deadline = lock(&self.core).machine.next_deadline();
        let deadline = deadline.map(|time| self.instant(time));
        let tick = self.sampler.next();
        let due = deadline.map_or(tick, |at| at.min(tick));
        let woken = tokio::select! {
            biased;
            Some(answer) = self.inbox.recv() => Woken::Answered(answer),
            Some(heard) = self.heard.recv() => Woken::Heard(heard),
            Some(call) = self.calls.recv() => Woken::Called(call),
            () = self.slot.abandoned(), if !self.abandoned => Woken::Abandoned,
            () = tokio::time::sleep_until(due) => Woken::Due,
        };
        let now = Instant::now();
        if self.sampler.is_stalled(due, now) {
            batch.push(Input::Stalled);
        }
        match woken {
            Woken::Answered(answer) => self.answered(answer, batch),
            Woken::Heard(heard) => batch.extend(self.signalled(heard)),
            Woken::Called(call) => batch.extend(self.called(call)),
            Woken::Abandoned => {
                self.abandoned = true;
                self.closing = true;
                batch.push(self.request(Request::Close, Caller::Nobody));
            }
            Woken::Due => {}
        }
        while let Ok(answer) = self.inbox.try_recv() {
            self.answered(answer, batch);
        }
        while let Ok(heard) = self.heard.try_recv() {
            batch.extend(self.signalled(heard));
        }
        while let Ok(call) = self.calls.try_recv() {
            batch.extend(self.called(call));
        }
        self.tick(now, batch);
        deadline.is_some_and(|at| at <= now)
    }

    fn tick(&mut self, now: Instant, batch: &mut Vec<Input>) {
        let Some((samples, telling)) = self.sampler.tick(now) else {
            return;
        };
        self.slot.tick();
        if samples.is_empty() {
            return;
        }
        let mut core = lock(&self.core);
        for sample in samples {
            core.directory.count(&sample);
            if telling {
                batch.push(Input::Outcomes {
                    member: sample.member,
                    generation: sample.generation,
                    success: u32::try_from(sample.success).unwrap_or(u32::MAX),
                    failure: u32::try_from(sample.failure).unwrap_or(u32::MAX),
                });
            }
        }
    }

    fn answered(&mut self, answer: Answered<B>, batch: &mut Vec<Input>) {
        match answer {
            Answered::Connected(member, generation, op, connection) => {
                self.running.end(op);
                let server = self.identity(&connection);
                let voice = self.voices.remove(&generation).unwrap_or_else(|| {
                    let name = lock(&self.core).directory.name(member);
                    Voice::new(self.source.signals(name, generation))
                });
                self.lines.insert(
                    generation,
                    Line {
                        member,
                        connection,
                        signals: voice.signals,
                        leases: Vec::new(),
                        told: Vec::new(),
                    },
                );
                batch.push(Input::Connected(member, generation, op, server));
                for signal in voice.early {
                    batch.extend(self.said(member, generation, signal));
                }
            }
            Answered::Proven(member, op, took) => {
                self.running.end(op);
                if let Some(entry) = lock(&self.core).directory.entries.get_mut(&member) {
                    entry.round_trip = Some(took);
                }
                // What a check found wrong, only a check can lift.
                let unfit = lock(&self.core).machine.fails_checks(member);
                if !unfit {
                    self.is_well(member, batch);
                }
                batch.push(Input::Done(member, op));
            }
            Answered::Plain(input, member, error) => {
                if let Some(error) = error {
                    lock(&self.core).directory.note(member, &error);
                }
                if let Input::Checked(_, _, Verdict::Healthy) = input {
                    self.is_well(member, batch);
                }
                match &input {
                    Input::ConnectFailed(_, op)
                    | Input::Done(_, op)
                    | Input::Failed(_, op, _)
                    | Input::Checked(_, op, _) => {
                        let errand = self.running.end(*op);
                        // A dial that came to nothing: what its connection said meanwhile concerns nobody.
                        if let Some(generation) = errand.and_then(|errand| errand.dials) {
                            self.voices.remove(&generation);
                        }
                    }
                    _ => {}
                }
                batch.push(input);
            }
        }
    }

    /// Where a connection ended. Two servers that get the same number, once in many ages, only count as one.
    fn identity(&self, connection: &B::Connection) -> Option<Identity> {
        let told = guarded("the backend", || self.backend.identity(connection));
        let mut hasher = std::hash::DefaultHasher::new();
        told.ok().flatten()?.hash(&mut hasher);
        Some(Identity(hasher.finish()))
    }

    /// A proof or a check passed: older causes are of the past, unless the machine has yet to hear of them.
    fn is_well(&self, member: MemberId, batch: &[Input]) {
        let unheard = batch.iter().any(|input| match input {
            Input::Lost(id, _)
            | Input::Condemned(id, ..)
            | Input::ConnectFailed(id, _)
            | Input::Failed(id, ..) => *id == member,
            Input::Checked(id, _, verdict) => *id == member && *verdict != Verdict::Healthy,
            _ => false,
        });
        if !unheard {
            lock(&self.core).directory.well(member);
        }
    }

    fn signalled(&mut self, heard: Heard<B::Settings>) -> Option<Input> {
        let (_, generation, signal) = heard.take();
        if let Some(voice) = self.voices.get_mut(&generation) {
            // However long the dial takes, the latest list is all there is to keep.
            if let Signal::Discovered(_) = signal {
                voice
                    .early
                    .retain(|said| !matches!(said, Signal::Discovered(_)));
            }
            voice.early.push(signal);
            return None;
        }
        let member = self.lines.get(&generation)?.member;
        self.said(member, generation, signal)
    }

    fn said(
        &mut self,
        member: MemberId,
        generation: Generation,
        signal: Signal<B::Settings>,
    ) -> Option<Input> {
        match signal {
            Signal::Lost(error) => {
                lock(&self.core).directory.note(member, &error);
                Some(Input::Lost(member, generation))
            }
            Signal::Suspect => {
                self.sampler.listen(generation);
                Some(Input::Suspect(member, generation))
            }
            Signal::Condemned(error) => {
                let failure = Failure::from(error.kind());
                lock(&self.core).directory.note(member, &error);
                Some(Input::Condemned(member, generation, failure))
            }
            Signal::LameDuck => Some(Input::LameDuck(member, generation)),
            Signal::Notice(notice) => {
                self.emit(EventKind::Notice {
                    member: lock(&self.core).directory.name(member),
                    generation,
                    what: notice.what,
                    text: notice.text,
                });
                None
            }
            Signal::Discovered(members) => {
                if let Some(line) = self.lines.get_mut(&generation) {
                    line.told = members;
                    self.discovery.look();
                }
                None
            }
            // Whatever a later contract may add, this engine does not know.
            _ => None,
        }
    }

    fn called(&mut self, call: Call<B>) -> Option<Input> {
        let (what, reply) = match call {
            Call::Control { what, reply } => (what, reply),
            // Compared with what the members are once everything before it has been taken.
            Call::Reload { config, reply } => {
                self.reloads.push_back((config, reply));
                return None;
            }
            #[cfg(feature = "watch")]
            Call::Watch(watcher) => {
                if self.watching.is_empty() {
                    self.watching.spawn(watcher);
                }
                return None;
            }
        };
        match self.translate(what) {
            Ok(request) => Some(self.request(request, Caller::Waiting(reply))),
            Err(error) => {
                let _ = reply.send(Err(error));
                None
            }
        }
    }

    /// From names to numbers.
    fn translate(&mut self, what: Control<B>) -> Result<Request, backend_api::Error> {
        let core = self.core.clone();
        let mut core = lock(&core);
        let find = |name| core.directory.find(name);
        Ok(match what {
            Control::SwitchTo { to, end, force } => Request::SwitchTo {
                to: find(&to)?,
                end,
                force,
            },
            Control::SwitchToPassive { end } => Request::SwitchToPassive { end },
            Control::Remove(name) => Request::Remove(find(&name)?),
            Control::SetWeight(name, weight) => Request::SetWeight(find(&name)?, weight),
            Control::Enable(name) => Request::Enable(find(&name)?),
            Control::Disable(name) => Request::Disable(find(&name)?),
            Control::MarkLameDuck(name) => Request::Mark(find(&name)?),
            Control::ClearLameDuck(name) => Request::ClearMark(find(&name)?),
            Control::Pin => Request::Pin,
            Control::Release => Request::Release,
            Control::RehomeStandby => Request::Rehome,
            Control::Close => {
                self.closing = true;
                Request::Close
            }
            Control::Add(config) => {
                let mut config = *config;
                let plan = self.plan(&core.rules, &mut config)?;
                Request::Add(core.directory.insert(config, plan)?)
            }
        })
    }
}
