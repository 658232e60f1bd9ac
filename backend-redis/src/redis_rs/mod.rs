//! Redis through redis-rs: the driver that is there by default.
//!
//! ```text
//!  backend        the contract, implemented; builder: its options by code
//!  client/        what applications hold, and how an operation is carried to whichever member is active
//!  connection     one connection to one member: the shared socket (line, link), the dedicated ones, the tasks
//!  connect        one dial: stream, handshake, and the task that moves the bytes
//!  topology/      members that are several servers: a master behind sentinels, a cluster
//!  errors         what redis-rs says, in the words of the contract
//! ```
//!
//! What is the same for both drivers stands outside of this module. Nothing of fred may be used here.

mod ask;
mod backend;
mod builder;
mod client;
mod commands;
mod connect;
mod connection;
mod dedicated;
mod errors;
mod line;
mod link;
mod topology;
mod values;

pub use backend::{Redis, RedisBuilder};
pub use client::FailoverConnection;
pub use connection::Connection;
