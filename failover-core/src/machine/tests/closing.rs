//! Close, in every state.

use std::time::Duration;

use super::story::{REFUSED, Reply, Story};
use crate::machine::{Action, Answer, Input, LinkView, MemberId, Refusal, Request};

#[test]
fn everything_is_ended_and_nothing_is_left() {
    // P118, P134
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(1).retire = Reply::Well(300);
    let close = story.call(Request::Close);
    assert_eq!(story.answer(close), None);
    assert_eq!(story.active(), None);
    story.run(300);
    assert_eq!(story.answer(close), Some(Answer::Done));
    assert!(story.machine.is_closed());
    assert_eq!(story.machine.next_deadline(), None);
    assert_eq!(
        story.count(|action| matches!(action, Action::Retire(..))),
        2
    );
    // Again: nothing happens, and it is answered.
    story.log.clear();
    let again = story.call(Request::Close);
    assert_eq!(story.answer(again), Some(Answer::Done));
    assert_eq!(story.log.len(), 1);
}

#[test]
fn callers_that_wait_are_told_and_later_ones_too() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.manner(1).promote = Reply::Never;
    story.manner(2).retire = Reply::Well(100);
    let running = story.switch_to(1);
    let queued = story.switch_to(2);
    let leaving = story.call(Request::Disable(MemberId(2)));
    let close = story.call(Request::Close);
    let late = story.switch_to(1);
    let closed = Some(Answer::Refused(Refusal::Closed));
    assert_eq!(story.answer(running), closed);
    assert_eq!(story.answer(queued), closed);
    assert_eq!(story.answer(leaving), closed);
    assert_eq!(story.answer(late), closed);
    story.run(100);
    assert_eq!(story.answer(close), Some(Answer::Done));
}

#[test]
fn a_start_can_be_closed() {
    let mut story = Story::of(&[1.0, 0.5]);
    story.manner(0).dial = Reply::Never;
    story.manner(1).check = Reply::Never;
    story.run(100);
    let close = story.call(Request::Close);
    assert_eq!(story.answer(close), Some(Answer::Done));
    assert!(story.machine.is_closed());
    assert_eq!(story.count(|action| matches!(action, Action::Cancel(_))), 2);
    assert_eq!(story.count(|action| *action == Action::Started), 0);
}

#[test]
fn an_outage_and_a_drain_can_be_closed() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Never;
    story.drain_to(1, 60_000);
    let close = story.call(Request::Close);
    assert_eq!(story.answer(close), Some(Answer::Done));
    let mut out = Story::started(&[1.0, 0.5], |_| {});
    out.kill(1);
    out.kill(0);
    out.run(3_000);
    let close = out.call(Request::Close);
    assert_eq!(out.answer(close), Some(Answer::Done));
    out.log.clear();
    out.run(60_000);
    assert!(out.log.is_empty());
}

#[test]
fn a_retirement_that_never_ends_does_not_hold_it_up_for_ever() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).retire = Reply::Never;
    let close = story.call(Request::Close);
    story.run(9_999);
    assert_eq!(story.answer(close), None);
    story.run(1);
    assert_eq!(story.answer(close), Some(Answer::Done));
}

#[test]
fn a_dial_that_comes_back_after_it_was_given_up_is_ended() {
    // P29, P118
    let mut story = Story::of(&[1.0, 0.5]);
    story.manner(0).dial = Reply::Never;
    story.run(0);
    let dial = story.log.iter().find_map(|(_, action)| match action {
        Action::Connect(id, generation, op, _) if id.0 == 0 => {
            Some(Input::Connected(*id, *generation, *op, None))
        }
        _ => None,
    });
    story.call(Request::Close);
    assert!(story.machine.is_closed());
    story.log.clear();
    if let Some(late) = dial {
        story.hear(late);
    }
    assert_eq!(
        story.count(|action| matches!(action, Action::Retire(..))),
        1
    );
}

#[test]
fn a_slow_retirement_does_not_keep_a_member_out() {
    let mut story = Story::started(&[1.0, 0.5], |rules| {
        rules.loss_redial = Duration::ZERO;
    });
    story.manner(0).retire = Reply::Never;
    story.manner(0).dial = REFUSED;
    story.lost(0);
    story.run(4_900);
    assert_eq!(story.link(0), LinkView::Retiring);
    story.manner(0).dial = Reply::Well(0);
    story.run(200);
    assert_eq!(story.link(0), LinkView::Standby);
}
