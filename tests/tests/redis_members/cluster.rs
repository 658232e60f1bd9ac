//! A member that is a Redis Cluster: shards fail over and slots move inside it, and the group stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use failover_core::redis::FailoverConnection;
use failover_core::{ErrorKind, Fate};
use failover_testkit::server::{RedisCluster, RedisServer};
use failover_testkit::wait_until;
use redis::AsyncCommands;
use tokio::task::block_in_place;

use crate::group::{BOUND, Group};

fn table(cluster: &RedisCluster) -> String {
    format!("urls = {:?}", &cluster.urls()[..2])
}

fn sockets(cluster: &RedisCluster) -> usize {
    let running = cluster.nodes.iter().filter(|node| node.is_running());
    block_in_place(|| running.map(|node| node.clients().len()).sum())
}

fn cause(error: &redis::RedisError) -> &failover_core::Error {
    FailoverConnection::cause(error).unwrap_or_else(|| panic!("not ours: {error:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_go_to_the_shards_and_what_needs_one_server_is_refused() {
    let cluster = block_in_place(RedisCluster::start);
    let group = Group::over(&table(&cluster), "").await;
    let mut client = group.client.clone();
    for number in 0..100 {
        let _: () = client.set(format!("key:{number}"), number).await.unwrap();
    }
    for number in 0..100 {
        let value: i32 = client.get(format!("key:{number}")).await.unwrap();
        assert_eq!(value, number);
    }
    let keys = |node: &RedisServer| node.cli(&["DBSIZE"]).parse::<u32>().unwrap();
    let spread: Vec<_> = block_in_place(|| cluster.nodes.iter().map(keys).collect());
    assert!(spread.iter().all(|count| *count > 10), "{spread:?}");
    // Several slots: what redis-rs can take apart it does, the rest the servers refuse.
    let values: Vec<i32> = client.mget(&["key:1", "key:2", "key:3"]).await.unwrap();
    assert_eq!(values, [1, 2, 3]);
    let error = client
        .rename::<_, _, ()>("key:1", "key:2")
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("CROSSSLOT"), "{error}");
    // One slot: pipelines, transactions, scripts.
    let mut pipeline = redis::pipe();
    pipeline.set("{a}:1", 1).incr("{a}:1", 1);
    let answers: ((), i32) = pipeline.query_async(&mut client).await.unwrap();
    assert_eq!(answers.1, 2);
    let answers: ((), i32) = pipeline.atomic().query_async(&mut client).await.unwrap();
    assert_eq!(answers.1, 2);
    let error = redis::pipe()
        .set("a", 1)
        .set("b", 1)
        .query_async::<()>(&mut client)
        .await;
    assert!(error.is_err(), "two slots in one pipeline");
    // What belongs to one server.
    for refused in [
        redis::cmd("WATCH").arg("{a}:1"),
        redis::cmd("BLPOP").arg("{a}:2").arg(1),
        redis::cmd("SCAN").arg(0),
        redis::cmd("SELECT").arg(1),
    ] {
        let error = refused
            .query_async::<redis::Value>(&mut client)
            .await
            .unwrap_err();
        assert_eq!(cause(&error).kind(), ErrorKind::Unsupported, "{error}");
    }
    let error = client
        .subscribe(["news"])
        .await
        .expect_err("no subscriptions");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    group.is_active("home").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_whose_master_is_killed_is_the_clusters_own_business() {
    let cluster = block_in_place(RedisCluster::with_replicas);
    let mut group = Group::over(&table(&cluster), "").await;
    let generation = group.generation();
    let mut client = group.client.clone();
    let hit = block_in_place(|| cluster.owner("key"));
    let _: () = client.set("key", "before").await.unwrap();
    block_in_place(|| cluster.nodes[hit].kill());
    let begun = Instant::now();
    group.writes_again("key").await;
    println!("writes work again {:?} after the kill", begun.elapsed());
    assert_eq!(
        block_in_place(|| cluster.nodes[hit + 3].cli(&["GET", "key"])),
        "written"
    );
    group.stayed();
    group.is_active("home").await;
    assert_eq!(group.generation(), generation);
    assert_eq!(
        group.group.status().member("home").unwrap().healthy,
        Some(true)
    );
}

// A frozen node ends no socket: somebody has to give it up, or nobody learns where the slot is now.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_node_is_left_for_its_replica() {
    let cluster = block_in_place(RedisCluster::with_replicas);
    let more = "[group.timeouts]\noperation = \"200ms\"\nprove = \"200ms\"\n[backend]\nmember_failover = \"8s\"";
    let mut group = Group::over(&table(&cluster), more).await;
    let hit = block_in_place(|| cluster.owner("key"));
    block_in_place(|| cluster.nodes[hit].freeze());
    let begun = Instant::now();
    group.writes_again("key").await;
    println!("writes work again {:?} after the freeze", begun.elapsed());
    assert_eq!(
        block_in_place(|| cluster.nodes[hit + 3].cli(&["GET", "key"])),
        "written"
    );
    group.stayed();
    group.is_active("home").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_is_down_is_left_when_its_time_is_over() {
    let cluster = block_in_place(RedisCluster::start);
    let group = Group::over(&table(&cluster), "[backend]\nmember_failover = \"2s\"").await;
    let hit = block_in_place(|| cluster.owner("key"));
    block_in_place(|| cluster.nodes[hit].kill());
    let begun = Instant::now();
    group.is_active("region").await;
    let took = begun.elapsed();
    println!("the group moved after {took:?}");
    assert!(
        took > Duration::from_millis(1900) && took < Duration::from_secs(6),
        "{took:?}"
    );
    group.writes_again("key").await;
    assert_eq!(
        block_in_place(|| group.region.cli(&["GET", "key"])),
        "written"
    );
    block_in_place(|| {
        cluster.nodes[hit].restart();
        cluster.wait_ok();
    });
    group
        .until("home stands by", |status| {
            status.member("home").unwrap().link == failover_core::status::Link::Standby
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_that_move_are_not_seen() {
    let cluster = block_in_place(RedisCluster::start);
    let mut group = Group::over(&table(&cluster), "").await;
    let mut client = group.client.clone();
    for number in 0..20 {
        let _: () = client.set(format!("{{a}}:{number}"), 0).await.unwrap();
    }
    let done = Arc::new(AtomicBool::new(false));
    let counted = Arc::new(AtomicU64::new(0));
    let (over, mut counter) = (done.clone(), group.client.clone());
    let so_far = counted.clone();
    let counting = tokio::spawn(async move {
        let mut rounds = 0;
        while !over.load(Ordering::Relaxed) {
            for number in 0..20 {
                let key = format!("{{a}}:{number}");
                let _: () = counter.incr(key, 1).await.expect("the slot is somewhere");
                so_far.fetch_add(1, Ordering::Relaxed);
            }
            rounds += 1;
        }
        rounds
    });
    let from = block_in_place(|| cluster.owner("{a}"));
    // It goes on all the while: between any two steps of a move something is counted.
    let pause = || {
        let (before, begun) = (counted.load(Ordering::Relaxed), Instant::now());
        while counted.load(Ordering::Relaxed) == before {
            assert!(begun.elapsed() < BOUND, "it goes on");
            std::thread::sleep(Duration::from_millis(1));
        }
    };
    for to in [(from + 1) % 3, (from + 2) % 3, from] {
        block_in_place(|| cluster.move_slot("{a}", to, pause));
        assert_eq!(block_in_place(|| cluster.owner("{a}")), to);
    }
    done.store(true, Ordering::Relaxed);
    let rounds: i64 = counting.await.unwrap();
    for number in 0..20 {
        let value: i64 = client.get(format!("{{a}}:{number}")).await.unwrap();
        assert_eq!(value, rounds, "each was counted once in each round");
    }
    group.is_active("home").await;
    assert_eq!(group.heard("cluster_down"), 0);
}

// The socket ends under a command that was sent. redis-rs would send it again, and an INCR may count twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_whose_socket_ends_says_that_it_may_have_been_applied() {
    let cluster = block_in_place(RedisCluster::start);
    let group = Group::over(&table(&cluster), "[group.timeouts]\noperation = \"3s\"").await;
    let node = &cluster.nodes[block_in_place(|| cluster.owner("key"))];
    let mut client = group.client.clone();
    let _: () = client.set("key", 7).await.unwrap();
    block_in_place(|| node.cli(&["CLIENT", "PAUSE", "10000", "WRITE"]));
    let mut counter = client.clone();
    let counting = tokio::spawn(async move { counter.incr::<_, _, i64>("key", 1).await });
    wait_until(BOUND, "the command is there", || {
        let clients = block_in_place(|| node.clients());
        clients.iter().any(|line| line.contains(" flags=b "))
    })
    .await;
    block_in_place(|| {
        node.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        node.cli(&["CLIENT", "UNPAUSE"]);
    });
    let error = counting.await.unwrap().unwrap_err();
    assert_eq!(
        cause(&error).fate(),
        Some(Fate::MayHaveBeenApplied),
        "{error}"
    );
    let value: i64 = client.get("key").await.unwrap();
    assert_eq!(value, 7, "it was held back, and then it was not sent again");
    group.is_active("home").await;
}

// The slot is half-way: one key has moved, the other has not. Sent again, the first command would count twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipeline_that_is_torn_by_a_moving_slot_is_not_sent_again() {
    let cluster = block_in_place(RedisCluster::start);
    let group = Group::over(&table(&cluster), "").await;
    let mut client = group.client.clone();
    for key in ["{a}:stays", "{a}:moves"] {
        let _: () = client.set(key, 0).await.unwrap();
    }
    block_in_place(|| {
        let from = cluster.owner("{a}");
        let (from, to) = (&cluster.nodes[from], &cluster.nodes[(from + 1) % 3]);
        let slot = from.cli(&["CLUSTER", "KEYSLOT", "{a}"]);
        let id = |node: &RedisServer| node.cli(&["CLUSTER", "MYID"]);
        to.cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &id(from)]);
        from.cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &id(to)]);
        let port = to.port().to_string();
        from.cli(&["MIGRATE", "127.0.0.1", &port, "{a}:moves", "0", "5000"]);
    });
    let mut pipeline = redis::pipe();
    pipeline.incr("{a}:stays", 1).incr("{a}:moves", 1);
    let error = pipeline
        .query_async::<(i64, i64)>(&mut client)
        .await
        .unwrap_err();
    assert_eq!(
        cause(&error).fate(),
        Some(Fate::MayHaveBeenApplied),
        "{error}"
    );
    let stays: i64 = client.get("{a}:stays").await.unwrap();
    let moves: i64 = client.get("{a}:moves").await.unwrap();
    assert_eq!((stays, moves), (1, 0));
    group.is_active("home").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_leaves_no_socket_and_no_thread() {
    let cluster = block_in_place(RedisCluster::start);
    let group = Group::over(&table(&cluster), "").await;
    let keep = group.client.clone();
    group.writes_again("key").await;
    assert!(sockets(&cluster) >= 3);
    let threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let name = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).unwrap_or_default()
        };
        tasks
            .flatten()
            .map(name)
            .filter(|name| name.starts_with("redis home"))
            .count()
    };
    let others = threads() - 1;
    group.group.close().await;
    assert_eq!(sockets(&cluster), 0);
    assert!(threads() <= others, "its thread is gone");
    // Also when a node had died, and is dialled again and again.
    let mut group = Group::over(&table(&cluster), "[backend]\nmember_failover = \"60s\"").await;
    block_in_place(|| cluster.nodes[2].kill());
    group.hears("cluster_down").await;
    group.group.close().await;
    block_in_place(|| cluster.nodes[2].restart());
    assert_eq!(sockets(&cluster), 0);
    drop(keep);
}
