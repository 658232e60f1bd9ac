//! The ways to a server: RESP2, a name for the connection, a database, TLS.

use super::*;

// F56: a server that knows no HELLO: messages come between the answers, and none is taken for one.
#[tokio::test]
async fn an_old_server_is_heard_too() {
    let server = Server::with(&["--rename-command", "HELLO", ""]).await;
    let west = Server::with(&["--rename-command", "HELLO", ""]).await;
    let (mut engine, client) = StandIn::of(heartbeat(Duration::from_millis(5)));
    let settings = server.settings().client_name("listener");
    let on_east = engine.connect("east", settings).await.unwrap();
    promote(&engine, &on_east, None).await.unwrap();
    engine.activate(&on_east);
    let mut messages = client.subscribe(["news"]).await.unwrap();
    messages.psubscribe(["w*"]).await.unwrap();
    let named: String = server.ask_old("CLIENT LIST").await;
    assert_eq!(named.matches("name=listener").count(), 2, "{named}");
    for number in 0..50 {
        let _: i64 = server.ask_old(&format!("PUBLISH news {number}")).await;
        comes(&mut messages, &number.to_string(), "east:news").await;
        let _: i64 = server.ask_old(&format!("PUBLISH wind {number}")).await;
        comes(&mut messages, &number.to_string(), "east:wind").await;
    }
    let on_west = engine.connect("west", west.settings()).await.unwrap();
    switch(&mut engine, &on_east, &on_west).await;
    let left: Vec<String> = server.ask_old("PUBSUB CHANNELS").await;
    assert!(left.is_empty(), "{left:?}");
    let large = "x".repeat(1 << 20);
    let _: i64 = west.ask_old(&format!("PUBLISH news {large}")).await;
    comes(&mut messages, &large, "west:news").await;
    // Heartbeats have been answered all the while.
    assert!(engine.heard.try_recv().is_err());
}

// F56: published messages know no database, and payloads are bytes.
#[tokio::test]
async fn databases_make_no_difference_and_large_messages_come() {
    let server = Server::start().await;
    let (mut engine, client) = StandIn::of(Driver::new());
    let link = engine.connect("east", server.settings().db(3)).await;
    let link = link.unwrap();
    promote(&engine, &link, None).await.unwrap();
    engine.activate(&link);
    let mut messages = client.subscribe(["news"]).await.unwrap();
    let large = "y".repeat(1 << 20);
    let _: i64 = server.ask(&format!("PUBLISH news {large}")).await;
    comes(&mut messages, &large, "east:news").await;
}

// P159: many at once, in one exchange after the other.
#[tokio::test]
async fn a_thousand_channels_move_as_one() {
    let mut pair = pair().await;
    let names: Vec<String> = (0..1000).map(|number| format!("c{number:04}")).collect();
    let messages = pair.client.subscribe(names.clone()).await.unwrap();
    let (from, to) = (pair.on_east.clone(), pair.on_west.clone());
    switch(&mut pair.engine, &from, &to).await;
    assert_eq!(subscribed(&pair.west).await.0, names);
    assert_eq!(subscribed(&pair.east).await.0, Vec::<String>::new());
    drop(messages);
}
