//! Two separate clusters: positions are not carried from one to the other.

use failover_core::nats::{OnOtherCluster, Publication};
use failover_core::{ErrorKind, Fate};
use tokio::task::block_in_place;

use crate::consumer::durable;
use crate::fleet::{Fleet, soon};
use crate::watch::bucket;

// N53, N54: in another cluster nothing goes on unless the user says how.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn positions_are_refused_in_another_cluster_unless_the_user_says_otherwise() {
    let fleet = Fleet::two().await;
    for cluster in 0..2 {
        let outside = fleet.stream(cluster).await;
        durable(&outside).await;
        let store = bucket(&outside).await;
        for number in 0..2 {
            let text = format!("{cluster}.{number}");
            outside
                .publish("s.n", text.clone().into())
                .await
                .unwrap()
                .await
                .unwrap();
            store.put("k", text.into()).await.unwrap();
        }
    }
    let client = &fleet.client;
    let over = OnOtherCluster::StartOver;
    let mut refusing = client.pull_consumer("S", "worker").open().await.unwrap();
    let mut starting = client
        .ordered_consumer("S")
        .on_other_cluster(over)
        .open()
        .await
        .unwrap();
    let trusting = client.ordered_consumer("S");
    let trusting = trusting.on_other_cluster(OnOtherCluster::SamePositions);
    let mut trusting = trusting.open().await.unwrap();
    let mut watch = client.kv_watch("B").open().await.unwrap();
    let mut anew = client
        .kv_watch("B")
        .on_other_cluster(over)
        .open()
        .await
        .unwrap();
    let first = soon("a message", refusing.next()).await.unwrap().unwrap();
    assert_eq!(first.payload, "0.0");
    for reader in [&mut starting, &mut trusting] {
        for payload in ["0.0", "0.1"] {
            let message = soon("a message", reader.next()).await.unwrap().unwrap();
            assert_eq!(message.payload, payload);
        }
    }
    for watch in [&mut watch, &mut anew] {
        let entry = soon("an entry", watch.next()).await.unwrap().unwrap();
        assert_eq!((entry.value, entry.revision), ("0.1".into(), 2));
    }

    fleet.group.switch_to("m1").await.unwrap();
    // Nothing that was read there is acknowledged here.
    for error in [first.ack().await, first.double_ack().await] {
        let error = error.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Moved, "{error}");
        assert_eq!(error.fate(), Some(Fate::NotApplied));
    }
    // What was under way comes still.
    let second = soon("a message", refusing.next()).await.unwrap().unwrap();
    assert_eq!(second.payload, "0.1");
    let error = soon("a refusal", refusing.next())
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moved, "{error}");
    assert!(error.message().contains("StartOver"), "{error}");
    let error = soon("a refusal", watch.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moved, "{error}");
    // Who said so begins again.
    for payload in ["1.0", "1.1"] {
        let message = soon("a message", starting.next()).await.unwrap().unwrap();
        assert_eq!(message.payload, payload);
    }
    let entry = soon("an entry", anew.next()).await.unwrap().unwrap();
    assert_eq!((entry.value, entry.revision), ("1.1".into(), 2));

    // Who says that it is the same goes on behind the second.
    client
        .jetstream_publish("s.n", "third", "1.2")
        .await
        .unwrap();
    let message = soon("a message", trusting.next()).await.unwrap().unwrap();
    assert_eq!(
        (&message.payload[..], message.info().stream_sequence),
        (&b"1.2"[..], 3)
    );

    // Back again, who was refused goes on where it was.
    let waiting = tokio::spawn(async move { watch.next().await });
    fleet.is_whole().await;
    fleet.group.switch_to("m0").await.unwrap();
    let outside = fleet.outside(0).await;
    let store = outside.get_key_value("B").await.unwrap();
    store.put("k", "0.2".into()).await.unwrap();
    let entry = soon("an entry", waiting).await.unwrap().unwrap().unwrap();
    assert_eq!((entry.value, entry.revision), ("0.2".into(), 3));
    first.double_ack().await.unwrap();
}

/// Publishes with the first cluster's member stopped, so that nobody knows what became of it, and the second's active soon.
async fn published(fleet: &Fleet, choice: OnOtherCluster) -> Result<bool, failover_core::Error> {
    let node = fleet.active_node();
    assert_eq!(fleet.active().as_deref(), Some("m0"));
    block_in_place(|| node.freeze());
    let publisher = fleet.client.publisher().on_other_cluster(choice);
    let publication = Publication::new("s.n", "x").id("x");
    let answer = soon("an answer", publisher.publish(publication)).await;
    block_in_place(|| node.thaw());
    answer.map(|confirmed| confirmed.duplicate)
}

// N53: a message whose fate is not known is not published in another cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unconfirmed_message_is_not_published_in_another_cluster() {
    let fleet = Fleet::two().await;
    for cluster in 0..2 {
        fleet.stream(cluster).await;
    }
    let error = published(&fleet, OnOtherCluster::Refuse).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moved, "{error}");
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    let messages = async |cluster: usize| {
        let stream = fleet.outside(cluster).await.get_stream("S").await.unwrap();
        stream.cached_info().state.messages
    };
    assert_eq!(messages(1).await, 0);

    fleet.is_whole().await;
    fleet.group.force_switch_to("m0").await.unwrap();
    fleet.is_whole().await;
    let answer = published(&fleet, OnOtherCluster::StartOver).await;
    assert!(!answer.unwrap(), "the first of its id here");
    assert_eq!(messages(1).await, 1);
}

// N53: a lone server that is started again is the same place; another one with a stream of the same name is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lone_server_is_the_same_after_a_restart_and_another_is_not() {
    let fleet = Fleet::lone(2).await;
    for server in 0..2 {
        let outside = fleet.stream(server).await;
        for number in 0..3 {
            let text = format!("{server}.{number}");
            let sent = outside.publish("s.n", text.into()).await.unwrap();
            sent.await.unwrap();
        }
    }
    let mut reader = fleet.client.ordered_consumer("S").open().await.unwrap();
    for payload in ["0.0", "0.1", "0.2"] {
        let message = soon("a message", reader.next()).await.unwrap().unwrap();
        assert_eq!(message.payload, payload);
    }
    // Both servers have one name, as careless clusters may: the stream itself tells.
    let node = fleet.kill_active().await;
    let error = soon("a refusal", reader.next()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Moved, "{error}");
    fleet.heal(&node).await;
    fleet.group.switch_to("m0").await.unwrap();
    let client = &fleet.client;
    client.jetstream_publish("s.n", "3", "0.3").await.unwrap();
    let message = soon("a message", reader.next()).await.unwrap().unwrap();
    assert_eq!(message.payload, "0.3");
}
