//! The checks `lag` and `write-read` against real servers, masters and replicas.

use std::time::{Duration, Instant};

use backend_api::{Backend, Error, ErrorKind};
use backend_redis::{Redis, Settings};

use crate::connect::scripted;
use crate::proofs::check;
use crate::server::Server;
use crate::stand_in::{Link, StandIn};

/// A master, its replica in sync with it, and connections to both.
async fn pair<B: Backend<Settings = Settings>>(
    engine: &mut StandIn<B>,
) -> (Server, Server, Link<B::Connection>, Link<B::Connection>) {
    let (master, replica) = (Server::start().await, Server::start().await);
    follow(&replica, &master).await;
    let on_master = engine.connect("east", master.settings()).await.unwrap();
    let on_replica = engine.connect("west", replica.settings()).await.unwrap();
    (master, replica, on_master, on_replica)
}

pub(crate) async fn follow(replica: &Server, master: &Server) {
    let () = master.ask("CONFIG SET repl-diskless-sync-delay 0").await;
    let () = replica
        .ask(&format!("REPLICAOF 127.0.0.1 {}", master.port))
        .await;
    until(async || {
        let info: String = replica.ask("INFO replication").await;
        info.contains("master_link_status:up")
    })
    .await;
}

pub(crate) async fn until(condition: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition().await {
        assert!(Instant::now() < deadline, "it does not come to that");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn fails<B: Backend<Settings = Settings>>(
    engine: &StandIn<B>,
    link: &Link<B::Connection>,
    name: &str,
    text: &str,
) -> Error {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        match check(engine, link, name).await {
            Err(error) if error.message().contains(text) => return error,
            other => assert!(Instant::now() < deadline, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// F60
#[tokio::test]
async fn masters_and_replicas_in_step_with_them_pass() {
    in_step(Redis::builder().lag_bytes(0).build().unwrap()).await;
}

pub(crate) async fn in_step<B: Backend<Settings = Settings>>(backend: B) {
    let (mut engine, _client) = StandIn::of(backend);
    let (_master, _replica, on_master, on_replica) = pair(&mut engine).await;
    check(&engine, &on_master, "lag").await.unwrap();
    until(async || check(&engine, &on_replica, "lag").await.is_ok()).await;
}

// F60
#[tokio::test]
async fn a_replica_without_its_master_fails_after_a_while() {
    without_master(
        Redis::builder()
            .lag_time(Duration::from_millis(500))
            .build()
            .unwrap(),
    )
    .await;
}

pub(crate) async fn without_master<B: Backend<Settings = Settings>>(backend: B) {
    let (mut engine, _client) = StandIn::of(backend);
    let (mut master, _replica, _on_master, on_replica) = pair(&mut engine).await;
    check(&engine, &on_replica, "lag").await.unwrap();
    master.kill();
    let error = fails(&engine, &on_replica, "lag", "without its master for").await;
    assert_eq!(error.kind(), ErrorKind::Unhealthy);
    // One that never found its master has no data to speak of.
    let lone = Server::start().await;
    lone.demote().await;
    let link = engine.connect("lone", lone.settings()).await.unwrap();
    fails(&engine, &link, "lag", "never been connected to its master").await;
}

// F61
#[tokio::test]
async fn write_read_finds_full_and_read_only_servers() {
    write_read(
        Redis::builder()
            .check_key("probe:{member}")
            .build()
            .unwrap(),
    )
    .await;
}

pub(crate) async fn write_read<B: Backend<Settings = Settings>>(backend: B) {
    let (mut engine, _client) = StandIn::of(backend);
    let server = Server::start().await;
    let link = engine.connect("east", server.settings()).await.unwrap();
    check(&engine, &link, "write-read").await.unwrap();
    let left: i64 = server.ask("PTTL probe:east").await;
    assert!((1..=10_000).contains(&left), "{left}");
    let () = server.ask("CONFIG SET maxmemory 1").await;
    check(&engine, &link, "ping").await.unwrap();
    let full = check(&engine, &link, "write-read").await.unwrap_err();
    assert_eq!(full.kind(), ErrorKind::Unhealthy);
    assert!(full.message().contains("OOM"), "{full}");
    let () = server.ask("CONFIG SET maxmemory 0").await;
    check(&engine, &link, "write-read").await.unwrap();
    server.demote().await;
    let replica = check(&engine, &link, "write-read").await.unwrap_err();
    assert_eq!(replica.kind(), ErrorKind::ReadOnly, "{replica}");
    // A server that reads back something else, such as a proxy that mixes up answers.
    let settings = scripted(&[
        ("HELLO", "%1\r\n$5\r\nproto\r\n:3\r\n"),
        ("PING", "+PONG\r\n"),
        ("CLIENT", ":1\r\n"),
        ("INFO", "$19\r\nredis_version:7.0.1\r\n"),
        ("ROLE", "*1\r\n$6\r\nmaster\r\n"),
        ("MULTI", "+OK\r\n"),
        ("SET", "+QUEUED\r\n"),
        ("GET", "+QUEUED\r\n"),
        ("EXEC", "*2\r\n+OK\r\n$5\r\nother\r\n"),
    ]);
    let other = engine.connect("other", settings.await).await.unwrap();
    let error = check(&engine, &other, "write-read").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unhealthy);
    assert!(error.message().contains("what was just written"), "{error}");
    let names: Vec<_> = engine
        .backend
        .checks()
        .iter()
        .map(|check| check.name().to_owned())
        .collect();
    assert!(names.starts_with(&["ping", "role", "lag", "write-read"].map(str::to_owned)));
}
