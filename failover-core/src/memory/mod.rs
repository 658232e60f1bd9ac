//! The embedded backend: servers that live in this process, and every fault a test can wish for.
//!
//! A [`World`] is a set of servers with addresses; a [`Server`] holds keys and values and can be killed, frozen, cut
//! off, slowed down or made a lame duck. [`Memory`] is the backend over a world, [`Client`] what applications use.
//! Code that runs on this backend meets the same failures as on a real one, in the same words, but at once,
//! without a server to install, and in virtual time: everything that waits here waits on tokio's clock or on a watch
//! channel, so a test under `start_paused` takes no time at all.
//!
//! Where it had to choose, it behaves like a process behind a socket. What a frozen server was sent, it does after the
//! thaw, also when nobody waits for the answer any more: an operation that timed out *may have been applied*, and
//! here it really may. What a killed server was sent and had not yet done, it never does; what it had done stays
//! done, for data belongs to the server and outlives its death.
//!
//! One thing to know in virtual time: it only moves while every task waits for something, and an operation on
//! a server without latency waits for nothing. Loops of operations need a pause, or
//! [`set_latency`](Server::set_latency).
//!
//! What must never come here: threads, real time, sockets, global state, and any decision of the engine's.
//!
//! ```
//! use failover_core::memory::World;
//!
//! let world = World::new();
//! let east = world.server("east");
//! east.set("greeting", "hello");
//! east.kill();
//! assert_eq!(east.get("greeting").as_deref(), Some("hello"));
//! assert!(!east.is_up());
//! ```
//!
//! In a configuration the members say where their server is, and the test keeps the world:
//!
//! ```
//! use failover_core::memory::{Memory, World};
//!
//! let members = r#"
//!     [[member]]
//!     name = "east"
//!     at = "server one"
//! "#;
//! let world = World::new();
//! let backend: Memory = world.backend(); // goes to the engine, together with `members`
//! let east = world.server("server one"); // stays with the test
//! # let _ = (members, backend, east);
//! ```

mod backend;
mod check;
mod client;
mod command;
mod connection;
mod faults;
mod line;
mod server;
mod state;
#[cfg(test)]
mod tests;
mod world;

pub use backend::{Memory, Options, Promotion, Settings};
pub use check::Status;
pub use client::Client;
pub use connection::Connection;
pub use faults::Method;
pub use server::Server;
pub use world::World;
