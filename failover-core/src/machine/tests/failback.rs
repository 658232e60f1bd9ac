//! Failback: when traffic returns, and when it stays.

use std::time::Duration;

use backend_api::Weight;

use super::story::{Reply, Story, UNHEALTHY};
use crate::machine::{MemberId, Reason, Request};

/// Default rules, but a grace of five seconds.
fn failed_over(weights: &[f64]) -> Story {
    let mut story = Story::started(weights, |rules| {
        rules.failback.grace = Duration::from_secs(5);
    });
    story.kill(0);
    assert_eq!(story.active(), Some(1));
    story.log.clear();
    story
}

#[test]
fn traffic_returns_after_grace_and_unbroken_health() {
    // P60, P62, P68, P95
    let mut story = failed_over(&[1.0, 0.5]);
    story.run(2_000);
    story.revive(0);
    story.run(60_000);
    let moves = story.moves();
    assert_eq!(moves.len(), 1);
    let (at, from, to, reason) = moves[0];
    assert_eq!((from, to, reason), (Some(1), 0, Reason::Failback));
    // Stable counts from when it was found healthy, not from a tick of some interval.
    let found = story.log.iter().find_map(|(at, action)| {
        matches!(action, crate::machine::Action::Check(id, ..) if id.0 == 0).then_some(*at)
    });
    assert_eq!(Some(at), found.map(|found| found + 10_000));
}

#[test]
fn off_means_never() {
    // P61
    let mut story = Story::started(&[1.0, 0.5], |rules| rules.failback.enabled = false);
    story.kill(0);
    story.revive(0);
    story.run(600_000);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn only_a_strictly_higher_weight_is_worth_a_move() {
    // P62
    let mut story = failed_over(&[0.5, 0.5]);
    story.revive(0);
    story.run(600_000);
    assert_eq!(story.active(), Some(1));
    assert!(story.moves().is_empty());
}

#[test]
fn the_heaviest_of_several_is_taken_and_it_happens_again() {
    // P63, P64
    let mut story = Story::started(&[1.0, 0.2, 0.5], |rules| {
        rules.failback.grace = Duration::from_secs(5);
    });
    story.kill(0);
    story.kill(2);
    assert_eq!(story.active(), Some(1));
    story.revive(0);
    story.revive(2);
    story.run(100_000);
    assert_eq!(story.active(), Some(0));
    assert_eq!(story.moves().last().map(|moved| moved.1), Some(Some(1)));
    story.kill(0);
    story.revive(0);
    story.run(100_000);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn a_raised_weight_draws_the_traffic() {
    // P65
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(20_000);
    let weight = Weight::new(2.0).unwrap_or_default();
    story.call(Request::SetWeight(MemberId(1), weight));
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.moves(), [(20_000, Some(0), 1, Reason::Failback)]);
}

#[test]
fn a_candidate_that_fails_again_is_not_returned_to() {
    // P66, P95
    let mut story = failed_over(&[1.0, 0.5]);
    story.revive(0);
    story.run(9_000);
    story.manner(0).check = UNHEALTHY;
    story.run(1_500);
    story.revive(0);
    // Its health was broken: the wait begins again.
    story.run(9_000);
    assert_eq!(story.active(), Some(1));
    story.run(3_000);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn close_ends_it() {
    // P67
    let mut story = failed_over(&[1.0, 0.5]);
    story.revive(0);
    story.run(9_000);
    story.call(Request::Close);
    story.run(60_000);
    assert!(story.moves().is_empty());
    assert_eq!(story.machine.next_deadline(), None);
}

#[test]
fn pinned_means_not_until_released() {
    // P69
    let mut story = failed_over(&[1.0, 0.5]);
    story.call(Request::Pin);
    story.revive(0);
    story.run(600_000);
    assert_eq!(story.active(), Some(1));
    story.call(Request::Release);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn a_pin_stops_a_failback_that_is_under_way() {
    let mut story = failed_over(&[1.0, 0.5]);
    story.revive(0);
    story.run(9_000);
    story.manner(0).prove = Reply::Well(200);
    let begun = (0..100).any(|_| {
        story.run(50);
        story.machine.view().switching_to.is_some()
    });
    assert!(begun);
    story.call(Request::Pin);
    story.run(60_000);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn a_manual_move_ignores_grace_starts_none_and_suspends_failback() {
    // P75
    let mut story = failed_over(&[1.0, 0.5]);
    story.revive(0);
    story.run(3_000);
    assert!(story.member(0).grace.is_some());
    story.switch_to(0);
    assert_eq!(story.active(), Some(0));
    assert!(story.member(1).grace.is_none());
    story.switch_to(1);
    assert_eq!(story.active(), Some(1));
    assert!(story.machine.view().failback_suspended);
    story.run(600_000);
    assert_eq!(story.active(), Some(1));
    // Until its target fails.
    story.kill(1);
    assert_eq!(story.active(), Some(0));
    assert!(!story.machine.view().failback_suspended);
}

#[test]
fn many_groups_do_not_return_in_one_step() {
    // P79
    let mut returns = Vec::new();
    for seed in 1..=100 {
        let mut story = Story::seeded(&[1.0, 0.5], seed, |rules| {
            rules.failback.grace = Duration::from_secs(30);
        });
        story.run(1_000);
        story.kill(0);
        story.revive(0);
        story.run(60_000);
        let last = story.moves().last().copied();
        returns.extend(
            last.filter(|moved| moved.3 == Reason::Failback)
                .map(|moved| moved.0),
        );
    }
    assert_eq!(returns.len(), 100);
    for second in 31..41 {
        let then = returns.iter().filter(|at| **at / 1_000 == second).count();
        assert!(
            (1..30).contains(&then),
            "{then} in second {second}: {returns:?}"
        );
    }
}
