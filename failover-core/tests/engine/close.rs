//! The end of a group, in whatever state it is: nothing is left, and nobody waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use failover_core::api::ErrorKind;
use failover_core::memory::Method;
use tokio::time::Instant;

use crate::bench::{Setup, after, ms, nothing_is_left, pends, secs, settle};

#[tokio::test(start_paused = true)]
async fn close_ends_everything_and_again_is_nothing() {
    // P118
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let (failover, client) = (group.failover.clone(), group.client());
    let world = group.world.clone();
    group.end().await;
    failover.close().await;
    failover.close().await;
    let error = client.get("k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    let error = failover.switch_to("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(failover.events().next().await.is_none());
    // P134, P67: nothing goes on.
    let checks = world.server("a").checks();
    after(secs(600)).await;
    assert_eq!(world.server("a").checks(), checks);
    assert_eq!(world.server("a").dials(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_held_holds_up_no_close() {
    // P118
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    let began = Instant::now();
    group.end().await;
    assert_eq!(began.elapsed(), ms(0));
    assert!(!lease.connection().is_open());
    let error = lease.connection().ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retired);
}

#[tokio::test(start_paused = true)]
async fn a_group_closes_while_it_switches() {
    // P118: at every step of the move, and the caller is answered.
    for method in [Method::Prove, Method::Promote] {
        let group = Setup::new(&["a", "b"]).open_whole().await;
        group.server("b").set_delay(method, ms(200));
        let failover = group.failover.clone();
        let switching = tokio::spawn(async move { failover.switch_to("b").await });
        after(ms(50)).await;
        let began = Instant::now();
        group.failover.close().await;
        assert_eq!(began.elapsed(), ms(0));
        let error = switching.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_closes_while_it_drains() {
    // P118
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    group.drain_to("b", secs(60)).await.unwrap();
    group.end().await;
    assert!(!lease.connection().is_open());
}

#[tokio::test(start_paused = true)]
async fn a_group_closes_during_an_outage_and_nobody_waits_on() {
    // P118
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.unavailable_wait = secs(600))
        .open_whole()
        .await;
    group.server("a").kill();
    group.server("b").freeze();
    after(secs(5)).await;
    let client = group.client();
    let waiting = pends(client.get("k"), secs(5)).await;
    let began = Instant::now();
    group.failover.close().await;
    let error = waiting.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert_eq!(began.elapsed(), ms(0));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_closes_while_it_starts() {
    // P118: under `lazy` there is a handle already.
    let setup =
        Setup::new(&["a", "b"]).rules(|rules| rules.startup = failover_core::config::Startup::Lazy);
    setup.server("a").set_delay(Method::Connect, secs(1));
    setup.server("b").set_delay(Method::Check, ms(300));
    let group = setup.open().await;
    after(ms(100)).await;
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_succeeds_at_the_last_moment_is_retired_too() {
    // P118
    for millis in [4, 5, 6] {
        let setup = Setup::new(&["a", "b"]);
        setup.server("b").set_delay(Method::Connect, ms(5));
        let group = setup.open().await;
        after(ms(millis)).await;
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn callers_who_wait_for_a_departure_are_answered_by_the_close() {
    // P118
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    let failover = group.failover.clone();
    let removing = tokio::spawn(async move { failover.remove("a").await });
    after(ms(100)).await;
    group.failover.close().await;
    let error = removing.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    drop(lease);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn slow_retirements_are_waited_for_within_bounds() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").set_delay(Method::Retire, secs(3));
    let began = Instant::now();
    let client = group.client();
    let failover = group.failover.clone();
    let closing = tokio::spawn(async move { failover.close().await });
    settle().await;
    // Operations do not wait for that.
    let error = client.get("k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    closing.await.unwrap();
    assert_eq!(began.elapsed(), secs(3));
    group.end().await;
}

/// What was logged as a warning.
#[derive(Clone, Debug, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = String::new();
        event.record(
            &mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
                text += &format!("{field}={value:?} ");
            },
        );
        self.0.lock().unwrap().push(text);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_retirement_that_never_ends_does_not_hold_the_close_for_ever() {
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").set_delay(Method::Retire, Duration::MAX);
    let began = Instant::now();
    group.failover.close().await;
    // What is left behind is said.
    let warnings = warnings.0.lock().unwrap().concat();
    assert!(warnings.contains("left=1 "), "{warnings}");
    assert!(began.elapsed() <= secs(12), "{:?}", began.elapsed());
    assert_eq!(group.server("a").unretired(), 0);
    assert_eq!(group.server("b").unretired(), 1);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_and_client_closes() {
    // P118
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let (client, world) = (group.client(), group.world.clone());
    drop(group);
    settle().await;
    client.set("k", "v").await.unwrap();
    let again = client.clone();
    drop(client);
    settle().await;
    again.set("k", "v").await.unwrap();
    drop(again);
    settle().await;
    nothing_is_left(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_slot_keeps_the_group_open_like_a_client() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let (slot, world) = (group.slot(), group.world.clone());
    drop(group);
    settle().await;
    world.server("a").kill();
    settle().await;
    assert_eq!(slot.lease().await.unwrap().member(), &"b");
    drop(slot);
    settle().await;
    nothing_is_left(&world).await;
}

#[tokio::test(start_paused = true)]
async fn dropping_everything_in_an_outage_closes_too() {
    // P118
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let world = group.world.clone();
    world.server("a").kill();
    world.server("b").freeze();
    after(secs(3)).await;
    drop(group);
    settle().await;
    nothing_is_left(&world).await;
}
