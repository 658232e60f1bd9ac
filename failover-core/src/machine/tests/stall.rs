//! A stalled process condemns nobody.

use super::story::{Reply, Story};
use crate::machine::{Failure, Input, LinkView, MemberId, News};

#[test]
fn what_timed_out_while_the_process_stalled_is_no_verdict() {
    // P138
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).check = Reply::Never;
    story.run(1_000);
    story.hear(Input::Stalled);
    story.revive(0);
    story.run(3_000);
    assert_eq!(story.member(0).healthy, Some(true));
    assert!(story.moves().is_empty());
    assert_eq!(story.told(News::Stalled), 1);
}

#[test]
fn a_proof_that_was_under_way_is_asked_again() {
    // P138
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(100);
    story.manner(0).prove = Reply::Never;
    story.suspect(0);
    story.run(490);
    story.hear(Input::Stalled);
    story.revive(0);
    story.run(1_000);
    assert_eq!(story.link(0), LinkView::Active);
    assert!(story.moves().is_empty());
    // Without the stall it moves the traffic.
    let mut sure = Story::started(&[1.0, 0.5], |_| {});
    sure.run(100);
    sure.manner(0).prove = Reply::Never;
    sure.suspect(0);
    sure.run(490);
    sure.revive(0);
    sure.manner(0).dial = super::story::REFUSED;
    sure.run(1_000);
    assert_eq!(sure.active(), Some(1));
}

#[test]
fn failures_of_that_time_do_not_open_a_breaker() {
    // P138
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.outcomes(0, 0, 9);
    story.hear(Input::Stalled);
    story.outcomes(0, 0, 9);
    assert!(!story.member(0).broken);
}

#[test]
fn answers_that_piled_up_come_before_deadlines() {
    // P138
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(1);
    story.manner(1).dial = Reply::Well(2_020);
    story.manner(1).prove = Reply::Well(0);
    story.run(100);
    assert_eq!(story.link(1), LinkView::Connecting);
    // The dial's time is over at 2050, and its answer comes at 2070.
    story.run(1_940);
    story.hear(Input::Stalled);
    story.run(200);
    assert_eq!(story.dials(1), 1);
    assert_eq!(story.link(1), LinkView::Standby);
}

#[test]
fn a_proof_that_the_backend_gave_up_during_a_stall_is_asked_again() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(100);
    story.manner(0).prove = Reply::Badly(400, Failure::Dead);
    story.suspect(0);
    story.run(390);
    story.hear(Input::Stalled);
    story.revive(0);
    story.run(1_000);
    assert_eq!(story.link(0), LinkView::Active);
    assert!(story.moves().is_empty());
    // A connection that is gone is gone, stalled or not.
    story.manner(0).prove = Reply::Never;
    story.suspect(0);
    story.hear(Input::Stalled);
    story.kill(0);
    story.run(100);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn a_dial_that_failed_during_a_stall_is_no_failure() {
    for dial in [Reply::Badly(1_000, Failure::Dead), Reply::Never] {
        let mut story = Story::started(&[1.0, 0.5], |_| {});
        story.kill(1);
        story.manner(1).dial = dial;
        story.run(100);
        assert_eq!(story.link(1), LinkView::Connecting);
        let failures = story.member(1).failures;
        story.log.clear();
        story.hear(Input::Stalled);
        story.revive(1);
        story.run(2_000);
        assert_eq!(story.link(1), LinkView::Standby);
        assert_eq!(story.told(News::DialFailed(MemberId(1))), 0);
        assert_eq!(story.dials(1), 1);
        assert_eq!(story.member(1).failures, failures);
    }
}

/// A blocking call every 400 ms.
fn stall_for_ever(story: &mut Story) {
    for _ in 0..20 {
        story.run(390);
        story.hear(Input::Stalled);
        story.run(10);
    }
}

#[test]
fn a_process_that_stalls_for_ever_still_notices_a_frozen_member() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(100);
    story.manner(0).prove = Reply::Never;
    story.manner(0).dial = Reply::Never;
    story.suspect(0);
    stall_for_ever(&mut story);
    assert_eq!(story.active(), Some(1));
    // Its dials fail, and are counted, too.
    assert!(story.told(News::DialFailed(MemberId(0))) >= 2);
}

#[test]
fn a_process_that_stalls_for_ever_still_notices_that_checks_fail() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).check = Reply::Never;
    story.run(900);
    stall_for_ever(&mut story);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn after_a_success_a_stall_excuses_again() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    for _ in 0..3 {
        story.run(2_100);
        story.manner(0).prove = Reply::Never;
        story.manner(0).check = Reply::Never;
        story.suspect(0);
        story.run(490);
        story.hear(Input::Stalled);
        story.revive(0);
        story.run(3_000);
    }
    assert_eq!(story.member(0).healthy, Some(true));
    assert!(story.moves().is_empty());
}
