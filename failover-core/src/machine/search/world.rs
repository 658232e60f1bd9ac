//! The machine and all that surrounds it, as one value: what is in flight, what was seen, and how much may still go
//! wrong. The fault budget bounds the search where a depth would cut histories off half way.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Capabilities, Generation};

use super::event::{Alphabet, Call, Event, Odd, Trouble};
use super::faults::Fault;
use super::flight::{Flight, Servers, Work};

use crate::config::{MemberRules, Rules};
use crate::machine::invariants::{Observer, Step, Violation};
use crate::machine::member::{Link, Stage};
use crate::machine::{Action, Input, Machine, MemberId, NewMember, Op, RequestId, Time};

/// How far rules look back, at most: those of the group, doubled, because no call of the alphabet does more than that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Horizon {
    pub(super) stable: Duration,
    pub(super) grace: Duration,
    pub(super) window: Duration,
    pub(super) reconnect: Duration,
}

impl Horizon {
    fn of(rules: &Rules, members: &[NewMember]) -> Self {
        let most = |of: fn(&MemberRules) -> Duration| {
            let members = members.iter().map(|member| of(&member.rules));
            2 * members.max().unwrap_or_default().max(of(&rules.member))
        };
        Self {
            stable: rules.failback.stable,
            grace: 2 * rules.failback.grace,
            window: most(|rules| rules.breaker.window),
            reconnect: most(|rules| rules.reconnect.max),
        }
    }
}

/// See the [module](self).
#[derive(Clone)]
pub(in crate::machine) struct World {
    pub(in crate::machine) machine: Machine,
    pub(super) observer: Observer,
    pub(super) flight: Vec<Flight>,
    /// Faults and calls that may still come.
    pub(super) faults: u8,
    pub(super) calls: u8,
    pub(super) next_request: u64,
    pub(super) servers: Servers,
    pub(super) horizon: Horizon,
    /// What was given up may be answered all the same.
    pub(super) late: bool,
    /// What is wrong with this machine.
    pub(super) fault: Option<Fault>,
}

impl World {
    pub(in crate::machine) fn new(
        rules: Arc<Rules>,
        capabilities: Capabilities,
        members: Vec<NewMember>,
        seed: u64,
    ) -> Self {
        Self {
            observer: Observer::new(rules.clone(), &members),
            horizon: Horizon::of(&rules, &members),
            machine: Machine::new(rules, capabilities, members, seed),
            flight: Vec::new(),
            faults: u8::MAX,
            calls: u8::MAX,
            next_request: 0,
            servers: Servers::Unknown,
            late: false,
            fault: None,
        }
    }

    pub(in crate::machine) fn on(mut self, servers: Servers) -> Self {
        self.servers = servers;
        self
    }

    pub(super) fn limited(mut self, faults: u8, calls: u8) -> Self {
        (self.faults, self.calls) = (faults, calls);
        self
    }

    /// What was given up may be answered all the same.
    pub(in crate::machine) fn with_late_answers(mut self, late: bool) -> Self {
        self.late = late;
        self
    }

    /// From here on the machine is a broken one. The observer does not know.
    pub(in crate::machine) fn broken(mut self, fault: Option<Fault>) -> Self {
        self.fault = fault;
        if let Some(fault) = fault {
            fault.begin(&mut self.machine);
        }
        self
    }

    pub(in crate::machine) fn now(&self) -> Time {
        self.machine.now
    }

    /// Everything that may happen next, in a fixed order.
    pub(in crate::machine) fn enabled(&self, alphabet: &Alphabet) -> Vec<Event> {
        let mut events = Vec::new();
        for index in 0..self.flight.len() {
            events.push(Event::Well(index));
        }
        let due = self.machine.next_deadline().is_some();
        if due && (self.is_idle() || (self.faults > 0 && alphabet.has(Odd::Silence))) {
            events.push(Event::Wait);
        }
        if self.flight.is_empty() && alphabet.has(Odd::Rest) {
            events.push(Event::Rest);
        }
        if self.flight.len() > 1 && alphabet.has(Odd::Burst) {
            events.push(Event::Burst);
        }
        if self.faults > 0 {
            self.faulty(alphabet, due, &mut events);
        }
        if self.calls > 0 {
            // A group that is closed is only closed again.
            let possible = |call: &Call| !self.machine.is_closed() || *call == Call::Close;
            let calls = alphabet.calls.iter().copied().filter(possible);
            events.extend(calls.map(Event::Call));
        }
        events
    }

    fn faulty(&self, alphabet: &Alphabet, due: bool, events: &mut Vec<Event>) {
        if self.observer.open().count() > 1 && alphabet.has(Odd::Crash) {
            events.push(Event::Crash);
        }
        for (index, flight) in self.flight.iter().enumerate() {
            let kinds = alphabet.answers.iter().filter(|kind| flight.can(**kind));
            events.extend(kinds.map(|kind| Event::Badly(index, *kind)));
            if alphabet.has(Odd::Twice) && flight.can_come_twice() {
                events.push(Event::Twice(index));
            }
        }
        if alphabet.has(Odd::Mixed) && self.flight.len() > 1 {
            events.extend([Event::Mixed { even: true }, Event::Mixed { even: false }]);
        }
        for (id, generation) in self.observer.open() {
            for kind in self.heard_of(id, alphabet) {
                events.push(Event::Trouble(id, generation, *kind));
                if alphabet.has(Odd::Both) {
                    let flights = 0..self.flight.len();
                    events.extend(flights.map(|index| Event::Both(index, id, generation, *kind)));
                }
            }
        }
        if alphabet.has(Odd::Old) {
            let known = self.machine.members.iter().map(|member| member.id);
            let heard = |id| {
                alphabet
                    .active
                    .iter()
                    .map(move |kind| Event::Old(id, *kind))
            };
            events.extend(known.flat_map(heard));
        }
        let times = [
            (Odd::Midway, Event::Midway, due),
            (Odd::Past, Event::Past, due),
            (Odd::Jump, Event::Jump, true),
            (Odd::Stalled, Event::Stalled, true),
        ];
        for (odd, event, possible) in times {
            if possible && alphabet.has(odd) {
                events.push(event);
            }
        }
    }

    fn heard_of<'a>(&self, id: MemberId, alphabet: &'a Alphabet) -> &'a [Trouble] {
        match self.machine.member(id).and_then(|member| member.stage()) {
            Some(Stage::Active) => alphabet.active,
            Some(Stage::Draining) => alphabet.draining,
            Some(_) => alphabet.others,
            None => &[],
        }
    }

    /// Nothing is awaited that would be late after a wait.
    fn is_idle(&self) -> bool {
        let waits =
            |flight: &Flight| flight.is_late() || matches!(flight, Flight::Task(Work::Drain, ..));
        self.flight.iter().all(waits)
    }

    /// What an event is to the machine: a time, and what happened until then.
    fn take(&mut self, event: Event) -> (Time, Vec<Input>) {
        let now = self.machine.now;
        let servers = self.servers;
        let due = self.machine.next_deadline().unwrap_or(now).max(now);
        let well = |flight: Flight| flight.well(servers);
        let gone = |index| index >= self.flight.len();
        let inputs = match event {
            // What an earlier event of the same batch has answered.
            Event::Well(index) | Event::Badly(index, _) | Event::Twice(index) if gone(index) => {
                Vec::new()
            }
            Event::Both(index, ..) if gone(index) => Vec::new(),
            Event::Well(index) => vec![self.flight.remove(index).well(servers)],
            Event::Badly(index, trouble) => vec![self.flight.remove(index).badly(trouble, servers)],
            Event::Twice(index) => {
                let answer = self.flight.remove(index).well(servers);
                vec![answer.clone(), answer]
            }
            Event::Burst => self.flight.drain(..).map(well).collect(),
            Event::Mixed { even } => {
                let answer = |(index, flight): (usize, Flight)| {
                    if (index % 2 == 0) == even {
                        flight.badly(Trouble::Unhealthy, servers)
                    } else {
                        flight.well(servers)
                    }
                };
                self.flight.drain(..).enumerate().map(answer).collect()
            }
            Event::Both(index, id, generation, trouble) => vec![
                self.flight.remove(index).well(servers),
                trouble.input(id, generation),
            ],
            Event::Crash => {
                let lost = |(id, generation)| Input::Lost(id, generation);
                self.observer.open().map(lost).collect()
            }
            Event::Wait => return (due, vec![Input::Tick]),
            Event::Rest => {
                let second = now + Duration::from_secs(1);
                let due = self
                    .machine
                    .next_deadline()
                    .map_or(second, |due| due.min(second));
                return (due.max(now), vec![Input::Tick]);
            }
            Event::Midway => {
                let half = due.since(now) / 2;
                return (now + half, vec![Input::Tick]);
            }
            Event::Past => return (due + Duration::from_millis(1500), vec![Input::Tick]),
            Event::Jump => return (now + Duration::from_secs(3), vec![Input::Stalled]),
            Event::Stalled => vec![Input::Stalled],
            Event::Trouble(id, generation, trouble) => vec![trouble.input(id, generation)],
            Event::Old(id, trouble) => vec![trouble.input(id, self.older(id))],
            Event::Call(call) => {
                self.next_request += 1;
                let request = call.request(&self.machine, &self.observer);
                vec![Input::Request(RequestId(self.next_request), request)]
            }
        };
        (now, inputs)
    }

    /// A connection that the member had, or could have had, before the one that it has.
    fn older(&self, id: MemberId) -> Generation {
        match self.machine.member(id).map(|member| &member.link) {
            Some(Link::Retiring { generation }) => *generation,
            Some(Link::Open(open)) => Generation(open.generation.0 - 1),
            _ => Generation(0),
        }
    }

    fn is_fault(&self, event: Event) -> bool {
        match event {
            Event::Well(_) | Event::Burst | Event::Rest | Event::Call(_) => false,
            Event::Wait => !self.is_idle(),
            _ => true,
        }
    }

    /// Lets an event happen.
    pub(in crate::machine) fn happen(&mut self, event: Event) -> Result<Vec<Action>, Violation> {
        self.happen_at_once(&[event])
    }

    /// Lets several events happen in one batch. Those that follow the first are about what is left then.
    pub(in crate::machine) fn happen_at_once(
        &mut self,
        events: &[Event],
    ) -> Result<Vec<Action>, Violation> {
        let mut now = self.machine.now;
        let mut inputs = Vec::new();
        for event in events {
            if self.is_fault(*event) && self.faults < u8::MAX {
                self.faults = self.faults.saturating_sub(1);
            }
            if matches!(event, Event::Call(_)) && self.calls < u8::MAX {
                self.calls = self.calls.saturating_sub(1);
            }
            let (at, more) = self.take(*event);
            now = now.max(at);
            inputs.extend(more);
        }
        self.handle(now, &inputs)
    }

    pub(super) fn handle(&mut self, now: Time, inputs: &[Input]) -> Result<Vec<Action>, Violation> {
        let before = self.machine.clone();
        let actions = match self.fault {
            None => self.machine.handle(now, inputs.iter().cloned()),
            Some(fault) => fault.handle(&mut self.machine, now, inputs),
        };
        for action in &actions {
            self.run(action);
        }
        self.observer.check(&Step {
            before: &before,
            inputs,
            actions: &actions,
            after: &self.machine,
        })?;
        Ok(actions)
    }

    fn run(&mut self, action: &Action) {
        let flight = match *action {
            Action::Connect(id, generation, op, _) => Flight::Dial(id, generation, op),
            Action::Prove(id, generation, op) => Flight::Task(Work::Prove, id, generation, op),
            Action::Arm(id, generation, op) => Flight::Task(Work::Arm, id, generation, op),
            Action::Promote(id, generation, op, _) => {
                Flight::Task(Work::Promote, id, generation, op)
            }
            Action::Drain(id, generation, op) => Flight::Task(Work::Drain, id, generation, op),
            Action::Check(id, generation, op) => Flight::Check(id, generation, op),
            Action::Retire(id, generation) => Flight::Retire(id, generation),
            Action::Cancel(op) => return self.cancel(op),
            _ => return,
        };
        self.flight.push(flight);
        self.flight.sort_unstable();
    }

    fn cancel(&mut self, cancelled: Op) {
        let late = self.late;
        self.flight.retain_mut(|flight| match *flight {
            Flight::Dial(id, generation, op) if op == cancelled => {
                *flight = Flight::Late(id, generation, op);
                true
            }
            Flight::Task(work, id, generation, op) if op == cancelled => {
                *flight = Flight::LateTask(work, id, generation, op);
                late
            }
            Flight::Check(id, generation, op) if op == cancelled => {
                *flight = Flight::LateCheck(id, generation, op);
                late
            }
            _ => true,
        });
        self.flight.sort_unstable();
    }
}
