//! Safe startup: the walk by weight, and the policies beside it.

use std::sync::Arc;
use std::time::Duration;

use super::story::{Manner, REFUSED, Reply, Story, UNHEALTHY};
use crate::config::{Startup, StartupPolicy, StartupTally, StartupVerdict};
use crate::machine::{Action, LinkView, Reason};

fn begun(story: &Story) -> bool {
    story.count(|action| *action == Action::Started) == 1
}

fn failed(story: &Story) -> bool {
    story.count(|action| *action == Action::StartFailed) == 1
}

/// Starts three members with these checks and says who is active.
fn first_of(checks: [Reply; 3]) -> Option<u32> {
    let mut story = Story::of(&[1.0, 0.5, 0.2]);
    for (id, check) in (0..).zip(checks) {
        story.manner(id).check = check;
    }
    story.run(0);
    story.active()
}

#[test]
fn the_heaviest_healthy_member_is_first() {
    // P1, P2, P3
    let well = Reply::Well(0);
    assert_eq!(first_of([well, well, well]), Some(0));
    assert_eq!(first_of([UNHEALTHY, well, well]), Some(1));
    assert_eq!(first_of([UNHEALTHY, UNHEALTHY, well]), Some(2));
}

#[test]
fn a_pending_heavier_member_is_waited_for_and_then_chosen() {
    // P4, P5, P10, P23
    let mut story = Story::of(&[1.0, 0.5]);
    story.manner(0).check = Reply::Well(900);
    story.run(899);
    assert_eq!(story.active(), None);
    assert!(!begun(&story));
    story.run(1);
    assert_eq!(story.active(), Some(0));
    assert!(begun(&story));
}

#[test]
fn a_pending_lighter_member_is_not_waited_for_and_joins_later() {
    // P6, P7
    let mut story = Story::of(&[1.0, 0.5, 0.2]);
    story.manner(1).dial = Reply::Well(700);
    story.run(0);
    assert_eq!(story.active(), Some(0));
    assert_eq!(story.link(1), LinkView::Connecting);
    assert_eq!(story.link(2), LinkView::Standby);
    story.run(700);
    assert_eq!(story.link(1), LinkView::Standby);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn a_refused_heaviest_member_is_passed_over_and_dialled_on() {
    // P8, P32
    let mut story = Story::of(&[1.0, 0.5]);
    story.manner(0).dial = REFUSED;
    story.run(0);
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.moves(), [(0, None, 1, Reason::Startup)]);
    story.run(500);
    assert!(story.dials(0) > 2);
    story.revive(0);
    story.run(2_000);
    assert_eq!(story.link(0), LinkView::Standby);
    assert_eq!(story.member(0).healthy, Some(true));
    // It can be failed over to, and from.
    story.kill(1);
    assert_eq!(story.active(), Some(0));
    story.revive(1);
    story.run(5_000);
    story.kill(0);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn a_check_that_hangs_is_skipped_after_its_bound() {
    // P9
    let mut story = Story::of(&[1.0, 0.5]);
    story.manner(0).check = Reply::Never;
    story.run(1_649);
    assert_eq!(story.active(), None);
    story.run(2);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn a_start_without_anybody_fails_and_leaves_nothing_open() {
    // P11, P20, P29
    let mut story = Story::of(&[1.0, 0.5, 0.2]);
    story.manner(0).dial = REFUSED;
    story.manner(1).check = UNHEALTHY;
    story.manner(2).prove = UNHEALTHY;
    story.run(0);
    assert!(failed(&story));
    assert!(story.machine.is_closed());
    assert_eq!(
        story.count(|action| matches!(action, Action::Retire(..))),
        2
    );
    assert_eq!(story.machine.next_deadline(), None);
    // P21
    let mut empty = Story::of(&[]);
    empty.run(0);
    assert!(failed(&empty));
}

/// Starts with so many members refused and so many of them hanging, out of all.
fn tally(policy: Startup, all: usize, refused: u32, hanging: u32) -> Story {
    let mut story = Story::with(&vec![1.0; all], |rules| rules.startup = policy);
    for id in 0..refused {
        story.manner(id).dial = REFUSED;
    }
    for id in refused..refused + hanging {
        story.manner(id).dial = Reply::Never;
    }
    story.run(0);
    story
}

#[test]
fn the_policy_all_needs_everybody() {
    // P12, P13, P18
    assert!(failed(&tally(Startup::All, 2, 1, 0)));
    assert!(begun(&tally(Startup::All, 2, 0, 0)));
    let mut story = Story::with(&[1.0, 0.5], |rules| rules.startup = Startup::All);
    story.manner(1).check = UNHEALTHY;
    story.run(0);
    assert!(failed(&story));
}

#[test]
fn the_policy_majority_needs_more_than_half_and_knows_early() {
    // P14, P16, P17, P18
    assert!(begun(&tally(Startup::Majority, 3, 1, 0)));
    assert!(failed(&tally(Startup::Majority, 5, 3, 1)));
    assert!(failed(&tally(Startup::Majority, 4, 2, 0)));
    assert!(failed(&tally(Startup::Majority, 2, 1, 0)));
    assert!(begun(&tally(Startup::Majority, 2, 0, 0)));
    // P15: three of five are there, the two lightest are still pending.
    let mut story = Story::with(&[5.0, 4.0, 3.0, 2.0, 1.0], |rules| {
        rules.startup = Startup::Majority;
    });
    story.manner(3).dial = Reply::Never;
    story.manner(4).dial = Reply::Never;
    story.run(0);
    assert!(begun(&story));
}

#[test]
fn the_policy_one_waits_for_the_last_hope() {
    // P19
    let mut story = tally(Startup::One, 2, 1, 1);
    assert!(!begun(&story) && !failed(&story));
    story.run(2_000);
    assert!(failed(&story));
}

#[test]
fn without_checks_a_proven_connection_is_available() {
    // P22, P26
    let mut story = Story::with(&[1.0], |rules| {
        rules.member.health.checks = Some(Vec::new());
    });
    story.manner(0).check = Reply::Never;
    story.run(0);
    assert_eq!(story.active(), Some(0));
    assert_eq!(story.count(|action| matches!(action, Action::Check(..))), 0);
}

#[test]
fn equal_weights_go_in_the_declared_order() {
    // P27, P24: all answers come at the same time, and one group begins.
    let mut story = Story::of(&[0.5, 0.5, 0.5]);
    story.run(0);
    assert_eq!(story.active(), Some(0));
    assert!(begun(&story));
    assert_eq!(story.moves().len(), 1);
}

#[test]
fn two_groups_of_the_same_rules_are_independent() {
    // P30
    let (mut one, mut other) = (Story::of(&[1.0, 0.5]), Story::of(&[1.0, 0.5]));
    one.run(0);
    other.run(0);
    one.kill(0);
    assert_eq!((one.active(), other.active()), (Some(1), Some(0)));
}

#[test]
fn a_lazy_start_returns_at_once_and_has_an_active_when_one_comes() {
    // P31
    let mut story = Story::with(&[1.0, 0.5], |rules| rules.startup = Startup::Lazy);
    story.manner(0).dial = REFUSED;
    story.manner(1).dial = REFUSED;
    story.run(0);
    assert!(begun(&story));
    assert_eq!(story.active(), None);
    story.run(3_000);
    story.revive(1);
    story.run(10_000);
    assert_eq!(story.active(), Some(1));
    assert!(begun(&story));
    // The walk by weight holds for it too.
    let mut slow = Story::with(&[1.0, 0.5], |rules| rules.startup = Startup::Lazy);
    slow.manner(0).dial = Reply::Well(500);
    slow.run(400);
    assert_eq!(slow.active(), None);
    slow.run(100);
    assert_eq!(slow.active(), Some(0));
}

/// When a start is over whose checks take so long, in seconds; the nth is refused instead of checked.
fn timetable(checks: [u64; 3], refused: Option<u32>) -> u64 {
    let mut story = Story::with(&[1.0, 0.5, 0.2], |rules| {
        rules.member.health.timeout = Duration::from_secs(20);
        rules.member.timeouts.connect = Duration::from_secs(20);
    });
    for (id, seconds) in (0..).zip(checks) {
        story.manner(id).check = Reply::Well(seconds * 1000);
    }
    if let Some(id) = refused {
        story.manner(id).dial = REFUSED;
    }
    story.run(60_000);
    story.moves()[0].0
}

#[test]
fn the_timetable_of_the_seed_holds() {
    // P33
    assert_eq!(timetable([5, 1, 10], None), 5_000);
    assert_eq!(timetable([9, 2, 3], Some(0)), 2_000);
}

struct Hopeful;

impl StartupPolicy for Hopeful {
    fn decide(&self, tally: StartupTally) -> StartupVerdict {
        if tally.available >= 2 {
            StartupVerdict::Ready
        } else {
            StartupVerdict::Wait
        }
    }
}

#[test]
fn a_policy_of_ones_own_decides_and_cannot_hang_a_start() {
    let own = || Startup::Custom(Arc::new(Hopeful));
    assert!(begun(&tally(own(), 3, 1, 0)));
    assert!(failed(&tally(own(), 3, 2, 0)));
}

#[test]
fn a_lame_duck_is_the_last_choice_of_a_start() {
    let mut story = Story::of(&[1.0, 0.5]);
    story.manner(0).check = Reply::Well(20);
    story.manner(1).check = Reply::Well(50);
    story.run(10);
    story.lame_duck(0);
    story.run(20);
    assert_eq!(story.active(), None);
    story.run(20);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn a_start_is_never_longer_than_its_parts() {
    let mut story = Story::of(&[1.0, 0.5]);
    *story.manner(0) = Manner {
        check: Reply::Unsure(400),
        ..Manner::default()
    };
    story.run(6_000);
    assert_eq!(story.active(), Some(0));
}
