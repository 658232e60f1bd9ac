//! Every failed write says whether it was applied: the table of all ways in which one fails.

use std::time::Duration;

use backend_api::{ErrorKind, Fate};
use backend_redis::{FailoverConnection, Redis, Replay};
use redis::{AsyncCommands, RedisError, RedisResult};

use crate::proxy::Proxy;
use crate::server::Server;
use crate::stand_in::{Pair, StandIn};

const NOT: Option<Fate> = Some(Fate::NotApplied);
const MAY: Option<Fate> = Some(Fate::MayHaveBeenApplied);

/// One way to fail: what it is called, what the caller got, and what that has to say. Of our own errors the kind too.
struct Row {
    name: &'static str,
    error: RedisError,
    kind: Option<ErrorKind>,
    fate: Option<Fate>,
}

fn row<T: std::fmt::Debug>(
    name: &'static str,
    answer: RedisResult<T>,
    kind: Option<ErrorKind>,
    fate: Option<Fate>,
) -> Row {
    let error = answer.expect_err(name);
    Row {
        name,
        error,
        kind,
        fate,
    }
}

async fn line<T: redis::FromRedisValue>(client: &FailoverConnection, line: &str) -> RedisResult<T> {
    let mut command = redis::Cmd::new();
    line.split(' ').for_each(|word| {
        command.arg(word);
    });
    command.query_async(&mut client.clone()).await
}

/// What the server itself answers.
async fn refused(rows: &mut Vec<Row>) {
    let pair = Pair::start(Redis::builder()).await;
    let (client, east) = (&pair.client, &pair.east);
    let () = line(client, "SET text word").await.unwrap();
    let () = line(client, "RPUSH list word").await.unwrap();
    rows.push(row::<i64>(
        "WRONGTYPE",
        line(client, "INCR list").await,
        None,
        NOT,
    ));
    rows.push(row::<i64>(
        "ERR",
        line(client, "INCR text").await,
        None,
        NOT,
    ));
    rows.push(row::<i64>(
        "unknown",
        line(client, "NOSUCH text").await,
        None,
        NOT,
    ));
    rows.push(row::<i64>(
        "NOSCRIPT",
        line(client, "EVALSHA ff 0").await,
        None,
        NOT,
    ));
    let script = |text: &str| {
        let mut command = redis::cmd("EVAL");
        command.arg(text).arg(0);
        command
    };
    for (name, text) in [
        (
            "script that failed",
            "redis.call('SET','a',1); return redis.call('INCR','list')",
        ),
        ("script that threw", "redis.call('SET','a',1); error('no')"),
        (
            "script with a code",
            "redis.call('SET','a',1); return redis.error_reply('MINE no')",
        ),
    ] {
        let answer = script(text).query_async::<i64>(&mut client.clone()).await;
        rows.push(row(name, answer, None, MAY));
    }
    let mut pipeline = redis::pipe();
    pipeline.cmd("SET").arg("a").arg(2).cmd("INCR").arg("list");
    let answer: RedisResult<(String, i64)> = pipeline.query_async(&mut client.clone()).await;
    rows.push(row("pipeline in part", answer, None, MAY));
    let answer: RedisResult<(String, i64)> =
        pipeline.atomic().query_async(&mut client.clone()).await;
    rows.push(row("transaction in part", answer, None, MAY));
    let mut broken = redis::pipe();
    broken.atomic().cmd("SET").arg("a").arg(3).cmd("INCR");
    let answer: RedisResult<()> = broken.query_async(&mut client.clone()).await;
    rows.push(row("EXECABORT", answer, None, NOT));
    // It was applied, and its answer was not a number.
    let answer: RedisResult<i64> = line(client, "GETSET text other").await;
    rows.push(row("unexpected answer", answer, None, MAY));
    let () = east.ask("CONFIG SET maxmemory 1").await;
    rows.push(row::<()>("OOM", line(client, "SET a 4").await, None, NOT));
    let () = east.ask("CONFIG SET maxmemory 0").await;
    let () = east.ask("CONFIG SET min-replicas-to-write 1").await;
    rows.push(row::<()>(
        "NOREPLICAS",
        line(client, "SET a 4").await,
        None,
        NOT,
    ));
    let () = east.ask("CONFIG SET min-replicas-to-write 0").await;
    // Nobody else becomes active, so that the server's own answer is what the caller gets.
    east.demote().await;
    rows.push(row::<()>(
        "READONLY",
        line(client, "SET a 4").await,
        None,
        NOT,
    ));
    let () = east.ask("CONFIG SET replica-serve-stale-data no").await;
    rows.push(row::<()>(
        "MASTERDOWN",
        line(client, "SET a 4").await,
        None,
        NOT,
    ));
    let mut pipeline = redis::pipe();
    pipeline
        .cmd("SET")
        .arg("a")
        .arg(4)
        .cmd("SET")
        .arg("b")
        .arg(4);
    // Both were refused, but of a pipeline only its answers say so.
    let answer: RedisResult<()> = pipeline.query_async(&mut client.clone()).await;
    rows.push(row("READONLY to a pipeline", answer, None, MAY));
    rows.push(row::<()>(
        "READONLY to a transaction",
        pipeline.atomic().query_async(&mut client.clone()).await,
        None,
        NOT,
    ));
    let cluster = Server::with(&["--cluster-enabled", "yes"]).await;
    let (mut engine, client) = StandIn::new(Redis::builder());
    engine.bring_up("cluster", cluster.settings()).await;
    rows.push(row::<()>(
        "CLUSTERDOWN",
        line(&client, "SET a 1").await,
        None,
        NOT,
    ));
    let () = cluster.ask("CLUSTER ADDSLOTSRANGE 0 16383").await;
    crate::checks::until(async || line::<()>(&client, "SET a 1").await.is_ok()).await;
    rows.push(row::<()>(
        "CROSSSLOT",
        line(&client, "MSET a 1 b 1").await,
        None,
        NOT,
    ));
    let (loading, file) = crate::proofs::loading().await;
    let (mut engine, client) = StandIn::new(Redis::builder());
    let link = engine.connect("loading", loading.settings()).await.unwrap();
    engine.activate(&link);
    let answer = line::<()>(&client, "SET a 1").await;
    std::fs::remove_file(file).unwrap();
    rows.push(row("LOADING", answer, None, NOT));
}

/// What this side refuses.
async fn ours(rows: &mut Vec<Row>) {
    let mut pair = Pair::start(Redis::builder()).await;
    let client = pair.client.clone();
    rows.push(row::<()>(
        "refused here",
        line(&client, "SELECT 1").await,
        Some(ErrorKind::Unsupported),
        NOT,
    ));
    let mut watching = client.clone();
    let () = redis::cmd("WATCH")
        .arg("k")
        .query_async(&mut watching)
        .await
        .unwrap();
    let scanned: (u64, Vec<String>) = {
        let () = pair.east.ask("DEBUG POPULATE 1000").await;
        line(&client, "SCAN 0 COUNT 1").await.unwrap()
    };
    pair.move_west();
    let answer = redis::pipe()
        .atomic()
        .set("k", 1)
        .query_async::<()>(&mut watching)
        .await;
    rows.push(row(
        "moved under WATCH",
        answer,
        Some(ErrorKind::Moved),
        NOT,
    ));
    let mut pipeline = redis::pipe();
    pipeline
        .cmd("SCAN")
        .arg(scanned.0)
        .cmd("SET")
        .arg("k")
        .arg(1);
    let answer: RedisResult<()> = pipeline.query_async(&mut client.clone()).await;
    rows.push(row(
        "moved under a cursor",
        answer,
        Some(ErrorKind::Moved),
        NOT,
    ));
    let () = pair.west.ask("CONFIG SET maxclients 1").await;
    rows.push(row::<Option<(String, String)>>(
        "no dedicated socket",
        line(&client, "BLPOP q 1").await,
        Some(ErrorKind::NoActive),
        NOT,
    ));
    pair.engine.clear();
    rows.push(row::<()>(
        "no active",
        line(&client, "SET k 1").await,
        Some(ErrorKind::NoActive),
        NOT,
    ));
}

/// What was interrupted.
async fn interrupted(rows: &mut Vec<Row>) {
    let mut pair = Pair::start(Redis::builder().replay(Replay::Reads)).await;
    let proxy = Proxy::start(pair.east.port).await;
    pair.engine.bring_up("east", proxy.settings()).await;
    proxy.eat_replies();
    rows.push(row::<()>(
        "lost",
        line(&pair.client, "SET k 1").await,
        Some(ErrorKind::Lost),
        MAY,
    ));
    // Nothing leaves from here on.
    rows.push(row::<()>(
        "lost before",
        line(&pair.client, "SET k 1").await,
        Some(ErrorKind::NoActive),
        NOT,
    ));
    let frozen = Pair::start_with(Redis::builder(), Duration::from_millis(100)).await;
    frozen.east.freeze();
    rows.push(row::<()>(
        "timed out",
        line(&frozen.client, "SET k 1").await,
        Some(ErrorKind::Timeout),
        MAY,
    ));
    let read = line::<()>(&frozen.client, "GET k").await;
    rows.push(row(
        "a read timed out",
        read,
        Some(ErrorKind::Timeout),
        None,
    ));
    // Its own socket did not open, so nothing was sent, and nobody else became active.
    let pop = line::<()>(&frozen.client, "BLPOP q 1").await;
    rows.push(row("no socket in time", pop, Some(ErrorKind::Timeout), NOT));
    // Given up by its caller it says nothing, and it is still carried out.
    let given_up = line::<()>(&frozen.client, "SET given up");
    let given_up = tokio::time::timeout(Duration::from_millis(30), given_up).await;
    assert!(given_up.is_err(), "{given_up:?}");
    let client = frozen.client.clone();
    let retired = tokio::spawn(async move { line::<()>(&client, "SET k 2").await });
    tokio::time::sleep(Duration::from_millis(30)).await;
    frozen.engine.retire(&frozen.on_east).await;
    rows.push(row(
        "retired",
        retired.await.unwrap(),
        Some(ErrorKind::Retired),
        MAY,
    ));
    frozen.east.thaw();
    crate::checks::until(async || frozen.east.ask::<String>("GET given").await == "up").await;
    let blocked = Pair::start(Redis::builder()).await;
    let mut client = blocked.client.clone();
    let pop = tokio::spawn(async move { client.blpop::<_, (String, String)>("q", 0.0).await });
    crate::checks::until(async || {
        blocked
            .east
            .ask::<String>("CLIENT LIST")
            .await
            .contains("cmd=blpop")
    })
    .await;
    blocked.engine.retire(&blocked.on_east).await;
    rows.push(row(
        "a pop was retired",
        pop.await.unwrap(),
        Some(ErrorKind::Retired),
        MAY,
    ));
}

// F64
#[tokio::test]
async fn every_failed_write_says_whether_it_was_applied() {
    let mut rows = Vec::new();
    refused(&mut rows).await;
    ours(&mut rows).await;
    interrupted(&mut rows).await;
    let wrong: Vec<_> = rows
        .iter()
        .filter(|row| {
            let kind = FailoverConnection::cause(&row.error).map(|cause| cause.kind());
            FailoverConnection::fate(&row.error) != row.fate || kind != row.kind
        })
        .map(|row| {
            format!(
                "{}: {:?} {}",
                row.name,
                FailoverConnection::fate(&row.error),
                row.error
            )
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(rows.len() > 30, "{}", rows.len());
}
