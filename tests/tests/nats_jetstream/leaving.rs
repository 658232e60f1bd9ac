//! How reading ends: for good with the group, and exactly where the traffic moves.

use async_nats::jetstream::kv;

use crate::consumer::durable;
use crate::fleet::{Fleet, soon};

/// Streams may be read on after their end, by `select!` in a loop for one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_group_is_an_end_for_good() {
    let fleet = Fleet::lone(1).await;
    let outside = fleet.stream(0).await;
    durable(&outside).await;
    let bucket = kv::Config {
        bucket: "B".to_owned(),
        ..Default::default()
    };
    outside.create_key_value(bucket).await.unwrap();
    let client = &fleet.client;
    let mut reader = client.pull_consumer("S", "worker").open().await.unwrap();
    let mut ordered = client.ordered_consumer("S").open().await.unwrap();
    let mut watch = client.kv_watch("B").open().await.unwrap();
    fleet.group.close().await;
    for _ in 0..3 {
        assert!(soon("an end", reader.next()).await.is_none());
        assert!(soon("an end", ordered.next()).await.is_none());
        assert!(soon("an end", watch.next()).await.is_none());
    }
}
