//! What runs again, and what is said of what does not.

use std::time::{Duration, Instant};

use backend_api::{ErrorKind, Fate, Signal};
use backend_redis::{FailoverConnection, Redis, Replay};
use redis::{AsyncCommands, RedisError};

use crate::proxy::Proxy;
use crate::stand_in::{Pair, StandIn, WAIT, kind};

fn fate(error: &RedisError) -> Option<Fate> {
    FailoverConnection::cause(error).unwrap().fate()
}

/// East is behind a proxy that is about to eat replies; as soon as it is lost, west becomes active.
async fn eaten<T>(
    replay: Replay,
    operation: impl AsyncFnOnce(&mut FailoverConnection) -> T,
) -> (T, Pair) {
    // The drop is what counts here, so the timeout is out of the way.
    let builder = Redis::builder().replay(replay);
    let mut pair = Pair::start_with(builder, WAIT * 5).await;
    let proxy = Proxy::start(pair.east.port).await;
    pair.engine.bring_up("east", proxy.settings()).await;
    for server in [&pair.east, &pair.west] {
        let () = server.ask("SET k 10").await;
    }
    proxy.eat_replies();
    let mut client = pair.client.clone();
    let (answer, ()) = tokio::join!(operation(&mut client), async {
        assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
        pair.move_west();
    });
    (answer, pair)
}

// P154
#[tokio::test]
async fn by_default_a_read_survives_and_a_write_says_that_it_may_have_been_applied() {
    let (answer, _pair) = eaten(Replay::Reads, async |client| {
        client.get::<_, i64>("k").await
    })
    .await;
    assert_eq!(answer.unwrap(), 10);
    let (answer, pair) = eaten(Replay::Reads, async |client| {
        client.incr::<_, _, i64>("k", 1).await
    })
    .await;
    let error = answer.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Lost);
    assert_eq!(fate(&error), Some(Fate::MayHaveBeenApplied));
    assert!(
        error.to_string().contains("may have been applied"),
        "{error}"
    );
    assert!(error.to_string().contains("east: INCR"), "{error}");
    assert_eq!(
        pair.east.ask::<i64>("GET k").await,
        11,
        "the proxy let it through"
    );
    assert_eq!(pair.west.ask::<i64>("GET k").await, 10);
}

// P154
#[tokio::test]
async fn pipelines_are_reads_only_as_a_whole() {
    let (answer, _pair) = eaten(Replay::Reads, async |client| {
        let mut pipeline = redis::pipe();
        pipeline
            .get("k")
            .strlen("k")
            .query_async::<(i64, i64)>(client)
            .await
    })
    .await;
    assert_eq!(answer.unwrap(), (10, 2));
    let (answer, _pair) = eaten(Replay::Reads, async |client| {
        let mut pipeline = redis::pipe();
        pipeline
            .get("k")
            .incr("k", 1)
            .query_async::<(i64, i64)>(client)
            .await
    })
    .await;
    assert_eq!(fate(&answer.unwrap_err()), Some(Fate::MayHaveBeenApplied));
}

// P154: what reads is the server's to say.
#[tokio::test]
async fn the_servers_own_table_says_what_reads() {
    // The table is learned in the background; LCS is not in the short list that stands in until then.
    let mut pair = Pair::start(Redis::builder()).await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let proxy = Proxy::start(pair.east.port).await;
    pair.engine.bring_up("east", proxy.settings()).await;
    proxy.eat_replies();
    let mut client = pair.client.clone();
    let mut command = redis::cmd("LCS");
    command.arg("k").arg("k").arg("LEN");
    let (answer, ()) = tokio::join!(command.query_async::<i64>(&mut client), async {
        assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
        pair.move_west();
    });
    assert_eq!(answer.unwrap(), 0);
}

// P155
#[tokio::test]
async fn replay_all_sends_the_write_again() {
    let (answer, pair) = eaten(Replay::All, async |client| {
        client.incr::<_, _, i64>("k", 1).await
    })
    .await;
    assert_eq!(answer.unwrap(), 11);
    assert_eq!(pair.east.ask::<i64>("GET k").await, 11);
    assert_eq!(pair.west.ask::<i64>("GET k").await, 11);
}

#[tokio::test]
async fn replay_never_gives_even_a_read_back() {
    let (answer, _pair) = eaten(Replay::Never, async |client| {
        client.get::<_, i64>("k").await
    })
    .await;
    let error = answer.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Lost);
    assert_eq!(fate(&error), None);
}

#[tokio::test]
async fn what_was_never_sent_runs_on_the_next_active_under_every_policy() {
    let mut pair = Pair::start(Redis::builder().replay(Replay::Never)).await;
    pair.east.kill();
    assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
    tokio::time::sleep(Duration::from_millis(20)).await;
    let mut client = pair.client.clone();
    let (answer, ()) = tokio::join!(client.incr::<_, _, i64>("k", 1), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        pair.move_west();
    });
    assert_eq!(answer.unwrap(), 1);
}

#[tokio::test]
async fn without_any_active_the_error_says_so_in_time_and_that_nothing_was_applied() {
    let mut pair = Pair::start(Redis::builder()).await;
    pair.east.kill();
    assert!(matches!(pair.engine.hear().await, Signal::Lost(_)));
    pair.engine.clear();
    let before = Instant::now();
    let error = pair.client.incr::<_, _, i64>("k", 1).await.unwrap_err();
    assert!(before.elapsed() >= WAIT && before.elapsed() < WAIT * 2);
    assert_eq!(kind(&error), ErrorKind::NoActive);
    assert_eq!(fate(&error), Some(Fate::NotApplied));
    assert!(error.to_string().contains("west: never there"), "{error}");
}

// P156
#[tokio::test]
async fn a_demoted_active_is_condemned_and_the_rejected_write_runs_on_the_next() {
    let mut pair = Pair::start(Redis::builder().replay(Replay::Never)).await;
    pair.east.demote().await;
    let mut client = pair.client.clone();
    let (answer, ()) = tokio::join!(client.incr::<_, _, i64>("k", 1), async {
        let Signal::Condemned(reason) = pair.engine.hear().await else {
            panic!("not condemned")
        };
        assert_eq!(reason.kind(), ErrorKind::ReadOnly);
        pair.move_west();
    });
    assert_eq!(answer.unwrap(), 1);
    assert_eq!(pair.west.ask::<i64>("GET k").await, 1);
}

// P156
#[tokio::test]
async fn a_rejected_pipeline_atomic_or_not_runs_on_the_next() {
    for atomic in [true, false] {
        let mut pair = Pair::start(Redis::builder().replay(Replay::Never)).await;
        pair.east.demote().await;
        let mut client = pair.client.clone();
        let mut pipeline = redis::pipe();
        pipeline.get("none").incr("k", 1);
        if atomic {
            pipeline.atomic();
        }
        let (answer, ()) = tokio::join!(
            pipeline.query_async::<(Option<i64>, i64)>(&mut client),
            async {
                assert!(matches!(pair.engine.hear().await, Signal::Condemned(_)));
                pair.move_west();
            }
        );
        assert_eq!(answer.unwrap(), (None, 1), "atomic: {atomic}");
    }
}

#[tokio::test]
async fn an_allowed_replica_is_not_left_because_a_write_meets_it() {
    let builder = Redis::builder().allow_replicas(true).replay(Replay::All);
    let mut pair = Pair::start(builder).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    pair.east.demote().await;
    let mut client = pair.client.clone();
    let before = Instant::now();
    let error = client.incr::<_, _, i64>("k", 1).await.unwrap_err();
    assert_eq!(error.code(), Some("READONLY"));
    for atomic in [false, true] {
        let mut pipeline = redis::pipe();
        pipeline.get("k").incr("k", 1);
        if atomic {
            pipeline.atomic();
        }
        let answer = pipeline.exec_async(&mut client).await;
        let text = answer.unwrap_err().to_string();
        assert!(text.contains("read only replica"), "{text}");
    }
    let error = client
        .blpop::<_, Option<(String, String)>>("q", 0.1)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("READONLY"));
    assert_eq!(client.get::<_, Option<i64>>("k").await.unwrap(), None);
    assert!(before.elapsed() < WAIT, "nobody waited for another active");
    assert!(pair.engine.heard.try_recv().is_err(), "nor condemned it");
    assert_eq!(tally.totals(), (5, 0));
}

// P156
#[tokio::test]
async fn without_a_next_the_caller_gets_the_servers_own_answer() {
    let mut pair = Pair::start(Redis::builder()).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    pair.east.demote().await;
    let before = Instant::now();
    let error = pair.client.incr::<_, _, i64>("k", 1).await.unwrap_err();
    assert_eq!(error.code(), Some("READONLY"));
    assert!(before.elapsed() < WAIT * 2);
    assert_eq!(tally.totals(), (0, 1));
}

#[tokio::test]
async fn a_frozen_active_costs_a_write_its_timeout_and_a_read_moves() {
    let timeout = Duration::from_millis(100);
    let mut pair = Pair::start_with(Redis::builder(), timeout).await;
    pair.east.freeze();
    let before = Instant::now();
    let error = pair.client.incr::<_, _, i64>("k", 1).await.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Timeout);
    assert_eq!(fate(&error), Some(Fate::MayHaveBeenApplied));
    assert!(before.elapsed() < timeout * 2, "{:?}", before.elapsed());
    let mut client = pair.client.clone();
    let (answer, ()) = tokio::join!(client.get::<_, Option<i64>>("k"), async {
        tokio::time::sleep(timeout * 2).await;
        pair.move_west();
    });
    assert_eq!(answer.unwrap(), None);
    pair.engine.activate(&pair.on_east.clone());
    let error = client.get::<_, Option<i64>>("k").await.unwrap_err();
    assert_eq!(
        kind(&error),
        ErrorKind::Timeout,
        "nothing moved, so it stays the timeout"
    );
    pair.east.thaw();
}

#[tokio::test]
async fn a_read_without_an_answer_waits_for_the_verdict_and_longer_only_without_an_active() {
    let (timeout, verdict) = (Duration::from_millis(100), Duration::from_millis(100));
    let mut pair = Pair::start_with(Redis::builder(), timeout).await;
    pair.engine.set_verdict_within(verdict);
    pair.east.freeze();
    let mut client = pair.client.clone();
    let before = Instant::now();
    let read = client.get::<_, Option<i64>>("k").await;
    let watch = redis::cmd("WATCH").arg("k").exec_async(&mut client).await;
    let took = before.elapsed();
    for error in [read.unwrap_err(), watch.unwrap_err()] {
        assert_eq!(kind(&error), ErrorKind::Timeout);
    }
    assert!(took >= (timeout + verdict) * 2 && took < WAIT, "{took:?}");
    let (answer, ()) = tokio::join!(client.get::<_, Option<i64>>("k"), async {
        tokio::time::sleep(timeout + verdict / 2).await;
        pair.engine.clear();
        tokio::time::sleep(verdict * 2).await;
        pair.move_west();
    });
    assert_eq!(answer.unwrap(), None);
    pair.east.thaw();
}

// P163
#[tokio::test]
async fn large_values_against_a_stalled_server_are_bounded() {
    let timeout = Duration::from_millis(200);
    let pair = Pair::start_with(Redis::builder(), timeout).await;
    pair.east.freeze();
    let value = vec![b'x'; 1 << 20];
    let before = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let mut client = pair.client.clone();
        let value = value.clone();
        tasks.spawn(async move { client.set::<_, _, ()>(number, value).await });
    }
    for answer in tasks.join_all().await {
        assert_eq!(kind(&answer.unwrap_err()), ErrorKind::Timeout);
    }
    assert!(before.elapsed() < timeout * 10, "{:?}", before.elapsed());
    let retiring = Instant::now();
    pair.engine.retire(&pair.on_east).await;
    assert!(retiring.elapsed() < timeout * 5);
    pair.east.thaw();
}

#[tokio::test]
async fn a_group_that_is_gone_says_closed() {
    let (engine, mut client) = StandIn::new(Redis::builder());
    drop(engine);
    let error = client.get::<_, Option<i64>>("k").await.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Closed);
}
