//! Whole outages: one dialling loop, one standby afterwards, and people are told once.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use backend_api::{Candidate, Pool, Role, Weighted};

use super::story::{REFUSED, Reply, Story};
use crate::config::{LameDuckAction, Rules, Standby};
use crate::machine::{Action, LinkView, MemberId, News, Request, Time};

fn counted(rules: &mut Rules) {
    rules.standby = Standby::Count(1);
    rules.failback.jitter = Duration::ZERO;
}

/// Everybody dies at once.
fn down(story: &mut Story, members: u32) {
    // Time enough that a standby is proven anew.
    story.run(100);
    for id in 0..members {
        story.manner(id).dial = REFUSED;
        story.manner(id).prove = REFUSED;
    }
    for id in 0..members {
        if story.member(id).generation.is_some() {
            story.lost(id);
        }
    }
}

#[test]
fn traffic_waits_without_an_active_and_comes_back_by_itself() {
    // P100, P102: the waiting itself is the slot's.
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    down(&mut story, 2);
    assert_eq!(story.active(), None);
    assert_eq!(story.count(|action| *action == Action::Deactivate), 1);
    story.run(30_000);
    story.revive(1);
    story.run(11_000);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn rounds_are_counted_from_one_and_start_anew() {
    // P103
    let mut story = Story::started(&[1.0, 0.5], counted);
    for _ in 0..2 {
        down(&mut story, 2);
        story.run(5_000);
        let rounds: Vec<u32> = story
            .log
            .iter()
            .filter_map(|(_, action)| match action {
                Action::Tell(News::AllDown(attempt)) => Some(*attempt),
                _ => None,
            })
            .collect();
        assert!(rounds.len() > 2);
        assert!(
            rounds.iter().copied().eq(1..=rounds.len() as u32),
            "{rounds:?}"
        );
        story.revive(0);
        story.revive(1);
        story.run(30_000);
        assert!(story.active().is_some());
        assert_eq!(story.machine.view().attempts, 0);
        story.log.clear();
    }
}

#[test]
fn the_dead_standby_is_closed_first_and_then_there_is_one_loop() {
    // N40, P104
    let mut story = Story::started(&[1.0, 0.9, 0.8, 0.7], counted);
    story.manner(1).retire = Reply::Well(30);
    down(&mut story, 4);
    story.run(60_000);
    let mut dialling = 0_i32;
    let mut most = 0;
    let closed = story
        .log
        .iter()
        .position(|(_, action)| matches!(action, Action::Retire(id, _) if id.0 == 1));
    let dialled = story
        .log
        .iter()
        .position(|(_, action)| matches!(action, Action::Connect(id, ..) if id.0 > 1));
    assert!(closed < dialled);
    for (_, action) in &story.log {
        match action {
            Action::Connect(..) => dialling += 1,
            Action::Tell(News::DialFailed(_)) => dialling -= 1,
            _ => {}
        }
        most = most.max(dialling);
    }
    assert_eq!(most, 1);
    // Four at once; then a rest after every dial, doubling until the four of a round add up to ten seconds.
    let dials: usize = (0..4).map(|id| story.dials(id)).sum();
    assert!((26..36).contains(&dials), "{dials}");
}

#[test]
fn afterwards_there_is_exactly_one_standby_on_another_member() {
    // N41, N28
    let mut story = Story::started(&[1.0, 0.9, 0.8, 0.7], counted);
    down(&mut story, 4);
    story.run(20_000);
    for id in 0..4 {
        story.revive(id);
    }
    story.run(60_000);
    let view = story.machine.view();
    let standbys: Vec<_> = view
        .members
        .iter()
        .filter(|member| member.link == LinkView::Standby)
        .collect();
    assert_eq!(standbys.len(), 1, "{view:?}");
    assert_ne!(Some(standbys[0].id), view.active);
    assert!(!view.degraded);
}

#[test]
fn degraded_and_whole_again_are_told_once_each() {
    // N42, P140
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    assert_eq!(story.told(News::Degraded), 0);
    down(&mut story, 2);
    story.run(30_000);
    story.revive(0);
    story.revive(1);
    story.run(30_000);
    assert_eq!(story.told(News::Degraded), 1);
    assert_eq!(story.told(News::Whole), 1);
}

#[test]
fn members_are_dialled_for_ever_with_capped_delays() {
    // N43
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    down(&mut story, 2);
    story.run(3_600_000);
    story.log.clear();
    story.run(100_000);
    assert_eq!(story.dials(0), 10);
    assert_eq!(story.dials(1), 10);
}

#[test]
fn all_keeps_one_loop_for_each_member() {
    let mut story = Story::started(&[1.0, 0.5, 0.2], |_| {});
    for id in 0..3 {
        story.manner(id).dial = Reply::Badly(500, crate::machine::Failure::Dead);
        story.manner(id).prove = REFUSED;
    }
    for id in 0..3 {
        if story.member(id).generation.is_some() {
            story.lost(id);
        }
    }
    story.run(400);
    assert!((0..3).all(|id| story.link(id) == LinkView::Connecting));
}

#[test]
fn a_round_ends_also_when_its_last_member_leaves() {
    let mut story = Story::started(&[1.0, 0.5], counted);
    down(&mut story, 2);
    story.manner(1).dial = Reply::Never;
    story.run(300);
    story.call(Request::Remove(MemberId(1)));
    story.revive(0);
    story.run(30_000);
    assert_eq!(story.active(), Some(0));
}

#[test]
fn an_unhealthy_standby_does_not_stand_in_for_one() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    assert_eq!(story.link(2), LinkView::Cold);
    story.manner(1).check = super::story::UNHEALTHY;
    story.run(1_000);
    assert_eq!(story.link(2), LinkView::Standby);
    assert!(!story.machine.view().degraded);
    // Both unhealthy: no loop of opening and closing.
    story.manner(2).check = super::story::UNHEALTHY;
    story.run(2_000);
    story.log.clear();
    story.run(60_000);
    assert!(story.dials(1) + story.dials(2) < 20);
}

#[test]
fn whoever_is_heavier_is_kept_connected_and_costs_no_standby() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    story.kill(0);
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.link(2), LinkView::Standby);
    story.run(10_000);
    assert_eq!(story.link(2), LinkView::Standby);
    story.revive(0);
    story.run(90_000);
    assert_eq!(story.active(), Some(0));
    story.run(1_000);
    let open = (0..3)
        .filter(|id| story.member(*id).generation.is_some())
        .count();
    assert_eq!(open, 2);
}

#[test]
fn nothing_is_due_in_the_past() {
    let mut story = Story::started(&[1.0, 0.5], counted);
    down(&mut story, 2);
    for _ in 0..100 {
        story.run(77);
        let next = story.machine.next_deadline();
        assert!(next.is_some_and(|at| at > Time(0)));
    }
}

#[test]
fn a_dial_that_failed_before_the_outage_does_not_count_in_it() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], counted);
    story.manner(2).dial = REFUSED;
    story.kill(1);
    story.run(2_000);
    story.revive(2);
    story.run(60_000);
    assert_eq!(
        (story.link(1), story.link(2)),
        (LinkView::Cold, LinkView::Standby)
    );
    // It came back long ago, and nobody has asked.
    story.revive(1);
    story.manner(2).dial = REFUSED;
    story.manner(2).prove = REFUSED;
    story.log.clear();
    story.kill(0);
    story.run(1_000);
    assert_eq!(story.active(), Some(1));
    assert_eq!(story.told(News::AllDown(1)), 0);
}

/// The pool as it is, counting how often it is asked.
#[derive(Default)]
struct Asked(AtomicUsize);

impl Pool for Asked {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn compare(&self, role: Role, a: &Candidate, b: &Candidate) -> Ordering {
        self.0.fetch_add(1, Relaxed);
        Weighted.compare(role, a, b)
    }
}

#[test]
fn many_missing_standbys_are_dialled_in_one_pass() {
    let pool = Arc::new(Asked::default());
    let weights: Vec<f64> = (0..64).map(|id| 100.0 - f64::from(id)).collect();
    let mut story = Story::started(&weights, |rules| {
        counted(rules);
        rules.standby = Standby::Count(60);
        rules.pool = pool.clone();
    });
    for id in 1..64 {
        story.manner(id).retire = Reply::Never;
        story.manner(id).dial = Reply::Never;
        if story.member(id).generation.is_some() {
            story.lost(id);
        }
    }
    // All retirements are given up at once.
    story.run(4_900);
    story.log.clear();
    pool.0.store(0, Relaxed);
    story.run(200);
    let dialled: Vec<u32> = story
        .log
        .iter()
        .filter_map(|(_, action)| match action {
            Action::Connect(id, ..) => Some(id.0),
            _ => None,
        })
        .collect();
    assert!(dialled.iter().copied().eq(1..=60), "{dialled:?}");
    let asked = pool.0.load(Relaxed);
    assert!(asked < 64 * 8, "asked {asked} times for 60");
}

#[test]
fn the_marked_are_dialled_last_in_every_round() {
    let mut story = Story::started(&[1.0, 0.9, 0.8], |rules| {
        counted(rules);
        rules.lame_duck.action = LameDuckAction::None;
    });
    story.call(Request::Mark(MemberId(0)));
    down(&mut story, 3);
    story.run(30_000);
    let dialled: Vec<u32> = story
        .log
        .iter()
        .filter_map(|(_, action)| match action {
            Action::Connect(id, ..) => Some(id.0),
            _ => None,
        })
        .collect();
    // The standby was tried already when the active was lost.
    assert_eq!(dialled[..8], [2, 0, 1, 2, 0, 1, 2, 0]);
}

#[test]
fn once_degraded_only_an_armed_standby_makes_the_group_whole() {
    // N42: one that is dialled for the first time may never come.
    let mut story = Story::started(&[1.0, 0.5], |_| {});
    story.kill(1);
    assert_eq!(story.told(News::Degraded), 1);
    story.manner(2).dial = Reply::Well(500);
    story.call(Request::Add(story.newcomer(2, 0.2)));
    story.run(499);
    assert_eq!(story.link(2), LinkView::Connecting);
    assert_eq!(story.told(News::Whole), 0);
    story.run(1);
    assert_eq!(story.told(News::Whole), 1);
}
