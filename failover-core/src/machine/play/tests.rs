//! Every play, in the size for every run or for the night, against the table of expected failures.

use std::time::Duration;

use super::explore::{explore, shrunk};
use super::host::{Ask, Way};
use super::plays;
use super::promises::{Promise, first};
use super::script::{App, Call, Case, Change};
use super::stage::{Sabotage, play, play_broken};
use crate::machine::expected::{EXPECTED, Tool, judge};
use crate::machine::search::nightly;
use crate::machine::{Action, Failure, MemberId};

#[test]
fn every_play_keeps_its_promises_or_is_expected_not_to() {
    let mut wrong = Vec::new();
    let (mut plays, mut histories) = (0, 0);
    for play in plays::all() {
        let report = explore(&play, nightly());
        plays += 1;
        histories += report.histories;
        let names: Vec<&str> = report.broken.keys().map(|one| one.name()).collect();
        println!(
            "{:<46} {:>6} histories  {}",
            play.name,
            report.histories,
            names.join(", ")
        );
        let failed: Vec<(&str, String)> = report
            .broken
            .into_iter()
            .map(|(promise, (times, history))| {
                (promise.name(), format!("  {times} histories\n{history}"))
            })
            .collect();
        wrong.extend(judge(Tool::Play, play.name, &failed));
    }
    println!("{plays} plays, {histories} histories");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn names_are_told_apart() {
    let mut names: Vec<&str> = plays::all().iter().map(|play| play.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    let mut promises: Vec<&str> = Promise::ALL.iter().map(|one| one.name()).collect();
    promises.sort_unstable();
    promises.dedup();
    assert_eq!(promises.len(), Promise::ALL.len());
}

#[test]
fn every_line_about_a_play_names_a_play_and_a_promise() {
    let plays = plays::all();
    for line in EXPECTED.iter().filter(|line| line.tool == Tool::Play) {
        let play = plays.iter().any(|play| play.name == line.name);
        let promise = Promise::ALL.iter().any(|one| one.name() == line.promise);
        assert!(play && promise, "{line:?}");
    }
}

/// Traffic is with m0, which dies and comes back.
fn death() -> Case {
    let case = Case::of(&[2.0, 1.0]).at(5000, Change::Kill(0));
    case.at(8000, Change::Start(0))
}

fn frozen() -> Case {
    Case::of(&[2.0, 1.0]).at(5000, Change::Freeze(0))
}

fn stalled() -> Case {
    frozen().at(5700, Change::Thaw(0))
}

fn refused() -> Case {
    let busy = App {
        workers: 4,
        ..App::every(50)
    };
    let case = Case::of(&[2.0, 1.0]).with(|case| case.app = busy);
    let no = Way::Badly(Failure::Unhealthy);
    case.at(5000, Change::Take(0, Ask::Write, no))
}

fn called() -> Case {
    Case::of(&[2.0, 1.0]).at(5000, Change::Call(Call::SwitchTo(1)))
}

/// The group keeps the promise in this case, and does not once the case is spoiled.
fn spoils(promise: Promise, case: &Case, spoil: fn(&mut Case)) {
    let sound = first(promise, &play(case), None);
    assert!(sound.is_none(), "{sound:?}");
    let spoilt = case.clone().with(spoil);
    let broken = first(promise, &play(&spoilt), None);
    assert!(broken.is_some(), "{promise:?} is kept all the same");
}

#[test]
fn a_group_with_senseless_rules_breaks_its_promises() {
    spoils(Promise::Failing, &refused(), |case| {
        case.rules.member.breaker.min_failures = u32::MAX;
    });
    spoils(Promise::Patience, &stalled(), |case| {
        case.rules.member.timeouts.prove = Duration::from_millis(50);
    });
    spoils(Promise::Silence, &frozen(), |case| {
        case.rules.member.timeouts.prove = Duration::from_secs(5);
        case.rules.member.health.timeout = Duration::from_secs(5);
    });
    // Before a check finds it unhealthy, so that it is worth a redial.
    let between = Case::of(&[2.0, 1.0]).at(5200, Change::Freeze(0));
    spoils(Promise::Noticed, &between, |case| {
        case.rules.loss_redial = Duration::from_secs(60);
    });
    spoils(Promise::Dials, &death(), |case| {
        case.rules.member.reconnect.initial = Duration::from_millis(1);
        case.rules.member.reconnect.max = Duration::from_millis(1);
    });
}

/// The same for a machine of which an action is lost.
fn needs(promise: Promise, case: &Case, sabotage: Sabotage) {
    let sound = first(promise, &play(case), None);
    assert!(sound.is_none(), "{sound:?}");
    let broken = first(promise, &play_broken(case, sabotage), None);
    assert!(broken.is_some(), "{promise:?} is kept all the same");
}

#[test]
fn a_broken_machine_breaks_its_promises() {
    needs(Promise::Need, &death(), |action| {
        matches!(action, Action::Connect(MemberId(1), ..))
    });
    needs(Promise::Noticed, &death(), |action| {
        matches!(action, Action::Promote(MemberId(1), ..))
    });
    needs(Promise::Answered, &called(), |action| {
        matches!(action, Action::Answer(..))
    });
}

#[test]
fn a_history_is_shrunk_to_what_breaks_the_promise() {
    let case = stalled()
        .at(1000, Change::Freeze(1))
        .at(1100, Change::Thaw(1))
        .at(12_000, Change::Reset(1))
        .with(|case| case.rules.member.timeouts.prove = Duration::from_millis(50));
    let less = shrunk(&case, Promise::Patience, None);
    assert_eq!(less.script.len(), 1, "{:?}", less.script);
    assert!(matches!(less.script[..], [(_, Change::Freeze(_))]));
}

#[test]
fn a_play_is_the_same_each_time() {
    for one in plays::all() {
        let Some(case) = (one.cases)(false).pop() else {
            panic!("{} has no cases", one.name);
        };
        let told = || play(&case).timetable();
        assert_eq!(told(), told(), "{}", one.name);
    }
}
