//! Dialling: what is opened, and how each refusal is told.

use std::time::{Duration, Instant};

use backend_api::{Error, ErrorKind, Signal};
use backend_redis::{Redis, Settings};
use redis::AsyncCommands;
use redis::aio::ConnectionLike;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::Server;
use crate::stand_in::StandIn;

async fn refusal(settings: Settings) -> Error {
    let (mut engine, _client) = StandIn::new(Redis::builder());
    engine.connect("east", settings).await.unwrap_err()
}

// P161
#[tokio::test]
async fn no_password_and_a_wrong_password_are_told_apart() {
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
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    let right = server.settings().username("default").password("hunter2");
    engine.bring_up("east", right).await;
    let () = client.set("k", 1).await.unwrap();
}

#[tokio::test]
async fn nobody_there_and_no_such_name_are_refusals() {
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
async fn a_frozen_server_is_a_timeout() {
    let server = Server::start().await;
    server.freeze();
    let before = Instant::now();
    let error = refusal(server.settings()).await;
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(before.elapsed() < Duration::from_millis(1500));
    server.thaw();
}

// P162
#[tokio::test]
async fn each_member_has_its_database() {
    let server = Server::start().await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    engine.bring_up("east", server.settings().db(3)).await;
    let () = client.set("k", "three").await.unwrap();
    assert_eq!(client.get_db(), 3);
    engine.bring_up("west", server.settings()).await;
    let () = client.set("k", "zero").await.unwrap();
    assert_eq!(server.ask_at::<String>(3, "GET k").await, "three");
    assert_eq!(server.ask_at::<String>(0, "GET k").await, "zero");
    let error = refusal(server.settings().db(99)).await;
    assert_eq!(error.kind(), ErrorKind::Unhealthy, "{error}");
    assert!(error.message().contains("out of range"), "{error}");
}

#[tokio::test]
async fn a_unix_socket_and_a_client_name() {
    let server = Server::start().await;
    let (mut engine, mut client) = StandIn::new(Redis::builder().tcp_nodelay(true));
    let url = format!("unix://{}", server.directory.join("socket").display());
    engine
        .bring_up("east", Settings::new(url).client_name("shop"))
        .await;
    let () = client.set("k", 1).await.unwrap();
    let list: String = server.ask("CLIENT LIST").await;
    assert!(list.contains("name=shop"), "{list}");
}

#[tokio::test]
async fn socket_options_are_taken() {
    let server = Server::start().await;
    let builder = Redis::builder()
        .tcp_nodelay(true)
        .user_timeout(Duration::from_secs(2))
        .keepalive(Duration::from_secs(5));
    let (mut engine, mut client) = StandIn::new(builder);
    engine.bring_up("east", server.settings()).await;
    let () = client.set("k", 1).await.unwrap();
}

#[tokio::test]
async fn a_killed_server_is_lost_at_once_and_once() {
    let mut server = Server::start().await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
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

/// A server that answers each line with what the table says, and an empty array to the rest.
pub(crate) async fn scripted(answers: &'static [(&'static str, &'static str)]) -> Settings {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                    let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                    // fred says HELLO as a line, and everything else as an array.
                    let line = text.strip_prefix("HELLO").map(|_version| "HELLO");
                    let arrays = text.split('*').skip(1);
                    let words =
                        arrays.map(|command| command.split("\r\n").nth(2).unwrap_or_default());
                    for word in line.into_iter().chain(words) {
                        if word == "DIE" {
                            stream.write_all(b"+OK\r\n").await.unwrap();
                            tokio::time::sleep(Duration::from_millis(30)).await;
                            return;
                        }
                        let answer = answers.iter().find(|(name, _)| *name == word);
                        let answer = answer.map_or("*0\r\n", |(_, answer)| *answer);
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                }
            });
        }
    });
    Settings::new(format!("redis://127.0.0.1:{port}"))
}

#[tokio::test]
async fn a_server_without_resp3_is_spoken_to_in_resp2() {
    let settings = scripted(&[
        ("HELLO", "-ERR unknown command 'HELLO'\r\n"),
        ("PING", "+PONG\r\n"),
        ("ROLE", "*1\r\n$6\r\nmaster\r\n"),
        ("GET", "$1\r\nv\r\n"),
    ])
    .await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    engine.bring_up("east", settings).await;
    assert_eq!(client.get::<_, String>("k").await.unwrap(), "v");
    // Without the push of RESP3 the end of the connection is seen as well.
    redis::cmd("DIE").exec_async(&mut client).await.unwrap();
    assert!(matches!(engine.hear().await, Signal::Lost(_)));
}

// P150
#[tokio::test]
async fn not_pong_is_unhealthy() {
    use backend_api::Backend;
    let settings = scripted(&[
        ("HELLO", "%1\r\n$5\r\nproto\r\n:3\r\n"),
        ("PING", "+PING\r\n"),
        ("ROLE", "*1\r\n$6\r\nmaster\r\n"),
    ])
    .await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
    let link = engine.connect("east", settings).await.unwrap();
    let error = engine.backend.prove(&link.connection).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unhealthy, "{error}");
}

/// redis-rs 1.8 ends its driver by a panic here, in builds with overflow checks; elsewhere it is an answer.
#[tokio::test]
async fn a_driver_that_panics_is_a_lost_connection() {
    let server = Server::start().await;
    let () = server.ask("ACL SETUSER app on >pw ~* +@all -multi").await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    let settings = server.settings().username("app").password("pw");
    engine.bring_up("east", settings).await;
    let mut pipeline = redis::pipe();
    pipeline.atomic().set("k", 1);
    let error = pipeline.exec_async(&mut client).await.unwrap_err();
    if error.is_io_error() {
        assert!(matches!(engine.hear().await, Signal::Lost(_)));
    }
}
