//! Servers that announce their shutdown.

use std::time::{Duration, Instant};

use failover_core::nats::{Dedupe, Delivery};
use failover_core::status::Link;
use failover_core::{EventKind, Reason};
use failover_testkit::server::{NatsCluster, NatsServer};
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, plain};
use crate::load::{Publisher, Reader};

/// How long a lame duck lets its clients stay. Long, so that what moves before has moved by itself.
const STAY: Duration = Duration::from_secs(8);

fn cluster(nodes: usize, stay: Duration) -> NatsCluster {
    NatsServer::builder()
        .lame_duck_grace_period(stay)
        .start_cluster(nodes)
}

// N10, N11
#[tokio::test(flavor = "multi_thread")]
async fn the_standby_takes_over_and_nothing_is_lost() {
    let mut fleet = Fleet::over(cluster(3, STAY), "[group]\nstandby = 1").await;
    let delivery = Delivery::at_least_once(Dedupe::Header);
    let subscription = fleet.client.subscribe_with("load", delivery).await.unwrap();
    fleet.known_everywhere("load").await;
    let reader = Reader::start(subscription);
    let publisher = Publisher::start(plain(&fleet.cluster[2]).await, "load", 10_000);
    publisher.more(500).await;
    let announced = Instant::now();
    fleet.cluster[0].lame_duck();
    assert_eq!(
        fleet.moved().await,
        (Some("m0".into()), "m1".into(), Reason::LameDuck)
    );
    assert!(announced.elapsed() < STAY / 4, "{:?}", announced.elapsed());
    fleet.is("m2", Link::Standby).await;
    assert!(announced.elapsed() < STAY / 2, "{:?}", announced.elapsed());
    publisher.more(500).await;
    let published = publisher.stop().await;
    let ledger = reader.stop(published).await;
    assert_eq!((ledger.lost(published).len(), ledger.duplicated), (0, 0));
    assert!(fleet.group.status().member("m0").unwrap().lame_duck);
}

// N12
#[tokio::test(flavor = "multi_thread")]
async fn without_an_action_it_stays_until_the_eviction() {
    let stay = Duration::from_secs(1);
    let mut fleet = Fleet::over(cluster(3, stay), "[group.lame_duck]\naction = \"none\"").await;
    let announced = Instant::now();
    fleet.cluster[0].lame_duck();
    fleet
        .event("the notice", |event| {
            matches!(event, EventKind::LameDuck { marked: true, .. }).then_some(())
        })
        .await;
    let (_, to, reason) = fleet.moved().await;
    assert_eq!((to.as_str(), reason), ("m1", Reason::Lost));
    assert!(announced.elapsed() >= stay, "{:?}", announced.elapsed());
}

// N13, N6
#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_goes_is_replaced_and_the_active_untouched() {
    let fleet = Fleet::over(cluster(3, STAY), "[group]\nstandby = 1").await;
    let standby = fleet.group.status().standbys().next().unwrap().name.clone();
    let other = if standby == "m1" { "m2" } else { "m1" };
    let generation = fleet.group.status().member("m0").unwrap().generation;
    let node: usize = standby.as_str()[1..].parse().unwrap();
    fleet.cluster[node].lame_duck();
    fleet.is(other, Link::Standby).await;
    fleet
        .until("the lame duck stands by no more", |status| {
            status.member(standby.as_str()).unwrap().link != Link::Standby
        })
        .await;
    let status = fleet.group.status();
    assert_eq!(status.member("m0").unwrap().link, Link::Active);
    assert_eq!(status.member("m0").unwrap().generation, generation);
}

// N14
#[tokio::test(flavor = "multi_thread")]
async fn alone_it_is_evicted_and_comes_back() {
    let fleet = Fleet::over(
        cluster(1, Duration::from_millis(200)),
        "[group.unavailable]\nwait = \"20s\"",
    )
    .await;
    let mut subscription = fleet.client.subscribe("load").await.unwrap();
    fleet.cluster[0].lame_duck();
    wait_until(BOUND, "the server is gone", || {
        !fleet.cluster[0].is_running()
    })
    .await;
    let publishing = tokio::spawn({
        let client = fleet.client.clone();
        async move { client.publish("load", "back".into()).await }
    });
    fleet.cluster[0].restart();
    fleet.is_active("m0").await;
    publishing.await.unwrap().unwrap();
    let message = tokio::time::timeout(BOUND, subscription.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(message.payload, "back");
}

// N15
#[tokio::test(flavor = "multi_thread")]
async fn during_a_reconnect_the_announcement_moves_nothing() {
    let fleet = Fleet::over(
        cluster(2, STAY),
        "[group.reconnect]\ninitial = \"50ms\"\nmax = \"100ms\"",
    )
    .await;
    fleet.cluster[0].kill();
    fleet.is_active("m1").await;
    let generation = fleet.group.status().member("m1").unwrap().generation;
    // Nobody to move to: it is marked, stays, and the other takes over when it is back.
    fleet.cluster[1].lame_duck();
    fleet
        .until("it is marked", |status| {
            status.member("m1").unwrap().lame_duck
        })
        .await;
    let status = fleet.group.status();
    assert_eq!(status.member("m1").unwrap().generation, generation);
    assert_eq!(fleet.active(), "m1");
    fleet.client.flush().await.unwrap();
    fleet.cluster[0].restart();
    fleet.is_active("m0").await;
}

// N16
#[tokio::test(flavor = "multi_thread")]
async fn when_both_go_a_third_is_armed_and_takes_over() {
    let mut fleet = Fleet::over(cluster(3, STAY), "[group]\nstandby = 1").await;
    let standby = fleet.group.status().standbys().next().unwrap().name.clone();
    let node: usize = standby.as_str()[1..].parse().unwrap();
    let third = if node == 1 { "m2" } else { "m1" };
    let begun = Instant::now();
    fleet.cluster[node].lame_duck();
    fleet.cluster[0].lame_duck();
    loop {
        let (_, to, _) = fleet.moved().await;
        if to == third {
            break;
        }
    }
    assert!(begun.elapsed() < STAY, "{:?}", begun.elapsed());
    fleet.client.flush().await.unwrap();
}

// N17
#[tokio::test(flavor = "multi_thread")]
async fn when_all_go_it_keeps_trying_until_one_is_back() {
    let fleet = Fleet::over(
        cluster(2, Duration::from_millis(300)),
        "[group.unavailable]\nwait = \"30s\"",
    )
    .await;
    for node in fleet.cluster.nodes() {
        node.lame_duck();
    }
    wait_until(BOUND * 2, "both are gone", || {
        fleet.cluster.nodes().iter().all(|node| !node.is_running())
    })
    .await;
    fleet.cluster[1].restart();
    fleet.is_active("m1").await;
    fleet.client.flush().await.unwrap();
    fleet.cluster[0].restart();
    fleet.is_whole().await;
}

// N18
#[tokio::test(flavor = "multi_thread")]
async fn passive_only_lets_the_active_ride_it_out() {
    let stay = Duration::from_secs(1);
    let mut fleet = Fleet::over(
        cluster(3, stay),
        "[group]\nstandby = 1\n[group.lame_duck]\naction = \"passive_only\"",
    )
    .await;
    let announced = Instant::now();
    fleet.cluster[0].lame_duck();
    let (_, _, reason) = fleet.moved().await;
    assert_eq!(reason, Reason::Lost);
    assert!(announced.elapsed() >= stay);
}

// N19
#[tokio::test(flavor = "multi_thread")]
async fn a_marked_server_is_passed_over_until_it_is_back() {
    let fleet = Fleet::over(cluster(3, Duration::from_millis(200)), "").await;
    fleet.cluster[0].lame_duck();
    fleet.is_active("m1").await;
    wait_until(BOUND, "the lame duck is gone", || {
        !fleet.cluster[0].is_running()
    })
    .await;
    fleet.cluster[1].kill();
    fleet.is_active("m2").await;
    fleet.cluster[0].restart();
    fleet
        .until("the mark is cleared by a fresh connection", |status| {
            !status.member("m0").unwrap().lame_duck
        })
        .await;
    fleet.is("m0", Link::Standby).await;
}

/// A subscription that nobody reads, flooded: the client's events run over, and the announcement among them is found all
/// the same.
// N52
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_slow_consumer_reports_hides_no_announcement() {
    let more = "[backend]\nsubscription_capacity = 1\n[group.health]\ninterval = \"60s\"";
    let mut fleet = Fleet::over(cluster(3, STAY), more).await;
    let _unread = fleet.client.subscribe("load").await.unwrap();
    fleet.known_everywhere("load").await;
    let flood = plain(&fleet.cluster[2]).await;
    let flooding = tokio::spawn(async move {
        loop {
            for _ in 0..500 {
                let _ = flood.publish("load", "x".into()).await;
            }
            tokio::task::yield_now().await;
        }
    });
    fleet
        .event("the notice of it", |event| match event {
            EventKind::Notice { what, .. } => (what == "slow_consumer").then_some(()),
            _ => None,
        })
        .await;
    let announced = Instant::now();
    fleet.cluster[0].lame_duck();
    let (_, to, reason) = fleet.moved().await;
    assert_eq!((to.as_str(), reason), ("m1", Reason::LameDuck));
    assert!(announced.elapsed() < STAY / 2, "{:?}", announced.elapsed());
    flooding.abort();
}
