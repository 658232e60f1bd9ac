//! Publishing with a message id.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use failover_core::nats::{OrderedBegin, Publication};
use failover_core::{ErrorKind, Fate};
use failover_testkit::server::Flavour;
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, soon};

// N53: numbers are published all the time, over two kills, two planned moves and a lame duck.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn publishing_with_an_id_over_kills_and_moves_loses_and_doubles_nothing() {
    let fleet = Fleet::one(Flavour::Newest).await;
    fleet.stream(0).await;
    let stop = Arc::new(AtomicBool::new(false));
    let (next, again) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let publisher = fleet.client.publisher().within(BOUND);
        let (stop, next, again) = (stop.clone(), next.clone(), again.clone());
        tasks.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed).to_string();
                let publication = Publication::new("s.n", number.clone());
                // One in two with an id of its caller, the others with one that is drawn.
                let publication = match number.len() % 2 {
                    0 => publication.id(&number),
                    _ => publication,
                };
                let confirmed = publisher.publish(publication).await.expect("confirmed");
                again.fetch_add(u64::from(confirmed.duplicate), Ordering::Relaxed);
            }
        });
    }
    let more = async |what| {
        let before = next.load(Ordering::Relaxed);
        wait_until(BOUND, what, || next.load(Ordering::Relaxed) > before + 200).await;
    };
    for _ in 0..2 {
        more("messages before a kill").await;
        let node = fleet.kill_active().await;
        more("messages after a kill").await;
        fleet.heal(&node).await;
        fleet.switch().await;
        fleet.is_whole().await;
    }
    more("messages before a lame duck").await;
    let before = fleet.active();
    fleet.active_node().lame_duck();
    fleet.moved_from(before).await;
    more("messages after a lame duck").await;
    stop.store(true, Ordering::Relaxed);
    soon("the publishers end", async {
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
    })
    .await;

    let published = next.load(Ordering::Relaxed);
    let reader = fleet.client.ordered_consumer("S").batch(1000);
    let mut reader = reader.begin(OrderedBegin::All).open().await.unwrap();
    let mut numbers = Vec::new();
    while (numbers.len() as u64) < published {
        let message = soon("a stored message", reader.next())
            .await
            .unwrap()
            .unwrap();
        numbers.push(
            std::str::from_utf8(&message.payload)
                .unwrap()
                .parse::<u64>()
                .unwrap(),
        );
        if message.info().pending == 0 {
            break;
        }
    }
    numbers.sort_unstable();
    let expected: Vec<_> = (0..published).collect();
    assert_eq!(numbers, expected);
    let stored = fleet.outside(0).await.get_stream("S").await.unwrap();
    assert_eq!(stored.cached_info().state.messages, published);
    println!(
        "{published} stored once, {} of them sent twice",
        again.load(Ordering::Relaxed)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_stored_says_so_at_once_and_an_id_twice_is_a_duplicate() {
    let fleet = Fleet::one(Flavour::Newest).await;
    fleet.stream(0).await;
    let nowhere = fleet.client.jetstream_publish("t.n", "1", "x");
    let error = soon("a refusal", nowhere).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(error.fate(), Some(Fate::NotApplied));
    assert!(
        error.message().contains("no stream takes \"t.n\""),
        "{error}"
    );

    let first = fleet
        .client
        .jetstream_publish("s.n", "1", "x")
        .await
        .unwrap();
    let second = fleet
        .client
        .jetstream_publish("s.n", "1", "x")
        .await
        .unwrap();
    assert!(!first.duplicate && second.duplicate);
    assert_eq!(first.sequence, second.sequence);

    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Nats-Expected-Last-Sequence", "7");
    let conditional = Publication::new("s.n", "x").headers(headers);
    let error = fleet
        .client
        .publisher()
        .publish(conditional)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("wrong last sequence"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_most_of_the_cluster_it_gives_up_in_time() {
    let fleet = Fleet::one(Flavour::Newest).await;
    fleet.stream(0).await;
    let active = fleet.active_node();
    for node in fleet.clusters[0].nodes() {
        if node.port() != active.port() {
            node.kill();
        }
    }
    let within = Duration::from_secs(2);
    let begun = std::time::Instant::now();
    let publisher = fleet.client.publisher().within(within);
    let error = publisher
        .publish(Publication::new("s.n", "x"))
        .await
        .unwrap_err();
    assert!(begun.elapsed() < within * 2, "{:?}", begun.elapsed());
    assert!(
        matches!(error.kind(), ErrorKind::Unhealthy | ErrorKind::Timeout),
        "{error}"
    );
    assert!(error.fate().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_may_be_tried_for_ever() {
    let fleet = Fleet::lone(1).await;
    fleet.stream(0).await;
    let publisher = fleet.client.publisher().within(Duration::MAX);
    let stored = publisher.publish(Publication::new("s.n", "x"));
    assert_eq!(soon("it is stored", stored).await.unwrap().sequence, 1);
}
