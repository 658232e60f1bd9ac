//! A member that is a master behind sentinels: the master moves, the group does not.

use std::time::{Duration, Instant};

use failover_core::redis::{FailoverConnection, Redis};
use failover_core::{ErrorKind, Failover, Fate};
use failover_testkit::server::{RedisServer, Sentinels};
use failover_testkit::wait_until;
use redis::AsyncCommands;
use tokio::task::block_in_place;

use crate::group::{BOUND, Group};

fn table(sentinels: &Sentinels, more: &str) -> String {
    format!(
        "sentinels = {:?}\nmaster = \"{}\"\n{more}",
        sentinels.urls(),
        sentinels.name()
    )
}

async fn started() -> (Sentinels, Group) {
    let sentinels = block_in_place(Sentinels::start);
    let group = Group::over(&table(&sentinels, ""), "").await;
    (sentinels, group)
}

/// Writes one key after the other, and tells which were acknowledged, and when.
async fn write_on(client: FailoverConnection, until: Instant) -> Vec<(u32, Instant)> {
    let written = write_on_and_wait(client, until).await;
    written
        .into_iter()
        .map(|(number, when, _)| (number, when))
        .collect()
}

/// The same, and how long this process had let its writer wait by then although it was to go on.
async fn write_on_and_wait(
    mut client: FailoverConnection,
    until: Instant,
) -> Vec<(u32, Instant, Duration)> {
    const PAUSE: Duration = Duration::from_millis(1);
    let (mut acknowledged, mut late) = (Vec::new(), Duration::ZERO);
    let mut number = 0;
    while Instant::now() < until {
        number += 1;
        match client
            .set::<_, _, ()>(format!("key:{number}"), number)
            .await
        {
            Ok(()) => acknowledged.push((number, Instant::now(), late)),
            Err(error) => {
                let cause = FailoverConnection::cause(&error).expect("an error of ours");
                assert!(cause.fate().is_some(), "the fate is known: {cause:?}");
            }
        }
        let paused = Instant::now();
        tokio::time::sleep(PAUSE).await;
        // A timer may be a millisecond late on any machine.
        late += paused.elapsed().saturating_sub(PAUSE * 2);
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_master_is_followed_and_the_group_stays() {
    let (sentinels, mut group) = started().await;
    let generation = group.generation();
    let mut client = group.client.clone();
    let _: () = client.set("before", "kept").await.unwrap();
    block_in_place(|| {
        wait_for_replica(&sentinels.servers[1], "before");
        sentinels.servers[0].kill();
    });
    let begun = Instant::now();
    let acknowledged = write_on(client.clone(), begun + Duration::from_secs(4)).await;
    let first = acknowledged.first().expect("writes work again").1 - begun;
    println!("writes work again {first:?} after the kill");
    assert!(first < Duration::from_secs(4), "{first:?}");
    group.is_active("home").await;
    assert_eq!(group.generation(), generation, "it is the same connection");
    let master = &sentinels.servers[1];
    let value: String = client.get("before").await.unwrap();
    assert_eq!(value, "kept");
    for (number, _) in &acknowledged {
        let key = format!("key:{number}");
        assert_eq!(
            block_in_place(|| master.cli(&["EXISTS", &key])),
            "1",
            "{key}"
        );
    }
    group.hears("master_found").await;
    assert_eq!(group.heard("master_found"), 0);
}

fn wait_for_replica(replica: &RedisServer, key: &str) {
    let begun = Instant::now();
    while replica.cli(&["EXISTS", key]) != "1" {
        assert!(begun.elapsed() < BOUND, "the replica follows");
        std::thread::sleep(Duration::from_millis(2));
    }
}

// A move in good order: the old master lives on, and takes writes for seconds. None of them may be acknowledged to us.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_orderly_move_of_the_master_loses_no_write_that_came_after_it() {
    let (sentinels, mut group) = started().await;
    let generation = group.generation();
    let begun = Instant::now();
    let writing = tokio::spawn(write_on_and_wait(
        group.client.clone(),
        begun + Duration::from_secs(4),
    ));
    let moved = block_in_place(|| {
        sentinels.failover();
        sentinels.wait_moved_from(0);
        Instant::now()
    });
    let acknowledged = writing.await.unwrap();
    let gap = acknowledged
        .windows(2)
        .map(|pair| pair[1].1 - pair[0].1)
        .max();
    let master = &sentinels.servers[1];
    let lost: Vec<_> = acknowledged
        .iter()
        .filter(|(number, _, _)| {
            block_in_place(|| master.cli(&["EXISTS", &format!("key:{number}")])) != "1"
        })
        .collect();
    println!(
        "{} acknowledged, {} lost, longest gap {gap:?}; the sentinels said so after {:?}",
        acknowledged.len(),
        lost.len(),
        moved - begun
    );
    // What was acknowledged between the promotion and the sentinels' own notice of it is lost by Redis: one piece, and nothing
    // behind a write that the new master took.
    if let (Some((first, ..)), Some((last, ..))) = (lost.first(), lost.last()) {
        let between = acknowledged
            .iter()
            .filter(|(number, ..)| (first..=last).contains(&number));
        assert_eq!(between.count(), lost.len(), "{first} to {last}");
    }
    // The notice takes a moment, and as long as this process does nothing.
    let before = acknowledged
        .iter()
        .rev()
        .find(|(_, when, _)| *when <= moved);
    let before = before.map_or(Duration::ZERO, |(_, _, late)| *late);
    for (number, when, late) in lost {
        assert!(
            *when <= moved + Duration::from_millis(50) + late.saturating_sub(before),
            "key:{number} was acknowledged too late"
        );
    }
    assert!(acknowledged.last().unwrap().1 > moved, "writes work again");
    group.is_active("home").await;
    assert_eq!(group.generation(), generation);
    group.hears("master_found").await;
    assert_eq!(group.heard("master_found"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_that_are_gone_change_nothing() {
    let sentinels = block_in_place(Sentinels::start);
    let mut group = Group::over(
        &table(&sentinels, ""),
        "[group.health]\ninterval = \"100ms\"",
    )
    .await;
    sentinels.kill_sentinels();
    let until = Instant::now() + Duration::from_secs(2);
    let mut client = group.client.clone();
    while Instant::now() < until {
        let _: () = client
            .set("key", "value")
            .await
            .expect("the master is well");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(group.heard("master_lost"), 0);
    assert_eq!(
        group.group.status().member("home").unwrap().healthy,
        Some(true)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_without_any_server_is_left_when_its_time_is_over() {
    let sentinels = block_in_place(Sentinels::start);
    let more = "[backend]\nmember_failover = \"1s\"";
    let group = Group::over(&table(&sentinels, ""), more).await;
    block_in_place(|| {
        sentinels.servers[1].kill();
        sentinels.servers[0].kill();
    });
    let begun = Instant::now();
    group.is_active("region").await;
    let took = begun.elapsed();
    println!("the group moved after {took:?}");
    assert!(
        took > Duration::from_millis(900) && took < Duration::from_secs(4),
        "{took:?}"
    );
    group.writes_again("key").await;
    assert_eq!(
        block_in_place(|| group.region.cli(&["GET", "key"])),
        "written"
    );
    // And it comes back, as a standby, when its servers do.
    block_in_place(|| sentinels.servers[0].restart());
    group
        .until("home stands by", |status| {
            status.member("home").unwrap().link == failover_core::status::Link::Standby
        })
        .await;
}

// The socket is open, and nobody answers; then somebody does again, or another server is the master.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_master_is_followed_too() {
    let sentinels = block_in_place(Sentinels::start);
    let more = "[group.timeouts]\noperation = \"100ms\"\nprove = \"100ms\"";
    let mut group = Group::over(&table(&sentinels, ""), more).await;
    block_in_place(|| sentinels.servers[0].freeze());
    // Many at once: together they would open the breaker.
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..64 {
        let mut client = group.client.clone();
        tasks.spawn(async move { client.set::<_, _, ()>(number, "x").await });
    }
    while let Some(done) = tasks.join_next().await {
        let error = done.unwrap().expect_err("nobody answers");
        let cause = FailoverConnection::cause(&error).unwrap();
        assert!(cause.fate().is_some(), "{cause:?}");
    }
    group.writes_again("key").await;
    assert_eq!(
        block_in_place(|| sentinels.servers[1].cli(&["GET", "key"])),
        "written"
    );
    group.is_active("home").await;
    group.hears("master_found").await;
    assert_eq!(group.heard("master_found"), 0);
}

async fn scan(
    client: &mut FailoverConnection,
    cursor: u64,
) -> redis::RedisResult<(u64, Vec<String>)> {
    redis::cmd("SCAN").arg(cursor).query_async(client).await
}

// Everything that has a socket of its own goes along, or says that it cannot.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_go_along_and_cursors_and_watches_do_not() {
    let (sentinels, group) = started().await;
    let mut client = group.client.clone();
    let mut messages = client.subscribe(["news"]).await.unwrap();
    let mut pipe = redis::pipe();
    for number in 0..500 {
        pipe.set(format!("some:{number}"), number).ignore();
    }
    let () = pipe.query_async(&mut client).await.unwrap();
    let (cursor, _) = scan(&mut client, 0).await.unwrap();
    assert_ne!(cursor, 0);
    let mut watching = group.client.clone();
    let () = redis::cmd("WATCH")
        .arg("some:1")
        .query_async(&mut watching)
        .await
        .unwrap();
    let mut popping = group.client.clone();
    let pop = tokio::spawn(async move {
        popping
            .blpop::<_, Option<(String, String)>>("list", 0.0)
            .await
    });
    wait_until(BOUND, "the pop waits", || {
        let blocked = block_in_place(|| sentinels.servers[0].cli(&["INFO", "clients"]));
        blocked.contains("blocked_clients:1")
    })
    .await;
    block_in_place(|| {
        wait_for_replica(&sentinels.servers[1], "some:499");
        sentinels.servers[0].kill();
    });
    let popped = pop.await.unwrap().expect_err("its server is gone");
    let cause = FailoverConnection::cause(&popped).unwrap();
    assert_eq!(cause.fate(), Some(Fate::MayHaveBeenApplied), "{cause:?}");
    group.writes_again("key").await;
    let error = scan(&mut client, cursor).await.unwrap_err();
    assert_eq!(
        FailoverConnection::cause(&error).unwrap().kind(),
        ErrorKind::Moved
    );
    let mut transaction = redis::pipe();
    transaction.atomic().set("some:1", "x");
    let error = transaction
        .query_async::<()>(&mut watching)
        .await
        .unwrap_err();
    assert_eq!(
        FailoverConnection::cause(&error).unwrap().kind(),
        ErrorKind::Moved
    );
    wait_until(BOUND, "the new master is listened to", || {
        // A sentinel ends the clients of a server that it promotes, this one too if it comes at that moment.
        let publish = ["PUBLISH", "news", "moved"];
        let heard = block_in_place(|| sentinels.servers[1].try_cli(&publish, BOUND));
        heard.is_ok_and(|listeners| listeners.to_string() == "1")
    })
    .await;
    let message = tokio::time::timeout(BOUND, messages.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(message.text(), "moved");
    group.is_active("home").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_servers_each_have_their_password() {
    let settings = RedisServer::builder().password("of-the-servers");
    let sentinels = block_in_place(|| Sentinels::with(settings, Some("of-the-sentinels")));
    let both = "password = \"of-the-servers\"\nsentinel_password = \"of-the-sentinels\"\ndb = 2";
    let group = Group::over(&table(&sentinels, both), "").await;
    let mut client = group.client.clone();
    let _: () = client.set("key", "value").await.unwrap();
    let keyspace = block_in_place(|| sentinels.servers[0].cli(&["INFO", "keyspace"]));
    assert!(keyspace.contains("db2:keys=1"), "{keyspace}");
    for (wrong, whose) in [
        ("password = \"of-the-servers\"", "the sentinel"),
        ("sentinel_password = \"of-the-sentinels\"", "password"),
    ] {
        let config = format!("[[member]]\nname = \"home\"\n{}", table(&sentinels, wrong));
        let error = Failover::<Redis>::open_toml(&config).await.unwrap_err();
        let text = error.to_string();
        println!("{text}");
        assert!(text.contains(whose), "{text}");
        assert!(!text.contains("of-the-"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_leaves_no_socket_at_servers_or_sentinels() {
    let (sentinels, group) = started().await;
    let own = |server: &RedisServer| {
        let clients = block_in_place(|| server.clients());
        clients
            .iter()
            .filter(|line| !line.contains(" name=sentinel-"))
            .count()
    };
    let servers = || {
        let running = sentinels
            .servers
            .iter()
            .filter(|server| server.is_running());
        running.map(own).sum::<usize>()
    };
    let keep = group.client.clone();
    assert_eq!(servers(), 1);
    assert!(block_in_place(|| sentinels.clients()) > 0);
    block_in_place(|| sentinels.servers[0].kill());
    group.writes_again("key").await;
    group.group.close().await;
    assert_eq!(servers(), 0);
    assert_eq!(block_in_place(|| sentinels.clients()), 0);
    drop(keep);
}
