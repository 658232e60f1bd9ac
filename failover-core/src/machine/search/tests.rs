//! The search itself, in a size for every test run and one for the night, and the proof that it bites.

use super::scenario::{Scenario, scenarios};
use super::{Call, Limits, Servers, nightly, search};
use crate::machine::mutation::Mutation;

fn run(scenarios: &[Scenario], limits: Limits) -> usize {
    let mut total = 0;
    let mut violations = Vec::new();
    for scenario in scenarios {
        let report = search(&scenario.world(), &scenario.callable, limits);
        println!(
            "{:<42} {:>8} states {:>9} transitions {:>7} recoveries {}",
            scenario.name,
            report.states,
            report.transitions,
            report.recovered,
            if report.complete {
                "complete"
            } else {
                "bounded "
            },
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
    let (states, least) = if nightly() {
        (400_000, 4_000_000)
    } else {
        (11_500, 180_000)
    };
    let limits = Limits {
        states,
        recover_every: 3,
    };
    assert!(run(&scenarios(), limits) > least);
}

/// Where a fault of a rule that needs more than a plain group will show: asked first, since a search in vain takes long.
fn is_likely(mutation: Mutation, scenario: &Scenario) -> bool {
    let calls = |is: fn(&Call) -> bool| scenario.callable.iter().any(is);
    match mutation {
        Mutation::ShareServer | Mutation::ForgetServer | Mutation::MoveToTwin => {
            scenario.servers != Servers::Unknown
        }
        Mutation::BelieveAnybody => calls(|call| matches!(call, Call::Untold(..))),
        Mutation::MoveAhead | Mutation::KeepPromoted => scenario.ahead,
        Mutation::ReplaceUnproven => calls(|call| matches!(call, Call::Replace(_))),
        _ => true,
    }
}

/// The first violation that the search finds with a rule left out, and by which scenario.
fn bites(mutation: Mutation) -> Option<(&'static str, String)> {
    let limits = Limits {
        states: 40_000,
        recover_every: 3,
    };
    let mut scenarios = scenarios();
    scenarios.sort_by_key(|scenario| !is_likely(mutation, scenario));
    scenarios.into_iter().find_map(|scenario| {
        let world = scenario.world().mutated(Some(mutation));
        let report = search(&world, &scenario.callable, limits);
        Some((scenario.name, report.violation?))
    })
}

#[test]
fn every_seeded_fault_is_found() {
    for mutation in [
        Mutation::SkipProof,
        Mutation::RetireBeforePromote,
        Mutation::ForgetRetire,
        Mutation::IgnoreGrace,
        Mutation::ActOnDrainingLoss,
        Mutation::DoubleDial,
        Mutation::DropAnswer,
        Mutation::FailbackToEqual,
        Mutation::NoDialDeadline,
        Mutation::PromoteReadOnly,
        Mutation::NeverRedial,
        Mutation::ForgetChecks,
        Mutation::ReplaceUnproven,
        Mutation::BelieveAnybody,
        Mutation::ShareServer,
        Mutation::ForgetServer,
        Mutation::MoveToTwin,
        Mutation::MoveAhead,
        Mutation::KeepPromoted,
    ] {
        let found = bites(mutation);
        let (scenario, violation) = found.unwrap_or_else(|| panic!("{mutation:?} was not found"));
        let first = violation.lines().next().unwrap_or_default();
        println!("{mutation:?}: {scenario}: {first}");
    }
}
