//! What moves do to subscriptions, step by step: on servers whose every answer is decided here.

use std::time::{Duration, Instant};

use backend_api::{Backend as _, Leases};
use futures_util::FutureExt as _;

use super::{Dedupe, Delivery, Subscription};
use crate::fake::{BOUND, Group, Log, Server, until};
use crate::{Connection, Nats, NatsBuilder};

/// Two servers, and the traffic on the first. The second stands by.
struct Two {
    group: Group,
    servers: [Server; 2],
    old: Connection,
    new: Connection,
}

impl Two {
    async fn start(nats: NatsBuilder) -> Self {
        let log = Log::default();
        let servers = [Server::start(0, &log).await, Server::start(1, &log).await];
        let mut group = Group::new(nats.build().unwrap(), BOUND);
        let old = group.connect(&servers[0]).await;
        let new = group.connect(&servers[1]).await;
        group.moves_to(&old, None).await;
        group.nats.arm(&new).await.unwrap();
        Self {
            group,
            servers,
            old,
            new,
        }
    }

    async fn subscribe(&self, delivery: Delivery) -> Subscription {
        let client = &self.group.client;
        client.subscribe_with("s", delivery).await.unwrap()
    }

    /// From one of the servers, and here.
    async fn deliver(&self, server: usize, payloads: &[&str]) {
        for payload in payloads {
            self.servers[server].deliver("s", payload);
        }
        let connection = if server == 0 { &self.old } else { &self.new };
        connection.round_trip().await.unwrap();
    }
}

/// What is here to be read, in this order, and nothing else.
fn here(subscription: &mut Subscription) -> Vec<String> {
    std::iter::from_fn(|| subscription.next().now_or_never().flatten())
        .map(|message| String::from_utf8_lossy(&message.payload).into_owned())
        .collect()
}

/// N32: what the new side has waits until the old side has sent its last.
#[tokio::test(flavor = "multi_thread")]
async fn an_ordered_subscription_waits_for_the_old_side() {
    let mut two = Two::start(Nats::builder()).await;
    let mut subscription = two.subscribe(Delivery::ordered(Dedupe::Header)).await;
    two.group.moves_to(&two.new, Some(&two.old)).await;
    two.deliver(1, &["2", "3"]).await;
    assert_eq!(here(&mut subscription), [""; 0]);
    two.deliver(0, &["1"]).await;
    assert_eq!(here(&mut subscription), ["1"]);
    two.group.nats.drain(&two.old, Leases::none()).await;
    assert_eq!(here(&mut subscription), ["2", "3"]);
}

/// N33: one that is always read first would let the others run over.
#[tokio::test(flavor = "multi_thread")]
async fn the_sides_of_a_mirrored_subscription_are_read_in_turn() {
    let two = Two::start(Nats::builder()).await;
    let mut subscription = two.subscribe(Delivery::mirrored(Dedupe::Header)).await;
    two.deliver(0, &["a", "a", "a"]).await;
    two.deliver(1, &["b", "b", "b"]).await;
    let read = here(&mut subscription);
    assert_eq!(read.len(), 6);
    for pair in read.chunks(2) {
        assert_ne!(pair[0], pair[1], "{read:?}");
    }
}

/// N20: other servers of a cluster may not know of the new side yet, and still send to the old one.
#[tokio::test(flavor = "multi_thread")]
async fn the_old_side_is_left_after_the_overlap() {
    let overlap = Duration::from_millis(300);
    let mut two = Two::start(Nats::builder().overlap(overlap)).await;
    let _subscription = two.subscribe(Delivery::default()).await;
    two.group.moves_to(&two.new, Some(&two.old)).await;
    let begun = Instant::now();
    let left = async {
        until("the old side is left", || {
            two.servers[0].subscriptions("s") == 0
        })
        .await;
        begun.elapsed()
    };
    let ((), took) = tokio::join!(two.group.nats.drain(&two.old, Leases::none()), left);
    assert!(took >= overlap, "{took:?}");
    assert_eq!(two.servers[1].subscriptions("s"), 1);
}

/// It was on the new side for a moment, and may be on one only.
#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_that_is_dropped_takes_nothing_along() {
    let two = Two::start(Nats::builder()).await;
    let mut subscription = two.subscribe(Delivery::AtMostOnce).await;
    let registry = &two.group.nats.shared.registry;
    let promotion = registry.promote(&two.new, Some(&two.old)).await.unwrap();
    promotion.take(BOUND).await.unwrap();
    assert_eq!(two.servers[0].subscriptions("s"), 0);
    assert_eq!(two.servers[1].subscriptions("s"), 1);
    drop(promotion);
    until("it is back", || two.servers[0].subscriptions("s") == 1).await;
    two.deliver(1, &["new"]).await;
    two.deliver(0, &["old"]).await;
    assert_eq!(here(&mut subscription), ["old"]);
}

/// It says so to whoever comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_lame_when_it_is_dialled_is_marked() {
    let mut two = Two::start(Nats::builder()).await;
    assert!(!two.group.is_lame_duck(&two.new));
    two.servers[1].is_lame_duck();
    let again = two.group.connect(&two.servers[1]).await;
    assert!(two.group.is_lame_duck(&again));
}

/// N52: its announcement was lost in the flood, or never reached this client.
#[tokio::test(flavor = "multi_thread")]
async fn a_lame_duck_is_found_in_a_flood_although_nothing_was_heard() {
    let two = Two::start(Nats::builder().subscription_capacity(1)).await;
    let _subscription = two.subscribe(Delivery::default()).await;
    two.servers[0].is_lame_duck();
    let _ = two.deliver(0, &["flood"; 100]).await;
    let (old, mut group) = (two.old.clone(), two.group);
    until("it is found", || group.is_lame_duck(&old)).await;
}
