//! Failover for Rust services: one application, several equivalent places to talk to, one of them in use.
//!
//! A group of members (Redis databases in two regions, the brokers of a cluster, anything that a backend knows) has one
//! *active*, which carries the traffic, and *standbys*, which are connected and proven. The engine decides by weight
//! which one starts, notices trouble as soon as a socket or an operation shows it, proves the replacement before it
//! trusts it, moves the traffic without losing or doubling more than was agreed, and moves it back.
//!
//! ```
//! use failover_core::Failover;
//! use failover_core::memory::Memory; // the embedded backend; with the feature `redis`: failover_core::redis::Redis
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), failover_core::Error> {
//! let group = Failover::<Memory>::open_toml(
//!     r#"
//!     [group]
//!     name = "sessions"
//!
//!     [[member]]
//!     name = "east"
//!     weight = 1.0          # the heaviest healthy member is active
//!     at = "server one"     # the backend's own settings
//!
//!     [[member]]
//!     name = "west"
//!     weight = 0.5
//!     at = "server two"
//!     "#,
//! )
//! .await?;
//!
//! let client = group.client(); // cheap to clone; it works on whichever member is active
//! client.set("greeting", "hello").await?;
//! assert_eq!(group.status().active.unwrap(), "east");
//!
//! // The member dies. A read that fails under it runs again on the next active.
//! group.backend().world().server("server one").kill();
//! assert_eq!(client.get("greeting").await?, None); // another server: replication is the servers' business
//! assert_eq!(group.status().active.unwrap(), "west");
//!
//! group.close().await; // no task and no socket is left
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | open a group | [`Failover::open_file`], [`Failover::open_toml`], [`Failover::builder`] |
//! | move traffic by hand | [`Failover::switch_to`], [`Failover::drain_to`] and their `_passive` forms |
//! | watch | [`Failover::events`], [`Failover::status`], `tracing` |
//! | configure | [`config`] |
//! | change the configuration while it runs | [`Failover::reload`], [`Failover::apply`], and `watch` with that feature |
//! | write a backend | [`api`], above all [`api::Backend`] |
//! | test your own code under failures | [`memory`] |
//!
//! # Features
//!
//! `memory` (default) is the embedded backend, `redis` the one for Redis, `redis-tls` the same with `rediss://`,
//! `redis-lag-aware` the same with the check `lag-aware` of Redis Enterprise, which brings an HTTP client. `fred`, `fred-tls`
//! and `fred-lag-aware` are the same three through fred: [`redis`] has both, and each compiles without the other. With
//! `redis-sentinel` and `redis-cluster` a member may be a master behind sentinels or a whole cluster. `watch` adds
//! [`Failover::watch`], which reloads the configuration when its file changes. An application that uses one of them takes no
//! other: `failover-core = { version = "0.1", default-features = false, features = ["redis"] }`.
//! `watch` reloads the configuration when its file changes; it takes no further dependency.

pub mod api;
mod builder;
pub mod config;
mod driver;
pub mod event;
mod group;
mod health;
#[doc(hidden)]
pub mod machine;
#[cfg(feature = "memory")]
pub mod memory;
mod reload;
pub mod status;

pub use backend_api::{Error, ErrorKind, Fate};
#[cfg(feature = "nats")]
pub use backend_nats as nats;
#[cfg(any(feature = "redis", feature = "fred"))]
pub use backend_redis as redis;
pub use builder::Builder;
pub use driver::Moved;
pub use event::{Event, EventKind, Events, Kind, Reason};
pub use group::Failover;
pub use reload::Reloaded;
pub use status::Status;
