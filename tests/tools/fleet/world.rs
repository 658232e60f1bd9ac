//! The fleet of real machines in simulated time: a queue of what will happen, and the loop that takes the earliest.
//!
//! Whatever happens at the same microsecond happens in the order in which it was queued, so a run is determined by its
//! seed. What befalls brokers comes from outside, between two calls of [`World::run_until`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use failover_core::api::Generation;
use failover_core::config::Rules;
use failover_core::machine::{Action, Input, MemberId, Op};

use crate::args::Settings;
use crate::brokers::{BROKERS, Brokers, Micros, ROUND_TRIP, SECOND};
use crate::client::{Client, Layout, Link, rules};
use crate::dice::Dice;
use crate::record::Record;

/// Longer than any delay between dials (10 s), so that what failed during startup is forgotten.
const SETTLING: Micros = 30 * SECOND;

/// That a socket has ended is not noticed by everybody at the same microsecond.
const NOTICED_WITHIN: Micros = 1_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A deadline of the machine.
    Wake,
    /// A dial was answered.
    Dialled {
        op: Op,
        accepted: bool,
    },
    /// A proof, an arming, a promotion or a drain was answered.
    Done(Op),
    Retired,
    Lost,
    LameDuck,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at: Micros,
    /// Ties are broken by the order of queueing.
    turn: u64,
    client: u32,
    broker: u32,
    generation: Generation,
    what: What,
}

/// A fleet, its brokers, and what happened.
pub(crate) struct World {
    now: Micros,
    turn: u64,
    queue: BinaryHeap<Reverse<Event>>,
    clients: Vec<Client>,
    brokers: Brokers,
    dice: Dice,
    pub(crate) record: Record,
}

impl World {
    /// A fleet at rest: everybody has an active and a standby, and the record is empty.
    pub(crate) fn at_rest(settings: &Settings, layout: Layout) -> Self {
        let rules: Arc<Rules> = rules(layout);
        let mut dice = Dice::new(settings.seed);
        let clients: Vec<Client> = (0..settings.clients)
            .map(|_| Client::new(layout, &rules, dice.next()))
            .collect();
        let mut world = Self {
            now: 0,
            turn: 0,
            queue: BinaryHeap::new(),
            record: Record::new(clients.len()),
            clients,
            brokers: Brokers::new(settings.accept_rate),
            dice,
        };
        for client in 0..world.clients.len() {
            world.hand(client, Input::Tick);
        }
        world.run_until(SETTLING);
        assert!(world.record.is_whole(), "a fleet without faults is whole");
        world.brokers.limit();
        world.record.begin(SETTLING);
        world
    }

    /// Since the record began.
    pub(crate) fn elapsed(&self) -> Micros {
        self.now - self.record.zero
    }

    /// Lets everything happen that is due until then, in time since the simulation began.
    fn run_until(&mut self, until: Micros) {
        while let Some(Reverse(event)) = self.queue.peek().copied()
            && event.at <= until
        {
            self.queue.pop();
            self.now = event.at;
            self.happen(event);
        }
        self.now = until;
    }

    pub(crate) fn run_for(&mut self, span: Micros) {
        self.run_until(self.now + span);
    }

    /// Goes on until `done`, looking once a second, but no longer than `most`. Whether it came to that.
    pub(crate) fn run_while(&mut self, most: Micros, done: impl Fn(&Record) -> bool) -> bool {
        let end = self.now + most;
        while !done(&self.record) {
            if self.now >= end {
                return false;
            }
            self.run_for(SECOND);
        }
        true
    }

    /// The broker announces its shutdown to all who are connected, and takes nobody new.
    pub(crate) fn announce(&mut self, broker: usize) {
        self.brokers.leave(broker);
        for client in 0..self.clients.len() {
            if let Link::Open(generation) = self.clients[client].links[broker] {
                let noticed = self.dice.below(NOTICED_WITHIN);
                self.queue(noticed, client, broker, generation, What::LameDuck);
            }
        }
    }

    /// The broker dies, and everything with it.
    pub(crate) fn down(&mut self, broker: usize) {
        self.brokers.down(broker);
        for client in 0..self.clients.len() {
            let noticed = self.dice.below(NOTICED_WITHIN);
            match self.clients[client].links[broker] {
                Link::None => {}
                Link::Open(generation) => {
                    self.queue(noticed, client, broker, generation, What::Lost);
                }
                // Its place in the backlog is gone. Of the two answers that are now under way the first counts.
                Link::Dialling { generation, op } => {
                    let what = What::Dialled {
                        op,
                        accepted: false,
                    };
                    self.queue(noticed, client, broker, generation, what);
                }
            }
        }
    }

    pub(crate) fn up(&mut self, broker: usize) {
        self.brokers.up(broker);
    }

    fn queue(
        &mut self,
        after: Micros,
        client: usize,
        broker: usize,
        generation: Generation,
        what: What,
    ) {
        self.turn += 1;
        self.queue.push(Reverse(Event {
            at: self.now + after,
            turn: self.turn,
            client: client as u32,
            broker: broker as u32,
            generation,
            what,
        }));
    }

    fn happen(&mut self, event: Event) {
        let client = event.client as usize;
        let (member, generation) = (MemberId(event.broker), event.generation);
        let own = &mut self.clients[client];
        let link = &mut own.links[event.broker as usize];
        let is_open = *link == Link::Open(generation);
        let input = match event.what {
            What::Wake => {
                if own.woken_at != Some(event.at) {
                    return;
                }
                own.woken_at = None;
                Input::Tick
            }
            What::Dialled { op, accepted } => {
                // Anything else was given up: its socket is closed.
                if !matches!(*link, Link::Dialling { op: awaited, .. } if awaited == op) {
                    return;
                }
                if accepted {
                    *link = Link::Open(generation);
                    Input::Connected(member, generation, op, None)
                } else {
                    *link = Link::None;
                    Input::ConnectFailed(member, op)
                }
            }
            What::Done(op) if is_open => Input::Done(member, op),
            What::LameDuck if is_open => Input::LameDuck(member, generation),
            What::Lost if is_open => {
                *link = Link::None;
                Input::Lost(member, generation)
            }
            // The other end has gone meanwhile, or our own has.
            What::Done(_) | What::LameDuck | What::Lost => return,
            What::Retired => Input::Retired(member, generation),
        };
        self.hand(client, input);
    }

    /// Hands an input to a client's machine and does what it says.
    fn hand(&mut self, client: usize, input: Input) {
        let actions = self.clients[client].handle(self.now, input);
        for action in actions {
            self.act(client, action);
        }
        let own = &mut self.clients[client];
        let due = own.next_deadline();
        // A wake-up that comes too early finds nothing due and looks again.
        if let Some(at) = due
            && own.woken_at.is_none_or(|woken| at < woken)
        {
            own.woken_at = Some(at.max(self.now));
            let after = at.saturating_sub(self.now);
            self.queue(after, client, 0, Generation(0), What::Wake);
        }
    }

    fn act(&mut self, client: usize, action: Action) {
        match action {
            Action::Connect(member, generation, op, _) => self.dial(client, member, generation, op),
            Action::Prove(member, generation, op)
            | Action::Arm(member, generation, op)
            | Action::Promote(member, generation, op, _)
            | Action::Drain(member, generation, op) => {
                let broker = member.0 as usize;
                self.queue(ROUND_TRIP, client, broker, generation, What::Done(op));
            }
            Action::Cancel(op) => self.clients[client].cancel(op),
            Action::Retire(member, generation) => {
                let broker = member.0 as usize;
                let link = &mut self.clients[client].links[broker];
                if *link == Link::Open(generation) {
                    *link = Link::None;
                }
                self.queue(0, client, broker, generation, What::Retired);
            }
            Action::Activate(..) => self.record.activated(client, self.now),
            Action::Deactivate => self.record.deactivated(client, self.now),
            Action::Tell(news) => self.record.told(client, self.now, news),
            // Nothing is checked, and nobody asked for anything.
            Action::Check(..)
            | Action::Started
            | Action::StartFailed
            | Action::Answer(..)
            | Action::Forget(_)
            | Action::Replaced(..)
            | Action::Closed => {}
        }
    }

    fn dial(&mut self, client: usize, member: MemberId, generation: Generation, op: Op) {
        let broker = member.0 as usize;
        debug_assert!(broker < BROKERS);
        self.clients[client].links[broker] = Link::Dialling { generation, op };
        let under_way = self.clients[client].dialling();
        self.record.dialled(client, self.now, under_way);
        let answer = self.brokers.dial(broker, self.now);
        let after = answer.map_or(ROUND_TRIP, |at| at - self.now);
        let what = What::Dialled {
            op,
            accepted: answer.is_some(),
        };
        self.queue(after, client, broker, generation, what);
    }
}
