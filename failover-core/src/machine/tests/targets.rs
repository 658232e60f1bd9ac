//! Planned moves to members without a connection, and those that have to wait: a dial is worth it only where nobody is
//! kept from traffic meanwhile.

use super::story::{REFUSED, Reply, Story};
use crate::config::Standby;
use crate::machine::{Answer, End, Failure, LinkView, MemberId, Reason, Refusal, Request};

fn moved(from: u32, to: u32) -> Option<Answer> {
    Some(Answer::Switched {
        from: Some(MemberId(from)),
        to: MemberId(to),
    })
}

fn refused(refusal: Refusal) -> Option<Answer> {
    Some(Answer::Refused(refusal))
}

#[test]
fn a_cold_target_is_dialled_for_the_move_and_not_for_ever() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |rules| rules.standby = Standby::Count(1));
    let call = story.switch_to(2);
    assert_eq!(story.answer(call), moved(0, 2));
    assert_eq!(story.active(), Some(2));
    let mut hung = Story::started(&[1.0, 0.5, 0.2], |rules| rules.standby = Standby::Count(1));
    hung.manner(2).dial = Reply::Never;
    let call = hung.switch_to(2);
    hung.run(2_500);
    assert_eq!(hung.answer(call), refused(Refusal::Aborted(MemberId(2))));
    // A proof that fails at once is no reason to dial again and again.
    let mut bad = Story::started(&[1.0, 0.5, 0.2], |rules| rules.standby = Standby::Count(1));
    bad.manner(2).prove = REFUSED;
    let call = bad.switch_to(2);
    assert_eq!(bad.answer(call), refused(Refusal::Aborted(MemberId(2))));
    assert_eq!(bad.dials(2), 1);
}

#[test]
fn a_cold_target_that_failed_long_ago_is_tried_again() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |rules| rules.standby = Standby::Count(1));
    story.kill(1);
    story.run(60_000);
    story.revive(1);
    story.run(60_000);
    let cold = if story.link(1) == LinkView::Cold {
        1
    } else {
        2
    };
    let call = story.switch_to(cold);
    story.run(100);
    assert_eq!(story.answer(call), moved(0, cold));
}

#[test]
fn a_target_that_refused_a_moment_ago_is_not_dialled_for_a_move() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |rules| rules.standby = Standby::Count(1));
    story.manner(2).dial = REFUSED;
    let first = story.switch_to(2);
    assert_eq!(story.answer(first), refused(Refusal::Aborted(MemberId(2))));
    let second = story.switch_to(2);
    assert_eq!(
        story.answer(second),
        refused(Refusal::NotEligible(MemberId(2)))
    );
    assert_eq!(story.dials(2), 1);
}

#[test]
fn without_an_active_no_move_waits_for_a_dial_while_another_is_at_hand() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    for id in 0..3 {
        story.kill(id);
    }
    story.run(1_000);
    story.manner(2).dial = Reply::Well(1_500);
    let call = story.call(Request::SwitchTo {
        to: MemberId(2),
        end: End::Steal,
        force: true,
    });
    assert_eq!(story.link(2), LinkView::Connecting);
    assert_eq!(story.answer(call), None);
    story.revive(1);
    story.run(1_400);
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.answer(call), refused(Refusal::Aborted(MemberId(2))));
}

#[test]
fn a_failover_comes_before_the_moves_that_wait() {
    let mut story = Story::started(&[1.0, 0.5, 0.2, 0.1], |_| {});
    story.manner(1).promote = Reply::Badly(50, Failure::Dead);
    let first = story.switch_to(1);
    let second = story.switch_to(3);
    story.run(20);
    story.kill(0);
    story.run(30);
    assert_eq!(story.answer(first), refused(Refusal::Aborted(MemberId(1))));
    // The best of those that are left, and then whoever an operator wants.
    assert_eq!(
        story.moves(),
        [
            (50, Some(0), 2, Reason::Lost),
            (50, Some(2), 3, Reason::Manual)
        ]
    );
    assert_eq!(story.answer(second), moved(2, 3));
}
