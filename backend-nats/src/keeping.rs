//! What is done beside the traffic of a connection, at times: on its own runtime, so that it ends with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use backend_api::{Error, ErrorKind, Member};
use futures_util::future::join_all;
use tokio::time::MissedTickBehavior;

use crate::client::Shared;
use crate::config::{Carry, Settings};
use crate::connect::peek;
use crate::connection::Connection;
use crate::echo;

/// How often the server is asked what it has got, where what is not confirmed is carried over.
const CONFIRM: Duration = Duration::from_millis(10);
/// How often copies of what has left are let go on a connection that publishes nothing more, and floods looked for.
const TIDY: Duration = Duration::from_millis(250);
/// How long a stream that was flowing may be silent.
const SILENCE: Duration = Duration::from_millis(100);
/// So many messages in that time are a stream.
const FLOW: u64 = 20;
const PEEK: Duration = Duration::from_secs(1);

/// Begins. The tasks hold the connection, and end when it is retired.
pub(crate) fn start(connection: &Connection, shared: &Arc<Shared>, settings: &Settings) {
    connection.spawn(tidy(connection.clone()));
    connection.spawn(echo::listen(connection.clone()));
    connection.spawn(listen(connection.clone()));
    if shared.options.carry == Carry::Unconfirmed {
        connection.spawn(confirm(connection.clone()));
    }
    if shared.options.discover {
        let known = connection.server_info().connect_urls.clone();
        tell(connection, settings, &known);
        connection.spawn(discover(
            connection.clone(),
            shared.options.discover_interval,
            settings.clone(),
            known,
        ));
    }
}

/// The traffic is at `to`, and something older is still on its way: it is to be carried over, or other connections have it.
/// Nothing newer is published before that is there, unless the traffic moves on. Nothing happens where nothing is published
/// as it is.
pub(crate) fn catch_up(to: &Connection, shared: &Arc<Shared>) {
    if !to.outbound().fall_behind() {
        return;
    }
    let (to, shared) = (to.clone(), shared.clone());
    to.clone().spawn(async move {
        let catching = async {
            while !shared.pending.is_clear_for(&to) {
                let owing = shared.pending.owing_besides(&to);
                if !owing.is_empty() {
                    let settling = owing.iter().map(|from| settle_or_end(from, &shared));
                    join_all(settling).await;
                } else if shared.carry_to(&to).await.is_err() {
                    // It has ended, and this with it.
                    return;
                }
            }
            to.outbound().caught_up();
        };
        tokio::select! {
            () = catching => {}
            () = to.outbound().has_caught_up() => {}
        }
    });
}

/// Waits until nothing that was published on a connection can still arrive late: its server has all of it, or the connection
/// has ended and what certainly did not leave waits to be carried over. Whether its server has answered. Without a bound;
/// cancel-safe.
pub(crate) async fn settle(from: &Connection, shared: &Shared) -> bool {
    let settled = async {
        from.outbound().turn_over().await;
        let stamp = shared.pending.stamp(from);
        let answer = from.confirm().await;
        if answer.is_ok() {
            shared.pending.settled(from, stamp);
        }
        answer
    };
    tokio::select! {
        biased;
        Ok(()) = settled => true,
        () = from.state().going() => {
            shared.pending.collect(from).await;
            false
        }
    }
}

/// The same, for no longer than an operation may take. Then the connection is ended: what the client still has for a server
/// that does not answer would leave late otherwise.
async fn settle_or_end(from: &Connection, shared: &Shared) {
    let time = from.operation();
    let settled = tokio::time::timeout(time, settle(from, shared)).await;
    // Where a move was called off, the traffic is there again.
    if settled.is_err() && !shared.registry.is_active(from) {
        let text = format!(
            "{} did not answer within {time:?} after the traffic had left, and had what was published before",
            from.address()
        );
        from.cut_off(Error::new(ErrorKind::Timeout, text));
        shared.pending.collect(from).await;
    }
}

fn every(time: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(time);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

async fn confirm(connection: Connection) {
    let mut ticks = every(CONFIRM);
    loop {
        ticks.tick().await;
        if connection.outbound().newest().is_some() {
            // What it could not confirm is asked for again, until the connection ends, and this task with it.
            let _ = connection.confirm().await;
        }
    }
}

/// A stream that falls silent from one moment to the next is the first that is heard of a server that stands still: who only
/// listens has no operation that fails, and the next check is far. So the engine is asked to prove the connection, once for
/// each such end; the proof's own answer is too little to begin again.
async fn listen(connection: Connection) {
    let statistics = connection.client().statistics();
    let mut ticks = every(SILENCE);
    let (mut heard, mut flowing) = (0, false);
    loop {
        ticks.tick().await;
        let now = statistics.in_messages.load(Ordering::Relaxed);
        let came = now - std::mem::replace(&mut heard, now);
        if came == 0 && flowing {
            connection.signals().suspect();
        }
        flowing = came >= FLOW;
    }
}

/// In a flood of dropped messages the client's own channel of events runs over, and the announcement of a shutdown can be
/// among what is lost. A server that is about to shut down takes no connection, or says so to who comes.
async fn tidy(connection: Connection) {
    let mut ticks = every(TIDY);
    let mut dropped = 0;
    loop {
        ticks.tick().await;
        connection.outbound().tidy();
        let now = connection.state().dropped();
        let flood = std::mem::replace(&mut dropped, now) != now;
        if !flood || connection.state().is_lame_duck() || connection.target().tls_first {
            continue;
        }
        let refused = match peek(connection.address(), PEEK).await {
            Ok(info) => info.lame_duck_mode,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionRefused,
        };
        // It refuses others and answers us.
        if refused && connection.round_trip_within(PEEK).await.is_ok() {
            connection.lame_duck();
        }
    }
}

/// Tells the engine which servers there are, when that has changed.
async fn discover(
    connection: Connection,
    interval: Duration,
    settings: Settings,
    mut known: Vec<String>,
) {
    let mut ticks = every(interval);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        if connection.target().tls_first {
            // Such a server says nothing before it knows who asks: then only a new connection tells.
            return;
        }
        let Ok(info) = peek(connection.address(), PEEK).await else {
            continue;
        };
        if !info.connect_urls.is_empty() && info.connect_urls != known {
            known = info.connect_urls;
            tell(&connection, &settings, &known);
        }
    }
}

/// A server's addresses become members named by them, reached in the way in which the teller is. The engine knows which of
/// them the configuration has.
fn tell(connection: &Connection, settings: &Settings, urls: &[String]) {
    let tls = connection
        .target()
        .addresses
        .iter()
        .any(|address| address.server.tls_required());
    let scheme = if tls { "tls" } else { "nats" };
    let member = |url: &String| Member::new(url.as_str(), settings.at(format!("{scheme}://{url}")));
    connection
        .signals()
        .discovered(urls.iter().map(member).collect());
}
