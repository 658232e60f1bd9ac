//! Failover: what moves traffic, where it goes, and what does not move it.

use super::story::{READ_ONLY, REFUSED, Reply, Story, UNHEALTHY};
use crate::machine::{Action, Failure, Input, LinkView, MemberId, News, Reason};

#[test]
fn an_unhealthy_active_gives_way_to_the_heaviest_healthy_one() {
    // P40, P46, P51
    let mut story = Story::started(&[1.0, 0.2, 0.5], |_| {});
    story.manner(0).check = UNHEALTHY;
    story.run(999);
    assert_eq!(story.active(), Some(0));
    story.run(1);
    assert_eq!(story.active(), Some(2));
    assert_eq!(story.moves(), [(1_000, Some(0), 2, Reason::Health)]);
    // The old one was open: it was ended after its replacement had the traffic.
    let activated = story
        .log
        .iter()
        .position(|(_, action)| matches!(action, Action::Activate(..)));
    let drained = story
        .log
        .iter()
        .position(|(_, action)| matches!(action, Action::Drain(..)));
    assert!(activated < drained);
    assert_eq!(story.count(|action| *action == Action::Deactivate), 0);
}

#[test]
fn another_members_trouble_moves_nothing() {
    // P42
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.manner(1).check = UNHEALTHY;
    story.run(1_000);
    story.kill(2);
    assert_eq!(story.active(), Some(0));
    assert!(story.moves().is_empty());
    assert_eq!(story.told(News::Health(MemberId(1), false)), 1);
}

#[test]
fn traffic_never_goes_to_an_unhealthy_member_while_another_is_fit() {
    // P43
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.manner(1).check = UNHEALTHY;
    story.run(1_000);
    story.kill(0);
    assert_eq!(story.active(), Some(2));
}

#[test]
fn a_chain_goes_on_and_has_no_end_that_strands_the_group() {
    // P45, P54
    let weights = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5];
    let mut story = Story::started(&weights, |_| {});
    // The next four fail only when they are promoted.
    for id in 1..5 {
        story.manner(id).promote = REFUSED;
    }
    story.kill(0);
    assert_eq!(story.active(), Some(5));
    assert_eq!(story.moves().len(), 1);
    story.kill(5);
    for id in 1..5 {
        story.revive(id);
    }
    story.run(100);
    assert!(story.active().is_some());
}

#[test]
fn a_refused_dial_is_a_failure_whatever_its_cause() {
    // P49, P50: authentication and name resolution fail in the dial, like any refusal.
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).dial = REFUSED;
    story.lost(0);
    assert_eq!(story.moves(), [(0, Some(0), 1, Reason::Lost)]);
}

#[test]
fn every_member_unhealthy_leaves_the_open_active_where_it_is() {
    // P55, P78
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).check = UNHEALTHY;
    story.manner(1).check = UNHEALTHY;
    story.run(10_000);
    assert_eq!(story.active(), Some(0));
    assert!(story.moves().is_empty());
    assert_eq!(story.link(0), LinkView::Active);
    story.revive(0);
    story.run(2_000);
    assert_eq!(story.active(), Some(0));
    assert!(story.moves().is_empty());
}

#[test]
fn late_words_of_an_old_connection_move_nothing() {
    // P53, P88
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    let old = story.generation(0);
    story.lost(0);
    story.run(100);
    assert_eq!(story.active(), Some(0));
    assert_ne!(story.generation(0), old);
    story.log.clear();
    for _ in 0..20 {
        story.hear(Input::Outcomes {
            member: MemberId(0),
            generation: old,
            success: 0,
            failure: 100,
        });
        story.hear(Input::Lost(MemberId(0), old));
        story.hear(Input::Condemned(MemberId(0), old, Failure::ReadOnly));
        story.hear(Input::LameDuck(MemberId(0), old));
    }
    assert!(story.log.is_empty(), "{:?}", story.log);
}

#[test]
fn a_reset_connection_does_not_move_the_group_and_a_refusal_does_at_once() {
    // P96
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).dial = Reply::Well(20);
    story.lost(0);
    assert_eq!(story.active(), None);
    story.run(20);
    assert_eq!(story.moves(), [(20, Some(0), 0, Reason::Lost)]);
    assert!(story.member(0).grace.is_none());
    // Too late is too late.
    let mut late = Story::started(&[1.0, 0.5], |_| {});
    late.manner(0).dial = Reply::Well(60);
    late.lost(0);
    late.run(49);
    assert_eq!(late.active(), None);
    late.run(1);
    assert_eq!(late.moves(), [(50, Some(0), 1, Reason::Lost)]);
    // A refusal needs no window, and zero leaves no chance.
    let mut refused = Story::started(&[1.0, 0.5], |_| {});
    refused.kill(0);
    assert_eq!(refused.moves(), [(0, Some(0), 1, Reason::Lost)]);
    let mut none = Story::started(&[1.0, 0.5], |rules| {
        rules.loss_redial = std::time::Duration::ZERO;
    });
    none.lost(0);
    assert_eq!(none.active(), Some(1));
}

#[test]
fn promoted_ahead_the_traffic_waits_for_the_redial_alone() {
    // P96
    let ahead = || Story::promoting_ahead(&[1.0, 0.5]);
    let asked = |story: &Story, member: u32| {
        let proofs =
            story.count(|action| matches!(action, Action::Prove(id, ..) if id.0 == member));
        let promotions =
            story.count(|action| matches!(action, Action::Promote(id, ..) if id.0 == member));
        (proofs, promotions)
    };
    // Nobody answers the redial.
    let mut story = ahead();
    story.manner(0).dial = Reply::Never;
    story.lost(0);
    assert_eq!((story.active(), asked(&story, 1)), (None, (0, 1)));
    story.run(49);
    assert_eq!(story.active(), None);
    story.run(1);
    assert_eq!(story.moves(), [(50, Some(0), 1, Reason::Lost)]);
    assert_eq!(asked(&story, 1), (0, 1));
    // It is refused, while the promotion takes its time.
    let mut refused = ahead();
    refused.manner(1).promote = Reply::Well(30);
    refused.kill(0);
    assert_eq!(refused.active(), None);
    refused.run(30);
    assert_eq!(refused.moves(), [(30, Some(0), 1, Reason::Lost)]);
    assert_eq!(asked(&refused, 1), (0, 1));
}

#[test]
fn what_was_promoted_ahead_in_vain_is_drained_and_stands_by() {
    // P96
    for promotion in [Reply::Well(0), Reply::Well(40)] {
        let mut story = Story::promoting_ahead(&[1.0, 0.5]);
        let standby = story.generation(1);
        story.manner(0).dial = Reply::Well(20);
        story.manner(1).promote = promotion;
        story.manner(1).drain = Reply::Well(10);
        story.lost(0);
        story.run(20);
        assert_eq!(story.moves(), [(20, Some(0), 0, Reason::Lost)]);
        assert_eq!(story.link(1), LinkView::Draining);
        story.run(10);
        assert_eq!(story.link(1), LinkView::Standby);
        assert_eq!(
            story.generation(1),
            standby,
            "it needed no other connection"
        );
        // It can be promoted as ever.
        story.kill(0);
        story.run(40);
        assert_eq!(story.active(), Some(1));
    }
}

#[test]
fn a_promotion_ahead_that_fails_is_a_failed_proof() {
    let mut story = Story::promoting_ahead(&[1.0, 0.5, 0.2]);
    story.manner(1).promote = REFUSED;
    story.kill(0);
    assert_eq!(story.active(), Some(2));
    // A planned move has an active to spoil: it is proven first.
    let mut planned = Story::promoting_ahead(&[1.0, 0.5]);
    planned.manner(0).check = UNHEALTHY;
    planned.run(1_000);
    assert_eq!(planned.active(), Some(1));
    assert!(planned.count(|action| matches!(action, Action::Prove(id, ..) if id.0 == 1)) > 0);
}

#[test]
fn an_unhealthy_active_that_is_lost_is_not_waited_for() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.manner(0).check = UNHEALTHY;
    story.manner(1).prove = Reply::Well(30);
    story.manner(1).check = UNHEALTHY;
    story.run(1_000);
    assert_eq!(story.active(), Some(0));
    story.manner(1).check = Reply::Well(0);
    story.run(900);
    story.lost(0);
    story.run(100);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn a_suspicion_proves_the_connection_and_only_the_proof_replaces_it() {
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.run(500);
    for _ in 0..50 {
        story.suspect(0);
    }
    assert_eq!(story.count(|action| matches!(action, Action::Prove(..))), 1);
    assert_eq!(
        story.count(|action| matches!(action, Action::Check(id, ..) if id.0 == 0)),
        1
    );
    assert_eq!(story.active(), Some(0));
    story.run(20);
    story.manner(0).prove = Reply::Never;
    story.manner(0).dial = REFUSED;
    story.suspect(0);
    story.run(499);
    assert_eq!(story.active(), Some(0));
    story.run(1);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn a_demotion_moves_and_a_replica_is_never_promoted() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.manner(1).check = READ_ONLY;
    story.run(1_000);
    assert!(story.member(1).read_only);
    story.manner(0).check = READ_ONLY;
    story.hear(Input::Condemned(
        MemberId(0),
        story.generation(0),
        Failure::ReadOnly,
    ));
    assert_eq!(story.moves(), [(1_000, Some(0), 2, Reason::Health)]);
    // Not even as the last resort.
    story.kill(2);
    story.run(500);
    assert_eq!(story.active(), None);
    story.revive(1);
    story.run(1_500);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn whatever_condemns_one_member_checks_all() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    story.run(500);
    story.log.clear();
    story.hear(Input::Condemned(
        MemberId(0),
        story.generation(0),
        Failure::Unhealthy,
    ));
    assert_eq!(
        story.count(|action| matches!(action, Action::Check(id, ..) if id.0 != 0)),
        2
    );
}
