//! Promotions and drains that come to nothing: what was brought over is gone again, and nothing is there twice or missing.

use std::time::Duration;

use failover_core::EventKind;
use failover_core::nats::{Dedupe, Delivery, Subscription};
use failover_core::status::Link;
use failover_testkit::server::NatsCluster;
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, proxies, say};

const SUBJECT: &str = "off";

async fn hears(subscription: &mut Subscription, words: &str) {
    let message = tokio::time::timeout(BOUND, subscription.next());
    let message = message
        .await
        .unwrap_or_else(|_| panic!("{words} is missing"));
    assert_eq!(message.unwrap().payload, words);
}

/// The standby is promoted beside the redial, and when that wins it stands by again: on the same connection, and with none of
/// the subscriptions. The traffic stays where it is.
// P96, N35
#[tokio::test(flavor = "multi_thread")]
async fn a_reset_connection_leaves_nothing_on_the_standby() {
    let cluster = NatsCluster::start(3);
    let proxies = proxies(&cluster).await;
    // No window ends what is to end by itself.
    let more = "[group.loss]\nredial = \"60s\"\n[group.health]\ninterval = \"600s\"\n\
                [group.timeouts]\nswitch_grace = \"60s\"\nprove = \"60s\"\nconnect = \"60s\"";
    let mut fleet = Fleet::through(&proxies, cluster, more).await;
    let kinds = [
        Delivery::AtMostOnce,
        Delivery::default(),
        Delivery::ordered(Dedupe::Header),
    ];
    let mut all = Vec::new();
    for delivery in kinds {
        all.push(
            fleet
                .client
                .subscribe_with(SUBJECT, delivery)
                .await
                .unwrap(),
        );
    }
    for round in 0..5 {
        let dialled = proxies[1].accepted();
        // The redial takes its time, so that the standby is promoted before.
        proxies[0].delay(Duration::from_millis(50));
        proxies[0].reset_connections().await;
        let drained = |event| match event {
            EventKind::DrainEnded { member, kept } => Some((member, kept)),
            _ => None,
        };
        let (member, kept) = fleet.event("the end of a drain", drained).await;
        assert_eq!((member.as_str(), kept), ("m1", true), "round {round}");
        assert_eq!(fleet.moved().await.1, "m0");
        proxies[0].delay(Duration::ZERO);
        fleet.is("m1", Link::Standby).await;
        assert_eq!(
            proxies[1].accepted(),
            dialled,
            "it needed no other connection"
        );
        for (place, wanted) in [(0, all.len()), (1, 0), (2, 0)] {
            let what = format!("{wanted} at node {place} in round {round}");
            wait_until(BOUND, &what, || {
                fleet.cluster[place].subscriptions(SUBJECT) == wanted
            })
            .await;
        }
        fleet.known_everywhere(SUBJECT).await;
        for words in ["one", "two"] {
            say(&fleet.cluster[2], SUBJECT, words).await;
            for subscription in &mut all {
                hears(subscription, words).await;
            }
        }
    }
}

/// The active dies while its successor is being promoted, and the successor before anybody else is: nobody takes the dead one
/// for the active.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_ended_amid_a_move_does_not_come_back() {
    let cluster = NatsCluster::start(3);
    let proxies = proxies(&cluster).await;
    let more =
        "[group.timeouts]\nprove = \"5s\"\noperation = \"5s\"\n[group.health]\ninterval = \"60s\"";
    let mut fleet = Fleet::through(&proxies, cluster, more).await;
    let _subscription = fleet.client.subscribe(SUBJECT).await.unwrap();
    proxies[1].delay(Duration::from_millis(200));
    let moving = tokio::spawn({
        let group = fleet.group.clone();
        async move { group.switch_to("m1").await }
    });
    // Promoted, it is subscribed there, and the answer to that takes a while.
    wait_until(BOUND, "the promotion is under way", || {
        fleet.cluster[1].subscriptions(SUBJECT) == 1
    })
    .await;
    fleet.cluster[0].kill();
    assert_eq!(fleet.moved().await.1, "m1");
    assert!(moving.await.unwrap().is_ok());
    fleet.cluster[1].kill();
    assert_eq!(fleet.moved().await.1, "m2");
    for _ in 0..20 {
        let subscribing =
            tokio::time::timeout(Duration::from_millis(500), fleet.client.subscribe("x"));
        subscribing.await.expect("at once").unwrap();
    }
}

/// The old side was told to send no more and has not answered when the traffic comes back to it: the order does not wait for
/// what will not come.
// N27
#[tokio::test(flavor = "multi_thread")]
async fn an_ordered_subscription_goes_on_where_it_was_being_left() {
    let cluster = NatsCluster::start(3);
    let proxies = proxies(&cluster).await;
    let more =
        "[group.timeouts]\nprove = \"5s\"\noperation = \"5s\"\n[group.health]\ninterval = \"60s\"";
    let fleet = Fleet::through(&proxies, cluster, more).await;
    let ordered = Delivery::ordered(Dedupe::Content);
    let mut subscription = fleet.client.subscribe_with(SUBJECT, ordered).await.unwrap();
    for round in 0..3 {
        fleet.group.drain_to("m1", BOUND).await.unwrap();
        proxies[0].delay(Duration::from_millis(100));
        wait_until(BOUND, "the old side is being left", || {
            fleet.cluster[0].subscriptions(SUBJECT) == 0
        })
        .await;
        fleet.group.switch_to("m0").await.unwrap();
        proxies[0].delay(Duration::ZERO);
        wait_until(BOUND, "the other side is left", || {
            fleet.cluster[1].subscriptions(SUBJECT) == 0
        })
        .await;
        fleet.known_everywhere(SUBJECT).await;
        let words = ["one", "two", "three"][round];
        say(&fleet.cluster[2], SUBJECT, words).await;
        hears(&mut subscription, words).await;
        fleet.is("m1", Link::Standby).await;
    }
}
