//! Killed, frozen and stalled: the active goes, subscriptions stay.

use std::time::{Duration, Instant};

use failover_core::nats::{Dedupe, Delivery};
use failover_core::{EventKind, Reason};
use failover_testkit::server::NatsCluster;
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, plain, say};
use crate::load::{Publisher, Reader};

// N33
#[tokio::test(flavor = "multi_thread")]
async fn mirrored_loses_and_doubles_nothing_at_a_kill() {
    for dedupe in [Dedupe::Header, Dedupe::Content] {
        let mut fleet = Fleet::whole(3, "").await;
        let subscription = fleet
            .client
            .subscribe_with("load", Delivery::mirrored(dedupe))
            .await
            .unwrap();
        fleet.known_everywhere("load").await;
        let reader = Reader::start(subscription);
        let publisher = Publisher::start(plain(&fleet.cluster[2]).await, "load", 10_000);
        publisher.more(1000).await;
        fleet.cluster[0].kill();
        assert_eq!(
            fleet.moved().await,
            (Some("m0".into()), "m1".into(), Reason::Lost)
        );
        publisher.more(1000).await;
        let published = publisher.stop().await;
        let ledger = reader.stop(published).await;
        assert_eq!(
            (ledger.lost(published).len(), ledger.duplicated),
            (0, 0),
            "{dedupe:?}"
        );
    }
}

/// The kill is heard in milliseconds, and every delivery goes on by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_is_a_short_gap() {
    let mut fleet = Fleet::whole(3, "").await;
    let mut all = Vec::new();
    for delivery in [
        Delivery::AtMostOnce,
        Delivery::default(),
        Delivery::ordered(Dedupe::Header),
    ] {
        all.push(fleet.client.subscribe_with("load", delivery).await.unwrap());
    }
    all.push(
        fleet
            .client
            .queue_subscribe("load", "workers")
            .await
            .unwrap(),
    );
    fleet.known_everywhere("load").await;
    let killed = Instant::now();
    fleet.cluster[0].kill();
    assert_eq!(fleet.moved().await.1, "m1");
    let took = killed.elapsed();
    assert!(took < Duration::from_millis(500), "{took:?}");
    wait_until(BOUND, "all are subscribed on the new one", || {
        fleet.cluster[1].subscriptions("load") == 4
    })
    .await;
    say(&fleet.cluster[1], "load", "1").await;
    for subscription in &mut all {
        let message = tokio::time::timeout(BOUND, subscription.next())
            .await
            .unwrap();
        assert_eq!(message.unwrap().payload, "1");
    }
}

/// A subscription that may be on one connection only is not waited for where it cannot be left, and no standby pays for the
/// old active's silence.
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_active_holds_up_no_promotion() {
    let more = "[group.timeouts]\nprove = \"300ms\"\n[group.health]\ninterval = \"100ms\"\ntimeout = \"200ms\"";
    let mut fleet = Fleet::whole(3, more).await;
    let once = Delivery::AtMostOnce;
    let mut subscription = fleet.client.subscribe_with("once", once).await.unwrap();
    fleet.cluster[0].freeze();
    // Not by the end of the old connection, which the client's own pings bring about in seconds.
    assert_eq!(
        fleet.moved().await,
        (Some("m0".into()), "m1".into(), Reason::Health)
    );
    fleet.cluster[0].thaw();
    say(&fleet.cluster[1], "once", "1").await;
    let message = tokio::time::timeout(BOUND, subscription.next()).await;
    assert_eq!(message.unwrap().unwrap().payload, "1");
}

/// Also while publishing without pause, when the socket takes no more bytes.
#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_active_is_left_while_publishing_without_pause() {
    let more = "[group.timeouts]\noperation = \"200ms\"\nprove = \"200ms\"\n[group.health]\ninterval = \"100ms\"\ntimeout = \"200ms\"\n\
                [group.unavailable]\nwait = \"5s\"";
    let mut fleet = Fleet::named("frozen", NatsCluster::start(3), more).await;
    let publishing = tokio::spawn({
        let client = fleet.client.clone();
        async move {
            let payload = bytes::Bytes::from(vec![b'x'; 4096]);
            for _ in 0.. {
                client.publish("load", payload.clone()).await?;
            }
            Ok::<(), failover_core::Error>(())
        }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    let frozen = Instant::now();
    fleet.cluster[0].freeze();
    assert_eq!(fleet.moved().await.1, "frozen1");
    let took = frozen.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    // The stalled connection is gone, task and thread.
    wait_until(BOUND, "the old connection's thread has ended", || {
        threads("nats frozen0") <= 1
    })
    .await;
    assert!(
        !publishing.is_finished(),
        "publishing goes on: {:?}",
        publishing.await
    );
    publishing.abort();
    fleet.cluster[0].thaw();
    wait_until(
        BOUND,
        "the frozen server has the new connection only",
        || fleet.cluster[0].connections() <= 1,
    )
    .await;
}

/// How many threads of this process have a name.
fn threads(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names =
        tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|found| found.trim() == name).count()
}

// N26
#[tokio::test(flavor = "multi_thread")]
async fn the_old_one_killed_within_its_window_ends_its_drain_only() {
    let fleet = Fleet::whole(3, "[group.timeouts]\noperation = \"20s\"").await;
    let (held, _subscription) = hold(&fleet).await;
    fleet.group.drain_to("m1", BOUND).await.unwrap();
    let generation = fleet.group.status().member("m1").unwrap().generation;
    fleet.cluster[0].kill();
    assert!(held.await.unwrap().is_err());
    fleet.client.flush().await.unwrap();
    assert_eq!(fleet.active(), "m1");
    assert_eq!(
        fleet.group.status().member("m1").unwrap().generation,
        generation
    );
}

// N27
#[tokio::test(flavor = "multi_thread")]
async fn the_new_one_killed_within_the_window_gives_back() {
    let fleet = Fleet::whole(3, "[group.timeouts]\noperation = \"20s\"").await;
    let (_held, mut subscription) = hold(&fleet).await;
    fleet.group.drain_to("m1", BOUND).await.unwrap();
    fleet.cluster[1].kill();
    fleet.is_active("m0").await;
    fleet.client.flush().await.unwrap();
    wait_until(BOUND, "the subscription is back, once", || {
        fleet.cluster[0].subscriptions("load") == 1
    })
    .await;
    say(&fleet.cluster[0], "load", "back").await;
    assert_eq!(
        tokio::time::timeout(BOUND, subscription.next())
            .await
            .expect("it arrives")
            .unwrap()
            .payload,
        "back"
    );
}

// N28
#[tokio::test(flavor = "multi_thread")]
async fn both_killed_within_the_window_come_back_with_every_subscription_once() {
    let fleet = Fleet::whole(2, "[group.timeouts]\noperation = \"20s\"").await;
    let (_held, mut subscription) = hold(&fleet).await;
    fleet.group.drain_to("m1", BOUND).await.unwrap();
    fleet.cluster[0].kill();
    fleet.cluster[1].kill();
    fleet
        .until("nobody is active", |status| status.active.is_none())
        .await;
    fleet.cluster[0].restart();
    fleet.cluster[1].restart();
    fleet.is_whole().await;
    let nodes = fleet.cluster.nodes();
    let active = fleet.active_node();
    wait_until(BOUND, "it is there once", || {
        nodes[active].subscriptions("load") == 1 && nodes[1 - active].subscriptions("load") == 0
    })
    .await;
    say(&nodes[active], "load", "back").await;
    assert_eq!(
        tokio::time::timeout(BOUND, subscription.next())
            .await
            .expect("it arrives")
            .unwrap()
            .payload,
        "back"
    );
}

type Held = tokio::task::JoinHandle<Result<async_nats::Message, failover_core::Error>>;

/// A request that nobody answers holds up a drain; and a subscription.
async fn hold(fleet: &Fleet) -> (Held, failover_core::nats::Subscription) {
    let subscription = fleet.client.subscribe("load").await.unwrap();
    let answerer = plain(fleet.cluster.nodes().last().unwrap()).await;
    let mut asked = answerer.subscribe("silent").await.unwrap();
    answerer.flush().await.unwrap();
    fleet.known_everywhere("silent").await;
    let client = fleet.client.clone();
    let held = tokio::spawn(async move { client.request("silent", "?".into()).await });
    tokio::time::timeout(BOUND, futures_util::StreamExt::next(&mut asked))
        .await
        .expect("it is asked")
        .unwrap();
    // It goes on listening, or the server would answer in its place.
    tokio::spawn(async move {
        let _asked = asked;
        std::future::pending::<()>().await;
    });
    (held, subscription)
}

/// A stream ends with its group, and not before.
#[tokio::test(flavor = "multi_thread")]
async fn streams_end_with_the_group() {
    let mut fleet = Fleet::named("ending", NatsCluster::start(1), "").await;
    let mut subscription = fleet.client.subscribe("load").await.unwrap();
    fleet.cluster[0].kill();
    fleet
        .event("the loss", |event| {
            matches!(event, EventKind::Lost { .. }).then_some(())
        })
        .await;
    let early = tokio::time::timeout(Duration::from_millis(100), subscription.next()).await;
    assert!(early.is_err(), "{early:?}");
    fleet.group.close().await;
    let end = tokio::time::timeout(BOUND, subscription.next())
        .await
        .unwrap();
    assert!(end.is_none());
    wait_until(BOUND, "no thread is left", || threads("nats ending0") == 0).await;
}
