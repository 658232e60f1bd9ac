//! Planned moves that let the old connection finish.

use failover_core::api::{ErrorKind, Fate};
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::Method;
use failover_core::status::Link;
use tokio::time::Instant;

use crate::bench::{Group, Setup, after, moved, ms, pends, secs, settle};

fn drains_ended(group: &Group) -> Vec<bool> {
    let ended = group.told().into_iter().filter_map(|kind| match kind {
        EventKind::DrainEnded { kept, .. } => Some(kept),
        _ => None,
    });
    ended.collect()
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_drains_at_once_and_stands_by() {
    // N20: with nothing under way, the drained connection itself is the fresh standby.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let moved_to = group.drain_to_passive(secs(5)).await.unwrap();
    assert_eq!(moved_to.from.unwrap(), "a");
    assert_eq!(moved_to.to.unwrap(), "b");
    settle().await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Manual, Kind::Drain)]
    );
    assert_eq!(group.link("a"), Link::Standby);
    assert_eq!(group.server("a").connections_ever(), 1);
    assert_eq!(drains_ended(&group), [true]);
    group.client().set("k", "v").await.unwrap();
    assert_eq!(group.server("b").get("k").as_deref(), Some("v"));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_within_the_window_is_delivered() {
    // N21
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_latency(ms(400));
    let client = group.client();
    let writing = pends(client.set("k", "v"), ms(10)).await;
    group.drain_to("b", secs(5)).await.unwrap();
    group.assert_active("b");
    assert_eq!(group.link("a"), Link::Draining);
    writing.await.unwrap();
    assert_eq!(group.server("a").get("k").as_deref(), Some("v"));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_held_for_ever_ends_with_the_window() {
    // P58, N22: the connection is retired on time, and the operation learns its fate.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.server("a").swallow_answers(true);
    let connection = lease.connection().clone();
    let hanging = pends(connection.incr("n"), ms(1)).await;
    let began = Instant::now();
    group.drain_to("b", secs(5)).await.unwrap();
    assert_eq!(began.elapsed(), ms(0));
    let error = hanging.await.unwrap_err();
    assert_eq!(began.elapsed(), secs(5));
    assert_eq!(error.kind(), ErrorKind::Retired);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    settle().await;
    assert_eq!(drains_ended(&group), [false]);
    assert_eq!(group.server("a").retired(), 1);
    drop(lease);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_steal_waits_for_its_grace_and_no_longer() {
    // P58
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.switch_to_passive().await.unwrap();
    after(ms(99)).await;
    assert!(lease.connection().is_open());
    after(ms(2)).await;
    assert!(!lease.connection().is_open());
    group.client().ping().await.unwrap();
    drop(lease);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_old_member_is_promoted_again_when_the_new_one_dies_within_the_window() {
    // P57, N27
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.drain_to("b", secs(5)).await.unwrap();
    after(secs(1)).await;
    group.server("b").kill();
    settle().await;
    group.assert_active("a");
    assert_eq!(
        group.moves()[1],
        moved("b", "a", Reason::Lost, Kind::Failover)
    );
    // It is the same connection, and what it was serving goes on.
    assert_eq!(group.server("a").connections_ever(), 1);
    after(secs(10)).await;
    assert!(lease.connection().is_open());
    drop(lease);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_dies_while_it_drains_ends_its_drain_only() {
    // N26
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.drain_to("b", secs(5)).await.unwrap();
    let generation = group.generation("b");
    group.server("a").kill();
    settle().await;
    assert_eq!(drains_ended(&group), [false]);
    assert_eq!(group.generation("b"), generation);
    assert_eq!(group.moves().len(), 1);
    drop(lease);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn both_dying_within_the_window_is_an_outage_and_it_ends() {
    // N28
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.drain_to("b", secs(5)).await.unwrap();
    group.server("a").kill();
    group.server("b").kill();
    settle().await;
    assert_eq!(group.active(), None);
    group.server("a").start();
    group.until_active("a", secs(11)).await;
    drop(lease);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_without_a_standby_is_refused() {
    // N23
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").kill();
    after(ms(200)).await;
    for _ in 0..2 {
        let error = group.drain_to_passive(secs(1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotEligible);
        assert!(error.to_string().contains("b is down"), "{error}");
    }
    assert_eq!(group.moves(), []);
    group.client().ping().await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_fails_its_proof_stops_the_move() {
    // N24
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.member.health.interval = secs(3600))
        .open_whole()
        .await;
    group.server("b").fail_proofs(Some("loading"));
    let error = group.drain_to("b", secs(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("loading"), "{source}");
    group.assert_active("a");
    assert_eq!(group.server("a").connections_ever(), 1);
    group.client().ping().await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_proof_of_a_half_open_standby_is_bounded() {
    // N25
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.member.health.interval = secs(3600))
        .open_whole()
        .await;
    group.server("b").blackhole_connections();
    let began = Instant::now();
    let error = group.drain_to("b", secs(1)).await.unwrap_err();
    assert_eq!(began.elapsed(), ms(500));
    assert_eq!(error.kind(), ErrorKind::Aborted);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("no answer within 500ms"), "{source}");
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_promotion_that_hangs_is_dropped_at_its_deadline() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let b = group.server("b");
    b.set_delay(Method::Promote, std::time::Duration::MAX);
    let began = Instant::now();
    let error = group.switch_to("b").await.unwrap_err();
    assert_eq!(began.elapsed(), ms(500));
    assert_eq!(error.kind(), ErrorKind::Aborted);
    group.assert_active("a");
    group.client().ping().await.unwrap();
    // The connection is of unknown state, and was replaced.
    settle().await;
    assert_eq!(b.retired(), 1);
    b.heal();
    after(secs(1)).await;
    group.switch_to("b").await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_is_slow_itself_ends_with_the_window() {
    // N22
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_delay(Method::Drain, secs(60));
    group.drain_to("b", secs(2)).await.unwrap();
    after(ms(1999)).await;
    assert_eq!(group.link("a"), Link::Draining);
    after(ms(2)).await;
    assert_eq!(drains_ended(&group), [false]);
    assert_eq!(group.server("a").retired(), 1);
    group.end().await;
}
