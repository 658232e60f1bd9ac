//! A watch on a bucket, and reading in order, which is what it is made of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::{self, kv};
use failover_core::nats::{FailoverClient, Publication, WatchFrom};
use failover_testkit::server::Flavour;

use crate::fleet::{BOUND, Fleet, eventually, soon};

pub(crate) async fn bucket(outside: &jetstream::Context) -> kv::Store {
    let config = kv::Config {
        bucket: "B".to_owned(),
        history: 64,
        num_replicas: 3,
        ..Default::default()
    };
    eventually(|| outside.create_key_value(config.clone())).await
}

async fn put(client: &FailoverClient, number: u64) {
    let key = format!("$KV.B.k.{}", number % 200);
    let publication = Publication::new(key, number.to_string());
    client
        .publisher()
        .within(BOUND)
        .publish(publication)
        .await
        .unwrap();
}

// N54: every revision once and in order, over a kill and a planned move while keys change all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_goes_on_at_the_next_revision() {
    let fleet = Fleet::one(Flavour::Newest).await;
    bucket(&fleet.outside(0).await).await;
    for number in 1..=3 {
        put(&fleet.client, number).await;
    }
    let watch = fleet.client.kv_watch("B").keys("k.*");
    let mut watch = watch
        .heartbeat(Duration::from_millis(300))
        .open()
        .await
        .unwrap();
    let mut initial = Vec::new();
    for _ in 0..3 {
        let entry = soon("an initial value", watch.next())
            .await
            .unwrap()
            .unwrap();
        initial.push((entry.revision, entry.key.clone(), entry.seen_current));
    }
    let entry = |revision, current| (revision, format!("k.{revision}"), current);
    assert_eq!(initial, [entry(1, false), entry(2, false), entry(3, true)]);

    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn({
        let (client, stop) = (fleet.client.clone(), stop.clone());
        async move {
            let mut number = 3;
            while !stop.load(Ordering::Relaxed) && number < 10_000 {
                number += 1;
                put(&client, number).await;
            }
            number
        }
    });
    let mut last = 3;
    let mut read = async |upto: u64| {
        while last < upto {
            let entry = soon("an entry", watch.next()).await.unwrap().unwrap();
            assert_eq!(entry.revision, last + 1, "no revision missed, none twice");
            assert_eq!(entry.value, entry.revision.to_string().as_bytes());
            assert!(entry.seen_current);
            last = entry.revision;
        }
        last
    };
    let at = read(100).await;
    let node = fleet.kill_active().await;
    let at = read(at + 200).await;
    fleet.heal(&node).await;
    fleet.switch().await;
    read(at + 200).await;
    stop.store(true, Ordering::Relaxed);
    let written = soon("the writer ends", writing).await.unwrap();
    assert_eq!(read(written).await, written);
    fleet.group.close().await;
    assert!(soon("close ends the watch", watch.next()).await.is_none());
}

// N54: what is set while there is nobody to watch is not missed, whatever the watch began with, and deletions are told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_has_seen_nothing_misses_nothing() {
    let fleet = Fleet::one(Flavour::Newest).await;
    let store = bucket(&fleet.outside(0).await).await;
    let mut current = fleet.client.kv_watch("B").open().await.unwrap();
    put(&fleet.client, 1).await;
    let mut now = fleet
        .client
        .kv_watch("B")
        .from(WatchFrom::Now)
        .open()
        .await
        .unwrap();
    let from = WatchFrom::Revision(2);
    let mut second = fleet.client.kv_watch("B").from(from).open().await.unwrap();
    // Nobody reads: the switch ends what they had, with everything that came on it.
    fleet.kill_active().await;
    put(&fleet.client, 1).await;
    eventually(|| store.delete("k.1")).await;
    for (watch, revisions) in [
        (&mut current, &[1, 2, 3][..]),
        (&mut now, &[2, 3]),
        (&mut second, &[2, 3]),
    ] {
        for revision in revisions {
            let entry = soon("an entry", watch.next()).await.unwrap().unwrap();
            assert_eq!(entry.revision, *revision);
            let operation = match revision {
                3 => kv::Operation::Delete,
                _ => kv::Operation::Put,
            };
            assert_eq!(entry.operation, operation);
        }
    }
}
