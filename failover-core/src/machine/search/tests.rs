//! The search itself, in a size for every test run and one for the night, and the proof that it bites.

use super::expected::EXPECTED;
use super::faults::FAULTS;
use super::scenario::{Scenario, scenarios};
use super::{Limits, Report, nightly, search};

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
        let expected = EXPECTED.iter().find(|expected| expected.0 == scenario.name);
        match (report.violation, expected) {
            (None, None) => {}
            (Some(violation), Some((_, says, work))) if violation.contains(says) => {
                println!("    fails until {work:?}: {says}");
            }
            (None, Some((_, says, work))) => {
                wrong.push(format!("{}: {work:?} has mended {says:?}", scenario.name));
            }
            (Some(violation), _) => wrong.push(format!("{}: {violation}", scenario.name)),
        }
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
