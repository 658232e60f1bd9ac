//! Stories that end badly with other failover clients, told as their users would, from the first cause to the last
//! effect. `docs/coming-from.md` names them, and those of the other files that tell such a story already.
//!
//! Whatever is a rule of this engine and not such a story has its place in the file of that rule.

use failover_core::api::ErrorKind;
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::Method;
use failover_core::status::Link;

use crate::bench::{Setup, after, member, moved, ms, secs, settle};

#[tokio::test(start_paused = true)]
async fn a_member_that_arrives_late_is_watched_like_any_other() {
    // P6: it was still connecting when the group was ready.
    let setup = Setup::new(&["a", "b"]);
    setup.server("b").set_delay(Method::Connect, secs(1));
    let group = setup.open().await;
    group.assert_active("a");
    assert_ne!(group.link("b"), Link::Standby);
    after(secs(2)).await;
    assert_eq!(group.link("b"), Link::Standby);
    assert_eq!(group.member("b").healthy, Some(true));
    // Its checks go on, and are believed both ways.
    let before = group.server("b").checks();
    after(secs(5)).await;
    assert!(group.server("b").checks() >= before + 5);
    group.server("b").set_unhealthy(Some("disk full"));
    after(secs(2)).await;
    assert_eq!(group.member("b").healthy, Some(false));
    group.server("b").set_unhealthy(None);
    after(secs(2)).await;
    // It is failed over to, and its own failure is noticed there.
    group.server("a").set_unhealthy(Some("disk full"));
    after(secs(2)).await;
    group.assert_active("b");
    group.server("a").set_unhealthy(None);
    after(secs(2)).await;
    group.server("b").kill();
    settle().await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn with_everybody_in_grace_the_healthy_one_serves() {
    // P77: all three have failed within the minute, and one of them is well again.
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    for name in ["a", "b", "c"] {
        group.assert_active(name);
        group.server(name).set_unhealthy(Some("disk full"));
        if name == "c" {
            group.server("b").set_unhealthy(None);
        }
        after(secs(2)).await;
    }
    group.assert_active("b");
    for name in ["a", "b", "c"] {
        assert!(group.member(name).grace.is_some(), "{name}");
    }
    for _ in 0..100 {
        group.client().set("k", "v").await.unwrap();
    }
    assert_eq!(group.server("b").operations(), 100);
    // All of them were moves for a reason, and with nobody well there is none.
    assert_eq!(group.moves().len(), 3);
    group.server("b").set_unhealthy(Some("disk full"));
    after(secs(20)).await;
    assert_eq!(group.moves().len(), 3);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_active_whose_operations_fail_is_left_for_one_in_grace() {
    // P77: grace protects from a member that may fail again, not the one that does.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").kill();
    settle().await;
    group.server("a").start();
    after(secs(10)).await;
    assert!(group.member("a").grace.is_some());
    group.server("b").fail_operations(true);
    while group.active().as_deref() == Some("b") {
        group.client().get("k").await.unwrap_err();
        after(ms(20)).await;
    }
    group.assert_active("a");
    assert!(group.member("a").grace.is_some());
    group.client().set("k", "v").await.unwrap();
    // If the same befalls `a`, nothing is gained by going back: the breaker of `b` is open.
    group.server("a").fail_operations(true);
    for _ in 0..50 {
        group.client().get("k").await.unwrap_err();
        after(ms(20)).await;
    }
    assert!(group.member("a").breaker_open);
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_attempt_to_remove_the_last_member_changes_nothing() {
    // P115
    let group = Setup::new(&["a"]).open_whole().await;
    group.client().set("k", "v").await.unwrap();
    group.hush();
    let before = (group.generation("a"), group.server("a").connections_ever());
    let error = group.remove("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LastMember);
    after(secs(30)).await;
    assert!(group.told().is_empty(), "{:?}", group.told());
    assert_eq!(
        (group.generation("a"), group.server("a").connections_ever()),
        before
    );
    assert!(!group.member("a").leaving);
    assert_eq!(group.client().get("k").await.unwrap().as_deref(), Some("v"));
    // And it is the last one no longer once there is another.
    group.add(member("b").weight(0.5)).await.unwrap();
    after(secs(1)).await;
    group.remove("a").await.unwrap();
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Removed, Kind::Drain)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_reconnect_can_be_watched_from_the_loss_to_the_standby() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.hush();
    group.server("b").kill();
    after(ms(500)).await;
    let seen = group.member("b");
    assert!(seen.failures > 1, "{seen:?}");
    assert!(
        seen.last_error.is_some() && seen.next_dial.is_some(),
        "{seen:?}"
    );
    group.server("b").start();
    after(secs(11)).await;
    let told = group.told();
    let about_b = told.iter().filter_map(|kind| match kind {
        EventKind::Lost { member, .. } if *member == "b" => Some("lost"),
        EventKind::DialFailed { member, .. } if *member == "b" => Some("dial failed"),
        EventKind::Connected { member, .. } if *member == "b" => Some("connected"),
        EventKind::StandbyArmed { member, .. } if *member == "b" => Some("armed"),
        _ => None,
    });
    let mut about_b: Vec<_> = about_b.collect();
    about_b.dedup();
    assert_eq!(about_b, ["lost", "dial failed", "connected", "armed"]);
    assert_eq!(group.member("b").next_dial, None);
    group.end().await;
}
