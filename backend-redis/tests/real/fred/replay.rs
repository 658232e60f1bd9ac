//! What runs again through fred, and what is said of what does not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_api::{Error, ErrorKind, Fate, Signal};
use backend_redis::{Fred, FredClient, Options, Replay};
use fred::clients::Client;
use fred::error::Error as FredError;
use fred::interfaces::{KeysInterface, TransactionInterface};

use super::{engine, pair, replay, with};
use crate::proxy::Proxy;
use crate::stand_in::{Pair, WAIT};

async fn incr(client: Arc<Client>) -> Result<i64, FredError> {
    client.incr("k").await
}

async fn get(client: Arc<Client>) -> Result<Option<i64>, FredError> {
    client.get("k").await
}

/// East is behind a proxy that is about to eat replies; as soon as it is lost, west becomes active.
async fn eaten<T>(
    policy: Replay,
    operation: impl AsyncFnOnce(&FredClient) -> T,
) -> (T, Pair<Fred>) {
    // The drop is what counts here, so the timeout is out of the way.
    let mut pair = Pair::over(replay(policy), WAIT * 5).await;
    let proxy = Proxy::start(pair.east.port).await;
    pair.engine.bring_up("east", proxy.settings()).await;
    for server in [&pair.east, &pair.west] {
        let () = server.ask("SET k 10").await;
    }
    proxy.eat_replies();
    let client = pair.client.clone();
    let (answer, ()) = tokio::join!(operation(&client), async {
        assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
        pair.move_west();
    });
    (answer, pair)
}

// P154, P164
#[tokio::test]
async fn through_fred_a_read_survives_and_a_write_says_that_it_may_have_been_applied() {
    let (answer, _pair) = eaten(Replay::Reads, async |client| {
        client.run_idempotent(get).await
    })
    .await;
    assert_eq!(answer.unwrap(), Some(10));
    let (answer, pair) = eaten(Replay::Reads, async |client| client.run(incr).await).await;
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    assert!(error.to_string().contains("east: run"), "{error}");
    assert!(FredClient::cause(&error).is_some(), "{error:?}");
    let east: i64 = pair.east.ask("GET k").await;
    assert_eq!(east, 11, "the proxy let it through");
    assert_eq!(pair.west.ask::<i64>("GET k").await, 10);
}

// P155, P164
#[tokio::test]
async fn through_fred_replay_all_sends_the_write_again_and_never_not_even_a_read() {
    let (answer, pair) = eaten(Replay::All, async |client| client.run(incr).await).await;
    assert_eq!(answer.unwrap(), 11);
    assert_eq!(pair.east.ask::<i64>("GET k").await, 11);
    let (answer, _pair) = eaten(Replay::Never, async |client| {
        client.run_idempotent(get).await
    })
    .await;
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Lost);
}

#[tokio::test]
async fn through_fred_what_was_never_sent_runs_on_the_next_active_under_every_policy() {
    let mut pair = pair(replay(Replay::Never)).await;
    pair.east.kill();
    assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
    let client = pair.client.clone();
    let (answer, ()) = tokio::join!(client.run(incr), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        pair.move_west();
    });
    assert_eq!(answer.unwrap(), 1);
}

#[tokio::test]
async fn through_fred_what_was_never_sent_says_that_another_active_is_missing() {
    let mut pair = pair(Fred::new()).await;
    pair.east.kill();
    assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
    let error = pair.client.run(incr).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoActive, "{error}");
    assert_eq!(error.fate(), Some(Fate::NotApplied), "{error}");
}

#[tokio::test]
async fn through_fred_without_any_active_the_error_says_so_in_time() {
    let mut pair = pair(Fred::new()).await;
    pair.east.kill();
    assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
    pair.engine.clear();
    let before = Instant::now();
    let error = pair.client.run(incr).await.unwrap_err();
    assert!(before.elapsed() >= WAIT && before.elapsed() < WAIT * 2);
    assert_eq!(error.kind(), ErrorKind::NoActive);
    assert_eq!(error.fate(), Some(Fate::NotApplied));
    assert!(error.to_string().contains("west: never there"), "{error}");
    assert_eq!(
        pair.client.client().unwrap_err().kind(),
        ErrorKind::NoActive
    );
}

// P156, P164
#[tokio::test]
async fn through_fred_a_demoted_active_is_condemned_and_the_rejected_write_runs_on_the_next() {
    for atomic in [false, true] {
        let mut pair = pair(replay(Replay::Never)).await;
        pair.east.demote().await;
        let client = pair.client.clone();
        let write = client.run(|client| async move {
            if !atomic {
                return client.incr("k").await;
            }
            let transaction = client.multi();
            let _: () = transaction.incr("k").await?;
            let (count,): (i64,) = transaction.exec(true).await?;
            Ok(count)
        });
        let (answer, ()) = tokio::join!(write, async {
            let Signal::Condemned(reason) = pair.engine.hear().await else {
                panic!("not condemned")
            };
            assert_eq!(reason.kind(), ErrorKind::ReadOnly);
            pair.move_west();
        });
        assert_eq!(answer.unwrap(), 1, "atomic: {atomic}");
        assert_eq!(pair.west.ask::<i64>("GET k").await, 1);
    }
}

// P156, P164
#[tokio::test]
async fn through_fred_without_a_next_the_error_holds_the_servers_own_answer() {
    let mut pair = pair(Fred::new()).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    pair.east.demote().await;
    let before = Instant::now();
    let error = pair.client.run(incr).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert_eq!(error.fate(), Some(Fate::NotApplied));
    let cause = FredClient::cause(&error).unwrap();
    assert!(cause.details().starts_with("READONLY"), "{cause}");
    assert!(before.elapsed() < WAIT * 2);
    assert_eq!(tally.totals(), (0, 1));
}

#[tokio::test]
async fn through_fred_an_allowed_replica_is_not_left_because_a_write_meets_it() {
    let mut pair = pair(with(Options {
        allow_replicas: true,
        replay: Replay::All,
        ..Options::default()
    }))
    .await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    pair.east.demote().await;
    let before = Instant::now();
    let error = pair.client.run(incr).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert_eq!(pair.client.run_idempotent(get).await.unwrap(), None);
    assert!(before.elapsed() < WAIT, "nobody waited for another active");
    assert!(pair.engine.heard.try_recv().is_err(), "nor condemned it");
    assert_eq!(tally.totals(), (2, 0));
}

#[tokio::test]
async fn through_fred_a_mistake_of_the_caller_is_an_answer_and_no_failure() {
    let mut pair = pair(Fred::new()).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    let () = pair.east.ask("RPUSH k secret").await;
    let error = pair.client.run(incr).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert_eq!(error.message(), "the server answered WRONGTYPE");
    let unread: Result<i64, Error> = pair
        .client
        .run(|client| async move { client.get("none").await })
        .await;
    assert_eq!(unread.unwrap_err().kind(), ErrorKind::Other);
    assert_eq!(tally.totals(), (2, 0));
    assert!(pair.engine.heard.try_recv().is_err());
}

// P158, P164
#[tokio::test]
async fn through_fred_a_frozen_active_costs_a_write_its_timeout_and_a_read_moves() {
    let timeout = Duration::from_millis(100);
    let mut pair = Pair::over(Fred::new(), timeout).await;
    pair.east.freeze();
    let before = Instant::now();
    let error = pair.client.run(incr).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    assert!(before.elapsed() < timeout * 2, "{:?}", before.elapsed());
    let client = pair.client.clone();
    let (answer, ()) = tokio::join!(client.run_idempotent(get), async {
        tokio::time::sleep(timeout * 2).await;
        pair.move_west();
    });
    assert_eq!(answer.unwrap(), None);
    pair.engine.activate(&pair.on_east.clone());
    let error = client.run_idempotent(get).await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Timeout,
        "nothing moved, so it stays the timeout"
    );
    pair.east.thaw();
}

// P163, P164
#[tokio::test]
async fn through_fred_large_values_against_a_stalled_server_are_bounded() {
    let timeout = Duration::from_millis(200);
    let pair = Pair::over(Fred::new(), timeout).await;
    pair.east.freeze();
    let value = "x".repeat(1 << 20);
    let before = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (client, value) = (pair.client.clone(), value.clone());
        tasks.spawn(async move {
            let (key, value) = (&number.to_string(), &value);
            let set = client.run(|client| async move {
                client.set(key, value.as_str(), None, None, false).await
            });
            let answer: Result<(), Error> = set.await;
            answer
        });
    }
    for answer in tasks.join_all().await {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::Timeout);
    }
    assert!(before.elapsed() < timeout * 10, "{:?}", before.elapsed());
    let retiring = Instant::now();
    pair.engine.retire(&pair.on_east).await;
    assert!(retiring.elapsed() < timeout * 5);
    pair.east.thaw();
    pair.east.clients_become(0).await;
}

#[tokio::test]
async fn through_fred_a_group_that_is_gone_says_closed() {
    let (engine, client) = engine();
    drop(engine);
    assert_eq!(
        client.run(incr).await.unwrap_err().kind(),
        ErrorKind::Closed
    );
}
