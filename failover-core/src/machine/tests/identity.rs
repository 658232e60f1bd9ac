//! Names that lead to one server: the standby stands on another one, if there is any.

use std::time::Duration;

use super::story::{REFUSED, Reply, Story, UNHEALTHY, WELL};
use crate::config::{Rules, Standby};
use crate::machine::{LinkView, News, Reason, Request};

fn counted(rules: &mut Rules) {
    rules.standby = Standby::Count(1);
    rules.failback.jitter = Duration::ZERO;
}

/// A group that has started, over these servers.
fn started(weights: &[f64], servers: &[u64], change: impl FnOnce(&mut Rules)) -> Story {
    let mut story = Story::with(weights, change).on(servers);
    story.run(0);
    assert_eq!(story.active(), Some(0));
    story
}

fn standbys(story: &Story) -> Vec<u32> {
    let view = story.machine.view();
    let standing = view.members.iter();
    standing
        .filter(|member| member.link == LinkView::Standby)
        .map(|member| member.id.0)
        .collect()
}

#[test]
fn the_standby_is_on_another_server() {
    // F33: though another name of the active's comes first.
    let mut story = started(&[1.0, 0.9, 0.8], &[7, 7, 8], counted);
    story.run(60_000);
    assert_eq!(standbys(&story), [2]);
    assert_eq!(story.link(1), LinkView::Cold);
    assert_eq!([0, 1, 2].map(|id| story.dials(id)), [1, 1, 1]);
    assert_eq!(story.told(News::Degraded), 0);
}

#[test]
fn with_one_server_the_standby_shares_it() {
    // F32
    for standby in [Standby::All, Standby::Count(1)] {
        let mut story = started(&[1.0, 0.9], &[7, 7], |rules| {
            counted(rules);
            rules.standby = standby;
        });
        story.run(60_000);
        assert_eq!(standbys(&story), [1]);
        assert_eq!([0, 1].map(|id| story.dials(id)), [1, 1]);
        assert_eq!(story.told(News::Degraded), 0);
    }
}

#[test]
fn of_many_names_of_one_server_none_is_dialled_in_a_loop() {
    // F34
    let mut story = started(&[1.0, 0.9, 0.8, 0.7], &[7, 7, 7, 7], counted);
    story.run(600_000);
    assert_eq!(standbys(&story).len(), 1);
    assert!((1..4).all(|id| story.dials(id) <= 1));
    // The standby is lost: it is replaced, and that is all.
    let standby = standbys(&story)[0];
    story.log.clear();
    story.lost(standby);
    story.run(600_000);
    assert_eq!(standbys(&story).len(), 1);
    assert!((1..4).map(|id| story.dials(id)).sum::<usize>() <= 2);
    assert!(!story.machine.view().degraded);
}

#[test]
fn without_names_of_servers_nothing_is_known() {
    // F32: every member counts as a server of its own.
    let mut story = started(&[1.0, 0.9, 0.8], &[], counted);
    story.run(60_000);
    assert_eq!(standbys(&story), [1]);
}

#[test]
fn while_the_other_server_is_down_one_that_shares_stands_in() {
    // F34
    let mut story = Story::with(&[1.0, 0.9, 0.8], counted).on(&[7, 7, 8]);
    story.manner(2).dial = REFUSED;
    story.run(60_000);
    assert_eq!(standbys(&story), [1]);
    assert_eq!(story.dials(1), 1);
    assert!(story.dials(2) >= 4, "the other one is dialled on");
    assert_eq!(story.told(News::Degraded), 1);
    story.revive(2);
    story.run(11_000);
    assert_eq!(standbys(&story), [2]);
    assert_eq!(story.link(1), LinkView::Cold);
    assert_eq!(story.told(News::Whole), 1);
    story.run(60_000);
    assert_eq!(story.dials(1), 1);
}

#[test]
fn an_unfit_member_elsewhere_does_not_take_turns_with_one_that_shares() {
    // F34
    let mut story = Story::with(&[1.0, 0.9, 0.8], counted).on(&[7, 7, 8]);
    story.manner(2).check = UNHEALTHY;
    story.run(120_000);
    assert_eq!(story.member(2).healthy, Some(false));
    assert_eq!(standbys(&story).first(), Some(&1));
    assert!(story.dials(1) <= 2 && story.dials(2) <= 2);
    story.manner(2).check = WELL;
    story.run(5_000);
    assert_eq!(standbys(&story), [2]);
}

#[test]
fn it_holds_again_after_every_move() {
    // F33
    let mut story = started(&[1.0, 0.9, 0.8, 0.7], &[7, 7, 8, 8], counted);
    story.run(100);
    assert_eq!(standbys(&story), [2]);
    for to in [2, 3, 0, 1, 3, 2, 1, 0] {
        story.switch_to(to);
        story.run(5_000);
        assert_eq!(story.active(), Some(to));
        let apart = standbys(&story);
        assert!(!apart.is_empty());
        let heavier_aside = |id: &u32| story.member(*id).weight <= story.member(to).weight;
        for id in apart.into_iter().filter(heavier_aside) {
            assert_ne!(id / 2, to / 2, "{id} stands by beside {to}");
        }
    }
}

#[test]
fn a_heavier_name_of_the_same_server_takes_no_standbys_place() {
    // F34: it is kept connected, since traffic may go back to it.
    let mut story = started(&[1.0, 0.9, 0.8], &[7, 7, 8], counted);
    story.call(Request::Pin);
    story.switch_to(1);
    story.run(1_000);
    story.log.clear();
    story.run(600_000);
    assert!(standbys(&story).contains(&2));
    assert_ne!(story.link(0), LinkView::Cold);
    assert_eq!((0..3).map(|id| story.dials(id)).sum::<usize>(), 0);
}

#[test]
fn traffic_that_has_to_leave_goes_to_another_server() {
    // F35
    let mut story = started(&[1.0, 0.9, 0.8], &[7, 7, 8], |_| {});
    story.run(100);
    story.manner(0).check = UNHEALTHY;
    story.run(5_000);
    assert_eq!(story.active(), Some(2));
    // And nobody waits for a proof from the server that has just been lost.
    let mut story = started(&[1.0, 0.9, 0.8], &[7, 7, 8], |_| {});
    story.run(100);
    story.manner(1).prove = Reply::Never;
    story.log.clear();
    story.kill(0);
    assert_eq!(story.moves(), [(100, Some(0), 2, Reason::Lost)]);
}

#[test]
fn a_move_to_the_same_server_is_better_than_none() {
    // F35
    let mut story = started(&[1.0, 0.9], &[7, 7], |_| {});
    story.run(100);
    story.manner(0).check = UNHEALTHY;
    story.run(5_000);
    assert_eq!(story.active(), Some(1));
}

#[test]
fn with_all_connected_one_that_shares_makes_no_group_whole() {
    // F36
    let mut story = started(&[1.0, 0.9, 0.8], &[7, 7, 8], |_| {});
    story.run(100);
    assert_eq!(standbys(&story), [1, 2]);
    story.kill(2);
    story.run(1_000);
    assert_eq!(standbys(&story), [1]);
    assert_eq!(story.told(News::Degraded), 1);
    story.revive(2);
    story.run(15_000);
    assert_eq!(story.told(News::Whole), 1);
}

#[test]
fn where_a_name_led_holds_until_its_next_connection() {
    // F34: as behind a load balancer.
    let mut story = started(&[1.0, 0.9, 0.8], &[7, 7, 8], counted);
    story.run(1_000);
    assert_eq!(standbys(&story), [2]);
    let mut story = story.on(&[7, 9, 8]);
    story.run(60_000);
    assert_eq!(story.dials(1), 1);
    story.kill(2);
    story.run(1_000);
    assert_eq!(standbys(&story), [1]);
    assert!(!story.machine.view().degraded);
    // As good a standby as any: nobody makes room for the other.
    story.revive(2);
    story.run(60_000);
    assert_eq!(standbys(&story), [1]);
}
