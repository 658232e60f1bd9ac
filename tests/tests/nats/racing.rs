//! Subscribing and unsubscribing while the traffic moves.

use std::time::Duration;

use failover_core::nats::{Dedupe, Delivery, Subscription};
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, say};

const SUBJECT: &str = "race";

/// Many come and go while the traffic moves to and fro; in the end each that is left is on the active exactly once, and
/// nobody is anywhere else.
async fn race(delivery: Delivery, queue: bool) {
    let fleet = Fleet::whole(3, "").await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..8 {
        let client = fleet.client.clone();
        tasks.spawn(async move {
            let mut kept: Vec<Subscription> = Vec::new();
            for round in 0..12 {
                // Each is in a queue group of its own, so that each hears everything.
                let subscription = if queue {
                    client
                        .queue_subscribe_with(SUBJECT, format!("q{number}-{round}"), delivery)
                        .await
                        .unwrap()
                } else {
                    client.subscribe_with(SUBJECT, delivery).await.unwrap()
                };
                // Two of three go at once.
                if round % 3 == 0 {
                    kept.push(subscription);
                }
                tokio::time::sleep(Duration::from_millis(number % 3)).await;
            }
            kept
        });
    }
    let mut moves = 0;
    let mut kept = Vec::new();
    while !tasks.is_empty() {
        let target = if moves % 2 == 0 { "m1" } else { "m0" };
        fleet.group.switch_to(target).await.unwrap();
        moves += 1;
        while let Some(done) = tasks.try_join_next() {
            kept.extend(done.unwrap());
        }
    }
    assert!(moves >= 2, "{moves} moves");
    let active = fleet.active_node();
    let nodes = fleet.cluster.nodes();
    for (place, node) in nodes.iter().enumerate() {
        let wanted = if place == active { kept.len() } else { 0 };
        wait_until(BOUND, &format!("{wanted} at node {place}"), || {
            node.subscriptions(SUBJECT) == wanted
        })
        .await;
    }
    fleet.known_everywhere(SUBJECT).await;
    say(&nodes[2], SUBJECT, "one").await;
    say(&nodes[2], SUBJECT, "two").await;
    for subscription in &mut kept {
        for expected in ["one", "two"] {
            let message = tokio::time::timeout(BOUND, subscription.next())
                .await
                .expect("each hears it, once");
            assert_eq!(message.unwrap().payload, expected);
        }
    }
    drop(kept);
    wait_until(BOUND, "nobody is left", || {
        nodes[active].subscriptions(SUBJECT) == 0
    })
    .await;
    fleet.group.close().await;
}

// N35
#[tokio::test(flavor = "multi_thread")]
async fn at_least_once_is_on_the_new_side_exactly_once() {
    race(Delivery::default(), false).await;
}

// N35
#[tokio::test(flavor = "multi_thread")]
async fn queue_groups_are_on_the_new_side_exactly_once() {
    race(Delivery::default(), true).await;
}

// N35
#[tokio::test(flavor = "multi_thread")]
async fn ordered_is_on_the_new_side_exactly_once() {
    race(Delivery::ordered(Dedupe::Content), false).await;
}

// N35
#[tokio::test(flavor = "multi_thread")]
async fn at_most_once_is_on_the_new_side_exactly_once() {
    race(Delivery::AtMostOnce, false).await;
}
