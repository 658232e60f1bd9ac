//! One number for all states that have the same future: times are relative, ids are numbered in the order in which they
//! are met, and what lies so far back that no rule looks at it is all the same.
//!
//! Every struct is taken apart with all its fields, so that a new field does not compile before somebody has thought about
//! it here. Whatever is left out or cut off says why that is safe. `sampling` tries the claim.

use super::canon::{Canon, DOUBLINGS, SPACING};
use super::flight::{Flight, Servers};
use super::world::World;
use crate::machine::Machine;
use crate::machine::member::{Check, Excused, Health, Link, Mark, Member, Open, Task};
use crate::machine::switch::Switch;

/// See the [module](self).
pub(super) fn fingerprint(world: &World) -> u64 {
    let World {
        machine,
        observer,
        flight,
        faults,
        calls,
        horizon,
        servers,
        // Only names calls.
        next_request: _,
        // The same for a whole search.
        late: _,
        fault: _,
    } = world;
    let mut canon = Canon::new(machine, *horizon, *servers);
    self::machine(&mut canon, machine);
    for flight in flight {
        self::flight(&mut canon, *flight);
    }
    canon.put(&(faults, calls));
    observer.number(&mut canon);
    canon.finish()
}

fn machine(canon: &mut Canon, machine: &Machine) {
    let Machine {
        rules,
        // The same for a whole search.
        capabilities: _,
        // Where all times begin.
        now: _,
        phase,
        members,
        active,
        last_active,
        // What it is compared with says so: see `Canon::proven`, and the switch below. How long a move took is for people.
        lost_at: _,
        switch,
        redial,
        queue,
        closing,
        lingering,
        suspended,
        forced,
        rehoming,
        returning,
        shifting,
        unsettled,
        attempts: _,
        degraded,
        timers,
        random,
        // Names of what is to come; where a balancer makes more of them, see below.
        next_generation,
        next_op: _,
        // Taken by whoever called the machine.
        actions: _,
    } = machine;
    for member in members {
        self::member(canon, member);
    }
    canon.rules(rules);
    canon.put(&(phase, active));
    canon.put(&last_active.is_some());
    if let Some((id, generation)) = last_active {
        canon.put(id);
        canon.generation(*generation);
    }
    canon.put(&switch.is_some());
    if let Some(switch) = switch {
        self::switch(canon, machine, switch);
    }
    canon.put(&(redial, suspended, forced, returning));
    canon.put(&queue.len());
    for (id, request) in queue {
        canon.request(*id, request);
    }
    canon.put(&closing.len());
    for id in closing {
        canon.caller(*id);
    }
    canon.bag(lingering.iter(), |canon, generation| {
        canon.generation(*generation);
    });
    canon.put(&rehoming.is_some());
    if let Some(generation) = rehoming {
        canon.generation(*generation);
    }
    let rounds = canon.rounds();
    canon.put(&(shifting, unsettled, degraded, random, rounds));
    for (timer, at) in timers.iter() {
        canon.put(&timer);
        canon.until(Some(at));
    }
    if let Servers::Shifting(count) = canon.servers() {
        canon.put(&(next_generation % u64::from(count)));
    }
}

fn switch(canon: &mut Canon, machine: &Machine, switch: &Switch) {
    let Switch {
        to,
        reason,
        end,
        step,
        caller,
        force,
        since,
    } = switch;
    canon.put(&(to, reason, end, step, force));
    canon.put(&caller.is_some());
    if let Some(id) = caller {
        canon.caller(*id);
    }
    // Proofs say how they compare with it. A move that begins now is told from it by whether it began now too, or when the
    // active was lost.
    canon.put(&(*since == machine.now, *since == machine.lost_at));
}

fn member(canon: &mut Canon, member: &Member) {
    let Member {
        id,
        weight,
        rules,
        enabled,
        leaving,
        outgoing,
        replaces,
        place,
        link,
        server,
        health,
        told,
        check,
        checked,
        failures,
        last_failure,
        ticket,
        tried,
        excused,
        mark,
        broken,
        window,
        streak,
        returned,
    } = member;
    canon.put(&(id, weight, enabled, outgoing, replaces, place));
    canon.member_rules(rules);
    canon.put(&leaving.map(|(how, _)| how));
    if let Some((_, Some(caller))) = leaving {
        canon.caller(*caller);
    }
    self::link(canon, link);
    canon.put(server);
    match health {
        Health::Healthy { since } => canon.stable(*since),
        Health::Unknown => canon.put(&1),
        Health::Unhealthy { read_only } => canon.put(&(2, read_only)),
    }
    canon.put(&(told, check.is_some()));
    if let Some(Check {
        op,
        next,
        again,
        discounted,
    }) = check
    {
        canon.op(*op);
        canon.until(Some(*next));
        canon.put(&(again, discounted));
    }
    canon.put(&checked.is_some());
    if let Some(at) = checked {
        canon.ago(*at, SPACING);
    }
    // Pools see both, and the one that looks at the first has no use for more.
    canon.put(&(*failures.min(&DOUBLINGS), ticket, tried));
    // No pool of ours looks at when it was; those of users are not searched.
    let _ = last_failure;
    let Excused { dial, proof, check } = excused;
    canon.put(&(dial, proof, check));
    match mark {
        // It is compared with the connection that is held: it is that one, or an older one.
        Some(Mark::Announced(generation)) => canon.put(&(1, member.is(*generation))),
        Some(Mark::Operator) => canon.put(&2),
        None => canon.put(&0),
    }
    canon.put(broken);
    let (of, samples) = window.parts();
    canon.window(of, samples.iter().copied());
    canon.put(streak);
    canon.returned(*returned);
}

fn link(canon: &mut Canon, link: &Link) {
    canon.put(&std::mem::discriminant(link));
    match link {
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
        Link::Open(Open {
            generation,
            since,
            proven,
            stage,
            task,
        }) => {
            canon.generation(*generation);
            canon.put(stage);
            // A connection that lived for `reconnect.max` starts the count of failures anew.
            let lived = canon.horizon().reconnect;
            canon.ago(*since, lived);
            canon.proven(*proven);
            canon.put(&task.is_some());
            if let Some(Task {
                op,
                kind,
                discounted,
            }) = task
            {
                canon.op(*op);
                canon.put(&(kind, discounted));
            }
        }
    }
}

fn flight(canon: &mut Canon, flight: Flight) {
    canon.put(&std::mem::discriminant(&flight));
    match flight {
        Flight::Dial(id, generation, op)
        | Flight::Check(id, generation, op)
        | Flight::Late(id, generation, op)
        | Flight::LateCheck(id, generation, op) => {
            canon.put(&id);
            canon.generation(generation);
            canon.op(op);
        }
        Flight::Retire(id, generation) => {
            canon.put(&id);
            canon.generation(generation);
        }
        Flight::Task(work, id, generation, op) | Flight::LateTask(work, id, generation, op) => {
            canon.put(&(work, id));
            canon.generation(generation);
            canon.op(op);
        }
    }
}
