//! Lame ducks: all four actions, the passive side, both at once, none left.

use std::time::Duration;

use super::story::{REFUSED, Reply, Story, WELL};
use crate::config::{LameDuckAction, Rules, Standby};
use crate::machine::{Action, Answer, LinkView, MemberId, News, Reason, Request};

fn counted(rules: &mut Rules) {
    rules.standby = Standby::Count(1);
    rules.failback.jitter = Duration::ZERO;
}

fn acting(action: LameDuckAction) -> impl FnOnce(&mut Rules) {
    move |rules| {
        counted(rules);
        rules.lame_duck.action = action;
    }
}

#[test]
fn the_active_leaves_for_its_standby_and_a_fresh_one_is_armed_elsewhere() {
    // N10, N11
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    assert_eq!(story.link(2), LinkView::Cold);
    story.lame_duck(0);
    assert_eq!(story.moves(), [(0, Some(0), 1, Reason::LameDuck)]);
    assert_eq!(story.link(2), LinkView::Standby);
    story.run(100);
    assert_eq!(story.link(0), LinkView::Cold);
}

#[test]
fn none_means_until_the_eviction() {
    // N12
    let mut story = Story::started(&[1.0, 0.9], acting(LameDuckAction::None));
    story.lame_duck(0);
    story.lame_duck(1);
    story.run(30_000);
    assert!(story.moves().is_empty());
    assert_eq!(story.link(1), LinkView::Standby);
    story.kill(0);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn drain_to_passive_lets_the_old_connection_finish() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], acting(LameDuckAction::DrainToPassive));
    story.manner(0).drain = Reply::Never;
    story.lame_duck(0);
    assert_eq!(story.active(), Some(1));
    story.run(4_999);
    assert_eq!(story.link(0), LinkView::Draining);
    story.run(1);
    assert_eq!(story.link(0), LinkView::Cold);
}

#[test]
fn a_standby_is_rehomed_and_the_active_untouched() {
    // N13
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    story.lame_duck(1);
    assert!(story.moves().is_empty());
    assert_eq!(story.link(1), LinkView::Cold);
    assert_eq!(story.link(2), LinkView::Standby);
}

#[test]
fn passive_only_moves_the_standby_and_the_active_rides_it_out() {
    // N18
    let mut story = Story::started(&[1.0, 0.9, 0.8], acting(LameDuckAction::PassiveOnly));
    story.lame_duck(0);
    assert!(story.moves().is_empty());
    story.lame_duck(1);
    assert_eq!(story.link(2), LinkView::Standby);
    story.run(10_000);
    assert!(story.moves().is_empty());
}

#[test]
fn without_a_standby_the_move_waits_for_one_and_an_eviction_reconnects() {
    // N14
    let mut story = Story::started(&[1.0, 0.9], counted);
    story.kill(1);
    story.lame_duck(0);
    story.run(5_000);
    assert_eq!(story.active(), Some(0));
    // The moment that one is proven.
    story.revive(1);
    story.run(10_000);
    assert_eq!(story.active(), Some(1));
    // Evicted first: back to the same one, although it is marked and the other is unmarked.
    let mut evicted = Story::started(&[1.0, 0.9], counted);
    evicted.kill(1);
    evicted.lame_duck(0);
    evicted.lost(0);
    evicted.run(10_000);
    assert_eq!(evicted.active(), Some(0));
}

#[test]
fn an_announcement_during_a_reconnect_changes_nothing() {
    // N15
    let mut story = Story::started(&[1.0, 0.9], |_| {});
    let old = story.generation(0);
    story.manner(0).dial = Reply::Well(20);
    story.lost(0);
    story.hear(crate::machine::Input::LameDuck(MemberId(0), old));
    assert!(!story.member(0).lame_duck);
    story.run(20);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn both_lame_stay_arm_a_third_and_switch() {
    // N16
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    story.manner(2).dial = Reply::Well(500);
    story.lame_duck(1);
    story.lame_duck(0);
    assert_eq!(story.active(), Some(0));
    assert_eq!(story.link(2), LinkView::Connecting);
    story.run(500);
    assert_eq!(story.moves(), [(500, Some(0), 2, Reason::LameDuck)]);
}

#[test]
fn both_lame_and_nobody_else_keeps_trying() {
    // N17
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    story.kill(2);
    story.log.clear();
    // A lame duck accepts nobody.
    story.manner(1).dial = REFUSED;
    story.lame_duck(1);
    story.lame_duck(0);
    story.run(30_000);
    assert_eq!(story.active(), Some(0));
    let tried = story.dials(2);
    assert!((3..40).contains(&tried), "{tried}");
    story.revive(2);
    story.run(11_000);
    assert_eq!(story.active(), Some(2));
}

#[test]
fn a_marked_member_is_skipped_until_cleared_and_all_marked_is_no_spin() {
    // N19
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    let marked = story.call(Request::Mark(MemberId(1)));
    assert_eq!(story.answer(marked), Some(Answer::Done));
    assert_eq!(story.link(2), LinkView::Standby);
    story.kill(2);
    story.log.clear();
    story.run(60_000);
    // Only the operator clears it, and nobody dials it meanwhile.
    assert_eq!(story.dials(1), 0);
    story.call(Request::Mark(MemberId(2)));
    story.call(Request::Mark(MemberId(0)));
    story.log.clear();
    story.run(60_000);
    assert!(story.dials(1) + story.dials(2) == 0);
    assert_eq!(story.active(), Some(0));
    story.call(Request::ClearMark(MemberId(1)));
    story.run(1_000);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn an_announced_mark_ends_with_time_or_with_a_fresh_healthy_connection() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], |_| {});
    story.lame_duck(1);
    assert_eq!(story.link(1), LinkView::Cold);
    story.run(119_999);
    assert_eq!(story.link(1), LinkView::Cold);
    story.run(100);
    assert_eq!(story.link(1), LinkView::Standby);
    // Sooner where there is no other standby: it is asked whether it is back, once it had the time.
    let mut alone = Story::started(&[1.0, 0.9], |_| {});
    alone.lame_duck(1);
    alone.run(9_999);
    assert_eq!(alone.link(1), LinkView::Cold);
    alone.run(1);
    assert_eq!(alone.link(1), LinkView::Standby);
    assert!(!alone.member(1).lame_duck);
    // A fresh connection without the flag: the server is back.
    let mut back = Story::started(&[1.0], |_| {});
    back.lame_duck(0);
    assert!(back.member(0).lame_duck);
    back.lost(0);
    back.run(1_000);
    assert_eq!(back.active(), Some(0));
    assert!(!back.member(0).lame_duck);
    assert_eq!(back.told(News::LameDuck(MemberId(0), false)), 1);
}

#[test]
fn a_mark_during_a_promotion_is_acted_upon_where_it_lands() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], |_| {});
    story.manner(1).promote = Reply::Well(100);
    story.lame_duck(0);
    story.run(50);
    story.lame_duck(1);
    story.run(50);
    let moves: Vec<u32> = story.moves().iter().map(|moved| moved.2).collect();
    assert_eq!(moves, [1, 2]);
}

#[test]
fn a_lame_duck_that_drains_does_not_become_a_standby() {
    let mut story = Story::started(&[1.0, 0.9], |_| {});
    story.manner(0).drain = Reply::Well(500);
    story.drain_to(1, 1_000);
    story.lame_duck(0);
    assert_eq!(story.active(), Some(1));
    story.run(500);
    assert_eq!(story.link(0), LinkView::Cold);
}

#[test]
fn no_spread_holds_up_a_standby_that_a_lame_active_needs() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    story.manner(1).dial = REFUSED;
    story.kill(0);
    assert_eq!(story.active(), Some(1));
    *story.manner(1) = super::story::Manner {
        dial: WELL,
        ..Default::default()
    };
    story.run(1_000);
    story.lame_duck(1);
    story.run(100);
    assert_ne!(story.active(), Some(1));
}

#[test]
fn rehoming_replaces_the_standbys_connection() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    let old = story.generation(1);
    let request = story.call(Request::Rehome);
    story.run(100);
    assert_eq!(story.answer(request), Some(Answer::Done));
    assert!(story.moves().is_empty());
    assert!((1..3).any(|id| story.link(id) == LinkView::Standby && story.generation(id) != old));
    assert_eq!(
        story.count(|action| matches!(action, Action::Retire(_, of) if *of == old)),
        1
    );
}

#[test]
fn rehoming_all_standbys_leaves_one_until_another_stands_by() {
    let mut story = Story::started(&[1.0, 0.9, 0.8, 0.7], |_| {});
    let old: Vec<_> = (1..4).map(|id| story.generation(id)).collect();
    for id in 1..4 {
        story.manner(id).dial = Reply::Well(100);
    }
    let request = story.call(Request::Rehome);
    assert_eq!(story.answer(request), Some(Answer::Done));
    for _ in 0..50 {
        let standing = (1..4).filter(|id| story.link(*id) == LinkView::Standby);
        assert!(standing.count() > 0);
        story.run(10);
    }
    for (id, old) in (1..4).zip(old) {
        assert_eq!(story.link(id), LinkView::Standby);
        assert_ne!(story.generation(id), old);
        assert_eq!(story.dials(id), 1);
    }
}

#[test]
fn an_announcement_does_not_take_the_place_of_an_operators_mark() {
    let mut story = Story::started(&[1.0], |_| {});
    story.call(Request::Mark(MemberId(0)));
    story.lame_duck(0);
    // Neither time clears it, nor a fresh connection.
    story.run(300_000);
    assert!(story.member(0).lame_duck);
    story.lost(0);
    story.run(1_000);
    assert_eq!(story.active(), Some(0));
    assert!(story.member(0).lame_duck);
    story.call(Request::ClearMark(MemberId(0)));
    assert!(!story.member(0).lame_duck);
}
