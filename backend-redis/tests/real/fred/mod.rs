//! The second driver, fred, against the same servers and the same stand-in for the engine: what holds through redis-rs
//! holds through it (P164), and what only fred makes difficult.

mod blocking;
mod checks;
mod connect;
mod listen;
mod proofs;
mod replay;
mod retire;
#[cfg(feature = "tls")]
mod tls;

use std::time::Duration;

use backend_api::FromOptions;
use backend_redis::{Fred, Options, Replay};

use crate::stand_in::{Pair, StandIn};

pub(crate) fn with(options: Options) -> Fred {
    Fred::from_options(options).unwrap()
}

pub(crate) fn replay(replay: Replay) -> Fred {
    with(Options {
        replay,
        ..Options::default()
    })
}

pub(crate) fn engine() -> (StandIn<Fred>, backend_redis::FredClient) {
    StandIn::of(Fred::new())
}

pub(crate) async fn pair(backend: Fred) -> Pair<Fred> {
    Pair::over(backend, Duration::from_millis(500)).await
}
