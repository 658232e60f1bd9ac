//! Every play, in the size for every run or for the night, against the table of expected failures.

use super::expected::{EXPECTED, judge};
use super::explore::explore;
use super::plays;
use super::promises::Promise;
use crate::machine::search::nightly;

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
        wrong.extend(judge(play.name, &failed));
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
fn every_line_about_a_play_names_one_of_its_promises() {
    let plays = plays::all();
    for line in EXPECTED {
        if plays.iter().any(|play| play.name == line.play) {
            let known = Promise::ALL.iter().any(|one| one.name() == line.promise);
            assert!(known, "{line:?}");
        }
    }
}
