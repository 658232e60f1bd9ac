//! Members that members tell of: they join, they leave, and what was configured is never touched.

use std::time::Duration;

use failover_core::api::{Capabilities, Member};
use failover_core::config::Startup;
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::{Method, Settings};
use failover_core::status::Link;

use crate::bench::{Group, Setup, after, member, moved, ms, pends, secs, settle};
use crate::reload::{table, two};

/// A list of members, each on the server of its own name.
fn list(names: &[&str]) -> Vec<Member<Settings>> {
    let named = |name: &&str| Member::new(*name, Settings::at(*name));
    names.iter().map(named).collect()
}

async fn tell(group: &Group, by: &str, names: &[&str]) {
    group.server(by).tell_members(&list(names));
    settle().await;
}

fn names(group: &Group) -> Vec<String> {
    let status = group.status();
    let names = status.members.iter().map(|member| member.name.to_string());
    names.collect()
}

/// Members by name, and whether they were discovered.
type Told = Vec<(String, bool)>;

/// The members that were told to have come, and those that were told to have gone.
fn comings(group: &Group) -> (Told, Told) {
    let (mut came, mut went) = (Vec::new(), Vec::new());
    for kind in group.told() {
        match kind {
            EventKind::MemberAdded { member, discovered } => {
                came.push((member.to_string(), discovered));
            }
            EventKind::MemberRemoved { member, discovered } => {
                went.push((member.to_string(), discovered));
            }
            _ => {}
        }
    }
    (came, went)
}

fn notices(group: &Group) -> Vec<&'static str> {
    let what = |kind| match kind {
        EventKind::Notice { what, .. } => Some(what),
        _ => None,
    };
    group.told().into_iter().filter_map(what).collect()
}

#[tokio::test(start_paused = true)]
async fn whoever_is_told_of_joins_and_takes_part() {
    // F23
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    assert!(group.member("c").discovered);
    assert!(!group.member("a").discovered);
    assert_eq!(group.link("c"), Link::Standby);
    assert_eq!(comings(&group).0, [("c".to_owned(), true)]);
    after(secs(3)).await;
    assert!(group.server("c").checks() >= 3);
    group.server("b").kill();
    group.server("a").kill();
    group.until_active("c", secs(1)).await;
    let json = serde_json::to_value(group.told()).unwrap();
    let added = json.as_array().unwrap().iter();
    let added: Vec<_> = added
        .filter(|kind| kind["event"] == "member_added")
        .collect();
    assert_eq!(added[0]["discovered"], true);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_is_told_of_no_more_leaves() {
    // F24
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c", "d"]).await;
    assert_eq!(names(&group), ["a", "b", "c", "d"]);
    // An empty list says nothing.
    tell(&group, "a", &[]).await;
    assert_eq!(names(&group), ["a", "b", "c", "d"]);
    tell(&group, "a", &["a", "b", "d"]).await;
    assert_eq!(names(&group), ["a", "b", "d"]);
    let c = group.server("c");
    assert_eq!((c.unretired(), c.connections_ever()), (0, 1));
    assert_eq!(comings(&group).1, [("c".to_owned(), true)]);
    assert_eq!(group.server("d").connections_ever(), 1);
    // And comes back with the next list.
    tell(&group, "a", &["a", "b", "d", "c"]).await;
    assert_eq!(group.link("c"), Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_configured_is_never_touched() {
    // F25
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.add(member("x").weight(0.5)).await.unwrap();
    settle().await;
    let elsewhere = Member::new("b", Settings::at("elsewhere"));
    let alias = Member::new("alias", Settings::at("x"));
    let told = [list(&["a", "c"]), vec![elsewhere, alias]].concat();
    group.server("a").tell_members(&told);
    settle().await;
    tell(&group, "a", &["a", "c"]).await;
    after(secs(5)).await;
    assert_eq!(names(&group), ["a", "b", "x", "c"]);
    for name in ["a", "b", "x"] {
        assert!(!group.member(name).discovered);
        assert_eq!(group.server(name).connections_ever(), 1);
    }
    assert_eq!(group.server("elsewhere").dials(), 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn members_by_call_are_told_as_such() {
    // F26
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.add(member("x").weight(0.5)).await.unwrap();
    group.remove("x").await.unwrap();
    let x = ("x".to_owned(), false);
    assert_eq!(comings(&group), (vec![x.clone()], vec![x]));
    // Replacing a connection is no coming and going.
    group
        .reload_toml(&(table("a", 2.0, "a") + &table("b", 1.0, "b2")))
        .await
        .unwrap();
    after(secs(1)).await;
    assert_eq!(group.server("b2").connections_ever(), 1);
    assert_eq!(comings(&group).0.len(), 1);
    assert_eq!(comings(&group).1.len(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_lists_is_one_list() {
    // F27
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for round in 0..10_000 {
        let fresh = format!("n{round}");
        group.server("a").tell_members(&list(&["a", "b", &fresh]));
    }
    settle().await;
    assert_eq!(names(&group), ["a", "b", "n9999"]);
    assert_eq!(comings(&group).0.len(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn lists_of_a_connection_yet_to_be_proven_are_one_list_too() {
    // F27
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("c").set_delay(Method::Prove, ms(300));
    tell(&group, "a", &["a", "b", "c"]).await;
    assert_eq!(group.link("c"), Link::Connected);
    for round in 0..100 {
        tell(&group, "c", &["c", &format!("n{round}"), "d"]).await;
    }
    after(secs(1)).await;
    assert_eq!(names(&group), ["a", "b", "c", "d", "n99"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn only_the_active_lets_a_member_go() {
    // F28
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "b", &["a", "b", "c", "d"]).await;
    assert_eq!(names(&group), ["a", "b", "c", "d"]);
    // A standby that sees nobody, as after a partition, empties nothing.
    tell(&group, "b", &["b"]).await;
    assert_eq!(names(&group), ["a", "b", "c", "d"]);
    // The active sees c only, and d is told of by nobody.
    tell(&group, "a", &["a", "b", "c"]).await;
    assert_eq!(names(&group), ["a", "b", "c"]);
    // An active that sees nobody is contradicted by the standby that still does.
    tell(&group, "b", &["a", "b", "c"]).await;
    tell(&group, "a", &["a"]).await;
    assert_eq!(names(&group), ["a", "b", "c"]);
    // Nobody vouches for itself, nor for those whom only it knows.
    tell(&group, "c", &["c", "e"]).await;
    assert_eq!(names(&group), ["a", "b", "c", "e"]);
    tell(&group, "b", &["a", "b"]).await;
    assert_eq!(names(&group), ["a", "b"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn two_who_differ_about_settings_start_no_tug_of_war() {
    // F28: the active's hold.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    let other = Member::new("c", Settings::at("c2"));
    group.server("b").tell_members(&[other]);
    after(secs(10)).await;
    assert_eq!(group.server("c2").dials(), 0);
    assert_eq!(group.server("c").connections_ever(), 1);
    group.switch_to("b").await.unwrap();
    after(secs(10)).await;
    assert_eq!(group.server("c2").connections_ever(), 1);
    assert_eq!(group.server("c").unretired(), 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_active_decides_with_what_it_told_before() {
    // F28
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    tell(&group, "b", &["a", "b"]).await;
    group.switch_to("b").await.unwrap();
    settle().await;
    // a, a standby now, still knows it.
    assert_eq!(names(&group), ["a", "b", "c"]);
    group.server("a").kill();
    settle().await;
    assert_eq!(names(&group), ["a", "b"]);
    assert_eq!(comings(&group).1, [("c".to_owned(), true)]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_goes_while_there_is_no_active() {
    // F28
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    for name in ["a", "b", "c"] {
        group.server(name).kill();
    }
    after(secs(30)).await;
    assert_eq!(group.active(), None);
    assert_eq!(names(&group), ["a", "b", "c"]);
    group.server("c").start();
    group.until_active("c", secs(20)).await;
    tell(&group, "c", &["c", "d"]).await;
    assert_eq!(names(&group), ["a", "b", "c", "d"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_active_that_left_hands_over_first() {
    // F24
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    group.switch_to("c").await.unwrap();
    tell(&group, "a", &["a", "b"]).await;
    group.hush();
    let lease = group.client().lease().await.unwrap();
    tell(&group, "c", &["a", "b"]).await;
    assert_eq!(
        group.moves(),
        [moved("c", "a", Reason::Removed, Kind::Drain)]
    );
    assert!(group.member("c").leaving);
    assert!(lease.connection().is_open());
    lease.finish(failover_core::api::Outcome::Success);
    settle().await;
    assert_eq!(names(&group), ["a", "b"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_left_serves_until_another_can() {
    // F24: as a member that a configuration leaves out.
    let group = Setup::new(&["a"]).open().await;
    tell(&group, "a", &["a", "c"]).await;
    group.switch_to("c").await.unwrap();
    settle().await;
    group.server("a").kill();
    tell(&group, "c", &["a"]).await;
    after(secs(5)).await;
    group.assert_active("c");
    assert!(group.member("c").leaving);
    // Told of again it stays, and not told of again it goes.
    tell(&group, "c", &["a", "c"]).await;
    assert!(!group.member("c").leaving);
    tell(&group, "c", &["a"]).await;
    group.server("a").start();
    group.until_active("a", secs(60)).await;
    after(secs(10)).await;
    assert_eq!(names(&group), ["a"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn other_settings_are_another_connection() {
    // F29
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    group.server("c2").refuse_dials(true);
    let c2 = Member::new("c", Settings::at("c2"));
    let told = [list(&["a", "b"]), vec![c2]].concat();
    group.server("a").tell_members(&told);
    after(secs(1)).await;
    assert!(group.member("c").replacing);
    assert_eq!(group.server("c").open_connections(), 1);
    group.server("c2").refuse_dials(false);
    after(secs(20)).await;
    assert_eq!(group.server("c").unretired(), 0);
    assert_eq!(group.server("c2").open_connections(), 1);
    assert_eq!(group.link("c"), Link::Standby);
    assert!(group.member("c").discovered);
    let replaced = |kind: &EventKind| matches!(kind, EventKind::Replaced { .. });
    assert_eq!(group.count(replaced), 1);
    // It still goes when nobody tells of it.
    tell(&group, "a", &["a", "b"]).await;
    assert_eq!(names(&group), ["a", "b"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_configuration_leaves_the_discovered_alone() {
    // F30
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c", "d"]).await;
    let changes = group.reload_toml(&two()).await.unwrap();
    assert!(changes.is_unchanged(), "{changes}");
    // Configured, it is a member like another.
    let with_c = two() + &table("c", 0.5, "c");
    let changes = group.reload_toml(&with_c).await.unwrap();
    assert_eq!(changes.to_string(), "added c; changed c");
    settle().await;
    assert!(!group.member("c").discovered);
    tell(&group, "a", &["a", "b"]).await;
    assert_eq!(names(&group), ["a", "b", "c"]);
    // Taken out while it is told of, it is discovered; otherwise it goes.
    tell(&group, "a", &["a", "b"]).await;
    tell(&group, "b", &["a", "c"]).await;
    let only_a = table("a", 2.0, "a");
    let changes = group.reload_toml(&only_a).await.unwrap();
    assert_eq!(changes.to_string(), "left to discovery b, c");
    settle().await;
    assert!(group.member("b").discovered && group.member("c").discovered);
    tell(&group, "b", &["a"]).await;
    assert_eq!(names(&group), ["a", "b"]);
    for name in ["a", "b"] {
        assert_eq!(group.server(name).connections_ever(), 1);
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_rules_of_the_group_are_those_of_the_discovered() {
    // F30
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    let text = two() + "[group.health]\ninterval = \"100ms\"\n";
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "group.health; changed a, b, c");
    let before = group.server("c").checks();
    after(secs(3)).await;
    assert!(group.server("c").checks() > before + 20);
    assert_eq!(group.server("c").connections_ever(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_joins_before_startup_is_over() {
    // F31
    let setup = Setup::new(&["a", "b"]).rules(|rules| rules.startup = Startup::All);
    let world = setup.world.clone();
    setup.server("b").set_delay(Method::Connect, secs(1));
    let opening = pends(setup.open(), ms(500)).await;
    world.server("a").tell_members(&list(&["a", "b", "c"]));
    world.server("c").refuse_dials(true);
    let opening = pends(opening, ms(100)).await;
    assert_eq!(world.server("c").dials(), 0);
    let group = opening.await;
    settle().await;
    assert_eq!(names(&group), ["a", "b", "c"]);
    assert!(world.server("c").dials() > 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_keeps_a_discovered_member_out() {
    // F26
    let group = Setup::new(&["a", "b"]).open_whole().await;
    tell(&group, "a", &["a", "b", "c"]).await;
    group.disable("c").await.unwrap();
    tell(&group, "a", &["a", "b", "c", "d"]).await;
    assert!(!group.member("c").enabled);
    assert_eq!(group.link("c"), Link::Cold);
    // Removed it comes back with the next word.
    group.remove("d").await.unwrap();
    assert!(group.status().member("d").is_none());
    tell(&group, "b", &["d"]).await;
    assert_eq!(group.link("d"), Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_crowd_is_bounded_and_said_once() {
    // F27
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.member.health.interval = Duration::from_secs(60))
        .open_whole()
        .await;
    let crowd: Vec<String> = (0..300).map(|number| format!("n{number}")).collect();
    let mut all: Vec<&str> = crowd.iter().map(String::as_str).collect();
    for _ in 0..3 {
        tell(&group, "a", &all).await;
        all.reverse();
    }
    assert_eq!(names(&group).len(), 2 + 256);
    assert_eq!(notices(&group), ["too_many_members"]);
    tell(&group, "a", &["n299"]).await;
    assert_eq!(names(&group), ["a", "b", "n299"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_cannot_join_is_said_once() {
    // F27
    let setup = Setup::new(&["a", "b"]);
    let group = setup.open_whole().await;
    let nowhere = Member::new("nowhere", Settings::at(""));
    let told = [vec![nowhere], list(&["c"])].concat();
    for _ in 0..3 {
        group.server("a").tell_members(&told);
        settle().await;
    }
    assert_eq!(names(&group), ["a", "b", "c"]);
    assert_eq!(notices(&group), ["bad_member"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn lists_at_the_end_harm_nothing() {
    // F27
    let mut setup = Setup::new(&["a", "b"]);
    setup.memory = setup
        .memory
        .with_capabilities(Capabilities::new().discovering_members());
    let group = setup.open_whole().await;
    group.server("a").tell_members(&list(&["a", "b", "c"]));
    let failover = group.failover.clone();
    let closing = tokio::spawn(async move { failover.close().await });
    group.server("b").tell_members(&list(&["d"]));
    closing.await.unwrap();
    group.end().await;
}
