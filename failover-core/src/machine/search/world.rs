//! The machine and all that surrounds it, as one value: what is in flight, what was seen, and how much may still go
//! wrong. The fault budget bounds the search where a depth would cut histories off half way.

use backend_api::{Capabilities, Generation};

use super::event::{Call, Event, Trouble};
use crate::machine::invariants::{Observer, Step, Violation};
use crate::machine::member::Stage;
use crate::machine::mutation::Mutation;
use crate::machine::{
    Action, Identity, Input, Machine, MemberId, NewMember, Op, RequestId, Time, Verdict,
};

/// Something that will be answered, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::machine) enum Flight {
    Dial(MemberId, Generation, Op),
    /// A dial that was given up, and may come back all the same.
    Late(MemberId, Generation, Op),
    Task(Work, MemberId, Generation, Op),
    Check(MemberId, Generation, Op),
    Retire(MemberId, Generation),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::machine) enum Work {
    Prove,
    Arm,
    Promote,
    Drain,
}

impl Flight {
    fn well(self, servers: Servers) -> Input {
        match self {
            Flight::Dial(id, generation, op) | Flight::Late(id, generation, op) => {
                Input::Connected(id, generation, op, servers.of(id, generation))
            }
            Flight::Task(_, id, _, op) => Input::Done(id, op),
            Flight::Check(id, _, op) => Input::Checked(id, op, Verdict::Healthy),
            Flight::Retire(id, generation) => Input::Retired(id, generation),
        }
    }
}

/// At which servers connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Servers {
    /// Nobody can tell.
    Unknown,
    /// So many, the members in turn; those of one are all the same.
    Fixed(u32),
    /// So many, and each dial ends at the next one, as behind a load balancer.
    Shifting(u32),
}

impl Servers {
    fn of(self, id: MemberId, generation: Generation) -> Option<Identity> {
        match self {
            Servers::Unknown => None,
            Servers::Fixed(count) => Some(u64::from(id.0 / 2 % count)),
            Servers::Shifting(count) => Some((u64::from(id.0) + generation.0) % u64::from(count)),
        }
        .map(Identity)
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
    next_request: u64,
    servers: Servers,
}

impl World {
    pub(in crate::machine) fn new(
        rules: std::sync::Arc<crate::config::Rules>,
        capabilities: Capabilities,
        members: Vec<NewMember>,
        seed: u64,
    ) -> Self {
        Self {
            machine: Machine::new(rules, capabilities, members, seed),
            observer: Observer::default(),
            flight: Vec::new(),
            faults: u8::MAX,
            calls: u8::MAX,
            next_request: 0,
            servers: Servers::Unknown,
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

    pub(in crate::machine) fn mutated(mut self, mutation: Option<Mutation>) -> Self {
        self.machine.mutation = mutation;
        self
    }

    pub(in crate::machine) fn now(&self) -> Time {
        self.machine.now
    }

    /// Everything that may happen next, in a fixed order.
    pub(in crate::machine) fn enabled(&self, calls: &[Call]) -> Vec<Event> {
        let mut events = Vec::new();
        for index in 0..self.flight.len() {
            events.push(Event::Well(index));
        }
        if self.machine.next_deadline().is_some() && (self.is_idle() || self.faults > 0) {
            events.push(Event::Wait);
        }
        if self.flight.len() > 1 {
            events.push(Event::Burst);
        }
        if self.faults > 0 {
            if self.observer.open().count() > 1 {
                events.push(Event::Crash);
            }
            for index in 0..self.flight.len() {
                self.failures(index, &mut events);
            }
            for (id, generation) in self.observer.open() {
                let stage = self.machine.member(id).and_then(|member| member.stage());
                self.troubles(id, generation, stage, &mut events);
            }
            events.push(Event::Stalled);
        }
        if self.calls > 0 && !self.machine.is_closed() {
            events.extend(calls.iter().copied().map(Event::Call));
        }
        events
    }

    fn failures(&self, index: usize, events: &mut Vec<Event>) {
        use Trouble::{Dead, Inconclusive, ReadOnly, Unhealthy};
        let kinds: &[Trouble] = match self.flight[index] {
            Flight::Dial(..) => &[Dead],
            Flight::Task(Work::Prove, ..) => &[Dead, Unhealthy, ReadOnly],
            Flight::Task(Work::Arm, ..) => &[Dead],
            Flight::Task(Work::Promote, ..) => &[Dead, ReadOnly],
            Flight::Check(..) => &[Unhealthy, ReadOnly, Inconclusive],
            Flight::Task(Work::Drain, ..) | Flight::Late(..) | Flight::Retire(..) => &[],
        };
        events.extend(kinds.iter().map(|kind| Event::Badly(index, *kind)));
    }

    fn troubles(
        &self,
        id: MemberId,
        generation: Generation,
        stage: Option<Stage>,
        events: &mut Vec<Event>,
    ) {
        use Trouble::{Dead, Failing, LameDuck, ReadOnly, Suspect, Unhealthy};
        let kinds: &[Trouble] = match stage {
            Some(Stage::Active) => &[Dead, Unhealthy, ReadOnly, LameDuck, Suspect, Failing],
            Some(Stage::Draining) => &[Dead, Unhealthy, LameDuck, Failing],
            Some(Stage::Standby | Stage::Chosen { .. }) => &[Dead, ReadOnly, LameDuck, Failing],
            Some(Stage::Ready | Stage::Unproven) => &[Dead, LameDuck],
            None => &[],
        };
        events.extend(
            kinds
                .iter()
                .map(|kind| Event::Trouble(id, generation, *kind)),
        );
    }

    /// Nothing is awaited that would be late after a wait.
    fn is_idle(&self) -> bool {
        self.flight
            .iter()
            .all(|flight| matches!(flight, Flight::Late(..) | Flight::Task(Work::Drain, ..)))
    }

    /// Lets an event happen.
    pub(in crate::machine) fn happen(&mut self, event: Event) -> Result<Vec<Action>, Violation> {
        let mut now = self.machine.now;
        let mut fault = !matches!(event, Event::Well(_) | Event::Burst | Event::Call(_));
        let input = match event {
            Event::Well(index) => self.flight.remove(index).well(self.servers),
            Event::Burst => {
                let servers = self.servers;
                let well = |flight: Flight| flight.well(servers);
                let all: Vec<Input> = self.flight.drain(..).map(well).collect();
                return self.handle(now, &all);
            }
            Event::Crash => {
                self.spend();
                let lost = |(id, generation)| Input::Lost(id, generation);
                let all: Vec<Input> = self.observer.open().map(lost).collect();
                return self.handle(now, &all);
            }
            Event::Badly(index, trouble) => match self.flight.remove(index) {
                Flight::Dial(id, _, op) => Input::ConnectFailed(id, op),
                Flight::Check(id, _, op) => Input::Checked(id, op, trouble.verdict()),
                Flight::Task(_, id, _, op) => Input::Failed(id, op, trouble.failure()),
                Flight::Late(..) | Flight::Retire(..) => Input::Tick,
            },
            Event::Wait => {
                fault = !self.is_idle();
                now = self.machine.next_deadline().unwrap_or(now).max(now);
                Input::Tick
            }
            Event::Stalled => Input::Stalled,
            Event::Trouble(id, generation, trouble) => trouble.input(id, generation),
            Event::Call(call) => {
                self.calls = self.calls.saturating_sub(1);
                self.next_request += 1;
                Input::Request(RequestId(self.next_request), call.request(&self.machine))
            }
        };
        if fault {
            self.spend();
        }
        self.handle(now, &[input])
    }

    fn spend(&mut self) {
        if self.faults < u8::MAX {
            self.faults = self.faults.saturating_sub(1);
        }
    }

    pub(super) fn handle(&mut self, now: Time, inputs: &[Input]) -> Result<Vec<Action>, Violation> {
        let before = self.machine.clone();
        let actions = self.machine.handle(now, inputs.iter().cloned());
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
        self.flight.retain_mut(|flight| match *flight {
            Flight::Dial(id, generation, op) if op == cancelled => {
                *flight = Flight::Late(id, generation, op);
                true
            }
            Flight::Task(_, _, _, op) | Flight::Check(_, _, op) => op != cancelled,
            _ => true,
        });
        self.flight.sort_unstable();
    }
}
