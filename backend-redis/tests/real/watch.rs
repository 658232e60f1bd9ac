//! P152: a transaction is whole and on one member, or an error.

use backend_api::{ErrorKind, Fate};
use backend_redis::{FailoverConnection, Redis, Replay};
use redis::aio::transaction_async;
use redis::{AsyncCommands, Cmd, RedisResult, Value};

use crate::stand_in::{Pair, kind};

async fn watch(client: &mut FailoverConnection, key: &str) -> RedisResult<()> {
    redis::cmd("WATCH").arg(key).exec_async(client).await
}

async fn set_atomically(client: &mut FailoverConnection, value: i64) -> RedisResult<Value> {
    let mut pipeline = redis::pipe();
    pipeline.atomic().set("k", value).set("other", value);
    pipeline.query_async(client).await
}

// P151
#[tokio::test]
async fn transactions_see_conflicts_and_try_again() {
    let pair = Pair::start(Redis::builder()).await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let client = pair.client.clone();
        tasks.spawn(async move {
            for _ in 0..10 {
                let _: (i64,) =
                    transaction_async(client.clone(), &["k"], async |mut client, mut pipe| {
                        let before: Option<i64> = client.get("k").await?;
                        tokio::task::yield_now().await;
                        let next = before.unwrap_or(0) + 1;
                        pipe.set("k", next)
                            .ignore()
                            .get("k")
                            .query_async(&mut client)
                            .await
                    })
                    .await
                    .unwrap();
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(pair.east.ask::<i64>("GET k").await, 80);
}

// P151
#[tokio::test]
async fn watch_belongs_to_the_handle_and_ends_with_exec_or_unwatch() {
    let pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    watch(&mut client, "k").await.unwrap();
    let () = pair.east.ask("SET k 5").await;
    let mut copy = client.clone();
    assert_eq!(
        set_atomically(&mut copy, 1).await.unwrap(),
        Value::Nil,
        "the conflict is seen by a clone"
    );
    assert_ne!(
        set_atomically(&mut client, 2).await.unwrap(),
        Value::Nil,
        "its EXEC ended the watch"
    );
    watch(&mut client, "k").await.unwrap();
    let () = pair.east.ask("SET k 6").await;
    redis::cmd("UNWATCH").exec_async(&mut client).await.unwrap();
    assert_ne!(set_atomically(&mut client, 3).await.unwrap(), Value::Nil);
    pair.east.clients_become(2).await;
}

// P152
#[tokio::test]
async fn a_switch_between_watch_and_exec_is_an_error_and_never_half() {
    let mut pair = Pair::start(Redis::builder().replay(Replay::All)).await;
    let mut client = pair.client.clone();
    watch(&mut client, "k").await.unwrap();
    let mut copy = client.clone();
    pair.move_west();
    for handle in [&mut client, &mut copy] {
        let error = set_atomically(handle, 1).await.unwrap_err();
        assert_eq!(kind(&error), ErrorKind::Moved);
        let fate = FailoverConnection::cause(&error).unwrap().fate();
        assert_eq!(fate, Some(Fate::NotApplied));
    }
    for server in [&pair.east, &pair.west] {
        assert_eq!(server.ask::<i64>("EXISTS k other").await, 0);
    }
    assert_ne!(
        set_atomically(&mut client, 2).await.unwrap(),
        Value::Nil,
        "the pin is gone"
    );
    assert_eq!(pair.west.ask::<i64>("GET k").await, 2);
}

#[tokio::test]
async fn after_exec_and_after_unwatch_a_switch_is_no_error() {
    let mut pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    watch(&mut client, "k").await.unwrap();
    let mut copy = client.clone();
    set_atomically(&mut client, 1).await.unwrap();
    pair.move_west();
    for handle in [&mut client, &mut copy] {
        assert_eq!(handle.get::<_, Option<i64>>("k").await.unwrap(), None);
    }
    watch(&mut client, "k").await.unwrap();
    pair.engine.activate(&pair.on_east);
    redis::cmd("UNWATCH").exec_async(&mut client).await.unwrap();
    assert_eq!(client.get::<_, Option<i64>>("k").await.unwrap(), Some(1));
}

// P152
#[tokio::test]
async fn transaction_async_over_a_switch_and_over_a_kill_ends_with_moved() {
    for killed in [false, true] {
        let pair = Pair::start(Redis::builder()).await;
        let client = pair.client.clone();
        let pair = std::cell::RefCell::new(pair);
        let mut attempts = 0;
        let answer = transaction_async(client, &["k"], |mut client, mut pipe| {
            attempts += 1;
            let pair = &pair;
            async move {
                let _: Option<i64> = client.get("k").await?;
                if killed {
                    pair.borrow_mut().east.kill();
                    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
                } else {
                    pair.borrow_mut().move_west();
                }
                let done: RedisResult<Option<()>> = pipe.set("k", 1).query_async(&mut client).await;
                done
            }
        })
        .await;
        assert_eq!(
            kind(&answer.unwrap_err()),
            ErrorKind::Moved,
            "killed: {killed}"
        );
        assert_eq!(attempts, 1);
        let west = pair.into_inner().west;
        assert_eq!(west.ask::<i64>("EXISTS k").await, 0);
    }
}

// P152: the demotion stands between the two writes, as one from elsewhere may.
#[tokio::test]
async fn a_pipeline_under_watch_that_was_applied_in_part_says_so() {
    let pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    watch(&mut client, "k").await.unwrap();
    let mut pipeline = redis::pipe();
    pipeline.set("a", 1);
    pipeline.cmd("REPLICAOF").arg("127.0.0.1").arg(1);
    pipeline.set("b", 1);
    let answer: RedisResult<Vec<Value>> = pipeline.query_async(&mut client).await;
    let error = answer.unwrap_err();
    assert!(FailoverConnection::cause(&error).is_none(), "{error}");
    assert!(error.to_string().contains("read only replica"), "{error}");
    assert_eq!(pair.east.ask::<i64>("EXISTS a b").await, 1);

    // Where all of it was refused, nothing was applied, and the transaction starts again.
    watch(&mut client, "k").await.unwrap();
    let mut pipeline = redis::pipe();
    pipeline.set("a", 2).get("a").set("b", 2);
    let error = pipeline.exec_async(&mut client).await.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Moved);
}

// P152
#[tokio::test]
async fn a_cancelled_exec_loses_the_pin() {
    let pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    watch(&mut client, "k").await.unwrap();
    pair.east.freeze();
    let exec = set_atomically(&mut client, 1);
    let cancelled = tokio::time::timeout(std::time::Duration::from_millis(50), exec).await;
    cancelled.unwrap_err();
    pair.east.thaw();
    let error = client.get::<_, Option<i64>>("k").await.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Moved);
}

// P152
#[tokio::test]
async fn retiring_the_member_ends_a_watch() {
    let pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    watch(&mut client, "k").await.unwrap();
    pair.engine.retire(&pair.on_east).await;
    pair.east.clients_become(0).await;
    let error = client.get::<_, Option<i64>>("k").await.unwrap_err();
    assert_eq!(kind(&error), ErrorKind::Moved);
}

#[tokio::test]
async fn unwatch_without_watch_is_answered_here() {
    let pair = Pair::start(Redis::builder()).await;
    let mut client = pair.client.clone();
    let answer: Value = Cmd::new()
        .arg("UNWATCH")
        .query_async(&mut client)
        .await
        .unwrap();
    assert_eq!(answer, Value::Okay);
}
