//! TLS through fred, with the same certificates.

use backend_api::{Backend, ErrorKind, Signal};
use fred::interfaces::{KeysInterface, PubsubInterface};

use super::engine;
use crate::tls::{folder, server};

#[tokio::test]
async fn through_fred_tls_is_verified_and_its_end_is_told() {
    let directory = folder("fred");
    let (mut server, settings) = server(&directory).await;
    let (mut engine, client) = engine();
    let trusted = settings.clone().ca_file(directory.join("ca.pem"));
    let link = engine.bring_up("east", trusted.clone()).await;
    let () = client
        .run(|client| async move { client.set("k", 1, None, None, false).await })
        .await
        .unwrap();
    // F56: subscriptions have a socket of their own, by TLS too.
    engine
        .backend
        .promote(&link.connection, None)
        .await
        .unwrap();
    let mut messages = client.subscribe(["news"]).await.unwrap();
    let heard: i64 = client
        .run(|client| async move { client.publish("news", "secret").await })
        .await
        .unwrap();
    assert_eq!(heard, 1);
    assert_eq!(messages.next().await.unwrap().text(), "secret");
    server.clients_become(2).await;
    engine.retire(&link).await;
    server.clients_become(0).await;

    let unknown = engine.connect("east", settings.clone()).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::Tls, "{unknown}");
    let missing = settings.ca_file(directory.join("none.pem"));
    let missing = engine.connect("east", missing).await.unwrap_err();
    assert!(missing.message().contains("none.pem"), "{missing}");
    engine.bring_up("east", trusted).await;
    server.kill();
    assert!(matches!(engine.hear().await, Signal::Lost(_)));
    std::fs::remove_dir_all(directory).unwrap();
}
