//! When members are checked, and which verdicts count.

use super::story::{Reply, Story, UNHEALTHY};
use crate::machine::{Action, Failure, Input, LinkView, MemberId, News, Op, Verdict};

fn checks(story: &Story, id: u32) -> usize {
    story.count(|action| matches!(action, Action::Check(of, ..) if of.0 == id))
}

#[test]
fn connected_members_are_checked_at_the_interval() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(10_000);
    assert_eq!((checks(&story, 0), checks(&story, 1)), (10, 10));
    story.kill(1);
    story.log.clear();
    story.run(10_000);
    assert_eq!(checks(&story, 1), 0);
}

#[test]
fn a_stale_result_does_not_overwrite_a_newer_one() {
    // P136
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(1).check = Reply::Never;
    story.run(1_000);
    let awaited = story.log.iter().rev().find_map(|(_, action)| match action {
        Action::Check(id, _, op) if id.0 == 1 => Some(*op),
        _ => None,
    });
    let old = awaited.unwrap_or(Op(0));
    story.run(2_000);
    assert_eq!(story.member(1).healthy, Some(false));
    story.revive(1);
    story.run(3_000);
    assert_eq!(story.member(1).healthy, Some(true));
    let unhealthy = Verdict::Unhealthy { read_only: false };
    story.hear(Input::Checked(MemberId(1), old, unhealthy));
    assert_eq!(story.member(1).healthy, Some(true));
}

#[test]
fn inconclusive_changes_nothing() {
    // P137
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).check = Reply::Unsure(0);
    story.run(10_000);
    assert_eq!(story.member(0).healthy, Some(true));
    story.manner(0).check = UNHEALTHY;
    story.run(1_000);
    story.manner(0).check = Reply::Unsure(0);
    story.run(10_000);
    assert_eq!(story.member(0).healthy, Some(false));
}

#[test]
fn only_changes_are_news() {
    // P140
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(10_000);
    assert!(story.count(|action| matches!(action, Action::Tell(News::Health(..)))) == 0);
    story.manner(1).check = UNHEALTHY;
    story.run(10_000);
    story.revive(1);
    story.run(10_000);
    assert_eq!(story.told(News::Health(MemberId(1), false)), 1);
    assert_eq!(story.told(News::Health(MemberId(1), true)), 1);
}

#[test]
fn a_check_that_never_answers_counts_as_failed_and_is_scheduled_again() {
    // P135
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(1).check = Reply::Never;
    story.run(3_000);
    assert_eq!(story.member(1).healthy, Some(false));
    story.revive(1);
    story.run(3_000);
    assert_eq!(story.member(1).healthy, Some(true));
}

#[test]
fn a_draining_connection_is_not_checked_and_a_running_check_is_given_up() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).check = Reply::Badly(300, Failure::Unhealthy);
    story.manner(0).drain = Reply::Well(500);
    story.run(1_000);
    let running = story.log.iter().rev().find_map(|(_, action)| match action {
        Action::Check(id, _, op) if id.0 == 0 => Some(*op),
        _ => None,
    });
    let running = running.unwrap_or(Op(0));
    story.drain_to(1, 5_000);
    assert_eq!(story.count(|action| *action == Action::Cancel(running)), 1);
    story.log.clear();
    story.run(499);
    assert_eq!((story.link(0), checks(&story, 0)), (LinkView::Draining, 0));
    // What the check would have said says nothing about whether it can stand by.
    story.revive(0);
    story.run(1);
    assert_eq!(story.told(News::DrainEnded(MemberId(0), true)), 1);
    assert_eq!((story.link(0), checks(&story, 0)), (LinkView::Standby, 1));
}

#[test]
fn a_new_connection_has_no_verdict_before_its_first_check() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    assert_eq!(story.member(1).healthy, Some(true));
    story.manner(1).check = Reply::Well(300);
    story.manner(1).retire = Reply::Well(10);
    story.lost(1);
    assert_eq!(story.member(1).healthy, None);
    story.run(100);
    assert_eq!(story.link(1), LinkView::Standby);
    assert_eq!(story.member(1).healthy, None);
    story.run(300);
    assert_eq!(story.member(1).healthy, Some(true));
}
