//! The search itself, in a size for every test run and one for the night, and the proof that it bites.

use super::faults::FAULTS;
use super::scenario::{Scenario, scenarios};
use super::{Limits, Report, nightly, search};
use crate::machine::expected::{EXPECTED, Tool, judge};

fn look(scenario: &Scenario, limits: Limits) -> Report {
    let report = search(&scenario.world(), &scenario.alphabet, limits);
    println!(
        "{:<44} {:>8} states {:>9} transitions {:>3} deep {:>7} recoveries {}",
        scenario.name,
        report.states,
        report.transitions,
        report.depth,
        report.recovered,
        if report.complete {
            "complete"
        } else {
            "bounded"
        },
    );
    report
}

/// What is broken, as the table of expected failures says it: a part of what the violation says.
fn what(scenario: &Scenario, violation: &str) -> &'static str {
    let mut lines = EXPECTED.iter().filter(|line| line.tool == Tool::Search);
    lines
        .find(|line| line.name == scenario.name && violation.contains(line.promise))
        .map_or("an invariant", |line| line.promise)
}

#[test]
fn every_expected_failure_of_the_search_names_a_scenario() {
    let scenarios = scenarios();
    for line in EXPECTED.iter().filter(|line| line.tool == Tool::Search) {
        let known = scenarios.iter().any(|scenario| scenario.name == line.name);
        assert!(known, "there is no scenario {:?}", line.name);
    }
}

#[test]
fn no_history_breaks_an_invariant() {
    let limits = Limits {
        states: if nightly() { 2_000_000 } else { 30_000 },
        recover_every: 5,
    };
    let scenarios = scenarios();
    let (mut states, mut complete) = (0, 0);
    let mut wrong = Vec::new();
    for scenario in &scenarios {
        let report = look(scenario, limits);
        states += report.states;
        complete += usize::from(report.complete);
        let failed = report
            .violation
            .map(|violation| (what(scenario, &violation), violation));
        wrong.extend(judge(Tool::Search, scenario.name, failed.as_slice()));
    }
    println!(
        "{states} states, {complete} of {} scenarios complete",
        scenarios.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Most are searched to their end, or the docs of this module claim too much.
    assert!(complete * 4 >= scenarios.len() * 3, "{complete} complete");
}

#[test]
fn every_broken_machine_is_found() {
    let limits = Limits {
        states: 60_000,
        recover_every: 1,
    };
    let scenarios = scenarios();
    let mut missed = Vec::new();
    for (fault, name, says) in FAULTS {
        let scenario = scenarios
            .iter()
            .find(|scenario| scenario.name == *name)
            .unwrap_or_else(|| panic!("no scenario {name}"));
        let world = scenario.world().broken(Some(*fault));
        let report = search(&world, &scenario.alphabet, limits);
        let violation = report.violation.unwrap_or_default();
        let first = violation.lines().next().unwrap_or_default();
        println!(
            "{fault:?}: {name}: {} states: {}",
            report.states,
            &first[..first.len().min(160)]
        );
        if !first.contains(says) {
            missed.push(format!("{fault:?}: {name} found {first:?}, not {says:?}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
