//! Failover on what is known of the members' health, and how it is told.

use failover_core::api::{ErrorKind, Fate, MemberName};
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::status::Link;

use crate::bench::{Setup, after, moved, ms, secs, settle};

#[tokio::test(start_paused = true)]
async fn an_unhealthy_active_hands_over_to_the_heaviest_healthy_one() {
    // P40, P43
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("b").set_unhealthy(Some("disk full"));
    after(secs(2)).await;
    // P42
    assert_eq!(group.moves(), []);
    group.assert_active("a");
    group.server("a").set_unhealthy(Some("too hot"));
    after(secs(2)).await;
    // P46
    assert_eq!(
        group.moves(),
        [moved("a", "c", Reason::Health, Kind::Steal)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn when_the_next_one_fails_too_the_traffic_goes_on() {
    // P45
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("a").set_unhealthy(Some("one"));
    after(secs(2)).await;
    group.server("b").set_unhealthy(Some("two"));
    after(secs(2)).await;
    assert_eq!(
        group.moves(),
        [
            moved("a", "b", Reason::Health, Kind::Steal),
            moved("b", "c", Reason::Health, Kind::Steal),
        ]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_cascade_goes_on_to_the_last_member() {
    // P54: nine in a row refuse their promotion.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
    let group = Setup::new(&names).open_whole().await;
    for name in &names[1..10] {
        group.server(name).refuse_promotion(true);
    }
    group.server("a").kill();
    settle().await;
    group.assert_active("k");
    let given_up = group.count(|kind| matches!(kind, EventKind::SwitchAborted { .. }));
    assert_eq!(given_up, 9);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn with_nowhere_to_go_the_open_active_stays() {
    // P55
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let generation = group.generation("a");
    group.server("a").set_unhealthy(Some("one"));
    group.server("b").set_unhealthy(Some("two"));
    after(secs(30)).await;
    assert_eq!(group.moves(), []);
    group.assert_active("a");
    assert_eq!(group.generation("a"), generation);
    group.client().set("k", "v").await.unwrap();
    // P78: it recovers, and nothing happens.
    group.server("a").set_unhealthy(None);
    after(secs(30)).await;
    assert_eq!(group.moves(), []);
    assert_eq!(group.server("a").connections_ever(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_condemned_active_moves_at_once_and_the_refused_write_runs_there() {
    // P40: what the member itself says needs no check to confirm it.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_read_only(true);
    group.client().set("k", "v").await.unwrap();
    assert_eq!(group.server("b").get("k").as_deref(), Some("v"));
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Health, Kind::Steal)]
    );
    assert_eq!(group.took(), ms(0));
    assert!(group.member("a").read_only);
    // P43: not even as the last resort.
    group.server("b").kill();
    after(secs(5)).await;
    assert_eq!(group.active(), None);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_group_fails_over_by_itself() {
    // P51: frozen, it is found by its checks alone.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").freeze();
    let took = group.until_active("b", secs(3)).await;
    assert!(took <= ms(2100), "{took:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn listeners_follow_every_switch() {
    // P47: reader and client both.
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    let mut events = group.events();
    let mut reader = Vec::new();
    for (dead, next) in [("a", "b"), ("b", "c")] {
        group.server(dead).kill();
        settle().await;
        group.client().set("at", next).await.unwrap();
        assert_eq!(group.server(next).get("at").as_deref(), Some(next));
    }
    let failover = group.failover.clone();
    group.end().await;
    while let Some(event) = events.next().await {
        reader.push(event.kind);
    }
    drop(failover);
    let switched = |kind: &&EventKind| matches!(kind, EventKind::Switched { .. });
    assert_eq!(reader.iter().filter(switched).count(), 2);
    assert!(matches!(reader.last(), Some(EventKind::Closed)));
}

#[tokio::test(start_paused = true)]
async fn an_operation_reports_to_the_member_that_served_it() {
    // P53: it began on `a`, and ends when `b` is active already.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    let moving = group.drain_to("b", secs(5));
    moving.await.unwrap();
    group.assert_active("b");
    lease.finish(failover_core::api::Outcome::Success);
    after(ms(500)).await;
    assert_eq!(group.member("a").operations.success, 1);
    assert_eq!(group.member("b").operations.success, 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failing_operation_makes_the_engine_look_at_once() {
    // Suspicion: half-open connections are replaced long before the next check.
    let group = Setup::new(&["a", "b"])
        .rules(|rules| {
            rules.member.health.interval = secs(60);
            rules.member.timeouts.operation = ms(100);
        })
        .open_whole()
        .await;
    group.server("a").blackhole_connections();
    let failed = group.client().set("k", "v").await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Timeout);
    assert_eq!(failed.fate(), Some(Fate::MayHaveBeenApplied));
    // The proof has half a second. The redial then finds the member well, so the traffic stays.
    after(ms(510)).await;
    assert_eq!(
        group.moves(),
        [moved("a", "a", Reason::Lost, Kind::Failover)]
    );
    assert_eq!(group.server("a").connections_ever(), 2);
    group.client().set("k", "v").await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn failing_operations_on_a_sound_connection_replace_nothing() {
    // Suspicion: only the proof failing replaces the connection, and a storm of failures is no storm of proofs.
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.member.breaker.min_failures = 100_000)
        .open_whole()
        .await;
    let before = group.server("a").proofs();
    group.server("a").fail_operations(true);
    for _ in 0..1000 {
        group.client().get("k").await.unwrap_err();
    }
    after(ms(100)).await;
    let proofs = group.server("a").proofs() - before;
    assert!((1..=3).contains(&proofs), "{proofs} proofs");
    assert_eq!(group.server("a").connections_ever(), 1);
    assert_eq!(group.link("a"), Link::Active);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_given_up_after_its_time_is_a_suspicion_too() {
    for (held, proofs) in [(ms(9_000), 0), (ms(11_000), 1)] {
        let group = Setup::new(&["a", "b"])
            .rules(|rules| rules.member.timeouts.operation = secs(10))
            .open_whole()
            .await;
        let lease = group.client().lease().await.unwrap();
        after(held).await;
        let before = group.server("a").proofs();
        drop(lease);
        settle().await;
        assert_eq!(group.server("a").proofs() - before, proofs, "{held:?}");
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_promotion_is_told_whose_connection_carried_the_traffic() {
    // Whatever a backend brings over comes from there, also when that connection is gone.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.switch_to("b").await.unwrap();
    settle().await;
    group.server("b").kill();
    group.until_active("a", secs(1)).await;
    let promotions = group.memory.promotions().into_iter();
    let from: Vec<Option<MemberName>> = promotions.map(|one| one.from).collect();
    assert_eq!(from, [None, Some("a".into()), Some("b".into())]);
    group.end().await;
}
