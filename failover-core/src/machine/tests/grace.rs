//! Grace: a member that traffic had to leave is left alone for a while.

use std::time::Duration;

use super::story::{Story, UNHEALTHY};
use crate::machine::{Answer, End, MemberId, Reason, Request};

fn seconds(story: &Story, id: u32) -> Option<u64> {
    story.member(id).grace.map(|left| left.as_secs())
}

#[test]
fn there_is_none_at_the_start_and_none_for_those_that_carried_nothing() {
    // P70
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    assert!((0..3).all(|id| seconds(&story, id).is_none()));
    story.kill(1);
    assert_eq!(seconds(&story, 1), None);
    story.kill(0);
    assert_eq!(seconds(&story, 0), Some(60));
}

#[test]
fn zero_is_none() {
    // P71
    let mut story = Story::started(&[1.0, 0.5], |rules| rules.failback.grace = Duration::ZERO);
    story.kill(0);
    assert_eq!(seconds(&story, 0), None);
    story.revive(0);
    story.run(12_000);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn a_new_failover_replaces_it() {
    // P73
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(0);
    story.revive(0);
    story.run(40_000);
    assert_eq!(seconds(&story, 0), Some(20));
    // The last resort, and lost again.
    story.kill(1);
    assert_eq!(story.active(), Some(0));
    story.revive(1);
    story.run(15_000);
    story.kill(0);
    assert_eq!(seconds(&story, 0), Some(60));
}

#[test]
fn it_keeps_failover_and_failback_from_the_member() {
    // P74
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.kill(0);
    story.revive(0);
    story.run(30_000);
    assert_eq!(story.active(), Some(1));
    story.kill(1);
    // The lighter one: the heaviest is in grace.
    assert_eq!(story.active(), Some(2));
}

#[test]
fn by_hand_a_standby_in_grace_will_do_if_no_other_is_fit() {
    // P75
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.kill(0);
    story.revive(0);
    story.run(1_000);
    let passive = || Request::SwitchToPassive { end: End::Steal };
    // The lighter one is fit, the heavier one in grace.
    story.call(passive());
    story.run(1_000);
    assert_eq!(story.active(), Some(2));
    story.kill(1);
    let again = story.call(passive());
    story.run(1_000);
    assert_eq!(story.active(), Some(0));
    assert!(!matches!(story.answer(again), Some(Answer::Refused(_))));
}

#[test]
fn a_flapping_member_does_not_drag_the_group_with_it() {
    // P76
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    for _ in 0..50 {
        story.kill(0);
        story.revive(0);
        story.run(1_000);
    }
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.moves().len(), 1);
}

#[test]
fn the_last_one_left_is_used_all_the_same() {
    // P77
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(0);
    story.revive(0);
    story.run(2_000);
    assert!(seconds(&story, 0).is_some());
    story.kill(1);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn it_doubles_for_a_member_that_fails_soon_after_a_failback_up_to_sixteen_times() {
    // P94
    let mut story = Story::started(&[1.0, 0.5], |rules| {
        rules.failback.grace = Duration::from_secs(60);
    });
    let mut graces = Vec::new();
    for _ in 0..7 {
        assert_eq!(story.active(), Some(0));
        story.manner(0).check = UNHEALTHY;
        story.run(1_100);
        assert_eq!(story.active(), Some(1));
        let left = story.member(0).grace.unwrap_or_default();
        graces.push(left.as_millis().div_ceil(60_000));
        story.revive(0);
        story.run(u64::try_from(left.as_millis()).unwrap_or(0) + 20_000);
    }
    assert_eq!(graces, [1, 2, 4, 8, 16, 16, 16]);
    // Once it has been good for longer than a grace, it starts anew.
    story.run(61_000);
    story.kill(0);
    assert_eq!(seconds(&story, 0), Some(60));
}

#[test]
fn loss_health_breaker_and_lame_duck_begin_it_and_planned_moves_do_not() {
    let after = |cause: fn(&mut Story)| {
        let mut story = Story::started(&[1.0, 0.5], |_| {});
        cause(&mut story);
        story.run(2_000);
        assert_eq!(story.active(), Some(1));
        (story.moves()[0].3, story.member(0).grace.is_some())
    };
    assert_eq!(after(|story| story.kill(0)), (Reason::Lost, true));
    assert_eq!(
        after(|story| story.manner(0).check = UNHEALTHY),
        (Reason::Health, true)
    );
    assert_eq!(
        after(|story| story.outcomes(0, 0, 100)),
        (Reason::Breaker, true)
    );
    assert_eq!(after(|story| story.lame_duck(0)), (Reason::LameDuck, true));
    let manual = after(|story| {
        story.switch_to(1);
    });
    assert_eq!(manual, (Reason::Manual, false));
    let disabled = after(|story| {
        story.call(Request::Disable(MemberId(0)));
    });
    assert_eq!(disabled, (Reason::Removed, false));
}
