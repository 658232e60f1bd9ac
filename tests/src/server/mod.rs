//! Real servers on loopback ports, and the proxy that stands between them and a client.
//!
//! - [`find`]: where the programs are. A missing one is an error with the cure in it, never a skipped test.
//! - [`RedisServer`]: starts, kills, freezes, thaws and restarts a redis-server, and looks at it from outside.
//! - [`RedisCluster`]: three masters that share the slots, with or without a replica each.
//! - [`Sentinels`]: a master, its replica, and three sentinels that watch them.
//! - [`NatsServer`] and [`NatsCluster`]: the same for nats-servers, alone or with routes between them.
//! - [`Certificates`]: made for the occasion, for servers that speak TLS.
//! - [`Proxy`]: faults of the network: silence, lost replies, resets, refusals.
//! - [`Process`]: what every kind of server stands on: a child that ends with its test, whatever happens to the test.
//!   Another kind of server is one more module beside [`redis`](RedisServer) and [`nats`](NatsServer), built on this.
//!
//! The calls that start and stop servers block for some milliseconds, the ones that look at a server for at most their
//! timeout. That is fine in most tests. Where a task of the same runtime measures time meanwhile, use a runtime with
//! several threads and `spawn_blocking`: the servers are `Sync`, and all their methods take `&self`.
//!
//! Never to come in: an address that is not loopback, a loop without a bound, a signal to a process that this module did
//! not start itself.

mod certificates;
mod find;
mod folder;
mod nats;
mod ports;
mod process;
mod proxy;
mod redis;

pub use certificates::Certificates;
pub use find::{Missing, find, find_pinned};
pub use nats::{Flavour, NatsBuilder, NatsCluster, NatsServer};
pub use process::{Process, StartError};
pub use proxy::{Mode, Proxy, Shape, Way};
pub use redis::{CliError, RedisBuilder, RedisCluster, RedisServer, Reply, Sentinels};
