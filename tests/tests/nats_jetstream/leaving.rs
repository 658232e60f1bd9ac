//! How reading ends: for good with the group, and exactly where the traffic moves.

use std::collections::HashSet;
use std::time::Duration;

use async_nats::jetstream::{self, consumer::pull, kv, stream};
use failover_core::Failover;
use failover_core::nats::Nats;
use failover_testkit::server::{Flavour, NatsServer, Proxy};
use failover_testkit::wait_until;

use crate::consumer::durable;
use crate::fleet::{BOUND, Fleet, soon};

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

// N53: what is on its way from a distant server when the traffic leaves it is read, and not sent again after a timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_move_leaves_no_message_to_the_timeout_of_its_acknowledgement() {
    let server = NatsServer::builder().jetstream().start();
    let proxy = Proxy::start(([127, 0, 0, 1], server.port())).await.unwrap();
    let outside = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let config = stream::Config {
        name: "S".to_owned(),
        subjects: vec!["s.>".to_owned()],
        ..Default::default()
    };
    outside.create_stream(config).await.unwrap();
    let config = pull::Config {
        durable_name: Some("worker".to_owned()),
        // Longer than the test waits.
        ack_wait: BOUND * 2,
        ..Default::default()
    };
    let consumer = outside.create_consumer_on_stream(config, "S");
    consumer.await.unwrap();
    // The same server, distant and near. Nobody ends the old connection before it is read to its end.
    let text = format!(
        "[group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\nswitch_grace = \"60s\"\n\
         [group.health]\ntimeout = \"60s\"\n[[member]]\nname = \"far\"\nweight = 2\nurl = \"nats://{}\"\n[[member]]\nname = \"near\"\nurl = \"{}\"\n",
        proxy.address(),
        server.url()
    );
    let group = Failover::<Nats>::open_toml(&text).await.unwrap();
    wait_until(BOUND, "the near one stands by", || {
        let status = group.status();
        status
            .active
            .as_ref()
            .is_some_and(|active| *active == "far")
            && status.standbys().count() == 1
    })
    .await;
    proxy.delay(Duration::from_millis(20));
    let mut reader = group
        .client()
        .pull_consumer("S", "worker")
        .open()
        .await
        .unwrap();
    let published = 500;
    let publishing = tokio::spawn(async move {
        for number in 0..published {
            let payload = number.to_string().into();
            outside.publish("s.n", payload).await.unwrap();
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    let mut seen = HashSet::new();
    while seen.len() < published {
        let message = soon("a message", reader.next()).await.unwrap().unwrap();
        assert_eq!(message.info().delivered, 1);
        let number = std::str::from_utf8(&message.payload).unwrap();
        seen.insert(number.parse::<usize>().unwrap());
        message.ack().await.unwrap();
        if seen.len() == 100 {
            group.switch_to("near").await.unwrap();
        }
    }
    publishing.await.unwrap();
    assert!(group.status().active.is_some_and(|active| active == "near"));
    group.close().await;
}

// N53: nor what a consumer's leader elsewhere in the cluster sends before it hears that nobody listens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_one_whose_leader_is_elsewhere_while_messages_flow() {
    const COUNT: usize = 4000;
    let fleet = Fleet::one(Flavour::Newest).await;
    let outside = fleet.stream(0).await;
    durable(&outside).await;
    let reader = fleet.client.pull_consumer("S", "worker").batch(20);
    let mut reader = reader.open().await.unwrap();
    let publishing = tokio::spawn(async move {
        for number in 0..COUNT {
            let confirmed = outside.publish("s.n", number.to_string().into());
            drop(confirmed.await.unwrap());
            if number % 4 == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        // Its client must not end before everything has left it.
        outside
    });
    let mut seen = HashSet::new();
    while seen.len() < COUNT {
        let message = soon("a message", reader.next()).await.unwrap().unwrap();
        let again = message.info().delivered > 1;
        assert!(!again, "{:?} came again", message.payload);
        seen.insert(message.payload.clone());
        message.ack().await.unwrap();
        // Of the three nodes two are not its leader.
        if seen.len().is_multiple_of(250) {
            fleet.switch().await;
        }
    }
    drop(publishing.await.unwrap());
}
