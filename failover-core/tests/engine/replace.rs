//! Other connection settings for a member that runs: the new connection is proven before the old one goes.

use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::Method;
use failover_core::status::Link;

use crate::bench::{Group, Setup, after, moved, ms, secs, settle};
use crate::reload::{table, two};

fn told_replaced(group: &Group) -> usize {
    group.count(|kind| matches!(kind, EventKind::Replaced { .. }))
}

fn told_failed(group: &Group) -> usize {
    group.count(|kind| matches!(kind, EventKind::ReplacementFailed { .. }))
}

#[tokio::test(start_paused = true)]
async fn a_standby_is_replaced_beside_its_old_connection() {
    // F10
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("x").set_delay(Method::Connect, ms(100));
    let text = table("a", 2.0, "a") + &table("b", 1.0, "x");
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "replaced b");
    after(ms(50)).await;
    // Until it is proven the old one stands by.
    assert_eq!(group.link("b"), Link::Standby);
    assert!(group.member("b").replacing);
    assert_eq!(group.server("b").unretired(), 1);
    after(ms(100)).await;
    assert_eq!(group.link("b"), Link::Standby);
    assert!(!group.member("b").replacing);
    assert_eq!(
        (group.server("b").unretired(), group.server("x").unretired()),
        (0, 1)
    );
    assert_eq!((told_replaced(&group), group.moves().len()), (1, 0));
    assert_eq!(group.count(|kind| *kind_word(kind) == *"degraded"), 0);
    group.switch_to("b").await.unwrap();
    assert_eq!(group.server("x").promoted(), 1);
    group.end().await;
}

fn kind_word(kind: &EventKind) -> String {
    let json = serde_json::to_value(kind).unwrap();
    json["event"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_active_moves_to_its_new_connection_and_drains() {
    // F10: also where it is the only member.
    let group = Setup::new(&["a"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.reload_toml(&table("a", 1.0, "x")).await.unwrap();
    after(ms(100)).await;
    group.assert_active("a");
    assert_eq!(
        group.moves(),
        [moved("a", "a", Reason::Reconfigured, Kind::Drain)]
    );
    assert_eq!(group.server("x").promoted(), 1);
    assert!(lease.connection().is_open());
    assert_eq!(group.status().members.len(), 1);
    assert!(!group.status().degraded);
    drop(lease);
    settle().await;
    assert_eq!(group.server("a").unretired(), 0);
    group.client().ping().await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn new_settings_that_do_not_work_leave_the_old_in_place() {
    // F11: and are tried on, until they work.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("x").refuse_dials(true);
    let text = table("a", 2.0, "x") + &table("b", 1.0, "b");
    group.reload_toml(&text).await.unwrap();
    after(secs(60)).await;
    group.assert_active("a");
    let member = group.member("a");
    assert!(
        member.replacing && member.link == Link::Active,
        "{member:?}"
    );
    assert!(member.last_error.unwrap().contains('x'));
    assert!(told_failed(&group) > 3);
    assert_eq!(
        group.count(|kind| matches!(kind, EventKind::DialFailed { .. })),
        0
    );
    assert_eq!(
        (group.moves().len(), group.server("a").connections_ever()),
        (0, 1)
    );
    assert!(!group.status().degraded);
    // The same again is no news, and does not begin anew.
    assert!(group.reload_toml(&text).await.unwrap().is_unchanged());
    group.server("x").refuse_dials(false);
    after(secs(11)).await;
    assert_eq!(told_replaced(&group), 1);
    assert_eq!(
        (group.server("a").unretired(), group.server("x").unretired()),
        (0, 1)
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_unfit_replacement_does_not_take_over() {
    // F11: proven is not enough where checks speak against it.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("x").set_unhealthy(Some("not ready"));
    let text = table("a", 2.0, "x") + &table("b", 1.0, "b");
    group.reload_toml(&text).await.unwrap();
    after(secs(5)).await;
    assert_eq!(group.moves(), []);
    assert!(group.member("a").replacing);
    assert_eq!(
        group.count(|kind| matches!(kind, EventKind::HealthChanged { .. })),
        0
    );
    group.server("x").set_unhealthy(None);
    after(secs(3)).await;
    assert_eq!(group.moves().len(), 1);
    // One whose promotion fails is given up, and tried again.
    group.server("y").refuse_promotion(true);
    let text = table("a", 2.0, "y") + &table("b", 1.0, "b");
    group.reload_toml(&text).await.unwrap();
    after(secs(5)).await;
    group.assert_active("a");
    assert_eq!(group.server("x").unretired(), 1);
    assert_eq!(group.moves().len(), 1);
    group.server("y").refuse_promotion(false);
    after(secs(11)).await;
    assert_eq!(group.moves().len(), 2);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pending_replacement_is_itself_replaced_or_taken_back() {
    // F12
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("x").refuse_dials(true);
    let with = |at: &str| table("a", 2.0, at) + &table("b", 1.0, "b");
    group.reload_toml(&with("x")).await.unwrap();
    after(secs(1)).await;
    let changes = group.reload_toml(&with("y")).await.unwrap();
    assert_eq!(changes.to_string(), "replaced a");
    settle().await;
    assert_eq!(group.server("y").promoted(), 1);
    let dials = group.server("x").dials();
    after(secs(30)).await;
    assert_eq!(group.server("x").dials(), dials);
    group.reload_toml(&with("x")).await.unwrap();
    after(secs(1)).await;
    assert!(group.member("a").replacing);
    let changes = group.reload_toml(&with("y")).await.unwrap();
    assert_eq!(changes.to_string(), "replaced a");
    settle().await;
    assert!(!group.member("a").replacing);
    assert!(group.reload_toml(&with("y")).await.unwrap().is_unchanged());
    assert_eq!(group.moves().len(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn operators_meet_the_member_not_its_replacement() {
    // F12: what they decide meanwhile goes with the name.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("x").refuse_dials(true);
    let text = table("a", 2.0, "a") + &table("b", 1.0, "x");
    group.reload_toml(&text).await.unwrap();
    after(secs(1)).await;
    group.switch_to("b").await.unwrap();
    group.assert_active("b");
    assert_eq!(group.server("b").promoted(), 1);
    let weight = failover_core::api::Weight::new(7.0).unwrap();
    group.set_weight("b", weight).await.unwrap();
    group.server("x").refuse_dials(false);
    after(secs(11)).await;
    group.assert_active("b");
    assert_eq!(group.server("x").promoted(), 1);
    assert_eq!(group.member("b").weight, weight);
    group
        .reload_toml(&(table("a", 2.0, "a") + &table("b", 1.0, "z")))
        .await
        .unwrap();
    group.remove("b").await.unwrap();
    group.assert_active("a");
    assert_eq!(group.status().members.len(), 1);
    after(secs(5)).await;
    assert_eq!(group.server("z").unretired(), 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_active_dies_while_it_is_replaced() {
    // F12: the standby takes over as ever, and the new settings are used from then on.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("x").freeze();
    let text = table("a", 2.0, "x") + &table("b", 1.0, "b");
    group.reload_toml(&text).await.unwrap();
    settle().await;
    group.server("a").kill();
    settle().await;
    group.assert_active("b");
    assert!(!group.member("a").replacing);
    let dials = group.server("a").dials();
    group.server("x").thaw();
    after(secs(20)).await;
    assert_eq!(group.server("a").dials(), dials);
    group.until_active("a", secs(120)).await;
    assert_eq!(group.server("x").promoted(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_longer_operation_timeout_needs_a_new_connection() {
    // F10: that is what a connection is dialled with.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let text = table("a", 2.0, "a") + "timeouts = { operation = \"2s\" }\n" + &table("b", 1.0, "b");
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "replaced a");
    settle().await;
    assert_eq!(
        group.moves(),
        [moved("a", "a", Reason::Reconfigured, Kind::Drain)]
    );
    let text = text.replace("operation = \"2s\"", "operation = \"2s\", prove = \"3s\"");
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "changed a");
    // Without any checks a connection is healthy by another rule.
    let text = text + "health = { check = [] }\n";
    let changes = group.reload_toml(&text).await.unwrap();
    assert_eq!(changes.to_string(), "replaced b");
    after(secs(1)).await;
    assert_eq!(group.standbys(), ["b"]);
    assert!(!group.reload_toml(&two()).await.unwrap().is_unchanged());
    group.end().await;
}
