//! Redis for the failover engine, through redis-rs.
//!
//! [`Redis`] is the backend: how a member is connected, proven and retired. [`FailoverConnection`] is what an application
//! holds: a redis-rs connection to whichever member is active.
//!
//! ```
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
//! # Ok::<(), backend_api::Error>(())
//! ```
//!
//! In TOML, a member's table takes what [`Settings`] has beside the engine's own keys, and `[backend]` takes
//! [`Options`]:
//!
//! ```toml
//! [backend]
//! replay = "reads"             # never | reads | all
//! pubsub_heartbeat = "1s"      # how often the connection of the subscriptions is asked whether it lives
//! pubsub_buffer = 8192         # unread messages that one stream holds
//!
//! [[member]]
//! name = "east"
//! url = "redis://east.example:6379/0"
//! username = "app"
//! password = "${REDIS_PASSWORD}"
//! client_name = "shop"
//! # rediss:// needs the feature `redis-tls` of failover-core; with certificates of your own:
//! # ca_file = "/etc/ssl/redis-ca.pem"
//! ```
//!
//! # Pub/sub
//!
//! [`FailoverConnection::subscribe`], `psubscribe` and `ssubscribe` give a stream of [`Messages`] that goes on across
//! switches and outages and ends when the group is closed. Each active member is listened to on one connection beside
//! the shared one, opened with the first subscription. What happens to it is told as an event `Notice`, with one of these
//! words:
//!
//! | `what` | |
//! |---|---|
//! | `resubscribe_failed` | what is subscribed to is not there on the active, and is tried again |
//! | `resubscribed` | what was refused or lost is there again |
//! | `pubsub_lost` | the connection of the subscriptions ended or fell silent; it is opened anew |
//! | `slow_subscriber` | a stream is full, and what comes is dropped until it is read |
//!
//! A planned move loses nothing: the new active confirms everything before traffic moves, and the old one is left after
//! its last message was read. A member that refuses a subscription does not stop a move; one that does not answer stops
//! it only while the old one is well heard. [`Delivery`] is the choice between overlap and one source at a time.
//!
//! Not there yet:
//!
//! - Redis Cluster. One member is one server: MOVED and ASK are given to the caller.
//! - Sentinel. A sentinel is no member, and is not asked which server is the primary: the configuration names the servers.

mod backend;
mod check;
mod client;
#[cfg(feature = "cluster")]
mod cluster;
mod commands;
mod config;
mod connect;
mod connection;
mod dedicated;
mod error;
mod line;
mod link;
mod place;
mod probe;
mod pubsub;
#[cfg(feature = "sentinel")]
mod sentinel;
mod several;
mod target;
mod tasks;
#[cfg(feature = "tls")]
mod tls;

pub use backend::{Redis, RedisBuilder};
pub use check::{PingCheck, RoleCheck};
pub use client::FailoverConnection;
pub use config::{Options, Replay, Settings};
pub use connection::Connection;
pub use pubsub::{Delivery, Message, Messages, Subscriptions};
