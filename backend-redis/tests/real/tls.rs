//! TLS with certificates made for the occasion.

use std::path::{Path, PathBuf};
use std::process::Command;

use backend_api::{Backend, ErrorKind, Signal};
use backend_redis::{Redis, Settings};
use redis::AsyncCommands;

use crate::server::{Server, free_port};
use crate::stand_in::StandIn;

const MAKE: &str = "
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem
openssl req -newkey rsa:2048 -nodes -subj /CN=server -keyout key.pem -out server.csr
echo subjectAltName=IP:127.0.0.1 > names
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.pem
";

pub(crate) fn certificates(directory: &Path) {
    let made = Command::new("sh")
        .args(["-e", "-c", MAKE])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
}

pub(crate) fn folder(whose: &str) -> PathBuf {
    let name = format!("backend-redis-tls-{}-{whose}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&directory).unwrap();
    certificates(&directory);
    directory
}

/// A server with the certificates of a folder, and what one needs to reach it beside its `ca.pem`.
pub(crate) async fn server(directory: &Path) -> (Server, Settings) {
    let file = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let port = free_port();
    let server = Server::with(&[
        "--tls-port",
        &port.to_string(),
        "--tls-cert-file",
        &file("server.pem"),
        "--tls-key-file",
        &file("key.pem"),
        "--tls-ca-cert-file",
        &file("ca.pem"),
        "--tls-auth-clients",
        "no",
    ])
    .await;
    (server, Settings::new(format!("rediss://127.0.0.1:{port}")))
}

#[tokio::test]
async fn tls_is_verified_and_its_end_is_told() {
    let directory = folder("redis-rs");
    let (mut server, settings) = server(&directory).await;
    let file = |name: &str| directory.join(name);
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    let trusted = settings.clone().ca_file(file("ca.pem"));
    let link = engine.bring_up("east", trusted.clone()).await;
    let () = client.set("k", 1).await.unwrap();
    // F56: subscriptions have a socket of their own, by TLS too.
    engine
        .backend
        .promote(&link.connection, None)
        .await
        .unwrap();
    let mut messages = client.subscribe(["news"]).await.unwrap();
    let heard: i64 = client.publish("news", "secret").await.unwrap();
    assert_eq!(heard, 1);
    assert_eq!(messages.next().await.unwrap().text(), "secret");
    server.clients_become(2).await;
    engine.retire(&link).await;
    server.clients_become(0).await;

    let unknown = engine.connect("east", settings.clone()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Tls, "{unknown}");
    let missing = settings.ca_file(file("none.pem"));
    let missing = engine.connect("east", missing).await.unwrap_err();
    assert!(missing.message().contains("none.pem"), "{missing}");
    engine.bring_up("east", trusted).await;
    server.kill();
    assert!(matches!(engine.hear().await, Signal::Lost(_)));
    std::fs::remove_dir_all(directory).unwrap();
}
