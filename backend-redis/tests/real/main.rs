//! The backend against real servers, with the engine played by a stand-in.
//!
//! What the engine decides is not tested here; what a connection and a client do when it decides is. A missing
//! redis-server fails these tests.

mod blocking;
mod checks;
mod commands;
mod connect;
mod fates;
#[cfg(feature = "lag-aware")]
mod lag_aware;
mod maintenance;
mod proofs;
mod proxy;
mod pubsub;
mod replay;
mod retire;
mod server;
mod stand_in;
#[cfg(feature = "tls")]
mod tls;
mod watch;
