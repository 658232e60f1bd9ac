//! A durable pull consumer.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::jetstream::{self, consumer::pull};
use failover_core::ErrorKind;
use failover_testkit::server::Flavour;
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, eventually, soon};

pub(crate) async fn durable(outside: &jetstream::Context) {
    let config = pull::Config {
        durable_name: Some("worker".to_owned()),
        // Longer than an election: what is not acknowledged because of one does not come again meanwhile.
        ack_wait: Duration::from_secs(12),
        ..Default::default()
    };
    eventually(|| outside.create_consumer_on_stream(config.clone(), "S")).await;
}

/// Publishes and reads numbers over a kill, a planned move and a lame duck.
async fn goes_on(flavour: Flavour) {
    let fleet = Fleet::one(flavour).await;
    durable(&fleet.stream(0).await).await;
    let mut reader = fleet
        .client
        .pull_consumer("S", "worker")
        .batch(20)
        .heartbeat(Duration::from_millis(300))
        .open()
        .await
        .unwrap();
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = seen.clone();
    let reading = tokio::spawn(async move {
        let (mut done, mut repeated) = (HashSet::new(), 0_u64);
        loop {
            let Some(message) = reader.next().await else {
                return (done, repeated);
            };
            let message = message.expect("no error lasts that long");
            let number: u64 = std::str::from_utf8(&message.payload)
                .unwrap()
                .parse()
                .unwrap();
            // Before 2.10 a consumer confirms before its replicas have it, so that a kill can undo it.
            let kept = flavour == Flavour::V2_9 || !done.contains(&number);
            assert!(kept, "{number} was acknowledged");
            if message.info().delivered > 1 {
                repeated += 1;
            }
            message.double_ack().await.unwrap();
            done.insert(number);
            counted.store(done.len(), Ordering::Relaxed);
        }
    });
    let publisher = fleet.client.publisher().within(BOUND);
    let mut published = 0;
    let mut publish = async |count: usize| {
        for _ in 0..count {
            let publication = failover_core::nats::Publication::new("s.n", published.to_string());
            publisher.publish(publication).await.unwrap();
            published += 1;
        }
        published
    };
    let all = async |count| {
        wait_until(BOUND, "everything is read", || {
            seen.load(Ordering::Relaxed) == count
        })
        .await;
    };
    let count = publish(100).await;
    let node = fleet.kill_active().await;
    all(count).await;
    let count = publish(100).await;
    all(count).await;
    fleet.heal(&node).await;
    publish(100).await;
    fleet.switch().await;
    let count = publish(100).await;
    all(count).await;
    fleet.is_whole().await;
    publish(100).await;
    let before = fleet.active();
    fleet.active_node().lame_duck();
    fleet.moved_from(before).await;
    let count = publish(100).await;
    all(count).await;

    let outside = fleet.outside(0).await;
    // The servers of a consumer agree on it a moment later.
    eventually(|| async {
        let stream = outside.get_stream_no_info("S").await.unwrap();
        match stream.consumer_info("worker").await {
            Ok(info) if (info.num_pending, info.num_ack_pending) == (0, 0) => Ok(()),
            info => Err(info),
        }
    })
    .await;
    fleet.group.close().await;
    let (done, repeated) = soon("close ends the stream", reading).await.unwrap();
    assert_eq!(done, (0..count as u64).collect());
    println!("{count} read, {repeated} of them came again before they were acknowledged");
}

// N53
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_durable_pull_consumer_goes_on_over_a_kill_a_move_and_a_lame_duck() {
    goes_on(Flavour::Newest).await;
}

// N53: with the oldest server to get along with.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_durable_pull_consumer_goes_on_with_servers_of_2_9() {
    goes_on(Flavour::V2_9).await;
}

// N53: a consumer whose leader is killed on another node than the active is asked anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_whose_leader_is_killed_elsewhere_is_bound_anew() {
    let fleet = Fleet::one(Flavour::Newest).await;
    let outside = fleet.stream(0).await;
    durable(&outside).await;
    let stream = outside.get_stream_no_info("S").await.unwrap();
    let info = stream.consumer_info("worker").await.unwrap();
    let leader = info.cluster.and_then(|it| it.leader).expect("a leader");
    if fleet.active_node().name() == leader {
        fleet.switch().await;
    }
    let active = fleet.active();
    let reader = fleet.client.pull_consumer("S", "worker");
    let heartbeat = Duration::from_millis(300);
    let mut reader = reader.heartbeat(heartbeat).open().await.unwrap();
    let client = &fleet.client;
    client.jetstream_publish("s.n", "1", "1").await.unwrap();
    let first = soon("a message", reader.next()).await.unwrap().unwrap();
    first.double_ack().await.unwrap();
    let next = tokio::spawn(async move { reader.next().await });
    tokio::task::block_in_place(|| fleet.node(&leader).kill());
    client.jetstream_publish("s.n", "2", "2").await.unwrap();
    let second = soon("a message", next).await.unwrap().unwrap().unwrap();
    assert_eq!(second.payload, "2");
    assert_eq!(fleet.active(), active, "it was another node");
}

// N54: one that lives on a single other node, which is killed, can tell nobody: its heartbeat is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ordered_consumer_whose_server_is_killed_elsewhere_goes_on_behind_what_was_read() {
    let fleet = Fleet::one(Flavour::Newest).await;
    let outside = fleet.stream(0).await;
    let stream = outside.get_stream_no_info("S").await.unwrap();
    let client = &fleet.client;
    client.jetstream_publish("s.n", "1", "1").await.unwrap();
    let active = fleet.active_node();
    let (mut reader, server) = loop {
        let reader = client.ordered_consumer("S");
        let heartbeat = Duration::from_millis(300);
        let mut reader = reader.heartbeat(heartbeat).open().await.unwrap();
        let first = soon("a message", reader.next()).await.unwrap().unwrap();
        let reply = first.reply.as_ref().unwrap();
        let name = reply.split('.').nth(3).unwrap();
        let info = stream.consumer_info(name).await.unwrap();
        let server = info.cluster.and_then(|it| it.leader).expect("a server");
        if server != active.name() {
            break (reader, server);
        }
    };
    let next = tokio::spawn(async move { reader.next().await });
    tokio::task::block_in_place(|| fleet.node(&server).kill());
    let publisher = client.publisher().within(BOUND);
    let second = failover_core::nats::Publication::new("s.n", "2");
    publisher.publish(second).await.unwrap();
    let second = soon("a message", next).await.unwrap().unwrap().unwrap();
    assert_eq!(second.payload, "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_read_before_a_switch_is_acknowledged_after_it() {
    let fleet = Fleet::one(Flavour::Newest).await;
    let outside = fleet.stream(0).await;
    durable(&outside).await;
    for id in ["ack", "nak", "progress", "term", "double"] {
        fleet.client.jetstream_publish("s.n", id, id).await.unwrap();
    }
    let mut reader = fleet
        .client
        .pull_consumer("S", "worker")
        .open()
        .await
        .unwrap();
    let mut messages = Vec::new();
    for _ in 0..5 {
        messages.push(soon("a message", reader.next()).await.unwrap().unwrap());
    }
    fleet.switch().await;
    messages[0].ack().await.unwrap();
    messages[1].nak(None).await.unwrap();
    messages[2].progress().await.unwrap();
    messages[3].term().await.unwrap();
    messages[4].double_ack().await.unwrap();
    let again = soon("the refused one", reader.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (&again.payload[..], again.info().delivered),
        (&b"nak"[..], 2)
    );
    again.double_ack().await.unwrap();
    messages[2].double_ack().await.unwrap();
    let stream = outside.get_stream_no_info("S").await.unwrap();
    let info = stream.consumer_info("worker").await.unwrap();
    assert_eq!((info.num_pending, info.num_ack_pending), (0, 0));
    assert_eq!(info.ack_floor.stream_sequence, 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_is_refused_when_it_is_opened_and_told_when_it_goes_away() {
    let fleet = Fleet::one(Flavour::Newest).await;
    let outside = fleet.stream(0).await;
    durable(&outside).await;
    for (stream, name) in [("T", "worker"), ("S", "nobody")] {
        let error = fleet
            .client
            .pull_consumer(stream, name)
            .open()
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains("not found"), "{error}");
    }
    let mut reader = fleet
        .client
        .pull_consumer("S", "worker")
        .open()
        .await
        .unwrap();
    let next = tokio::spawn(async move { (reader.next().await, reader) });
    outside
        .delete_consumer_from_stream("worker", "S")
        .await
        .unwrap();
    let (error, mut reader) = soon("the news", next).await.unwrap();
    let error = error.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    // It is news, not an end.
    durable(&outside).await;
    fleet
        .client
        .jetstream_publish("s.n", "1", "x")
        .await
        .unwrap();
    loop {
        match soon("a message", reader.next()).await.unwrap() {
            Ok(message) => break message.double_ack().await.unwrap(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
        }
    }
}
