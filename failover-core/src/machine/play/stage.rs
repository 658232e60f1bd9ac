//! The stage: the machine, a driver that behaves as the real one, the servers and the application, in virtual time.
//!
//! The driver takes all that came at one moment as one batch, in the order of the real one: a stall, answers, signals,
//! calls, and then the sample if the tick is due. It decides nothing. There is no runtime and no clock: time goes from one
//! event to the next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use backend_api::{Capabilities, Generation, Weight};

use super::application::Operations;
use super::checking::Checking;
use super::host::{Ask, Reply, World};
use super::record::{Entry, Record};
use super::script::{Call, Case};
use super::ticks::Ticks;
use crate::machine::{
    Action, End, Failure, Input, Machine, MemberId, NewMember, News, Op, Request, RequestId, Time,
};

/// What is on its way.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// The nth change of the script.
    Change(usize),
    /// The end of a handshake.
    Dialled(u32, Generation, Op),
    /// A server's answer over a connection: which request it belongs to.
    Answer(Generation, u64, Reply, To),
    /// A probe of a check runs out of time, or the next one is due.
    Probe(Op, u32),
    /// A task of the driver has ended.
    Over(Input),
    /// A worker of the application begins its next operation.
    Issue(u32),
    /// An operation, or its wait for an active, runs out of time.
    Expire(u64, u64),
}

/// Who asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum To {
    Task(MemberId, Op),
    Probe(Op, u32),
    Operation(u64, u64),
}

/// What happened at one moment, in the order in which the driver takes it.
#[derive(Default)]
struct Batch {
    answers: Vec<Input>,
    signals: Vec<Input>,
    calls: Vec<Input>,
}

/// Turns a sound machine into a broken one: an action for which it says so is not done.
pub(super) type Sabotage = fn(&Action) -> bool;

pub(super) struct Stage<'a> {
    pub(super) case: &'a Case,
    pub(super) machine: Machine,
    pub(super) world: World,
    queue: BTreeMap<(u64, u64), Event>,
    /// What silent servers have yet to say.
    parked: Vec<Event>,
    sent: u64,
    pub(super) now: u64,
    /// This process does not run until then.
    stopped: u64,
    batch: Batch,
    ticks: Ticks,
    pub(super) active: Option<(MemberId, Generation)>,
    pub(super) operations: Operations,
    pub(super) checks: BTreeMap<Op, Checking>,
    drains: BTreeMap<Op, (MemberId, Generation)>,
    /// Connections that were to finish, and have not.
    draining: BTreeSet<Generation>,
    cancelled: BTreeSet<Op>,
    requests: u64,
    pub(super) began: bool,
    pub(super) record: Record,
    sabotage: Option<Sabotage>,
}

/// Plays one case to its end.
pub(super) fn play(case: &Case) -> Record {
    Stage::new(case, None).run()
}

/// The same with a machine that is broken so.
pub(super) fn play_broken(case: &Case, sabotage: Sabotage) -> Record {
    Stage::new(case, Some(sabotage)).run()
}

impl<'a> Stage<'a> {
    fn new(case: &'a Case, sabotage: Option<Sabotage>) -> Self {
        let members = case.weights.iter().zip(0..).map(|(weight, id)| NewMember {
            id: MemberId(id),
            weight: Weight::new(*weight).unwrap_or_default(),
            enabled: true,
            rules: Arc::new(case.rules.member.clone()),
        });
        let mut capabilities = Capabilities::new()
            .announcing_lame_duck()
            .serving_again_after_drain();
        if case.ahead {
            capabilities = capabilities.promoting_ahead();
        }
        let rules = Arc::new(case.rules.clone());
        Self {
            case,
            machine: Machine::new(rules, capabilities, members, case.seed),
            world: World::new(case.hosts.clone(), case.names.clone(), case.seed),
            queue: BTreeMap::new(),
            parked: Vec::new(),
            sent: 0,
            now: 0,
            stopped: 0,
            batch: Batch::default(),
            ticks: Ticks::new(&case.rules),
            active: None,
            operations: Operations::default(),
            checks: BTreeMap::new(),
            drains: BTreeMap::new(),
            draining: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            requests: 0,
            began: false,
            record: Record::new(&case.rules, &case.weights),
            sabotage,
        }
    }

    fn run(mut self) -> Record {
        for (index, (at, _)) in self.case.script.iter().enumerate() {
            self.send(*at, Event::Change(index));
        }
        for worker in 0..self.case.app.workers {
            // Not all in one moment.
            self.send(u64::from(worker % 50) + 20, Event::Issue(worker));
        }
        self.step(self.now);
        loop {
            let due = self.due();
            let wake = due.max(self.stopped);
            let next = self.queue.first_key_value().map(|((at, _), _)| *at);
            let first = wake == self.stopped && self.case.engine_first;
            let at = next.map_or(wake, |at| at.min(wake));
            if at > self.case.length {
                break;
            }
            self.now = at;
            if !(first && at == wake) {
                self.happen_all();
            }
            let heard = !self.batch.is_empty();
            // A stop may have begun at this very moment.
            let runs = self.now >= self.stopped;
            if runs && (heard || wake <= self.now) {
                self.step(due);
            }
            self.observe();
        }
        self.record.end = self.case.length;
        self.record
    }

    /// When the driver wants to be woken.
    fn due(&self) -> u64 {
        let deadline = self.machine.next_deadline().map(|at| at.0.div_ceil(1000));
        deadline.map_or(self.ticks.next(), |at| at.min(self.ticks.next()))
    }

    pub(super) fn send(&mut self, at: u64, event: Event) {
        self.sent += 1;
        self.queue.insert((at.max(self.now), self.sent), event);
    }

    pub(super) fn number(&mut self) -> u64 {
        self.sent += 1;
        self.sent
    }

    /// All that comes at this moment.
    fn happen_all(&mut self) {
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let event = entry.remove();
            let outside = matches!(event, Event::Change(_));
            if self.now < self.stopped && !outside {
                self.send(self.stopped, event);
            } else {
                self.happen(event);
            }
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Change(index) => self.change(index),
            Event::Dialled(member, generation, op) => self.dialled(member, generation, op),
            Event::Answer(generation, number, reply, to) => {
                self.answered(generation, number, reply, to);
            }
            Event::Probe(op, probe) => self.probe_over(op, probe),
            Event::Over(input) => self.batch.answers.push(input),
            Event::Issue(worker) => self.issue(worker),
            Event::Expire(operation, attempt) => self.expire(operation, attempt),
        }
    }

    /// Something changed: whoever was silent may speak now.
    pub(super) fn unpark(&mut self) {
        for event in std::mem::take(&mut self.parked) {
            self.send(self.now, event);
        }
    }

    /// Stops this process from now on.
    pub(super) fn stop(&mut self, long: u64) {
        self.stopped = self.stopped.max(self.now + long);
        self.record.stops.push((self.now, self.now + long));
    }

    pub(super) fn answer(&mut self, input: Input) {
        self.batch.answers.push(input);
    }

    pub(super) fn signal(&mut self, input: Input) {
        self.batch.signals.push(input);
    }

    pub(super) fn call(&mut self, call: Call) {
        self.requests += 1;
        let id = RequestId(self.requests);
        let request = match call {
            Call::SwitchTo(to) => Request::SwitchTo {
                to: MemberId(to),
                end: End::Steal,
                force: false,
            },
            Call::DrainTo(to, window) => Request::SwitchTo {
                to: MemberId(to),
                end: End::Drain(std::time::Duration::from_millis(window)),
                force: false,
            },
            Call::Disable(member) => Request::Disable(MemberId(member)),
            Call::Rehome => Request::Rehome,
        };
        self.note(Entry::Called(id, call));
        self.batch.calls.push(Input::Request(id, request));
    }

    pub(super) fn note(&mut self, entry: Entry) {
        self.record.log.push((self.now, entry));
    }

    /// The driver's turn. It had wanted to be woken at `due`.
    fn step(&mut self, due: u64) {
        let mut inputs = Vec::new();
        if self.ticks.is_stalled(due, self.now) {
            inputs.push(Input::Stalled);
        }
        let batch = std::mem::take(&mut self.batch);
        for signal in &batch.signals {
            if let Input::Suspect(_, generation) = signal {
                self.operations.listen(*generation);
            }
        }
        inputs.extend(batch.answers);
        inputs.extend(batch.signals);
        inputs.extend(batch.calls);
        if let Some(telling) = self.ticks.tick(self.now) {
            let samples = self.operations.sample();
            inputs.extend(samples.into_iter().filter(|_| telling));
        }
        let actions = self.machine.handle(Time(self.now * 1000), inputs);
        for action in actions {
            if self.sabotage.is_none_or(|spoils| !spoils(&action)) {
                self.act(action);
            }
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Connect(id, generation, op, _) => {
                self.note(Entry::Dialled(id.0));
                if let Some(at) = self.world.dial(self.now, id.0) {
                    self.send(at, Event::Dialled(id.0, generation, op));
                }
            }
            Action::Prove(id, generation, op) => self.task(id, generation, op, Ask::Prove),
            Action::Arm(id, generation, op) => self.task(id, generation, op, Ask::Arm),
            Action::Promote(id, generation, op, _) => self.task(id, generation, op, Ask::Promote),
            Action::Drain(id, generation, op) => {
                self.drains.insert(op, (id, generation));
                self.draining.insert(generation);
                self.end_drains();
            }
            Action::Check(id, generation, op) => {
                self.checks.insert(op, Checking::new(id, generation));
                self.probe(op);
            }
            Action::Cancel(op) => {
                self.cancelled.insert(op);
                self.checks.remove(&op);
                self.drains.remove(&op);
            }
            Action::Activate(id, generation) => {
                self.active = Some((id, generation));
                self.resume();
            }
            Action::Deactivate => self.active = None,
            Action::Retire(id, generation) => self.retire(id, generation),
            Action::Answer(id, answer) => self.note(Entry::Answered(id, answer)),
            Action::Tell(news) => self.tell(news),
            Action::Started => self.began = true,
            Action::StartFailed | Action::Forget(_) | Action::Replaced(..) | Action::Closed => {}
        }
    }

    fn task(&mut self, id: MemberId, generation: Generation, op: Op, ask: Ask) {
        self.ask(generation, ask, None, To::Task(id, op));
    }

    /// Sends a request over a connection.
    pub(super) fn ask(
        &mut self,
        generation: Generation,
        ask: Ask,
        way: Option<super::host::Way>,
        to: To,
    ) {
        let number = self.number();
        if let Some((at, reply)) = self.world.ask(self.now, generation, number, ask, way) {
            self.send(at, Event::Answer(generation, number, reply, to));
        }
    }

    fn retire(&mut self, id: MemberId, generation: Generation) {
        let draining = self.draining.remove(&generation);
        let cut = self.cut(generation);
        if draining && cut > 0 {
            let (member, operations) = (id.0, cut);
            self.note(Entry::Cut { member, operations });
        }
        self.world.end(generation);
        let over = Event::Over(Input::Retired(id, generation));
        self.send(self.now + 1, over);
    }

    fn tell(&mut self, news: News) {
        if let News::Lost(id, generation) = news
            && let Some(line) = self.world.lines.get(&generation)
            && !line.ended
        {
            let silent = line.silent_since(self.now).map_or(0, |at| self.now - at);
            let entry = Entry::GaveUp {
                member: id.0,
                silent,
                refused: line.refused == Some(self.now),
                proven: line.proven,
                active: self.active.is_some_and(|(_, of)| of == generation),
                elsewhere: self.world.heard_since(self.now - silent, generation),
                round: self.world.hosts[line.host].round,
            };
            self.note(entry);
        }
        if let News::Connected(_, generation) = news
            && let Some(line) = self.world.lines.get_mut(&generation)
        {
            line.proven = true;
        }
        self.note(Entry::Told(news));
    }

    fn dialled(&mut self, member: u32, generation: Generation, op: Op) {
        if self.cancelled.contains(&op) {
            return;
        }
        let id = MemberId(member);
        match self.world.accept(self.now, member, generation) {
            None => self.parked.push(Event::Dialled(member, generation, op)),
            Some(false) => self.batch.answers.push(Input::ConnectFailed(id, op)),
            Some(true) => {
                let connected = Input::Connected(id, generation, op, None);
                self.batch.answers.push(connected);
                if self.world.host_of(member).lame {
                    self.batch.answers.push(Input::LameDuck(id, generation));
                }
            }
        }
    }

    fn answered(&mut self, generation: Generation, number: u64, reply: Reply, to: To) {
        match self.world.arrives(self.now, generation, number) {
            None => return,
            Some(false) => {
                let later = Event::Answer(generation, number, reply, to);
                self.parked.push(later);
                return;
            }
            Some(true) => {}
        }
        if let Reply::Badly(_) = reply
            && !matches!(to, To::Operation(..))
            && let Some(line) = self.world.lines.get_mut(&generation)
        {
            line.refused = Some(self.now);
        }
        match to {
            To::Task(id, op) if !self.cancelled.contains(&op) => {
                self.batch.answers.push(match reply {
                    Reply::Well | Reply::WellAndClosed => Input::Done(id, op),
                    Reply::Badly(failure) => Input::Failed(id, op, failure),
                    Reply::Closed => Input::Failed(id, op, Failure::Dead),
                });
            }
            To::Task(..) => {}
            To::Probe(op, probe) => self.probed(op, probe, reply),
            To::Operation(operation, attempt) => self.replied(operation, attempt, reply),
        }
        if matches!(reply, Reply::Closed | Reply::WellAndClosed) {
            self.end_line(generation);
        }
    }

    /// The server ends a connection: whatever is under way on it fails, and the backend says so.
    pub(super) fn end_line(&mut self, generation: Generation) {
        let member = self.world.lines.get(&generation).map(|line| line.member);
        let Some(member) = member.filter(|_| self.world.end(generation)) else {
            return;
        };
        let active = self.active.is_some_and(|(_, of)| of == generation);
        self.note(Entry::Ended { member, active });
        self.break_off(generation);
        self.signal(Input::Lost(MemberId(member), generation));
    }

    /// Drains end when nothing is under way any more on their connection.
    pub(super) fn end_drains(&mut self) {
        let over: Vec<(Op, MemberId, Generation)> = self
            .drains
            .iter()
            .filter(|(_, (_, generation))| !self.operations.any_on(*generation))
            .map(|(op, (id, generation))| (*op, *id, *generation))
            .collect();
        for (op, id, generation) in over {
            self.drains.remove(&op);
            self.draining.remove(&generation);
            self.send(self.now + 1, Event::Over(Input::Done(id, op)));
        }
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.signals.is_empty() && self.calls.is_empty()
    }
}
