//! Planned moves under load: nothing fails, nothing is doubled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use failover_core::redis::FailoverConnection;
use failover_core::{ErrorKind, Fate};
use redis::AsyncCommands;
use tokio::task::JoinSet;

use crate::fleet::{BOUND, CALM, Fleet, WINDOW};

/// Counts up on the active from many tasks until told to stop; says how often it was answered.
fn counting(client: &FailoverConnection, stop: &Arc<AtomicBool>) -> JoinSet<u64> {
    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        let (mut client, stop) = (client.clone(), stop.clone());
        tasks.spawn(async move {
            let mut answered = 0;
            while !stop.load(Ordering::Relaxed) {
                let _: i64 = client.incr("n", 1).await.expect("no operation fails");
                answered += 1;
            }
            answered
        });
    }
    tasks
}

// P108, P151: switches and drains there and back, with writes all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn planned_moves_lose_and_double_no_write() {
    let fleet = Fleet::whole(2, CALM).await;
    let stop = Arc::new(AtomicBool::new(false));
    let tasks = counting(&fleet.client, &stop);
    for round in 0..10 {
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

// P153, P58
#[tokio::test]
async fn a_blocked_pop_ends_with_the_old_member_at_the_end_of_the_window() {
    let fleet = Fleet::whole(2, "").await;
    let mut client = fleet.client.clone();
    let pop = tokio::spawn(async move { client.blpop::<_, (String, String)>("q", 0.0).await });
    failover_testkit::wait_until(BOUND, "the pop blocks", || {
        fleet.servers[0]
            .clients()
            .iter()
            .any(|line| line.contains("cmd=blpop"))
    })
    .await;
    fleet
        .group
        .drain_to("m1", Duration::from_millis(200))
        .await
        .unwrap();
    let error = pop.await.unwrap().unwrap_err();
    let cause = FailoverConnection::cause(&error).unwrap();
    assert_eq!(cause.kind(), ErrorKind::Retired);
    assert_eq!(cause.fate(), Some(Fate::MayHaveBeenApplied));
    fleet.is_whole().await;
}

// P152
#[tokio::test]
async fn a_transaction_over_a_switch_is_an_error_and_never_half() {
    let mut fleet = Fleet::whole(2, "").await;
    let mut client = fleet.client.clone();
    redis::cmd("WATCH")
        .arg("k")
        .exec_async(&mut client)
        .await
        .unwrap();
    fleet.group.switch_to("m1").await.unwrap();
    let error = redis::pipe()
        .atomic()
        .set("k", 1)
        .set("l", 1)
        .exec_async(&mut client)
        .await
        .unwrap_err();
    let cause = FailoverConnection::cause(&error).unwrap();
    assert_eq!(cause.kind(), ErrorKind::Moved);
    for server in &fleet.servers {
        assert_eq!(server.cli(&["EXISTS", "k", "l"]), "0");
    }
    // The pin is gone with the error.
    let _: () = client.set("k", 2).await.unwrap();
    let value: i64 = fleet.client.get("k").await.unwrap();
    assert_eq!(value, 2);
}
