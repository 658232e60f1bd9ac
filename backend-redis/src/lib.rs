//! Redis for the failover engine, through redis-rs or through fred.
//!
//! | feature | the backend | what an application holds |
//! |---|---|---|
//! | `redis-rs` (default) | `Redis` | `FailoverConnection`: a redis-rs connection to whichever member is active |
//! | `fred` | `Fred` | `FredClient`: lends fred's client of whichever member is active |
//!
//! Which one is a type, and not a word in a file: both take the same [`Settings`] and [`Options`], and each compiles
//! without the other. `tls` is for whichever is there.
//!
//! ```
//! # #[cfg(feature = "redis-rs")]
//! # fn example() -> Result<(), backend_api::Error> {
//! use backend_api::{Backend, Member};
//! use backend_redis::{FailoverConnection, Redis, Replay, Settings};
//! use redis::AsyncCommands;
//!
//! let backend = Redis::builder().replay(Replay::Reads).build()?;
//! let east = Member::new("east", Settings::new("redis://app@east.example/0").password("secret"));
//! backend.validate(&east.settings)?;
//!
//! // The engine makes the connection; here is what is done with it.
//! async fn visit(connection: &mut FailoverConnection) -> redis::RedisResult<i64> {
//!     match connection.incr("visits", 1).await {
//!         Err(error) => {
//!             if let Some(cause) = FailoverConnection::cause(&error) {
//!                 eprintln!("{:?}, applied: {:?}", cause.kind(), cause.fate());
//!             }
//!             Err(error)
//!         }
//!         visits => visits,
//!     }
//! }
//! # Ok(())
//! # }
//! # #[cfg(feature = "redis-rs")]
//! # example().unwrap();
//! ```
//!
//! In TOML, a member's table takes what [`Settings`] has beside the engine's own keys, and `[backend]` takes
//! [`Options`]:
//!
//! ```toml
//! [backend]
//! replay = "reads"             # never | reads | all
//!
//! [[member]]
//! name = "east"
//! url = "redis://east.example:6379/0"
//! username = "app"
//! password = "${REDIS_PASSWORD}"
//! client_name = "shop"
//! # rediss:// needs the feature `redis-tls` or `fred-tls` of failover-core; with certificates of your own:
//! # ca_file = "/etc/ssl/redis-ca.pem"
//! ```
//!
//! Not there yet:
//!
//! - Pub/sub. SUBSCRIBE and its kin are refused; a plain redis-rs connection of your own does not follow a switch.
//! - Redis Cluster. One member is one server: MOVED and ASK are given to the caller.
//! - Sentinel. A sentinel is no member, and is not asked which server is the primary: the configuration names the servers.

#[cfg(not(any(feature = "redis-rs", feature = "fred")))]
compile_error!("a driver is needed: the feature `redis-rs` or `fred`");

mod again;
#[cfg(feature = "redis-rs")]
mod ask;
#[cfg(feature = "redis-rs")]
mod backend;
mod check;
#[cfg(feature = "redis-rs")]
mod client;
#[cfg(feature = "redis-rs")]
mod commands;
mod config;
#[cfg(feature = "redis-rs")]
mod connect;
#[cfg(feature = "redis-rs")]
mod connection;
#[cfg(feature = "redis-rs")]
mod dedicated;
#[cfg(feature = "redis-rs")]
mod error;
#[cfg(feature = "fred")]
mod fred;
mod probe;
mod target;
#[cfg(feature = "tls")]
mod tls;
mod words;

#[cfg(feature = "redis-rs")]
pub use backend::{Redis, RedisBuilder};
pub use check::{Driver, PingCheck, RoleCheck};
#[cfg(feature = "redis-rs")]
pub use client::FailoverConnection;
pub use config::{Options, Replay, Settings};
#[cfg(feature = "redis-rs")]
pub use connection::Connection;
#[cfg(feature = "fred")]
pub use fred::{Fred, FredClient, FredConnection};
