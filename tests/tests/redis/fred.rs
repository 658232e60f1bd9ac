//! The same engine over the same servers through fred: killed, frozen, moved and demoted. What is pinned through redis-rs
//! in full is seen here to hold through the second driver too (P164).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use failover_core::redis::{Fred, FredClient};
use failover_core::status::Link;
use failover_core::{Error, ErrorKind, Failover, Fate, Reason};
use failover_testkit::server::{Mode, Proxy, RedisServer};
use failover_testkit::wait_until;
use fred::interfaces::KeysInterface;
use tokio::task::JoinSet;

use crate::fleet::{BOUND, CALM, FIRST_IS_QUICK, Fleet, WINDOW, config, timed};
use crate::loss::frozen_active_is_left;

async fn get(client: &FredClient) -> Result<Option<String>, Error> {
    client
        .run_idempotent(|client| async move { client.get("key").await })
        .await
}

async fn incr(client: &FredClient) -> Result<i64, Error> {
    client
        .run(|client| async move { client.incr("n").await })
        .await
}

fn sockets(servers: &[RedisServer]) -> usize {
    servers.iter().map(|server| server.clients().len()).sum()
}

// P154, P164
#[tokio::test]
async fn through_fred_a_read_survives_the_kill_of_its_server() {
    let mut fleet = Fleet::<Fred>::whole_through(2, "").await;
    fleet.servers[1].cli(&["SET", "key", "west"]);
    fleet.servers[0].kill();
    let (took, value) = timed(get(&fleet.client)).await;
    assert_eq!(value.unwrap().as_deref(), Some("west"));
    assert!(took < Duration::from_millis(400), "{took:?}");
    assert_eq!(
        fleet.moved().await,
        (Some("m0".to_owned()), "m1".to_owned(), Reason::Lost)
    );
}

// P158, P164
#[tokio::test]
async fn through_fred_a_frozen_active_is_left_after_its_proof_failed() {
    frozen_active_is_left::<Fred>(async |client| Ok(get(client).await?)).await;
}

// P158, P164
#[tokio::test]
async fn through_fred_a_half_open_socket_is_replaced() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::start(([127, 0, 0, 1], servers[0].port()))
        .await
        .unwrap();
    let through = format!("redis://{}", proxy.address());
    let group = Failover::<Fred>::open_toml(&config(&[through, servers[1].url()], FIRST_IS_QUICK))
        .await
        .unwrap();
    let client = group.client();
    wait_until(BOUND, "m0 is active", || {
        group.status().member("m0").unwrap().link == Link::Active
    })
    .await;
    let before = group.status().member("m0").unwrap().generation;
    proxy.set(Mode::Blackhole).await;
    let timed_out = incr(&client).await.unwrap_err();
    assert_eq!(timed_out.fate(), Some(Fate::MayHaveBeenApplied));
    wait_until(BOUND, "the old connection is given up", || {
        group.status().member("m0").unwrap().link == Link::Connecting
    })
    .await;
    proxy.set(Mode::Forward).await;
    wait_until(BOUND, "a new connection to m0 is active", || {
        let status = group.status();
        let member = status.member("m0").unwrap();
        member.link == Link::Active && member.generation != before
    })
    .await;
    // The first may yet have come through: that is what was said of its fate.
    let again = async { while incr(&client).await.is_err() {} };
    tokio::time::timeout(BOUND, again).await.unwrap();
    group.close().await;
}

// P151, P164: switches and drains there and back, with writes all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_fred_planned_moves_lose_and_double_no_write() {
    let fleet = Fleet::<Fred>::whole_through(2, CALM).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (client, stop) = (fleet.client.clone(), stop.clone());
        tasks.spawn(async move {
            let mut answered = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                incr(&client).await.expect("no operation fails");
                answered += 1;
            }
            answered
        });
    }
    for round in 0..8 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        match round % 4 {
            0 => fleet.group.switch_to("m1").await,
            1 => fleet.group.drain_to("m0", WINDOW).await,
            2 => fleet.group.drain_to_passive(WINDOW).await,
            _ => fleet.group.switch_to_passive().await,
        }
        .unwrap();
        fleet.is_whole().await;
    }
    stop.store(true, Ordering::Relaxed);
    let answered: u64 = tasks.join_all().await.into_iter().sum();
    let counted: u64 = fleet
        .servers
        .iter()
        .map(|server| server.cli(&["GET", "n"]).parse::<u64>().unwrap_or(0))
        .sum();
    assert!(answered > 0);
    assert_eq!(counted, answered);
}

// P156, P164
#[tokio::test]
async fn through_fred_a_demoted_active_is_left_at_once_and_its_writes_run_elsewhere() {
    let mut fleet = Fleet::<Fred>::whole_through(2, "[group.health]\ninterval = \"1h\"").await;
    let (west, east) = (&fleet.servers[1], &fleet.servers[0]);
    east.make_replica_of(west);
    // No check is due: it is the write that finds out, and it succeeds nevertheless.
    assert_eq!(incr(&fleet.client).await.unwrap(), 1);
    assert_eq!(
        fleet.moved().await,
        (Some("m0".to_owned()), "m1".to_owned(), Reason::Health)
    );
    assert_eq!(fleet.servers[1].cli(&["GET", "n"]), "1");
}

// P157, P164
#[tokio::test]
async fn through_fred_a_replica_is_not_promoted_even_when_its_master_dies() {
    let master = RedisServer::start();
    let replica = RedisServer::builder().replica_of(&master).start();
    replica.wait_synced();
    let fleet = Fleet::<Fred>::through(vec![master, replica], "").await;
    fleet
        .until("the replica is known as one", |status| {
            status.member("m1").unwrap().read_only
        })
        .await;
    fleet.servers[0].kill();
    fleet
        .until("nobody is active", |status| status.active.is_none())
        .await;
    let refused = fleet.group.force_switch_to("m1").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotEligible);
    fleet.servers[1].make_master();
    fleet.is_active("m1").await;
}

// P118, P164: after kills, restarts and a close no task and no socket is left, although clients are held.
#[tokio::test]
async fn through_fred_kills_and_a_close_leave_nothing() {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    let fleet = Fleet::<Fred>::whole_through(2, "").await;
    let raw = fleet.client.client().unwrap();
    for _ in 0..3 {
        let active = usize::from(fleet.active().as_deref() == Some("m1"));
        fleet.servers[active].kill();
        fleet.is_active(["m1", "m0"][active]).await;
        fleet.servers[active].restart();
        fleet.is_whole().await;
    }
    wait_until(BOUND, "each member has one socket", || {
        fleet
            .servers
            .iter()
            .all(|server| server.clients().len() == 1)
    })
    .await;
    fleet.group.close().await;
    wait_until(BOUND, "no socket is open", || sockets(&fleet.servers) == 0).await;
    wait_until(BOUND, "no task is left", || tasks() == before).await;
    assert_eq!(
        get(&fleet.client).await.unwrap_err().kind(),
        ErrorKind::Closed
    );
    drop(raw);
}
