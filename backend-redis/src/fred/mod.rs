//! Redis through fred: the second driver, with the same settings, options, proofs and checks as the first.
//!
//! What is the same for both stands outside (`target`, `options`, `server_errors`, `probe`, `check`, `retry`); here is only what
//! fred makes different. Nothing of redis-rs may be used here.
//!
//! A fred client reconnects by itself or it hangs: without a policy of its own, which is how it is used here, every
//! command after the end of its socket waits for ever. So a dead client is never used again, and whatever waits on one is
//! cut off by its connection ([`state`]).

mod ask;
mod backend;
mod client;
mod connect;
mod connection;
mod dedicated;
mod errors;
mod judge;
mod state;
mod subscriptions;

pub use backend::Fred;
pub use client::FredClient;
pub use connection::FredConnection;
