//! The sockets of the subscriptions, which are not fred's: that they come in as everybody else does, and that what fred's
//! own pub/sub would lose arrives.

use std::time::Duration;

use backend_api::{Backend, ErrorKind};

use super::engine;
use crate::server::Server;

const BOUND: Duration = Duration::from_secs(5);

// P159, P161, P164: with a user, a password and a name, over a Unix socket.
#[tokio::test]
async fn through_fred_the_socket_of_the_subscriptions_says_who_it_is() {
    let server = Server::start().await;
    let () = server.ask("ACL SETUSER app on >hunter2 ~* &* +@all").await;
    let path = server.directory.join("socket");
    let settings = backend_redis::Settings::new(format!("unix://{}", path.display()))
        .username("app")
        .password("hunter2")
        .client_name("shop");
    let (mut engine, client) = engine();
    let link = engine.bring_up("east", settings).await;
    engine
        .backend
        .promote(&link.connection, None)
        .await
        .unwrap();
    let mut messages = client.subscribe(["news"]).await.unwrap();
    let list: String = server.ask("CLIENT LIST TYPE pubsub").await;
    assert!(
        list.contains("name=shop") && list.contains("user=app"),
        "{list}"
    );
    let _: i64 = server.ask("PUBLISH news 1").await;
    let message = tokio::time::timeout(BOUND, messages.next()).await;
    assert_eq!(message.unwrap().unwrap().text(), "1");

    // The password is changed under way: the next socket is refused, and says why.
    let () = server.ask("ACL SETUSER app resetpass >hunter3").await;
    let _: i64 = server.ask("CLIENT KILL TYPE pubsub").await;
    let refused = tokio::time::timeout(BOUND, async {
        loop {
            match messages.subscribe(["more"]).await {
                Err(error) if error.kind() == ErrorKind::Auth => return error,
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    let refused = refused.await.expect("the refusal is told");
    assert!(
        refused
            .message()
            .contains("refused the user name or password"),
        "{refused}"
    );
    assert!(!format!("{refused:?}").contains("hunter"), "{refused:?}");
}

// P164: names that are no text, which of several patterns it was, and what Redis itself publishes.
#[tokio::test]
async fn through_fred_names_are_bytes_patterns_are_told_and_keyspace_events_come() {
    let server = Server::with(&["--notify-keyspace-events", "KEA"]).await;
    let (mut engine, client) = engine();
    let link = engine.bring_up("east", server.settings()).await;
    engine
        .backend
        .promote(&link.connection, None)
        .await
        .unwrap();
    let mut messages = client.subscribe([vec![0xff, 0xfe]]).await.unwrap();
    messages
        .psubscribe(["w*", "*d", "__keyevent@0__:*"])
        .await
        .unwrap();
    let next = async |messages: &mut backend_redis::Messages| {
        let message = tokio::time::timeout(BOUND, messages.next()).await;
        message.expect("a message").expect("the stream goes on")
    };
    let url = format!("redis://127.0.0.1:{}", server.port);
    let publisher = redis::Client::open(url).unwrap();
    let mut publisher = publisher.get_multiplexed_async_connection().await.unwrap();
    let mut publish = redis::cmd("PUBLISH");
    publish.arg(&[0xff_u8, 0xfe]).arg(&[0_u8, 0x80]);
    let heard: i64 = publish.query_async(&mut publisher).await.unwrap();
    assert_eq!(heard, 1);
    let message = next(&mut messages).await;
    assert_eq!(
        (message.channel(), message.payload()),
        (&[0xff, 0xfe][..], &[0, 0x80][..])
    );

    let heard: i64 = server.ask("PUBLISH wind x").await;
    assert_eq!(heard, 2);
    let (one, other) = (next(&mut messages).await, next(&mut messages).await);
    let mut patterns = [one.pattern().unwrap(), other.pattern().unwrap()];
    patterns.sort_unstable();
    assert_eq!(patterns, [&b"*d"[..], b"w*"]);

    let () = server.ask("SET key 1").await;
    // The other two patterns do not match it.
    let message = next(&mut messages).await;
    assert_eq!(
        (&*message.channel_name(), &*message.text()),
        ("__keyevent@0__:set", "key")
    );
}
