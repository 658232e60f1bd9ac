//! Members that are replicas of one another: what reads wait for after a switch.
//!
//! Replication goes through a proxy that can be made silent: so the new active lacks what the old one acknowledged for as
//! long as a test likes.

use std::time::Duration;

use failover_core::redis::FailoverConnection;
use failover_core::{ErrorKind, EventKind, Fate};
use failover_testkit::server::{Mode, Proxy, RedisServer};
use redis::AsyncCommands;

use crate::fleet::{BOUND, Fleet, timed};

/// m0 is a master, m1 its replica behind the proxy.
pub(crate) struct Replicated {
    pub(crate) fleet: Fleet,
    pub(crate) proxy: Proxy,
}

/// Replicas may be active: so what is still replicated can be switched to.
const REPLICAS: &str = "allow_replicas = true\n";

impl Replicated {
    async fn start(backend: &str) -> Self {
        let more = format!(
            "[backend]\n{backend}\n[group.health]\ninterval = \"20ms\"\n[group.failback]\nenabled = false"
        );
        Self::with(&more).await
    }

    /// `more` is what the configuration says beside the members.
    pub(crate) async fn with(more: &str) -> Self {
        let (master, replica) = (RedisServer::start(), RedisServer::start());
        let proxy = Proxy::start(([127, 0, 0, 1], master.port())).await.unwrap();
        replica.cli(&["REPLICAOF", "127.0.0.1", &proxy.port().to_string()]);
        // The proxy runs here, and waiting for the replica blocks.
        let replica = tokio::task::spawn_blocking(move || {
            replica.wait_synced();
            replica
        });
        let servers = vec![master, replica.await.unwrap()];
        remember_commands(&servers[0]);
        let fleet = Fleet::over(servers, more).await;
        Self { fleet, proxy }
    }

    /// The replica has `key`, and everything is ready for a switch.
    async fn settled(&mut self) {
        let () = self.fleet.client.set("key", "old").await.unwrap();
        let replica = &self.fleet.servers[1];
        failover_testkit::wait_until(BOUND, "the replica has it", || {
            replica.cli(&["GET", "key"]) == "old"
        })
        .await;
        self.fleet.is_whole().await;
    }

    /// The master acknowledges a write that the replica does not get.
    async fn write_behind(&mut self) {
        self.proxy.set(Mode::Blackhole).await;
        let () = self.fleet.client.set("key", "new").await.unwrap();
    }

    /// Waits until checks of the master have begun and ended.
    async fn checked(&self) {
        let master = &self.fleet.servers[0];
        let before = offset_questions(master);
        failover_testkit::wait_until(BOUND, "the master is checked twice", || {
            offset_questions(master) >= before + 4
        })
        .await;
    }

    async fn read(&self) -> (Duration, redis::RedisResult<String>) {
        let mut client = self.fleet.client.clone();
        timed(client.get::<_, String>("key")).await
    }

    async fn lost_is_told(&mut self) {
        loop {
            let event = tokio::time::timeout(BOUND, self.fleet.events.next());
            if let EventKind::Notice { what, text, .. } =
                event.await.expect("a notice").expect("an open group").kind
            {
                assert_eq!(what, "writes_lost");
                assert!(text.contains("bytes of what m0 had acknowledged"), "{text}");
                return;
            }
        }
    }
}

/// The server keeps what it is asked from now on.
fn remember_commands(server: &RedisServer) {
    server.cli(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
    server.cli(&["CONFIG", "SET", "slowlog-max-len", "100000"]);
}

/// How often a server was asked what it has replicated. Other questions, such as which server it is, do not count.
fn offset_questions(server: &RedisServer) -> usize {
    let asked = server.cli(&["SLOWLOG", "GET", "-1"]).to_lowercase();
    asked.matches("info\nreplication").count()
}

#[track_caller]
fn refused(answer: redis::RedisResult<String>, text: &str) {
    let error = answer.expect_err("it lacks what was acknowledged");
    let cause = FailoverConnection::cause(&error).unwrap();
    assert_eq!(cause.kind(), ErrorKind::Unhealthy, "{error}");
    assert_eq!(cause.fate(), Some(Fate::NotApplied), "{error}");
    assert!(cause.message().contains(text), "{error}");
}

// F62: what the guard is for.
#[tokio::test]
async fn without_the_option_a_read_after_a_switch_goes_back_in_time() {
    let mut group = Replicated::start(REPLICAS).await;
    group.settled().await;
    group.write_behind().await;
    group.fleet.group.switch_to("m1").await.unwrap();
    assert_eq!(group.read().await.1.unwrap(), "old");
    // And nobody asked the server for it.
    assert_eq!(offset_questions(&group.fleet.servers[0]), 0);
}

// F62
#[tokio::test]
async fn after_a_planned_switch_reads_wait_until_the_replica_has_caught_up() {
    let mut group = Replicated::start(&format!("{REPLICAS}wait_for_replication = \"5s\"")).await;
    group.settled().await;
    group.write_behind().await;
    group.fleet.group.switch_to("m1").await.unwrap();
    let mut reading = tokio::spawn({
        let mut client = group.fleet.client.clone();
        async move { client.get::<_, String>("key").await }
    });
    let early = tokio::time::timeout(Duration::from_millis(300), &mut reading).await;
    assert!(early.is_err(), "{early:?}");
    group.proxy.set(Mode::Forward).await;
    assert_eq!(reading.await.unwrap().unwrap(), "new");
    // Caught up once, nobody waits any more.
    let (took, value) = group.read().await;
    assert_eq!(value.unwrap(), "new");
    assert!(took < Duration::from_millis(100), "{took:?}");
}

// F62
#[tokio::test]
async fn a_replica_that_does_not_catch_up_in_time_is_not_read() {
    let mut group = Replicated::start(&format!("{REPLICAS}wait_for_replication = \"2s\"")).await;
    group.settled().await;
    group.write_behind().await;
    group.fleet.group.switch_to("m1").await.unwrap();
    let (took, answer) = group.read().await;
    refused(answer, "did not catch up within 2s");
    let wait = Duration::from_secs(2);
    assert!(took > wait / 2, "{took:?}");
    // Who comes later does not wait as long again, and pipelines and WATCH are held back like a read.
    let (took, answer) = group.read().await;
    refused(answer, "lacks");
    assert!(took < wait, "{took:?}");
    let mut client = group.fleet.client.clone();
    let mut pipeline = redis::pipe();
    pipeline.cmd("PING").ignore().get("key");
    let answer: redis::RedisResult<(String,)> = pipeline.query_async(&mut client).await;
    refused(answer.map(|(value,)| value), "lacks");
    let answer = redis::cmd("WATCH")
        .arg("key")
        .query_async::<String>(&mut client)
        .await;
    refused(answer, "lacks");
    group.proxy.set(Mode::Forward).await;
    failover_testkit::wait_until(BOUND, "it catches up", || {
        group.fleet.servers[1].cli(&["GET", "key"]) == "new"
    })
    .await;
    assert_eq!(group.read().await.1.unwrap(), "new");
}

// F62: the ordinary way to a planned switch: the replica is promoted first.
#[tokio::test]
async fn a_promoted_replica_that_has_everything_is_read_at_once() {
    let mut group = Replicated::start("wait_for_replication = \"60s\"").await;
    let () = group.fleet.client.set("key", "old").await.unwrap();
    failover_testkit::wait_until(BOUND, "the replica has it", || {
        group.fleet.servers[1].cli(&["GET", "key"]) == "old"
    })
    .await;
    group.fleet.servers[1].make_master();
    group.fleet.is_whole().await;
    group.fleet.group.switch_to("m1").await.unwrap();
    let (took, value) = group.read().await;
    assert_eq!(value.unwrap(), "old");
    assert!(took < BOUND, "{took:?}: it did not wait");
    // Its own writes are read back, and it is whole by itself from here on.
    let () = group.fleet.client.set("key", "newer").await.unwrap();
    assert_eq!(group.read().await.1.unwrap(), "newer");
}

// F62: promoted too early, it never gets what it lacks: reads say so for as long as was asked for, and people are told.
#[tokio::test]
async fn writes_that_a_promotion_lost_are_told_and_not_hidden() {
    let mut group = Replicated::start("wait_for_replication = \"700ms\"").await;
    let () = group.fleet.client.set("key", "old").await.unwrap();
    failover_testkit::wait_until(BOUND, "the replica has it", || {
        group.fleet.servers[1].cli(&["GET", "key"]) == "old"
    })
    .await;
    group.write_behind().await;
    group.fleet.servers[1].make_master();
    group.fleet.is_whole().await;
    group.fleet.group.switch_to("m1").await.unwrap();
    let (took, answer) = group.read().await;
    refused(answer, "never gets them");
    assert!(took < Duration::from_millis(500), "{took:?}");
    // A write is not held back.
    let () = group.fleet.client.set("other", 1).await.unwrap();
    group.lost_is_told().await;
    assert_eq!(group.read().await.1.unwrap(), "old");
}

// F62: the old active is dead. What its last check saw counts.
#[tokio::test]
async fn after_a_kill_the_last_known_offset_counts() {
    for lost in [false, true] {
        let mut group = Replicated::start("wait_for_replication = \"700ms\"").await;
        let () = group.fleet.client.set("key", "old").await.unwrap();
        failover_testkit::wait_until(BOUND, "the replica has it", || {
            group.fleet.servers[1].cli(&["GET", "key"]) == "old"
        })
        .await;
        if lost {
            group.write_behind().await;
        }
        group.checked().await;
        group.fleet.servers[0].kill();
        group.fleet.servers[1].make_master();
        group.fleet.is_active("m1").await;
        let (took, answer) = group.read().await;
        assert!(took < Duration::from_millis(600), "{took:?}");
        if lost {
            refused(answer, "never gets them");
            group.lost_is_told().await;
        } else {
            assert_eq!(answer.unwrap(), "old");
        }
        assert_eq!(group.read().await.1.unwrap(), "old");
    }
}

// F62: independent databases have nothing to wait for.
#[tokio::test]
async fn members_that_are_no_replicas_of_each_other_wait_for_nothing() {
    let mut fleet = Fleet::whole(2, "[backend]\nwait_for_replication = \"60s\"").await;
    for (value, member) in [("m1", "m1"), ("m0", "m0")] {
        let () = fleet.client.set("key", "elsewhere").await.unwrap();
        fleet.group.switch_to(member).await.unwrap();
        let (took, answer) = timed(fleet.client.get::<_, Option<String>>("key")).await;
        answer.unwrap();
        assert!(took < BOUND, "to {value}: {took:?}: it waited");
        fleet.is_whole().await;
    }
}

// F62: a drain's window is long, the old active goes on acknowledging: who reads after that sees it.
#[tokio::test]
async fn reads_during_a_drain_see_what_the_old_active_still_acknowledges() {
    let mut group = Replicated::start(&format!("{REPLICAS}wait_for_replication = \"5s\"")).await;
    group.settled().await;
    let mut popping = group.fleet.client.clone();
    let pop = tokio::spawn(async move { popping.blpop::<_, (String, String)>("q", 0.0).await });
    failover_testkit::wait_until(BOUND, "the pop blocks", || {
        group.fleet.servers[0]
            .clients()
            .iter()
            .any(|line| line.contains("cmd=blpop"))
    })
    .await;
    group
        .fleet
        .group
        .drain_to("m1", Duration::from_secs(8))
        .await
        .unwrap();
    assert_eq!(group.read().await.1.unwrap(), "old");
    group.proxy.set(Mode::Blackhole).await;
    // The pop is a write that the old active acknowledges long after the switch.
    group.fleet.servers[0].cli(&["RPUSH", "q", "item"]);
    assert_eq!(pop.await.unwrap().unwrap().1, "item");
    let mut reading = tokio::spawn({
        let mut client = group.fleet.client.clone();
        async move { client.llen::<_, i64>("q").await }
    });
    let early = tokio::time::timeout(Duration::from_millis(200), &mut reading).await;
    assert!(early.is_err(), "{early:?}");
    group.proxy.set(Mode::Forward).await;
    assert_eq!(reading.await.unwrap().unwrap(), 0);
}
