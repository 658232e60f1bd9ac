//! What one input costs the machine, in groups of 10 to 10,000 members: `cargo bench -p failover-core --bench machine`.
//!
//! The groups are at rest, all members connected, and the inputs are those of every day: results of checks, samples of
//! outcomes, a suspicion and its proof. The median of many inputs is printed and their 99th percentile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_api::{Capabilities, Weight};
use failover_core::config::{Rules, Standby};
use failover_core::machine::{Action, Input, Machine, MemberId, NewMember, Time, Verdict};

fn main() {
    println!(
        "{:>8} {:>10} {:>12} {:>12}",
        "members", "standby", "median us", "p99 us"
    );
    for standby in [Standby::All, Standby::Count(1)] {
        for members in [10, 100, 1_000, 10_000] {
            let mut costs = measure(members, standby);
            costs.sort_unstable();
            let micros = |cost: Duration| cost.as_secs_f64() * 1e6;
            println!(
                "{members:>8} {:>10} {:>12.2} {:>12.2}",
                match standby {
                    Standby::All => "all".to_owned(),
                    Standby::Count(count) => count.to_string(),
                    other => format!("{other:?}"),
                },
                micros(costs[costs.len() / 2]),
                micros(costs[costs.len() * 99 / 100]),
            );
        }
    }
}

fn group(members: u32, standby: Standby) -> Machine {
    let rules = Rules {
        standby,
        ..Rules::default()
    };
    let member = Arc::new(rules.member.clone());
    let members = (0..members).map(|id| NewMember {
        id: MemberId(id),
        weight: Weight::new(f64::from(members - id)).unwrap_or_default(),
        enabled: true,
        rules: member.clone(),
    });
    Machine::new(Arc::new(rules), Capabilities::new(), members, 1)
}

/// What a good world answers.
fn answers(actions: &[Action]) -> Vec<Input> {
    actions
        .iter()
        .filter_map(|action| match *action {
            Action::Connect(id, generation, op, _) => Some(Input::Connected(id, generation, op)),
            Action::Prove(id, _, op)
            | Action::Arm(id, _, op)
            | Action::Promote(id, _, op, _)
            | Action::Drain(id, _, op) => Some(Input::Done(id, op)),
            Action::Check(id, _, op) => Some(Input::Checked(id, op, Verdict::Healthy)),
            Action::Retire(id, generation) => Some(Input::Retired(id, generation)),
            _ => None,
        })
        .collect()
}

fn measure(members: u32, standby: Standby) -> Vec<Duration> {
    let mut machine = group(members, standby);
    let mut inputs = answers(&machine.handle(Time(0), []));
    while !inputs.is_empty() {
        inputs = answers(&machine.handle(Time(0), inputs));
    }
    let mut costs = Vec::new();
    let mut now = Time(0);
    // One by one: nothing is saved by taking inputs in batches.
    while costs.len() < 5_000 {
        now = machine.next_deadline().unwrap_or(now);
        let mut due = answers(&machine.handle(now, []));
        let view = machine.view();
        if let Some(active) = view.active
            && let Some(generation) = view.members[active.0 as usize].generation
        {
            due.push(Input::Outcomes {
                member: active,
                generation,
                success: 100,
                failure: 1,
            });
        }
        while let Some(input) = due.pop() {
            let begun = Instant::now();
            let actions = machine.handle(now, [input]);
            costs.push(begun.elapsed());
            due.extend(answers(&actions));
        }
    }
    costs
}
