//! What one input costs the machine, in groups of 10 to 10,000 members: `cargo bench -p failover-core --bench machine`.
//!
//! The groups are at rest, all members connected. *Routine* inputs are those of every day: results of checks and samples of
//! outcomes, which cost a look at the whole group only when they change something. A *decision* is an input after which the
//! machine does look. The median of many is printed and their 99th percentile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_api::{Capabilities, Weight};
use failover_core::config::{Rules, Standby};
use failover_core::machine::{
    Action, Input, Machine, MemberId, NewMember, Request, RequestId, Time, Verdict,
};

fn main() {
    println!(
        "{:>8} {:>8} {:>18} {:>8} {:>18} {:>8}",
        "members", "standby", "routine median us", "p99", "decision median us", "p99"
    );
    for standby in [Standby::All, Standby::Count(1)] {
        for members in [10, 100, 1_000, 10_000] {
            let (mut routine, mut decision) = measure(members, standby);
            routine.sort_unstable();
            decision.sort_unstable();
            let at = |costs: &[Duration], percent: usize| {
                costs[costs.len() * percent / 100].as_secs_f64() * 1e6
            };
            println!(
                "{members:>8} {:>8} {:>18.2} {:>8.2} {:>18.2} {:>8.2}",
                match standby {
                    Standby::All => "all".to_owned(),
                    Standby::Count(count) => count.to_string(),
                    other => format!("{other:?}"),
                },
                at(&routine, 50),
                at(&routine, 99),
                at(&decision, 50),
                at(&decision, 99),
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
            Action::Connect(id, generation, op, _) => {
                Some(Input::Connected(id, generation, op, None))
            }
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

fn measure(members: u32, standby: Standby) -> (Vec<Duration>, Vec<Duration>) {
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
    let decisions = (0..2_000)
        .map(|number| {
            // Changes nothing here, but the machine cannot know that before it has looked.
            let input = Input::Request(RequestId(number), Request::Release);
            let begun = Instant::now();
            machine.handle(now, [input]);
            begun.elapsed()
        })
        .collect();
    (costs, decisions)
}
