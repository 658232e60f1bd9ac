//! The application's side: slow readers, several of them, the end of the group, calls that are given up.

use backend_api::ErrorKind;
use backend_redis::Options;

use super::*;

// F55
#[tokio::test]
async fn a_slow_reader_misses_and_is_told_and_holds_up_nobody() {
    let mut pair = pair_with(with(Options {
        pubsub_buffer: 4,
        ..Options::default()
    }))
    .await;
    let mut slow = pair.client.subscribe(["news"]).await.unwrap();
    let mut quick = pair.client.subscribe(["news"]).await.unwrap();
    for number in 0..10 {
        let _: i64 = pair.east.ask(&format!("PUBLISH news {number}")).await;
        comes(&mut quick, &number.to_string(), "east:news").await;
    }
    assert_eq!((slow.missed(), quick.missed()), (6, 0));
    let (what, text) = notice(&mut pair.engine).await;
    assert_eq!(what, "slow_subscriber");
    assert!(text.contains("pubsub_buffer"), "{text}");
    // Once for each time, not for each message.
    assert!(pair.engine.heard.try_recv().is_err());
    // The oldest are kept, the newest dropped.
    for number in 0..4 {
        comes(&mut slow, &number.to_string(), "east:news").await;
    }
    for number in 10..15 {
        let _: i64 = pair.east.ask(&format!("PUBLISH news {number}")).await;
        comes(&mut quick, &number.to_string(), "east:news").await;
    }
    assert_eq!(slow.missed(), 7);
    assert_eq!(notice(&mut pair.engine).await.0, "slow_subscriber");
}

// F51: a channel is subscribed to once, and left when the last who wanted it goes.
#[tokio::test]
async fn several_readers_share_a_subscription() {
    let pair = pair_with(heartbeat(A_MINUTE)).await;
    let mut first = pair.client.subscribe(["news"]).await.unwrap();
    let mut second = pair.client.subscribe(["news", "news"]).await.unwrap();
    second.psubscribe(["n*"]).await.unwrap();
    let heard: i64 = pair.east.ask("PUBLISH news 1").await;
    assert_eq!(heard, 2, "the channel and the pattern, on one connection");
    comes(&mut first, "1", "east:news").await;
    let (mut patterns, mut plain) = (0, 0);
    for _ in 0..2 {
        match second.next().await.unwrap().pattern() {
            Some(pattern) => {
                assert_eq!(pattern, b"n*");
                patterns += 1;
            }
            None => plain += 1,
        }
    }
    assert_eq!((patterns, plain), (1, 1));
    second.punsubscribe(["n*"]);
    drop(first);
    subscribed_becomes(&pair.east, &["news"], 0).await;
    let _: i64 = pair.east.ask("PUBLISH news 2").await;
    comes(&mut second, "2", "east:news").await;
    second.unsubscribe(["news"]);
    subscribed_becomes(&pair.east, &[], 0).await;
}

// F54
#[tokio::test]
async fn a_group_that_never_subscribes_opens_no_socket_for_it() {
    let mut pair = pair().await;
    let (from, to) = (pair.on_east.clone(), pair.on_west.clone());
    switch(&mut pair.engine, &from, &to).await;
    let _empty = pair.client.messages(backend_redis::Delivery::AtLeastOnce);
    for server in [&pair.east, &pair.west] {
        server.clients_become(1).await;
    }
}

// F54: the stream ends when the group does, after what had come in; nothing hangs.
#[tokio::test]
async fn the_end_of_the_group_ends_its_streams() {
    let pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    let subscriptions = messages.subscriptions();
    let _: i64 = pair.east.ask("PUBLISH news last").await;
    pair.east.clients_become(2).await;
    let Pair { engine, .. } = pair;
    drop(engine);
    comes(&mut messages, "last", "east:news").await;
    let end = tokio::time::timeout(BOUND, messages.next()).await;
    assert!(end.expect("the stream ends").is_none());
    assert!(messages.next().await.is_none());
    let error = subscriptions.subscribe(["more"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    drop(messages);
    let error = subscriptions.subscribe(["more"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

// F51: without an active it waits, and fails with the reason; failed or given up, nothing is left of it.
#[tokio::test]
async fn subscribing_without_an_active_waits_and_leaves_nothing() {
    let server = crate::server::Server::start().await;
    let (mut engine, client) = StandIn::of(Driver::new());
    let begun = Instant::now();
    let error = client.subscribe(["news"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoActive);
    assert!(error.message().contains("east"), "{error}");
    assert!(begun.elapsed() < crate::stand_in::WAIT * 2);
    let waiting = client.messages(backend_redis::Delivery::AtLeastOnce);
    let subscribing =
        tokio::time::timeout(Duration::from_millis(20), waiting.subscribe(["given up"]));
    assert!(subscribing.await.is_err());
    // And a member that comes in time is what it waited for.
    let later = tokio::spawn(async move { client.subscribe(["later"]).await });
    let coming = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let link = engine.connect("east", server.settings()).await.unwrap();
        promote(&engine, &link, None).await.unwrap();
        engine.activate(&link);
        link
    };
    let (messages, _link) = tokio::join!(later, coming);
    let mut messages = messages.unwrap().unwrap();
    subscribed_becomes(&server, &["later"], 0).await;
    let _: i64 = server.ask("PUBLISH later 1").await;
    comes(&mut messages, "1", "east:later").await;
}
