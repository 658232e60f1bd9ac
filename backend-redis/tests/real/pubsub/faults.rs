//! What goes wrong: refusals, kills, silence, and connections that are retired.

use backend_api::{Backend, ErrorKind};
use backend_redis::Settings;

use super::*;
use crate::proxy::Proxy;

async fn deny(server: &Server, channels: &str) {
    let () = server
        .ask(&format!(
            "ACL SETUSER app on >secret ~* +@all resetchannels {channels}"
        ))
        .await;
}

fn as_app(server: &Server) -> Settings {
    server.settings().username("app").password("secret")
}

// F52: a refusal is an error where it is asked for, and an event and a retry where a move meets it.
#[tokio::test]
async fn a_refused_subscription_stops_no_move_and_is_tried_again() {
    let (east, west) = (Server::start().await, Server::start().await);
    deny(&east, "&news &open").await;
    deny(&west, "&open").await;
    // No heartbeat may do what a retry is for.
    let (mut engine, client) = StandIn::of(heartbeat(A_MINUTE));
    let on_east = engine.connect("east", as_app(&east)).await.unwrap();
    promote(&engine, &on_east, None).await.unwrap();
    engine.activate(&on_east);
    let on_west = engine.connect("west", as_app(&west)).await.unwrap();

    let error = client.subscribe(["secrets"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(error.message().contains("NOPERM"), "{error}");
    let mut messages = client.subscribe(["news", "open"]).await.unwrap();
    messages.subscribe(["secrets"]).await.unwrap_err();
    // The caller was told: no event.
    assert!(engine.heard.try_recv().is_err());

    switch(&mut engine, &on_east, &on_west).await;
    let (what, text) = notice(&mut engine).await;
    assert_eq!(what, "resubscribe_failed");
    assert!(
        text.contains("NOPERM") && !text.contains("secret"),
        "{text}"
    );
    subscribed_becomes(&west, &["open"], 0).await;
    subscribed_becomes(&east, &[], 0).await;
    deny(&west, "&open &news").await;
    assert_eq!(notice(&mut engine).await.0, "resubscribed");
    subscribed_becomes(&west, &["news", "open"], 0).await;
    let _: i64 = west.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "west:news").await;
}

// F53: only the socket of the subscriptions dies: the member is doubted, not condemned, and heard again.
#[tokio::test]
async fn a_killed_pubsub_socket_is_opened_anew() {
    let mut pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    let killed: i64 = pair.east.ask("CLIENT KILL TYPE pubsub").await;
    assert_eq!(killed, 1);
    assert!(matches!(pair.engine.hear().await, Signal::Suspect));
    assert_eq!(notice(&mut pair.engine).await.0, "pubsub_lost");
    assert_eq!(notice(&mut pair.engine).await.0, "resubscribed");
    subscribed_becomes(&pair.east, &["news"], 0).await;
    let _: i64 = pair.east.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "east:news").await;
}

// F66: it is told, the data connection goes on, and so do the subscriptions once the answers are answers again.
#[tokio::test]
async fn a_hostile_answer_ends_the_pubsub_socket_and_nothing_else() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.port).await;
    let (mut engine, client) = StandIn::of(heartbeat(A_MINUTE));
    let link = engine.connect("east", proxy.settings()).await.unwrap();
    promote(&engine, &link, None).await.unwrap();
    engine.activate(&link);
    let mut messages = client.subscribe(["news"]).await.unwrap();

    proxy.nest_answers(true);
    let error = messages.subscribe(["more"]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    assert!(error.message().contains("nested too deep"), "{error}");
    engine.backend.prove(&link.connection).await.unwrap();

    proxy.nest_answers(false);
    subscribed_becomes(&server, &["news"], 0).await;
    messages.subscribe(["more"]).await.unwrap();
    let _: i64 = server.ask("PUBLISH more 1").await;
    comes(&mut messages, "1", "east:more").await;
}

// F53: the heartbeat: open, and nobody answers.
#[tokio::test]
async fn a_silent_socket_is_replaced_and_the_connection_doubted() {
    let mut pair = pair_with(heartbeat(Duration::from_millis(50))).await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    pair.east.freeze();
    assert!(matches!(pair.engine.hear().await, Signal::Suspect));
    pair.east.thaw();
    assert_eq!(notice(&mut pair.engine).await.0, "pubsub_lost");
    assert_eq!(notice(&mut pair.engine).await.0, "resubscribed");
    subscribed_becomes(&pair.east, &["news"], 0).await;
    let _: i64 = pair.east.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "east:news").await;
    pair.east.clients_become(2).await;
}

// F54: a dead active: the stream waits, and goes on from the next.
#[tokio::test]
async fn the_stream_outlives_a_killed_active() {
    let mut pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    pair.east.kill();
    pair.engine.clear();
    pair.engine.retire(&pair.on_east).await;
    nothing_comes(&mut messages).await;
    promote(&pair.engine, &pair.on_west, Some(&pair.on_east))
        .await
        .unwrap();
    pair.engine.activate(&pair.on_west);
    let _: i64 = pair.west.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "west:news").await;
}

// P159, F54: retired: no socket, whatever is still held, and also one that is half-way through a promotion.
#[tokio::test]
async fn retiring_leaves_no_socket() {
    let mut pair = pair().await;
    let _messages = pair.client.subscribe(["news"]).await.unwrap();
    pair.east.clients_become(2).await;
    promote(&pair.engine, &pair.on_west, Some(&pair.on_east))
        .await
        .unwrap();
    pair.engine.retire(&pair.on_west).await;
    pair.west.clients_become(0).await;
    let frozen = pair.engine.connect("west", pair.west.settings()).await;
    let frozen = frozen.unwrap();
    pair.west.freeze();
    let (backend, from) = (&pair.engine.backend, &pair.on_east.connection);
    let half = backend.promote(&frozen.connection, Some(from));
    let given_up = tokio::time::timeout(Duration::from_millis(50), half).await;
    assert!(given_up.is_err());
    pair.engine.retire(&frozen).await;
    pair.west.thaw();
    pair.west.clients_become(0).await;
    pair.engine.retire(&pair.on_east).await;
    pair.east.clients_become(0).await;
}

// F52: silence where a second socket is opened: off while the old one is heard, and no obstacle where it is not.
#[tokio::test]
async fn silence_stops_a_move_only_while_the_old_active_is_heard() {
    let mut pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    pair.west.freeze();
    let error = promote(&pair.engine, &pair.on_west, Some(&pair.on_east)).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let _: i64 = pair.east.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "east:news").await;

    pair.east.kill();
    assert!(matches!(
        pair.engine.hear().await,
        Signal::Suspect | Signal::Lost(_)
    ));
    pair.engine.retire(&pair.on_east).await;
    promote(&pair.engine, &pair.on_west, Some(&pair.on_east))
        .await
        .expect("a failover is not stopped");
    assert_eq!(notice(&mut pair.engine).await.0, "resubscribe_failed");
    pair.engine.activate(&pair.on_west);
    pair.west.thaw();
    subscribed_becomes(&pair.west, &["news"], 0).await;
    let _: i64 = pair.west.ask("PUBLISH news 2").await;
    comes(&mut messages, "2", "west:news").await;
}

// F52: a member that takes no further connection is moved to all the same; the old one is heard until it does.
#[tokio::test]
async fn the_old_active_is_heard_until_the_new_one_is() {
    let mut pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    let () = pair.west.ask("CONFIG SET maxclients 1").await;
    promote(&pair.engine, &pair.on_west, Some(&pair.on_east))
        .await
        .expect("a refusal stops no move");
    assert_eq!(notice(&mut pair.engine).await.0, "resubscribe_failed");
    let leases = pair.engine.activate(&pair.on_west).1.unwrap();
    let draining = pair.engine.backend.drain(&pair.on_east.connection, leases);
    tokio::pin!(draining);
    let early = tokio::time::timeout(Duration::from_millis(50), &mut draining).await;
    assert!(early.is_err(), "the old one was left too early");
    let _: i64 = pair.east.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "east:news").await;
    config_set(&pair.client, "maxclients", "100").await;
    tokio::time::timeout(BOUND, draining)
        .await
        .expect("the drain ends");
    assert_eq!(subscribed(&pair.west).await.0, ["news"]);
    subscribed_becomes(&pair.east, &[], 0).await;
}

// F53: the drain of a silent old active is bounded by itself too.
#[tokio::test]
async fn a_silent_old_active_does_not_hold_its_drain_up() {
    let mut pair = pair().await;
    let _messages = pair.client.subscribe(["news"]).await.unwrap();
    promote(&pair.engine, &pair.on_west, Some(&pair.on_east))
        .await
        .unwrap();
    pair.east.freeze();
    let leases = pair.engine.activate(&pair.on_west).1;
    let begun = Instant::now();
    drain(&pair.engine.backend, &pair.on_east, leases).await;
    assert!(begun.elapsed() < Duration::from_secs(1));
    pair.east.thaw();
    subscribed_becomes(&pair.east, &[], 0).await;
}

// F53: the confirmation is lost on the way: it is asked for again, and there is one subscription in the end.
#[tokio::test]
async fn a_lost_confirmation_is_no_subscription_lost() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.port).await;
    let (mut engine, client) = StandIn::of(Driver::new());
    let link = engine.connect("east", proxy.settings()).await.unwrap();
    promote(&engine, &link, None).await.unwrap();
    engine.activate(&link);
    let mut messages = client.subscribe(["news"]).await.unwrap();
    proxy.eat_replies();
    let error = messages.subscribe(["more"]).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Lost | ErrorKind::Timeout));
    // Withdrawn by its error; the other is still wanted, and moves.
    let west = Server::start().await;
    let on_west = engine.connect("west", west.settings()).await.unwrap();
    promote(&engine, &on_west, Some(&link)).await.unwrap();
    engine.activate(&on_west);
    engine.retire(&link).await;
    assert_eq!(subscribed(&west).await.0, ["news"]);
    let _: i64 = west.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "west:news").await;
}
