//! P153: blocking commands have sockets of their own and end with the member they are on.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use backend_api::{ErrorKind, Fate, Signal};
use backend_redis::{FailoverConnection, Redis, Replay};
use redis::AsyncCommands;

use crate::stand_in::{Pair, kind};

const SHORT: Duration = Duration::from_millis(300);

async fn settled() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

// P153
#[tokio::test]
async fn a_pop_in_flight_ends_on_the_old_member_and_says_so() {
    // Not even where everything else may run again: a pop whose answer was lost has popped.
    let mut pair = Pair::start(Redis::builder().replay(Replay::All)).await;
    let mut client = pair.client.clone();
    let pop =
        tokio::spawn(async move { client.blpop::<_, Option<(String, String)>>("q", 0.0).await });
    settled().await;
    let leases = pair.move_west().unwrap();
    let waiting = tokio::time::timeout(SHORT, leases.ended()).await;
    assert!(waiting.is_err(), "a drain waits for the pop");
    pair.engine.retire(&pair.on_east).await;
    let ended = tokio::time::timeout(Duration::from_secs(5), pop).await;
    let error = ended
        .expect("it ends with its member")
        .unwrap()
        .unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Retired);
    let fate = FailoverConnection::cause(&error).unwrap().fate();
    assert_eq!(fate, Some(Fate::MayHaveBeenApplied));
    leases.ended().await;
    pair.east.clients_become(0).await;
    assert_eq!(
        pair.west.ask::<i64>("RPUSH q x").await,
        1,
        "nobody pops on the new one"
    );
}

#[tokio::test]
async fn a_pop_holds_nobody_up_and_may_last_longer_than_an_operation() {
    let pair = Pair::start_with(Redis::builder(), SHORT).await;
    let mut client = pair.client.clone();
    let pop =
        tokio::spawn(async move { client.blpop::<_, Option<(String, String)>>("q", 2.0).await });
    settled().await;
    let before = Instant::now();
    let mut other = pair.client.clone();
    let () = other.set("k", 1).await.unwrap();
    assert!(before.elapsed() < SHORT);
    tokio::time::sleep(SHORT * 3).await;
    let () = other.rpush("q", "x").await.unwrap();
    assert_eq!(pop.await.unwrap().unwrap(), Some(("q".into(), "x".into())));
    let nothing: Option<(String, String)> = other.blpop("q", 0.2).await.unwrap();
    assert_eq!(nothing, None);
    pair.east.clients_become(2).await;
}

#[tokio::test]
async fn a_cancelled_pop_pops_nothing() {
    let mut pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    let pop = client.blpop::<_, Option<(String, String)>>("q", 0.0);
    tokio::time::timeout(SHORT, async {
        let aged = async {
            settled().await;
            pair.engine.age_leases();
        };
        tokio::join!(pop, aged)
    })
    .await
    .unwrap_err();
    let suspected = pair.engine.suspected.load(Ordering::SeqCst);
    assert_eq!(suspected, 0, "waiting long is what it is for");
    pair.east.clients_become(1).await;
    let () = client.rpush("q", "x").await.unwrap();
    assert_eq!(pair.east.ask::<i64>("LLEN q").await, 1);
}

#[tokio::test]
async fn a_frozen_server_ends_a_pop_shortly_after_its_own_time() {
    let mut pair = Pair::start_with(Redis::builder(), SHORT).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    let mut client = pair.client.clone();
    let _: Option<(String, String)> = client.blpop("q", 0.01).await.unwrap();
    pair.east.freeze();
    let before = Instant::now();
    let error = client
        .blpop::<_, Option<(String, String)>>("q", 0.2)
        .await
        .unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Timeout);
    assert!(before.elapsed() < Duration::from_millis(1500));
    assert_eq!(tally.totals().1, 1, "suspicion is raised");
    pair.east.thaw();
}

// A dial may take longer than an operation; the operation that needs one may not.
#[tokio::test]
async fn opening_a_socket_takes_no_longer_than_an_operation() {
    for word in ["BLPOP", "WATCH"] {
        let mut pair = Pair::start_with(Redis::builder(), SHORT).await;
        let mut client = pair.client.clone();
        pair.east.freeze();
        let asking = tokio::spawn(async move {
            let mut command = redis::cmd(word);
            command.arg("q");
            if word == "BLPOP" {
                command.arg(1);
            }
            command.exec_async(&mut client).await
        });
        tokio::time::sleep(SHORT * 2).await;
        let suspected = pair.engine.suspected.load(Ordering::SeqCst);
        assert_eq!(suspected, 1, "{word}: the engine is told in time");
        pair.move_west();
        // Nothing was sent, so it runs where something answers.
        let () = pair.west.ask("RPUSH q x").await;
        asking.await.unwrap().unwrap();
        pair.east.thaw();
    }
}

// P156: blocked clients of a master that becomes a replica are told so by a code of their own.
#[tokio::test]
async fn a_pop_on_a_demoted_server_goes_on_at_the_next() {
    let mut pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    let pop =
        tokio::spawn(async move { client.blpop::<_, Option<(String, String)>>("q", 0.0).await });
    settled().await;
    pair.east.demote().await;
    let Signal::Condemned(reason) = pair.engine.hear().await else {
        panic!("not condemned")
    };
    assert_eq!(reason.kind(), ErrorKind::ReadOnly);
    pair.move_west();
    let () = pair.west.ask("RPUSH q x").await;
    assert_eq!(pop.await.unwrap().unwrap(), Some(("q".into(), "x".into())));
}

#[tokio::test]
async fn writes_and_their_wait_share_a_socket() {
    let pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    let (_set, replicas): ((), i64) = redis::pipe()
        .set("k", 1)
        .cmd("WAIT")
        .arg(1)
        .arg(50)
        .query_async(&mut client)
        .await
        .unwrap();
    assert_eq!(replicas, 0);
}
