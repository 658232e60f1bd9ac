//! What is done beside the traffic of a connection, at times: on its own runtime, so that it ends with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use backend_api::Member;
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
/// How long publishing waits for a server that has what was published before and does not answer. After a steal it is ended
/// within the engine's grace, which is shorter by default.
const CATCH_UP: Duration = Duration::from_millis(250);
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

/// The traffic moves to `to`, and what was published before is not all there: it is still to be carried over, or `slow` has it,
/// whose server answers late or not at all. Nothing newer is published before that, unless the traffic moves on.
pub(crate) fn catch_up(to: &Connection, slow: Option<Connection>, shared: &Arc<Shared>) {
    to.outbound().fall_behind();
    let (to, shared) = (to.clone(), shared.clone());
    to.clone().spawn(async move {
        let catching = async {
            if let Some(from) = slow {
                let settled = async {
                    tokio::select! {
                        Ok(()) = from.confirm() => {}
                        () = from.state().gone() => shared.pending.collect(&from),
                    }
                };
                // After that the order is given up: who publishes does not wait for a server that keeps everybody waiting.
                let _ = tokio::time::timeout(CATCH_UP, settled).await;
            }
            // It fails with the connection.
            let _ = shared.carry_to(&to).await;
        };
        tokio::select! {
            () = catching => to.outbound().caught_up(),
            () = to.outbound().has_caught_up() => {}
        }
    });
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
