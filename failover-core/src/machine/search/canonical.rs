//! One number for all states that have the same future: times are relative, ids are numbered in the order in which they
//! are met, and counters stop where they stop to matter.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use backend_api::Generation;

use super::world::{Flight, World};
use crate::machine::member::{Link, Mark, Member};
use crate::machine::{Machine, Op, Request, Time};

/// Longer ago than any rule of the search looks back.
const LONG_AGO: Duration = Duration::from_secs(64);

struct Canon {
    now: Time,
    generations: Vec<Generation>,
    ops: Vec<Op>,
    hasher: DefaultHasher,
}

impl Canon {
    fn put(&mut self, value: impl Hash) {
        value.hash(&mut self.hasher);
    }

    fn ago(&mut self, at: Option<Time>, cap: Duration) {
        let ago = at.map(|at| self.now.since(at).min(cap));
        self.put(ago);
    }

    fn generation(&mut self, generation: Generation) {
        let place = place(&mut self.generations, generation);
        self.put(place);
    }

    fn op(&mut self, op: Op) {
        let place = place(&mut self.ops, op);
        self.put(place);
    }
}

fn place<T: PartialEq>(met: &mut Vec<T>, value: T) -> usize {
    met.iter()
        .position(|seen| *seen == value)
        .unwrap_or_else(|| {
            met.push(value);
            met.len() - 1
        })
}

/// See the [module](self).
pub(super) fn fingerprint(world: &World) -> u64 {
    let mut canon = Canon {
        now: world.machine.now,
        generations: Vec::new(),
        ops: Vec::new(),
        hasher: DefaultHasher::new(),
    };
    for member in &world.machine.members {
        self::member(&mut canon, member);
    }
    group(&mut canon, &world.machine);
    for flight in &world.flight {
        self::flight(&mut canon, *flight);
    }
    canon.put((world.faults, world.calls, world.observer.waiting()));
    canon.hasher.finish()
}

fn group(canon: &mut Canon, machine: &Machine) {
    canon.put(machine.phase);
    canon.put(machine.active);
    canon.put(machine.last_active.is_some());
    if let Some((id, generation)) = machine.last_active {
        canon.put(id);
        canon.generation(generation);
    }
    canon.put(machine.switch.is_some());
    if let Some(switch) = &machine.switch {
        canon.put((switch.to, switch.reason, switch.end, switch.step));
        canon.put((switch.caller.is_some(), switch.force));
    }
    canon.put((machine.redial, machine.suspended, machine.returning));
    canon.put((machine.forced, machine.rules.standby));
    canon.put(machine.rehoming.is_some());
    if let Some(generation) = machine.rehoming {
        canon.generation(generation);
    }
    canon.put((machine.queue.len(), machine.closing.len()));
    for (_, request) in &machine.queue {
        if let Request::SwitchTo { to, end, force } = request {
            canon.put((to, end, force));
        }
    }
    canon.put(machine.lingering.len());
    canon.put((machine.attempts.min(6), machine.degraded));
    for (timer, at) in machine.timers.iter() {
        canon.put((timer, at.since(machine.now)));
    }
}

fn member(canon: &mut Canon, member: &Member) {
    use crate::machine::member::Health;
    canon.put((member.id, member.weight, member.enabled));
    canon.put((member.leaving.map(|(how, _)| how), member.outgoing));
    canon.put((member.replaces, member.place));
    canon.put(member.rules.health.interval);
    canon.put(member.server);
    canon.put(std::mem::discriminant(&member.link));
    match &member.link {
        Link::Cold => {}
        Link::Dialling {
            generation,
            op,
            discounted,
        } => {
            canon.generation(*generation);
            canon.op(*op);
            canon.put(discounted);
        }
        Link::Retiring { generation } => canon.generation(*generation),
        Link::Open(open) => {
            canon.generation(open.generation);
            canon.put(open.stage);
            canon.ago(Some(open.since), LONG_AGO);
            canon.ago(open.proven, Duration::from_millis(50));
            canon.put(open.task.map(|task| (task.kind, task.discounted)));
            if let Some(task) = open.task {
                canon.op(task.op);
            }
        }
    }
    match member.health {
        Health::Healthy { since } => canon.ago(Some(since), LONG_AGO),
        Health::Unknown => canon.put(1),
        Health::Unhealthy { read_only } => canon.put((2, read_only)),
    }
    canon.put((member.told, member.check.is_some()));
    if let Some(check) = member.check {
        canon.op(check.op);
        canon.put((check.next.since(canon.now), check.again, check.discounted));
    }
    canon.ago(member.checked, Duration::from_millis(50));
    canon.put((
        member.failures.min(6),
        member.tried,
        member.excused,
        member.broken,
        member.streak,
    ));
    match member.mark {
        Some(Mark::Announced(generation)) => {
            let fresh = member
                .open()
                .is_some_and(|open| open.generation > generation);
            canon.put((1, fresh));
        }
        Some(Mark::Operator) => canon.put(2),
        None => {}
    }
    // Only bursts happen in the search, and each of them opens the breaker and empties the window.
    canon.ago(member.returned, LONG_AGO);
}

fn flight(canon: &mut Canon, flight: Flight) {
    canon.put(std::mem::discriminant(&flight));
    match flight {
        Flight::Dial(id, generation, op) | Flight::Check(id, generation, op) => {
            canon.put(id);
            canon.generation(generation);
            canon.op(op);
        }
        Flight::Late(id, generation, _) | Flight::Retire(id, generation) => {
            canon.put(id);
            canon.generation(generation);
        }
        Flight::Task(work, id, generation, op) => {
            canon.put((work, id));
            canon.generation(generation);
            canon.op(op);
        }
    }
}
