//! The contract, tried directly: one file per method, or per thing that a connection says.
//!
//! Every behaviour has fresh members and a fresh backend, so that one that fails spoils no other. What must never come
//! in: the engine. What holds only with it stands in [`engine`](super::engine).

mod connect;
mod drain;
mod identity;
mod loss;
mod promote;
mod prove;
mod retire;
mod settings;
mod signals;

use super::Harness;
use super::suite::Suite;

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    settings::run(suite).await;
    connect::run(suite).await;
    identity::run(suite).await;
    prove::run(suite).await;
    loss::run(suite).await;
    signals::run(suite).await;
    promote::run(suite).await;
    drain::run(suite).await;
    retire::run(suite).await;
}
