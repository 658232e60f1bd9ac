//! Delays are drawn anew by every process, so that a fleet does not dial its servers in one step.

use std::collections::BTreeSet;

use super::story::{REFUSED, Story};
use crate::config::{Rules, Standby};
use crate::machine::Action;

/// As many processes, each with a seed of its own.
const FLEET: u64 = 16;

/// When members were dialled in every process of a fleet, in milliseconds: those that `select` lets through.
fn dials(
    change: fn(&mut Rules),
    cause: fn(&mut Story),
    select: impl Fn(u32) -> bool,
) -> Vec<Vec<u64>> {
    (1..=FLEET)
        .map(|seed| {
            let mut story = Story::seeded(&[1.0, 0.9, 0.8], seed, change);
            story.run(0);
            assert_eq!(story.active(), Some(0));
            story.log.clear();
            cause(&mut story);
            story.run(60_000);
            story
                .log
                .iter()
                .filter_map(|(at, action)| match action {
                    Action::Connect(id, ..) if select(id.0) => Some(*at),
                    _ => None,
                })
                .collect()
        })
        .collect()
}

fn distinct<T: Ord>(of: impl Iterator<Item = T>) -> u64 {
    of.collect::<BTreeSet<T>>().len() as u64
}

fn one_standby(rules: &mut Rules) {
    rules.standby = Standby::Count(1);
}

#[test]
fn no_two_processes_dial_a_member_again_in_step() {
    let dials = dials(|_| {}, |story| story.kill(1), |id| id == 1);
    assert_eq!(distinct(dials.iter()), FLEET);
    // Never later than the cap, and half of it on average.
    for times in &dials {
        assert!(times.windows(2).all(|two| two[1] - two[0] <= 10_000));
        assert!(times.len() > 10, "{times:?}");
    }
}

#[test]
fn no_two_processes_go_round_an_outage_in_step() {
    let down = |story: &mut Story| {
        for id in 0..3 {
            story.manner(id).dial = REFUSED;
            story.manner(id).prove = REFUSED;
        }
        for id in 0..3 {
            if story.member(id).generation.is_some() {
                story.lost(id);
            }
        }
    };
    let dials = dials(one_standby, down, |_| true);
    assert_eq!(distinct(dials.iter()), FLEET);
}

#[test]
fn no_two_processes_dial_a_missing_standby_in_step() {
    let dials = dials(one_standby, |story| story.kill(0), |id| id == 2);
    let first: Vec<u64> = dials
        .iter()
        .filter_map(|times| times.first().copied())
        .collect();
    assert_eq!(distinct(first.iter()), FLEET, "{first:?}");
    assert!(first.iter().all(|at| *at <= 10_000), "{first:?}");
}
