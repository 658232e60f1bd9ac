//! What readers cost that nobody reads.

use std::fs;
use std::time::Duration;

use failover_core::nats::Publication;
use failover_testkit::server::Flavour;

use crate::consumer::durable;
use crate::fleet::{Fleet, soon};
use crate::watch::bucket;

/// Processor time of this process so far.
fn spent() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    // Behind the name, which may hold anything: user and system time are fields 14 and 15, in hundredths of a second.
    let fields = stat.rsplit_once(')').unwrap().1;
    let mut fields = fields.split_whitespace().skip(11);
    let mut next = || fields.next().unwrap().parse::<u64>().unwrap();
    Duration::from_millis((next() + next()) * 10)
}

// N53, N54: after a kill, readers that are held and not read burn nothing; read again, they go on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_are_held_after_a_kill_burn_nothing() {
    let fleet = Fleet::one(Flavour::Newest).await;
    let outside = fleet.stream(0).await;
    durable(&outside).await;
    bucket(&outside).await;
    let client = &fleet.client;
    let mut reader = client.pull_consumer("S", "worker").open().await.unwrap();
    let mut watch = client.kv_watch("B").open().await.unwrap();
    for n in 0..2 {
        let n = n.to_string();
        client
            .jetstream_publish("s.n", &n, n.clone())
            .await
            .unwrap();
        let put = Publication::new("$KV.B.k", n.clone());
        client.publisher().publish(put).await.unwrap();
    }
    // Polled once, and held from then on.
    let message = soon("a message", reader.next()).await.unwrap().unwrap();
    soon("an entry", watch.next()).await.unwrap().unwrap();
    fleet.kill_active().await;
    message.double_ack().await.unwrap();
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let before = spent();
        tokio::time::sleep(Duration::from_millis(300)).await;
        least = least.min(spent() - before);
    }
    println!("{least:?} of 300ms");
    assert!(least <= Duration::from_millis(60), "{least:?} of 300ms");
    let message = soon("a message", reader.next()).await.unwrap().unwrap();
    assert_eq!(message.payload, "1");
    let entry = soon("an entry", watch.next()).await.unwrap().unwrap();
    assert_eq!(entry.revision, 2);
}
