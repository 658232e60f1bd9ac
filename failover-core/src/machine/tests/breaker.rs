//! The breaker: failing operations move traffic although the checks pass. The window itself is tested beside its code.

use std::time::Duration;

use super::story::{Story, UNHEALTHY};
use crate::machine::{MemberId, News, Reason};

#[test]
fn it_moves_the_traffic_although_the_checks_pass() {
    // P41, P44, P80
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.outcomes(0, 0, 9);
    assert_eq!(story.active(), Some(0));
    story.outcomes(0, 0, 1);
    assert_eq!(story.moves(), [(0, Some(0), 1, Reason::Breaker)]);
    assert!(story.member(0).broken);
}

#[test]
fn successes_keep_it_closed_and_old_failures_are_forgotten() {
    // P80, P89
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.outcomes(0, 1_000, 100);
    story.run(1_000);
    story.outcomes(0, 0, 9);
    assert_eq!(story.active(), Some(0));
    let mut slow = Story::started(&[1.0, 0.5], |_| {});
    for _ in 0..10 {
        slow.outcomes(0, 0, 9);
        slow.run(2_000);
    }
    assert_eq!(slow.active(), Some(0));
}

#[test]
fn it_closes_at_the_end_of_grace_and_only_with_passing_checks() {
    // P72, P85, P86
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.outcomes(0, 0, 100);
    story.outcomes(0, 0, 100);
    story.run(59_990);
    assert!(story.member(0).broken);
    story.run(20);
    assert!(!story.member(0).broken);
    assert_eq!(story.told(News::Breaker(MemberId(0), true)), 1);
    assert_eq!(story.told(News::Breaker(MemberId(0), false)), 1);
    let mut ill = Story::started(&[1.0, 0.5], |_| {});
    ill.outcomes(0, 0, 100);
    ill.manner(0).check = UNHEALTHY;
    ill.run(120_000);
    assert!(ill.member(0).broken);
    ill.revive(0);
    ill.run(1_500);
    assert!(!ill.member(0).broken);
}

#[test]
fn without_grace_a_broken_member_still_moves_the_traffic_and_recovers() {
    // P71
    for checks in [None, Some(Vec::new())] {
        let mut story = Story::started(&[1.0, 0.5], |rules| {
            rules.failback.grace = Duration::ZERO;
            rules.failback.enabled = false;
            rules.member.health.checks = checks;
        });
        story.outcomes(0, 0, 100);
        assert_eq!(story.active(), Some(1));
        story.run(3_000);
        assert!(!story.member(0).broken);
    }
}

#[test]
fn with_nowhere_to_go_the_active_stays_and_its_breaker_closes_in_time() {
    // P55
    let mut story = Story::started(&[1.0], |_| {});
    story.outcomes(0, 0, 100);
    assert_eq!(story.active(), Some(0));
    assert!(story.member(0).broken);
    story.run(62_000);
    assert!(!story.member(0).broken);
    assert!(story.moves().is_empty());
}

#[test]
fn neutral_outcomes_count_for_nothing_and_members_are_separate() {
    // P84, P87, P91, P92
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.outcomes(0, 0, 0);
    story.outcomes(0, 0, 5);
    story.outcomes(1, 0, 5);
    assert!(!story.member(0).broken && !story.member(1).broken);
}

#[test]
fn the_breaker_of_a_standby_opens_and_recovers_too() {
    // P93
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.outcomes(1, 0, 100);
    assert!(story.member(1).broken);
    assert!(story.moves().is_empty());
    story.kill(0);
    assert_eq!(story.active(), Some(2));
    story.run(62_000);
    assert!(!story.member(1).broken);
}

#[test]
fn one_that_opens_during_a_long_grace_closes_with_it() {
    let mut story = Story::started(&[1.0, 0.5], |rules| {
        rules.member.health.checks = Some(Vec::new());
        rules.failback.grace = Duration::from_secs(10);
        rules.failback.stable = Duration::from_secs(1);
    });
    // The second grace is twice as long as the breaker's own time.
    story.kill(0);
    story.revive(0);
    story.run(11_000);
    assert_eq!(story.active(), Some(0));
    story.kill(0);
    story.revive(0);
    story.run(1_000);
    story.outcomes(0, 0, 100);
    assert!(story.member(0).broken);
    story.run(30_000);
    assert!(!story.member(0).broken);
}

#[test]
fn it_outlives_the_connection_but_not_the_count() {
    // P88, P85
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.outcomes(1, 0, 9);
    story.lost(1);
    story.run(100);
    story.outcomes(1, 0, 9);
    assert!(!story.member(1).broken);
    story.outcomes(1, 0, 1);
    story.lost(1);
    story.run(100);
    assert!(story.member(1).broken);
}

#[test]
fn what_was_counted_while_it_was_open_is_forgotten_when_it_closes() {
    // P85
    let mut story = Story::started(&[1.0], |rules| {
        rules.failback.grace = Duration::from_secs(1);
        rules.member.breaker.window = Duration::from_secs(3600);
    });
    story.outcomes(0, 0, 100);
    story.outcomes(0, 0, 100);
    story.run(3_000);
    assert!(!story.member(0).broken);
    story.outcomes(0, 0, 9);
    assert!(!story.member(0).broken);
    story.outcomes(0, 0, 1);
    assert!(story.member(0).broken);
}

#[test]
fn a_broken_connection_is_replaced_after_its_drain() {
    // What fails may be the connection itself.
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let old = story.generation(0);
    story.outcomes(0, 0, 100);
    story.run(100);
    assert_eq!(story.told(News::DrainEnded(MemberId(0), false)), 1);
    assert!(story.member(0).generation.is_some());
    assert_ne!(story.generation(0), old);
}

#[test]
fn a_doubled_grace_holds_it_open_for_as_long() {
    // P72, P94
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.outcomes(0, 0, 100);
    story.run(80_000);
    assert_eq!(story.active(), Some(0));
    story.outcomes(0, 0, 100);
    story.run(119_000);
    assert!(story.member(0).broken);
    story.run(2_000);
    assert!(!story.member(0).broken);
}
