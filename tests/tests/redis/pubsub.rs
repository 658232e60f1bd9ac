//! Pub/sub through the whole engine: streams go on over moves, kills, silence and outages.
//!
//! It is compiled once for each driver, which stands above it: the guarantees are the same, and so are the tests (P164).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use failover_core::redis::{Delivery, Messages};
use failover_core::status::Link;
use failover_core::{EventKind, Failover};
use failover_testkit::server::{Mode, Proxy, RedisServer};
use failover_testkit::wait_until;
use tokio::task::JoinSet;

use super::{Driver, publish};
use crate::fleet::{self, BOUND, CALM, WINDOW, config, timed};

type Fleet = fleet::Fleet<Driver>;

/// How many connections listen to channel, pattern and sharded channel.
fn listeners(server: &RedisServer) -> [String; 3] {
    [
        server.cli(&["PUBSUB", "NUMSUB", "news"]),
        server.cli(&["PUBSUB", "NUMPAT"]),
        server.cli(&["PUBSUB", "SHARDNUMSUB", "shard"]),
    ]
    .map(|answer| answer.lines().last().unwrap_or_default().to_owned())
}

async fn comes(messages: &mut Messages, text: &str) -> String {
    let message = tokio::time::timeout(BOUND, messages.next()).await;
    let message = message.expect("a message").expect("the stream goes on");
    assert_eq!(message.text(), text);
    message.member().as_str().to_owned()
}

/// Publishes until somebody hears it, and sees it come.
async fn is_heard(fleet: &Fleet, messages: &mut Messages, place: usize, text: &str) {
    wait_until(BOUND, "somebody listens", || {
        fleet.servers[place].cli(&["PUBLISH", "news", text]) == "1"
    })
    .await;
    assert_eq!(comes(messages, text).await, format!("m{place}"));
}

async fn told(fleet: &mut Fleet, word: &str) -> String {
    loop {
        let event = tokio::time::timeout(BOUND, fleet.events.next());
        if let EventKind::Notice { what, text, .. } =
            event.await.expect(word).expect("an open group").kind
            && what == word
        {
            return text;
        }
    }
}

// P159, P164: over switches and drains, there and back, with what was added after a switch.
#[tokio::test]
async fn subscriptions_are_on_the_new_member_and_absent_on_the_old() {
    let fleet = Fleet::whole_through(2, "").await;
    let mut messages = fleet.client.subscribe(["news"]).await.unwrap();
    for round in 0..6 {
        let (to, from) = ((round + 1) % 2, round % 2);
        let name = format!("m{to}");
        match round {
            1 | 4 => fleet.group.drain_to(&*name, Duration::from_secs(2)).await,
            _ => fleet.group.switch_to(&*name).await,
        }
        .unwrap();
        let more = if round == 0 { "0" } else { "1" };
        assert_eq!(listeners(&fleet.servers[to]), ["1", more, more], "{round}");
        fleet.is_whole().await;
        assert_eq!(listeners(&fleet.servers[from]), ["0", "0", "0"], "{round}");
        if round == 0 {
            messages.psubscribe(["w*"]).await.unwrap();
            messages.ssubscribe(["shard"]).await.unwrap();
        }
        for (word, channel) in [
            ("PUBLISH", "news"),
            ("PUBLISH", "wind"),
            ("SPUBLISH", "shard"),
        ] {
            assert_eq!(fleet.servers[to].cli(&[word, channel, "x"]), "1");
            assert_eq!(comes(&mut messages, "x").await, name);
        }
    }
    messages.unsubscribe(["news"]);
    messages.punsubscribe(["w*"]);
    wait_until(BOUND, "only the shard is left", || {
        listeners(&fleet.servers[0]) == ["0", "0", "1"]
    })
    .await;
}

// F50: what is published through the group while it moves comes, once each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_published_during_planned_moves_comes_once_each() {
    let fleet = Fleet::whole_through(2, CALM).await;
    let mut messages = fleet.client.subscribe(["news"]).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for task in 0..4 {
        let (client, stop) = (fleet.client.clone(), stop.clone());
        tasks.spawn(async move {
            let mut number = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let text = format!("{task}-{number}");
                let heard = publish(&client, "news", &text).await;
                assert_eq!(heard, 1, "{task}-{number}");
                number += 1;
            }
            number
        });
    }
    let reading = tokio::spawn(async move {
        let mut counts = BTreeMap::<String, u64>::new();
        while let Some(message) = messages.next().await {
            let text = message.text().into_owned();
            if text == "end" {
                break;
            }
            *counts.entry(text).or_default() += 1;
        }
        assert_eq!(messages.missed(), 0);
        counts
    });
    for round in 0..8 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        match round % 2 {
            0 => fleet.group.switch_to_passive().await,
            _ => fleet.group.drain_to_passive(WINDOW).await,
        }
        .unwrap();
        fleet.is_whole().await;
    }
    stop.store(true, Ordering::Relaxed);
    let sent: u64 = tasks.join_all().await.into_iter().sum();
    publish(&fleet.client, "news", "end").await;
    let counts = reading.await.unwrap();
    assert!(sent > 0);
    let doubled: Vec<_> = counts.iter().filter(|(_, count)| **count != 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    assert_eq!(counts.len() as u64, sent);
}

// F50: its messages are still on their way when the move is made.
#[tokio::test]
async fn a_distant_old_active_is_read_to_its_last_message() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::start(([127, 0, 0, 1], servers[0].port()))
        .await
        .unwrap();
    let through = format!("redis://{}", proxy.address());
    let more = "[group.timeouts]\nswitch_grace = \"5s\"";
    let config = config(&[through, servers[1].url()], more);
    let group = Failover::<Driver>::open_toml(&config).await.unwrap();
    let mut messages = group.client().subscribe(["news"]).await.unwrap();
    wait_until(BOUND, "m1 stands by", || {
        group.status().member("m1").unwrap().link == Link::Standby
    })
    .await;
    proxy.delay(Duration::from_millis(50));
    // Traffic moves within a few milliseconds, and what is published then takes fifty.
    let moving = group.switch_to("m1");
    let publishing = async {
        wait_until(BOUND, "both are listened to", || {
            servers[1].cli(&["PUBSUB", "NUMSUB", "news"]).ends_with('1')
        })
        .await;
        for number in 0..10 {
            let heard = servers[0].cli(&["PUBLISH", "news", &number.to_string()]);
            assert_eq!(heard, "1");
        }
    };
    let (moved, ()) = tokio::join!(moving, publishing);
    moved.unwrap();
    for number in 0..10 {
        assert_eq!(comes(&mut messages, &number.to_string()).await, "m0");
    }
    wait_until(BOUND, "the old one is left", || {
        servers[0].cli(&["PUBSUB", "NUMSUB", "news"]).ends_with('0')
    })
    .await;
    group.close().await;
}

// F54: kills, the stream goes on; a whole outage, the stream waits.
#[tokio::test]
async fn streams_outlive_kills_and_a_whole_outage() {
    let fleet = Fleet::whole_through(2, "").await;
    let mut messages = fleet.client.subscribe(["news"]).await.unwrap();
    fleet.servers[0].kill();
    fleet.is_active("m1").await;
    assert_eq!(fleet.servers[1].cli(&["PUBLISH", "news", "west"]), "1");
    assert_eq!(comes(&mut messages, "west").await, "m1");
    fleet.servers[1].kill();
    fleet
        .until("nobody is active", |status| status.active.is_none())
        .await;
    let waited = tokio::time::timeout(Duration::from_millis(50), messages.next()).await;
    assert!(waited.is_err(), "{waited:?}");
    fleet.servers[0].restart();
    fleet.is_active("m0").await;
    assert_eq!(fleet.servers[0].cli(&["PUBLISH", "news", "east"]), "1");
    assert_eq!(comes(&mut messages, "east").await, "m0");
    assert_eq!(listeners(&fleet.servers[0])[0], "1");
}

// F53: nobody sends a command and no check is due: the heartbeat notices that nobody is there.
#[tokio::test]
async fn a_frozen_active_is_noticed_by_the_heartbeat_of_its_subscriptions() {
    let more = "[group.health]\ninterval = \"60s\"\n[group.timeouts]\noperation = \"100ms\"\nprove = \"100ms\"\n\
                [backend]\npubsub_heartbeat = \"50ms\"";
    let mut fleet = Fleet::whole_through(2, more).await;
    let mut messages = fleet.client.subscribe(["news"]).await.unwrap();
    fleet.servers[0].freeze();
    let (took, moved) = timed(fleet.moved()).await;
    assert_eq!(moved.1, "m1");
    assert!(took < Duration::from_secs(3), "{took:?}");
    is_heard(&fleet, &mut messages, 1, "west").await;
    fleet.servers[0].thaw();
    fleet.is("m0", Link::Standby).await;
    wait_until(BOUND, "the old one is left", || {
        listeners(&fleet.servers[0])[0] == "0"
    })
    .await;
}

// F53: packets go nowhere, both ends are well.
#[tokio::test]
async fn a_black_hole_on_the_way_ends_no_stream() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::start(([127, 0, 0, 1], servers[0].port()))
        .await
        .unwrap();
    let through = format!("redis://{}", proxy.address());
    let more = "[group.timeouts]\noperation = \"100ms\"\nprove = \"100ms\"\n[backend]\npubsub_heartbeat = \"50ms\"";
    let config = config(&[through, servers[1].url()], more);
    let group = Failover::<Driver>::open_toml(&config).await.unwrap();
    let mut messages = group.client().subscribe(["news"]).await.unwrap();
    proxy.set(Mode::Blackhole).await;
    wait_until(BOUND, "m1 is listened to", || {
        servers[1].cli(&["PUBLISH", "news", "west"]) == "1"
    })
    .await;
    assert_eq!(comes(&mut messages, "west").await, "m1");
    group.close().await;
    assert!(messages.next().await.is_none());
}

// F53: only the socket of the subscriptions: an event, and no move.
#[tokio::test]
async fn a_killed_pubsub_socket_moves_nothing() {
    let mut fleet = Fleet::whole_through(2, "").await;
    let mut messages = fleet.client.subscribe(["news"]).await.unwrap();
    assert_eq!(
        fleet.servers[0].cli(&["CLIENT", "KILL", "TYPE", "pubsub"]),
        "1"
    );
    told(&mut fleet, "pubsub_lost").await;
    is_heard(&fleet, &mut messages, 0, "again").await;
    assert_eq!(fleet.active().as_deref(), Some("m0"));
    assert_eq!(fleet.servers[0].clients().len(), 2);
}

// F51: only the data socket: whatever it costs, the channel is subscribed to once in the end.
#[tokio::test]
async fn a_killed_data_socket_leaves_one_subscription() {
    let mut fleet = Fleet::whole_through(2, "[group.loss]\nredial = \"2s\"").await;
    let mut messages = fleet.client.subscribe(["news"]).await.unwrap();
    fleet.servers[0].cli(&["CLIENT", "KILL", "TYPE", "normal"]);
    assert_eq!(fleet.moved().await.1, "m0");
    wait_until(BOUND, "one connection listens", || {
        listeners(&fleet.servers[0])[0] == "1"
    })
    .await;
    fleet.servers[0].cli(&["PUBLISH", "news", "once"]);
    comes(&mut messages, "once").await;
    let more = tokio::time::timeout(Duration::from_millis(50), messages.next()).await;
    assert!(more.is_err(), "{more:?}");
}

// F52: a member that refuses a channel: the move succeeds, an event says so, and it is tried again.
#[tokio::test]
async fn a_refused_resubscription_is_an_event_and_is_tried_again() {
    let servers = vec![RedisServer::start(), RedisServer::start()];
    for server in &servers {
        server.cli(&["ACL", "SETUSER", "default", "resetchannels", "&news"]);
    }
    servers[1].cli(&["ACL", "SETUSER", "default", "resetchannels", "&other"]);
    let mut fleet = Fleet::through(servers, "").await;
    fleet.is_whole().await;
    let mut messages = fleet.client.subscribe(["news"]).await.unwrap();
    fleet.group.switch_to("m1").await.unwrap();
    let text = told(&mut fleet, "resubscribe_failed").await;
    assert!(text.contains("NOPERM"), "{text}");
    fleet.servers[1].cli(&["ACL", "SETUSER", "default", "&news"]);
    told(&mut fleet, "resubscribed").await;
    is_heard(&fleet, &mut messages, 1, "allowed").await;
}

// P118, F54: a stream is a client: it keeps the group, and with the last of them everything goes.
#[tokio::test]
async fn a_stream_keeps_its_group_and_nothing_is_left_behind() {
    let tasks = || {
        let metrics = tokio::runtime::Handle::current().metrics();
        metrics.num_alive_tasks()
    };
    let before = tasks();
    for end in ["dropped", "closed"] {
        let Fleet {
            servers,
            group,
            client,
            events,
        } = Fleet::whole_through(2, "").await;
        let mut messages = client.messages(Delivery::AtMostOnce);
        messages.subscribe(["news"]).await.unwrap();
        drop((client, events));
        let group = (end == "closed").then_some(group);
        let sockets = || servers.iter().map(|s| s.clients().len()).sum::<usize>();
        wait_until(BOUND, "three sockets are open", || sockets() == 3).await;
        servers[0].cli(&["PUBLISH", "news", "x"]);
        comes(&mut messages, "x").await;
        if let Some(group) = &group {
            group.close().await;
            let end = tokio::time::timeout(BOUND, messages.next()).await;
            assert!(end.expect("the stream ends").is_none());
        } else {
            drop(messages);
        }
        wait_until(BOUND, "no socket is open", || sockets() == 0).await;
        wait_until(BOUND, "no task is left", || tasks() == before).await;
    }
}
