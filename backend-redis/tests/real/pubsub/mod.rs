//! Pub/sub against real servers, with the engine's part played by hand: promote, activate, drain, retire.
//!
//! It is compiled once for each driver, which stands above it: the guarantees are the same, and so are the tests (P164).

mod faults;
mod moves;
mod protocol;
mod readers;

use std::time::{Duration, Instant};

use backend_api::FromOptions;
use backend_api::{Backend, Leases, Signal};
use backend_redis::{Messages, Options};

use super::{Driver, config_set};
use crate::server::Server;

type Link = crate::stand_in::Link<<Driver as Backend>::Connection>;
type Pair = crate::stand_in::Pair<Driver>;
type StandIn = crate::stand_in::StandIn<Driver>;

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
    pair_with(Driver::new()).await
}

fn with(options: Options) -> Driver {
    Driver::from_options(options).unwrap()
}

fn heartbeat(interval: Duration) -> Driver {
    with(Options {
        pubsub_heartbeat: interval,
        ..Options::default()
    })
}

async fn pair_with(backend: Driver) -> Pair {
    let pair = Pair::over(backend, Duration::from_millis(500)).await;
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

async fn drain(backend: &Driver, from: &Link, leases: Option<Leases>) {
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
