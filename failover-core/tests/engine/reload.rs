//! A new configuration for a group that runs: what differs is applied, and nothing else.

use failover_core::api::{ErrorKind, Weight};
use failover_core::config::{GroupConfig, NewMember, Standby};
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::Settings;
use failover_core::status::Link;
use failover_core::{Failover, memory::Memory};

use crate::bench::{Group, Setup, after, member, moved, ms, pends, secs, settle};

/// A member as a file has it.
pub(crate) fn table(name: &str, weight: f64, at: &str) -> String {
    format!("[[member]]\nname = {name:?}\nweight = {weight:?}\nat = {at:?}\n")
}

/// The members of [`Setup::new`], as a file has them.
pub(crate) fn two() -> String {
    table("a", 2.0, "a") + &table("b", 1.0, "b")
}

pub(crate) fn reloads(group: &Group) -> usize {
    group.count(|kind| matches!(kind, EventKind::ConfigReloaded { .. }))
}

pub(crate) fn failures(group: &Group) -> usize {
    group.count(|kind| matches!(kind, EventKind::ReloadFailed { .. }))
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_says_the_same_changes_and_tells_nothing() {
    // F1
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let (before, told) = (format!("{:?}", group.status()), group.told().len());
    let changes = group.reload_toml(&two()).await.unwrap();
    assert!(changes.is_unchanged(), "{changes:?}");
    assert_eq!(changes.to_string(), "nothing differs");
    settle().await;
    assert_eq!(group.told().len(), told);
    assert_eq!(format!("{:?}", group.status()), before);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_broken_configuration_changes_nothing_and_is_reported() {
    // F2: with everything that is wrong with it, also what only the backend knows.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let before = format!("{:?}", group.status());
    let text = two().replace("weight = 2.0", "weight = -2.0") + "[group]\nstandbi = 1\n";
    let error = group.reload_toml(&text).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    for part in ["configuration:3:10", "standbi", "standby"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let empty_address = GroupConfig::builder()
        .member(member("a"))
        .member(NewMember::new("c", Settings::at("")))
        .build()
        .unwrap();
    let error = group.apply(empty_address).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    settle().await;
    assert_eq!(failures(&group), 2);
    assert_eq!(reloads(&group), 0);
    assert_eq!(format!("{:?}", group.status()), before);
    assert_eq!(group.server("c").dials(), 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_differs_is_applied_in_one_go() {
    // F3
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    let text = table("a", 3.0, "a")
        + &table("c", 1.5, "c")
        + &table("d", 0.5, "d")
        + "[[member]]\nname = \"e\"\nat = \"e\"\nenabled = false\n";
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "added d, e; removed b; changed c");
    after(secs(1)).await;
    let status = group.status();
    let names: Vec<_> = status.members.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["a", "c", "d", "e"]);
    assert_eq!(group.member("c").weight, Weight::new(1.5).unwrap());
    assert_eq!(group.link("d"), Link::Standby);
    assert_eq!(group.server("b").unretired(), 0);
    assert_eq!(group.server("e").dials(), 0);
    assert_eq!((reloads(&group), group.moves().len()), (1, 0));
    // What stayed keeps its connection.
    assert_eq!(group.server("a").connections_ever(), 1);
    assert_eq!(group.server("c").connections_ever(), 1);
    // As serialized, the lists are the event's own.
    let told = group.told();
    let event = told
        .iter()
        .find(|kind| matches!(kind, EventKind::ConfigReloaded { .. }));
    let json = serde_json::to_value(event).unwrap();
    assert_eq!(json["event"], "config_reloaded");
    assert_eq!(json["removed"][0], "b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn members_are_disabled_and_enabled_as_the_file_says() {
    // F3: the active moves away first.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let text = table("a", 2.0, "a") + "enabled = false\n" + &table("b", 1.0, "b");
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "disabled a");
    settle().await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Removed, Kind::Drain)]
    );
    assert!(!group.member("a").enabled);
    let changes = group.reload_toml(&two()).await.unwrap();
    assert_eq!(changes.to_string(), "enabled a");
    settle().await;
    assert_eq!(group.link("a"), Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_an_operator_changed_becomes_what_the_file_says() {
    // F4: but a pin stays.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group
        .set_weight("b", Weight::new(9.0).unwrap())
        .await
        .unwrap();
    group.pin().await.unwrap();
    group.add(member("x").weight(0.1)).await.unwrap();
    group.disable("a").await.unwrap();
    settle().await;
    let changes = group.reload_toml(&two()).await.unwrap();
    assert_eq!(changes.to_string(), "removed x; changed b; enabled a");
    settle().await;
    assert_eq!(group.status().members.len(), 2);
    assert!(group.status().failback_suspended);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn all_members_can_be_exchanged_without_a_pause() {
    // F5: the new ones do not answer at first, and the old ones serve until they do.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for name in ["c", "d"] {
        group.server(name).refuse_dials(true);
    }
    let lease = group.client().lease().await.unwrap();
    let text = table("c", 2.0, "c") + &table("d", 1.0, "d");
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "added c, d; removed a, b");
    after(secs(30)).await;
    group.assert_active("a");
    assert!(group.member("a").leaving);
    assert_eq!(group.link("b"), Link::Standby);
    // The last resort is still there.
    drop(lease);
    group.server("a").kill();
    settle().await;
    group.assert_active("b");
    group.client().ping().await.unwrap();
    group.server("c").refuse_dials(false);
    group.until_active("c", secs(20)).await;
    after(secs(1)).await;
    let status = group.status();
    let names: Vec<_> = status.members.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["c", "d"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_is_taken_back_while_it_waits() {
    // F5
    let group = Setup::new(&["a"]).open_whole().await;
    group.server("b").refuse_dials(true);
    group.reload_toml(&table("b", 1.0, "b")).await.unwrap();
    settle().await;
    assert!(group.member("a").leaving);
    let changes = group.reload_toml(&table("a", 1.0, "a")).await.unwrap();
    assert_eq!(changes.to_string(), "added a; removed b");
    after(secs(1)).await;
    assert!(!group.member("a").leaving);
    assert_eq!(group.server("a").connections_ever(), 1);
    assert_eq!(group.status().members.len(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_comes_back_while_it_drains() {
    // F5: under its name there is a new one at once, and the old one finishes.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.reload_toml(&table("b", 1.0, "b")).await.unwrap();
    after(ms(100)).await;
    assert_eq!(group.link("a"), Link::Draining);
    let changes = group.reload_toml(&two()).await.unwrap();
    assert_eq!(changes.to_string(), "added a");
    after(ms(100)).await;
    assert_eq!(group.link("a"), Link::Standby);
    assert!(lease.connection().is_open());
    assert_eq!(group.status().members.len(), 2);
    drop(lease);
    settle().await;
    assert_eq!(group.server("a").unretired(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn configurations_at_the_same_time_are_applied_in_turn() {
    // F8
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let more = two() + &table("c", 0.5, "c");
    let (one, other, third) = tokio::join!(
        group.reload_toml(&more),
        group.reload_toml(&more),
        group.apply(
            GroupConfig::builder()
                .member(member("a").weight(2.0))
                .member(member("c").weight(0.5))
                .build()
                .unwrap()
        ),
    );
    assert_eq!(one.unwrap().to_string(), "added c");
    assert!(other.unwrap().is_unchanged());
    assert_eq!(third.unwrap().to_string(), "removed b");
    after(secs(1)).await;
    assert_eq!(group.standbys(), ["c"]);
    assert_eq!(group.server("c").connections_ever(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_configuration_comes_during_a_switch() {
    // F8: the move goes on where its target stays, and is given up where it goes.
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group
        .server("b")
        .set_delay(failover_core::memory::Method::Promote, ms(100));
    let switching = pends(group.switch_to("b"), ms(10)).await;
    let text = table("a", 3.0, "a") + &table("b", 1.5, "b");
    group.reload_toml(&text).await.unwrap();
    switching.await.unwrap();
    group.assert_active("b");
    after(secs(1)).await;
    let switching = pends(group.switch_to("a"), ms(0)).await;
    let text = table("b", 2.0, "b") + &table("c", 1.0, "c");
    group.reload_toml(&text).await.unwrap();
    let _ = switching.await;
    after(secs(10)).await;
    group.assert_active("b");
    assert_eq!(group.standbys(), ["c"]);
    assert_eq!(group.server("a").unretired(), 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_configuration_ends_an_outage() {
    // F8: with all members down, other addresses are tried at once; also with one dialling loop.
    for standby in [Standby::All, Standby::Count(1)] {
        let group = Setup::new(&["a", "b"])
            .rules(|rules| rules.standby = standby)
            .open_whole()
            .await;
        for name in ["a", "b"] {
            group.server(name).kill();
        }
        after(secs(60)).await;
        assert_eq!(group.active(), None);
        let config = GroupConfig::builder()
            .rules(|rules| rules.standby = standby)
            .member(NewMember::new("a", Settings::at("x")).weight(2.0))
            .member(NewMember::new("b", Settings::at("y")))
            .build()
            .unwrap();
        let changes = group.apply(config).await.unwrap();
        assert_eq!(changes.to_string(), "replaced a, b");
        group.until_active("a", secs(11)).await;
        after(secs(1)).await;
        assert_eq!(group.standbys(), ["b"]);
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_closed_group_takes_no_configuration() {
    // F8
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let failover = group.failover.clone();
    group.end().await;
    let error = failover.reload_toml(&two()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn the_options_of_a_running_backend_stay() {
    // F7: the same table, written differently, is the same.
    let group = Failover::<Memory>::open_toml(&two()).await.unwrap();
    let with_empty_table = "[backend]\n".to_owned() + &two();
    assert!(
        group
            .reload_toml(&with_empty_table)
            .await
            .unwrap()
            .is_unchanged()
    );
    let error = group.reload().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("open_file"), "{error}");
    group.close().await;
}
