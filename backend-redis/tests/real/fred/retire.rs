//! Retiring fred's clients: afterwards nothing is left, whoever still holds what; and a dead client hangs nobody.

use std::time::{Duration, Instant};

use backend_api::{Backend, ErrorKind, Fate, Signal};
use backend_redis::{Fred, Replay};
use fred::interfaces::{EventInterface, KeysInterface, ListInterface};

use super::{pair, replay};
use crate::stand_in::{Pair, WAIT};

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

#[tokio::test]
async fn through_fred_retiring_leaves_no_socket_and_no_task_while_clients_are_held() {
    let idle = tasks();
    let mut pair = pair(Fred::new()).await;
    let raw = pair.client.client().unwrap();
    let mut messages = raw.message_rx();
    let () = pair.east.ask("RPUSH q v").await;
    let _: (String, String) = pair
        .client
        .run_blocking(|client| async move { client.blpop("q", 0.01).await })
        .await
        .unwrap();
    pair.east.clients_become(2).await;
    pair.move_west();
    // The task of each client, and the one that watches over it; those of the questions to the server end by themselves.
    let deadline = Instant::now() + Duration::from_secs(2);
    while tasks() != idle + 6 {
        assert!(Instant::now() < deadline, "{} tasks", tasks() - idle);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    pair.engine.retire(&pair.on_east).await;
    assert_eq!(tasks(), idle + 2);
    pair.east.clients_become(0).await;
    let heard = pair.engine.heard.try_recv();
    assert!(
        heard.is_err(),
        "a retired connection has nothing to say: {heard:?}"
    );
    assert!(messages.recv().await.is_err(), "its streams have ended");
    let before = Instant::now();
    let late: Result<i64, _> = raw.incr("k").await;
    assert!(late.is_err() && before.elapsed() < WAIT);
    assert_eq!(pair.east.ask::<i64>("EXISTS k").await, 0);
    let () = pair
        .client
        .run(|client| async move { client.set("k", 2, None, None, false).await })
        .await
        .unwrap();
    assert_eq!(pair.west.ask::<i64>("GET k").await, 2);
}

#[tokio::test]
async fn through_fred_operations_in_flight_end_with_retired_and_their_fate() {
    let mut pair = pair(Fred::new()).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    pair.east.freeze();
    let writer = pair.client.clone();
    let write = tokio::spawn(async move {
        let count: Result<i64, _> = writer
            .run(|client| async move { client.incr("k").await })
            .await;
        count
    });
    let reader = pair.client.clone();
    let read = tokio::spawn(async move {
        let value: Result<Option<i64>, _> = reader
            .run_idempotent(|client| async move { client.get("k").await })
            .await;
        value
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    pair.move_west();
    let before = Instant::now();
    pair.engine.retire(&pair.on_east).await;
    assert!(before.elapsed() < Duration::from_millis(100));
    let error = write.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retired);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    assert_eq!(
        read.await.unwrap().unwrap(),
        None,
        "a read runs on the next"
    );
    assert_eq!(tally.totals(), (0, 0), "its end was the engine's own doing");
    pair.east.thaw();
}

#[tokio::test]
async fn through_fred_whatever_waits_on_a_lost_connection_is_cut_off() {
    let mut pair = Pair::over(replay(Replay::Never), WAIT * 20).await;
    let client = pair.client.clone();
    // Not a command: what fred would answer by itself proves nothing here.
    let waiting = client.run(|_client| std::future::pending::<Result<(), _>>());
    let (answer, took) = tokio::join!(waiting, async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        pair.east.kill();
        let before = Instant::now();
        assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
        before.elapsed()
    });
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Lost);
    assert!(took < Duration::from_millis(100), "{took:?}");
    let before = Instant::now();
    let proof = pair.engine.backend.prove(&pair.on_east.connection).await;
    assert_eq!(proof.unwrap_err().kind(), ErrorKind::Lost);
    assert!(before.elapsed() < Duration::from_millis(100));
}

#[tokio::test]
async fn through_fred_a_drained_connection_serves_again() {
    let mut pair = pair(replay(Replay::Never)).await;
    let client = pair.client.clone();
    let () = client
        .run(|client| async move { client.set("k", 1, None, None, false).await })
        .await
        .unwrap();
    let leases = pair.move_west().unwrap();
    let draining = pair.engine.backend.drain(&pair.on_east.connection, leases);
    tokio::time::timeout(Duration::from_secs(1), draining)
        .await
        .unwrap();
    pair.engine
        .backend
        .prove(&pair.on_east.connection)
        .await
        .unwrap();
    pair.engine.activate(&pair.on_east);
    let value: i64 = client
        .run(|client| async move { client.get("k").await })
        .await
        .unwrap();
    assert_eq!(value, 1);
}

#[tokio::test]
async fn through_fred_a_dropped_connection_leaves_nothing_either() {
    let pair = pair(Fred::new()).await;
    let raw = pair.client.client().unwrap();
    let Pair {
        east,
        engine,
        on_east,
        client,
        ..
    } = pair;
    drop((engine, on_east, client));
    east.clients_become(0).await;
    drop(raw);
}
