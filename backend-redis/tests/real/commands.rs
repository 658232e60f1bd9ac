//! P151: everything that redis-rs does over a connection works over the failover connection.

use backend_api::ErrorKind;
use backend_redis::Redis;
use redis::aio::ConnectionLike;
use redis::{AsyncCommands, Script};

use crate::server::Server;
use crate::stand_in::{Pair, StandIn, kind};

// P151
#[tokio::test]
async fn commands_pipelines_transactions_scripts_and_scans_work() {
    let server = Server::start().await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    let link = engine.connect("east", server.settings()).await.unwrap();
    let (tally, _) = engine.activate(&link);
    let () = client.set("a", 1).await.unwrap();
    let (a, b): (i64, i64) = redis::pipe()
        .incr("a", 1)
        .incr("b", 5)
        .query_async(&mut client)
        .await
        .unwrap();
    assert_eq!((a, b), (2, 5));
    let (a, b): (i64, i64) = redis::pipe()
        .atomic()
        .incr("a", 1)
        .get("b")
        .query_async(&mut client)
        .await
        .unwrap();
    assert_eq!((a, b), (3, 5));
    let script = Script::new("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    for expected in [13, 23] {
        let answer: i64 = script
            .key("a")
            .arg(10)
            .invoke_async(&mut client)
            .await
            .unwrap();
        assert_eq!(answer, expected);
    }
    for number in 0..500 {
        let () = client.sadd("set", number).await.unwrap();
    }
    let mut members = client.sscan::<_, i64>("set").await.unwrap();
    let mut seen = std::collections::HashSet::new();
    while let Some(member) = members.next_item().await {
        seen.insert(member.unwrap());
    }
    drop(members);
    assert_eq!(seen.len(), 500);
    let error = client.get::<_, i64>("set").await.unwrap_err();
    assert_eq!(
        error.code(),
        Some("WRONGTYPE"),
        "an answer of the server stays what it is"
    );
    let (success, failure) = tally.totals();
    assert!(success > 500 && failure == 0, "{success} {failure}");
}

#[tokio::test]
async fn commands_that_change_the_connection_are_refused_with_advice() {
    let server = Server::start().await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    engine.bring_up("east", server.settings()).await;
    for (words, advice) in [
        (&["MULTI"][..], "atomic"),
        (&["SELECT", "1"], "settings"),
        (&["SUBSCRIBE", "c"], "FailoverConnection::subscribe"),
        (&["CLIENT", "REPLY", "OFF"], "client_name"),
        (&["WAIT", "1", "0"], "one pipeline"),
    ] {
        let mut command = redis::Cmd::new();
        command.arg(words);
        let error = client.req_packed_command(&command).await.unwrap_err();
        assert_eq!(kind(&error), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(advice), "{error}");
        let mut pipeline = redis::pipe();
        pipeline.cmd("GET").arg("k").add_command(command);
        if words[0] != "WAIT" {
            let error = pipeline.exec_async(&mut client).await.unwrap_err();
            assert_eq!(kind(&error), ErrorKind::Unsupported, "{error}");
        }
    }
    let id: i64 = redis::cmd("CLIENT")
        .arg("ID")
        .query_async(&mut client)
        .await
        .unwrap();
    assert!(id > 0);
}

// P151
#[tokio::test]
async fn a_scan_does_not_go_on_on_another_member() {
    let mut pair = Pair::start(Redis::builder()).await;
    for server in [&pair.east, &pair.west] {
        let () = server.ask("DEBUG POPULATE 1000").await;
    }
    let mut client = pair.client.clone();
    let mut keys = client.scan::<String>().await.unwrap();
    for _ in 0..20 {
        keys.next_item().await.unwrap().unwrap();
    }
    pair.move_west();
    let mut error = None;
    while let Some(key) = keys.next_item().await {
        if let Err(found) = key {
            error = Some(found);
            break;
        }
    }
    assert_eq!(kind(&error.expect("it went on")), ErrorKind::Moved);
    drop(keys);
    let mut keys = client.scan::<String>().await.unwrap();
    let mut count = 0;
    while let Some(key) = keys.next_item().await {
        key.unwrap();
        count += 1;
    }
    assert!(count >= 1000, "{count}");
}
