//! The backend against real servers, with the engine played by a stand-in.
//!
//! What the engine decides is not tested here; what a connection and a client do when it decides is. A missing
//! redis-server fails these tests.

mod blocking;
mod commands;
mod connect;
mod proofs;
mod proxy;
mod pubsub;
mod replay;
mod retire;
#[cfg(feature = "sentinel")]
mod sentinel;
mod server;
mod stand_in;
#[cfg(feature = "tls")]
mod tls;
mod watch;
