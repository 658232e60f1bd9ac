//! Planned moves: proof, promotion, move, end; and what interferes with them.

use std::time::Duration;

use super::story::{REFUSED, Reply, Story, UNHEALTHY};
use crate::machine::{
    Action, Answer, End, Kind, LinkView, MemberId, News, Reason, Refusal, Request,
};

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
fn there_and_back() {
    // P108, P46
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let there = story.switch_to(1);
    assert_eq!(story.answer(there), moved(0, 1));
    let back = story.switch_to(0);
    assert_eq!(story.answer(back), moved(1, 0));
    let reasons: Vec<Reason> = story.moves().iter().map(|moved| moved.3).collect();
    assert_eq!(reasons, [Reason::Manual, Reason::Manual]);
}

#[test]
fn unknown_and_unfit_targets_are_refused_and_force_helps() {
    // P105, P106
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let unknown = story.switch_to(9);
    assert_eq!(story.answer(unknown), refused(Refusal::Unknown));
    story.manner(1).check = UNHEALTHY;
    story.run(1_000);
    let unfit = story.switch_to(1);
    assert_eq!(
        story.answer(unfit),
        refused(Refusal::NotEligible(MemberId(1)))
    );
    assert_eq!(story.active(), Some(0));
    let forced = story.call(Request::SwitchTo {
        to: MemberId(1),
        end: End::Steal,
        force: true,
    });
    assert_eq!(story.answer(forced), moved(0, 1));
}

#[test]
fn the_active_itself_is_no_move() {
    // P107
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let same = story.switch_to(0);
    assert_eq!(story.answer(same), Some(Answer::Done));
    assert_eq!(story.log.len(), 1, "{:?}", story.log);
}

#[test]
fn moves_at_the_same_time_wait_for_each_other_and_are_each_answered() {
    // P109
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    for id in 0..3 {
        story.manner(id).promote = Reply::Well(100);
    }
    let calls = [story.switch_to(1), story.switch_to(2), story.switch_to(0)];
    assert!(calls.iter().all(|call| story.answer(*call).is_none()));
    story.run(300);
    assert_eq!(
        calls.map(|call| story.answer(call)),
        [moved(0, 1), moved(1, 2), moved(2, 0)]
    );
}

#[test]
fn a_move_is_whole_or_not_at_all() {
    // P110: a caller that went away is nothing that the machine knows of; the move goes on.
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(1).promote = Reply::Badly(50, crate::machine::Failure::Dead);
    let call = story.switch_to(1);
    story.run(50);
    assert_eq!(story.answer(call), refused(Refusal::Aborted(MemberId(1))));
    assert_eq!(story.active(), Some(0));
    assert_eq!(
        story.told(News::SwitchAborted(MemberId(1), Reason::Manual)),
        1
    );
    assert_eq!(story.link(0), LinkView::Active);
}

#[test]
fn without_a_standby_there_is_nowhere_to_go() {
    // N23
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(1);
    let call = story.call(Request::SwitchToPassive {
        end: End::Drain(Duration::from_secs(1)),
    });
    assert_eq!(story.answer(call), refused(Refusal::NoStandby));
    assert_eq!(story.active(), Some(0));
    assert!(story.moves().is_empty());
}

#[test]
fn a_target_that_fails_or_outlasts_its_proof_aborts_the_move() {
    // N24, N25
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(100);
    story.manner(1).prove = REFUSED;
    let call = story.drain_to(1, 1_000);
    assert_eq!(story.answer(call), refused(Refusal::Aborted(MemberId(1))));
    story.revive(1);
    story.run(3_000);
    story.manner(1).prove = Reply::Never;
    let call = story.drain_to(1, 1_000);
    story.run(499);
    assert_eq!(story.answer(call), None);
    story.run(1);
    assert_eq!(story.answer(call), refused(Refusal::Aborted(MemberId(1))));
    assert_eq!(story.active(), Some(0));
    assert!(story.moves().is_empty());
}

#[test]
fn a_drain_ends_with_its_operations_or_with_its_window() {
    // N20, N22, P58
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Well(400);
    let call = story.drain_to(1, 1_000);
    assert_eq!(story.answer(call), moved(0, 1));
    assert_eq!(story.link(0), LinkView::Draining);
    story.run(400);
    // Healthy, eligible, able: it is the standby, and nobody was dialled.
    assert_eq!(story.link(0), LinkView::Standby);
    assert_eq!(story.dials(0), 0);
    // A lease that is held for ever.
    story.manner(1).drain = Reply::Never;
    story.drain_to(0, 1_000);
    story.run(999);
    assert_eq!(story.link(1), LinkView::Draining);
    story.run(1);
    assert_eq!(story.told(News::DrainEnded(MemberId(1), false)), 1);
    let retired = |action: &Action| matches!(action, Action::Retire(id, _) if id.0 == 1);
    assert_eq!(story.count(retired), 1);
}

#[test]
fn a_steal_is_over_within_its_grace() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Never;
    story.switch_to(1);
    story.run(99);
    assert_eq!(story.link(0), LinkView::Draining);
    story.run(1);
    assert_ne!(story.link(0), LinkView::Draining);
}

#[test]
fn a_drained_connection_that_dies_ends_its_drain_and_nothing_else() {
    // N26
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Never;
    story.drain_to(1, 5_000);
    story.log.clear();
    story.kill(0);
    assert_eq!(story.active(), Some(1));
    assert!(story.moves().is_empty());
    assert_eq!(story.count(|action| *action == Action::Deactivate), 0);
    assert_eq!(story.told(News::DrainEnded(MemberId(0), false)), 1);
}

#[test]
fn when_the_new_active_dies_within_the_window_the_old_one_is_promoted_again() {
    // P57, N27
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Never;
    let old = story.generation(0);
    story.drain_to(1, 5_000);
    story.run(1_000);
    story.kill(1);
    assert_eq!(story.active(), Some(0));
    assert_eq!(story.generation(0), old);
    // It is checked again.
    story.log.clear();
    story.run(3_000);
    let checked = |action: &Action| matches!(action, Action::Check(id, ..) if id.0 == 0);
    assert!(story.count(checked) >= 2);
}

#[test]
fn both_die_within_the_window_and_the_group_reconnects() {
    // N28
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).drain = Reply::Never;
    story.drain_to(1, 5_000);
    story.kill(0);
    story.kill(1);
    assert_eq!(story.active(), None);
    story.revive(0);
    story.revive(1);
    story.run(11_000);
    assert!(story.active().is_some());
}

#[test]
fn the_loss_of_the_active_makes_the_move_under_way_the_failover() {
    // P52, P56
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.run(100);
    story.manner(2).prove = Reply::Well(50);
    let call = story.switch_to(2);
    story.run(20);
    story.kill(0);
    story.run(30);
    assert_eq!(story.active(), Some(2));
    assert_eq!(story.answer(call), moved(0, 2));
    assert_eq!(story.moves(), [(150, Some(0), 2, Reason::Lost)]);
    assert_eq!(
        story.count(|action| matches!(action, Action::Activate(..))),
        1
    );
}

#[test]
fn a_target_that_turns_unhealthy_on_the_way_is_given_up() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(1).promote = Reply::Well(300);
    let call = story.switch_to(1);
    story.manner(1).check = UNHEALTHY;
    story.hear(crate::machine::Input::Condemned(
        MemberId(1),
        story.generation(1),
        crate::machine::Failure::Unhealthy,
    ));
    assert_eq!(story.answer(call), refused(Refusal::Aborted(MemberId(1))));
    story.run(1_000);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn the_kind_of_each_move_is_told() {
    let kinds = |story: &Story| -> Vec<Kind> {
        story
            .log
            .iter()
            .filter_map(|(_, action)| match action {
                Action::Tell(News::Switched { kind, .. }) => Some(*kind),
                _ => None,
            })
            .collect()
    };
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.switch_to(1);
    story.drain_to(0, 100);
    story.run(200);
    story.kill(0);
    assert_eq!(kinds(&story), [Kind::Steal, Kind::Drain, Kind::Failover]);
}
