//! The search itself, in a size for every test run and one for the night, and the proof that it bites.

use std::time::Instant;

use super::scenario::{Scenario, scenarios};
use super::{Limits, search};
use crate::machine::mutation::Mutation;

fn run(scenarios: &[Scenario], limits: Limits) -> usize {
    let mut total = 0;
    let mut violations = Vec::new();
    for scenario in scenarios {
        let begun = Instant::now();
        let report = search(scenario.world(), &scenario.callable, limits);
        println!(
            "{:<42} {:>8} states {:>9} transitions {:>7} recoveries {}  {:.1} s",
            scenario.name,
            report.states,
            report.transitions,
            report.recovered,
            if report.complete {
                "complete"
            } else {
                "bounded "
            },
            begun.elapsed().as_secs_f64(),
        );
        if let Some(violation) = report.violation {
            violations.push(format!("{}: {violation}", scenario.name));
        }
        total += report.states;
    }
    println!("{total} distinct states");
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    total
}

#[test]
fn no_history_breaks_an_invariant() {
    let limits = Limits {
        states: 6_000,
        recover_every: 7,
    };
    assert!(run(&scenarios(), limits) > 40_000);
}

#[test]
#[ignore = "the nightly size: minutes"]
fn no_history_breaks_an_invariant_nightly() {
    let limits = Limits {
        states: 150_000,
        recover_every: 10,
    };
    assert!(run(&scenarios(), limits) >= 1_000_000);
}
