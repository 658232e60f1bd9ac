//! Retiring: afterwards nothing is left, whoever still holds what.

use std::time::Duration;

use backend_api::{ErrorKind, Fate};
use backend_redis::{FailoverConnection, Redis, Replay};
use redis::AsyncCommands;

use crate::stand_in::{Pair, kind};

#[tokio::test]
async fn retiring_closes_the_socket_while_clones_are_held() {
    let mut pair = Pair::start(Redis::builder()).await;
    let mut idle = pair.client.clone();
    let () = idle.set("k", 1).await.unwrap();
    let _: Option<(String, String)> = idle.blpop("q", 0.01).await.unwrap();
    pair.east.clients_become(2).await;
    pair.move_west();
    pair.engine.retire(&pair.on_east).await;
    pair.east.clients_become(0).await;
    let heard = pair.engine.heard.try_recv();
    assert!(
        heard.is_err(),
        "a retired connection has nothing to say: {heard:?}"
    );
    let () = idle.set("k", 2).await.unwrap();
    assert_eq!(pair.west.ask::<i64>("GET k").await, 2);
}

#[tokio::test]
async fn operations_in_flight_end_with_retired_and_their_fate() {
    let mut pair = Pair::start(Redis::builder()).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    pair.east.freeze();
    let mut writer = pair.client.clone();
    let write = tokio::spawn(async move { writer.incr::<_, _, i64>("k", 1).await });
    let mut reader = pair.client.clone();
    let read = tokio::spawn(async move { reader.get::<_, Option<i64>>("k").await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    pair.move_west();
    pair.engine.retire(&pair.on_east).await;
    let error = write.await.unwrap().unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Retired);
    let fate = FailoverConnection::cause(&error).unwrap().fate();
    assert_eq!(fate, Some(Fate::MayHaveBeenApplied));
    assert_eq!(
        read.await.unwrap().unwrap(),
        None,
        "a read runs on the next"
    );
    assert_eq!(tally.totals(), (0, 0), "its end was the engine's own doing");
    pair.east.thaw();
}

#[tokio::test]
async fn a_drained_connection_serves_again() {
    use backend_api::Backend;
    let mut pair = Pair::start(Redis::builder().replay(Replay::Never)).await;
    let mut client = pair.client.clone();
    let () = client.set("k", 1).await.unwrap();
    let leases = pair.move_west().unwrap();
    let draining = pair.engine.backend.drain(&pair.on_east.connection, leases);
    tokio::time::timeout(Duration::from_secs(1), draining)
        .await
        .unwrap();
    assert!(
        pair.engine
            .backend
            .capabilities()
            .serves_again_after_drain()
    );
    pair.engine
        .backend
        .prove(&pair.on_east.connection)
        .await
        .unwrap();
    pair.engine.activate(&pair.on_east);
    assert_eq!(client.get::<_, i64>("k").await.unwrap(), 1);
}

#[tokio::test]
async fn a_dropped_connection_leaves_nothing_either() {
    let pair = Pair::start(Redis::builder()).await;
    let Pair {
        east,
        engine,
        on_east,
        client,
        ..
    } = pair;
    drop((engine, on_east, client));
    tokio::time::sleep(Duration::from_millis(50)).await;
    east.clients_become(0).await;
}
