//! Dialling through fred: what is opened, how each refusal is told, and how the end of it is.

use std::time::{Duration, Instant};

use backend_api::{Backend, Error, ErrorKind, Signal};
use backend_redis::{Fred, Options, Settings};
use fred::interfaces::{ClientLike, KeysInterface};

use super::{engine, with};
use crate::connect::scripted;
use crate::server::Server;
use crate::stand_in::StandIn;

async fn refusal(settings: Settings) -> Error {
    let (mut engine, _client) = engine();
    engine.connect("east", settings).await.unwrap_err()
}

// P161, P164
#[tokio::test]
async fn through_fred_no_password_and_a_wrong_password_are_told_apart() {
    let server = Server::with(&["--requirepass", "hunter2"]).await;
    let none = refusal(server.settings()).await;
    assert_eq!(none.kind(), ErrorKind::Auth);
    assert!(none.message().contains("a password is needed"), "{none}");
    let wrong = refusal(server.settings().password("hunter3")).await;
    assert_eq!(wrong.kind(), ErrorKind::Auth);
    assert!(
        wrong
            .message()
            .contains("refused the user name or password"),
        "{wrong}"
    );
    assert!(!format!("{wrong:?}").contains("hunter"), "{wrong:?}");
    let (mut engine, client) = engine();
    let right = server.settings().username("default").password("hunter2");
    engine.bring_up("east", right).await;
    let pong: String = client
        .run(|client| async move { client.ping(None).await })
        .await
        .unwrap();
    assert_eq!(pong, "PONG");
}

#[tokio::test]
async fn through_fred_nobody_there_and_no_such_name_are_refusals() {
    let mut server = Server::start().await;
    let settings = server.settings();
    server.kill();
    let error = refusal(settings).await;
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    let error = refusal(Settings::new("redis://no-such-host.invalid")).await;
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.message().contains("does not resolve"), "{error}");
    let error = refusal(Settings::new("unix:///nowhere/socket")).await;
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
}

#[tokio::test]
async fn through_fred_a_frozen_server_is_a_timeout_and_leaves_no_socket() {
    let server = Server::start().await;
    server.freeze();
    let before = Instant::now();
    let error = refusal(server.settings()).await;
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(before.elapsed() < Duration::from_millis(1500));
    server.thaw();
    server.clients_become(0).await;
}

// P162, P164
#[tokio::test]
async fn through_fred_each_member_has_its_database() {
    let server = Server::start().await;
    let (mut engine, client) = engine();
    let set = async |value: &'static str| {
        client
            .run(|client| async move { client.set("k", value, None, None, false).await })
            .await
    };
    engine.bring_up("east", server.settings().db(3)).await;
    let () = set("three").await.unwrap();
    engine.bring_up("west", server.settings()).await;
    let () = set("zero").await.unwrap();
    assert_eq!(server.ask_at::<String>(3, "GET k").await, "three");
    assert_eq!(server.ask_at::<String>(0, "GET k").await, "zero");
    let error = refusal(server.settings().db(99)).await;
    assert_eq!(error.kind(), ErrorKind::Unhealthy, "{error}");
    assert!(error.message().contains("out of range"), "{error}");
    let error = Fred::new()
        .validate(&server.settings().db(256))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
}

#[tokio::test]
async fn through_fred_a_unix_socket_a_client_name_and_socket_options() {
    let server = Server::start().await;
    let (mut engine, client) = StandIn::of(with(Options {
        tcp_nodelay: true,
        user_timeout: Some(Duration::from_secs(2)),
        keepalive: Some(Duration::from_secs(5)),
        ..Options::default()
    }));
    engine.bring_up("west", server.settings()).await;
    let url = format!("unix://{}", server.directory.join("socket").display());
    engine
        .bring_up("east", Settings::new(url).client_name("shop"))
        .await;
    let () = client
        .run(|client| async move { client.set("k", 1, None, None, false).await })
        .await
        .unwrap();
    let list: String = server.ask("CLIENT LIST").await;
    assert!(list.contains("name=shop"), "{list}");
}

#[tokio::test]
async fn through_fred_a_killed_server_is_lost_at_once_and_once() {
    let mut server = Server::start().await;
    let (mut engine, _client) = engine();
    engine.bring_up("east", server.settings()).await;
    server.kill();
    let before = Instant::now();
    let Signal::Lost(reason) = engine.hear().await else {
        panic!("something else was said")
    };
    assert!(before.elapsed() < Duration::from_millis(100));
    assert_eq!(reason.kind(), ErrorKind::Lost);
    assert_eq!(reason.member().unwrap(), &"east");
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(engine.heard.try_recv().is_err());
}

#[tokio::test]
async fn through_fred_a_server_without_resp3_is_spoken_to_in_resp2() {
    let settings = scripted(&[
        ("HELLO", "-ERR unknown command 'HELLO'\r\n"),
        ("PING", "+PONG\r\n"),
        ("CLIENT", ":1\r\n"),
        ("INFO", "$19\r\nredis_version:5.0.1\r\n"),
        ("ROLE", "*1\r\n$6\r\nmaster\r\n"),
        ("GET", "$1\r\nv\r\n"),
    ])
    .await;
    let (mut engine, client) = engine();
    engine.bring_up("east", settings).await;
    let value: String = client
        .run(|client| async move { client.get("k").await })
        .await
        .unwrap();
    assert_eq!(value, "v");
}

// P150, P164
#[tokio::test]
async fn through_fred_not_pong_is_unhealthy() {
    let settings = scripted(&[
        ("HELLO", "%1\r\n$5\r\nproto\r\n:3\r\n"),
        ("PING", "+PING\r\n"),
        ("CLIENT", ":1\r\n"),
        ("INFO", "$19\r\nredis_version:7.0.1\r\n"),
        ("ROLE", "*1\r\n$6\r\nmaster\r\n"),
    ])
    .await;
    let (mut engine, _client) = engine();
    let link = engine.connect("east", settings).await.unwrap();
    let error = engine.backend.prove(&link.connection).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unhealthy, "{error}");
}
