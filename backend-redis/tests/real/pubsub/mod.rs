//! Pub/sub against real servers, with the engine's part played by hand: promote, activate, drain, retire.

mod faults;
mod moves;
mod protocol;
mod readers;

use std::time::{Duration, Instant};

use backend_api::{Backend, Leases, Signal};
use backend_redis::{Messages, Redis};

use crate::server::Server;
use crate::stand_in::{Link, Pair, StandIn};

const BOUND: Duration = Duration::from_secs(5);
/// Longer than any test: a heartbeat that is none.
const A_MINUTE: Duration = Duration::from_secs(60);

/// What a server is subscribed to: channels, sharded channels, and the number of patterns.
async fn subscribed(server: &Server) -> (Vec<String>, Vec<String>, usize) {
    let mut channels: Vec<String> = server.ask("PUBSUB CHANNELS").await;
    let mut shards: Vec<String> = server.ask("PUBSUB SHARDCHANNELS").await;
    channels.sort();
    shards.sort();
    (channels, shards, server.ask("PUBSUB NUMPAT").await)
}

async fn subscribed_becomes(server: &Server, channels: &[&str], patterns: usize) {
    let deadline = Instant::now() + BOUND;
    loop {
        let now = subscribed(server).await;
        if now.0 == channels && now.2 == patterns {
            return;
        }
        assert!(Instant::now() < deadline, "{now:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn next(messages: &mut Messages) -> (String, String) {
    let message = tokio::time::timeout(BOUND, messages.next())
        .await
        .expect("a message")
        .expect("the stream goes on");
    let member = message.member().as_str();
    (
        message.text().into_owned(),
        format!("{member}:{}", message.channel_name()),
    )
}

/// What comes next is this, from there.
async fn comes(messages: &mut Messages, text: &str, place: &str) {
    assert_eq!(next(messages).await, (text.to_owned(), place.to_owned()));
}

async fn nothing_comes(messages: &mut Messages) {
    let more = tokio::time::timeout(Duration::from_millis(50), messages.next()).await;
    assert!(more.is_err(), "{more:?}");
}

/// An active and a standby, the engine's way: promoted before activated.
async fn pair() -> Pair {
    pair_with(Redis::builder()).await
}

async fn pair_with(builder: backend_redis::RedisBuilder) -> Pair {
    let pair = Pair::start(builder).await;
    promote(&pair.engine, &pair.on_east, None).await.unwrap();
    pair
}

async fn promote(
    engine: &StandIn,
    to: &Link,
    from: Option<&Link>,
) -> Result<(), backend_api::Error> {
    let from = from.map(|link| &link.connection);
    tokio::time::timeout(
        Duration::from_millis(500),
        engine.backend.promote(&to.connection, from),
    )
    .await
    .expect("a promotion is bounded")
}

async fn drain(backend: &Redis, from: &Link, leases: Option<Leases>) {
    let leases = leases.expect("it was active");
    let draining = backend.drain(&from.connection, leases);
    tokio::time::timeout(BOUND, draining)
        .await
        .expect("the drain ends");
}

/// A planned move, as the engine makes it.
async fn switch(engine: &mut StandIn, from: &Link, to: &Link) {
    promote(engine, to, Some(from)).await.unwrap();
    let leases = engine.activate(to).1;
    drain(&engine.backend, from, leases).await;
}

/// The next notice, past other signals.
async fn notice(engine: &mut StandIn) -> (&'static str, String) {
    loop {
        if let Signal::Notice(notice) = engine.hear().await {
            return (notice.what, notice.text);
        }
    }
}
