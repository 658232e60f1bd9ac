//! What one input costs the machine, in groups of 3 to 10,000 members: `cargo bench -p failover-core --bench machine`, with
//! `-- --members 3,100` in groups of other sizes, and with `-- --json` as one JSON object, by `standby` and by members.
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

const MEMBERS: &str = "3,10,100,1000,10000";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let members = arguments
        .iter()
        .position(|argument| argument == "--members");
    let members = members.map_or(MEMBERS, |at| {
        arguments.get(at + 1).expect("--members needs numbers")
    });
    let members: Vec<u32> = members
        .split(',')
        .map(|number| number.parse().expect("--members needs numbers"))
        .collect();
    if !json {
        println!(
            "{:>8} {:>8} {:>18} {:>8} {:>18} {:>8}",
            "members", "standby", "routine median us", "p99", "decision median us", "p99"
        );
    }
    let mut all = serde_json::json!({});
    for (name, standby) in [("all", Standby::All), ("1", Standby::Count(1))] {
        for &members in &members {
            let (mut routine, mut decision) = measure(members, standby);
            routine.sort_unstable();
            decision.sort_unstable();
            let at = |costs: &[Duration], percent: usize| {
                costs[costs.len() * percent / 100].as_secs_f64() * 1e6
            };
            let [routine, decision] =
                [routine, decision].map(|costs| (at(&costs, 50), at(&costs, 99)));
            all[name][members.to_string()] = serde_json::json!({
                "routine_median_us": routine.0,
                "routine_p99_us": routine.1,
                "decision_median_us": decision.0,
                "decision_p99_us": decision.1,
            });
            if !json {
                println!(
                    "{members:>8} {name:>8} {:>18.2} {:>8.2} {:>18.2} {:>8.2}",
                    routine.0, routine.1, decision.0, decision.1
                );
            }
        }
    }
    if json {
        println!("{all}");
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
