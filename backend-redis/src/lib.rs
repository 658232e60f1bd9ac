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
//! # Members that are several servers
//!
//! One member can be the master that sentinels tell of, or a whole Redis Cluster (features `redis-sentinel` and
//! `redis-cluster` of failover-core, `sentinel` and `cluster` here):
//!
//! ```toml
//! [backend]
//! member_failover = "5s"       # how long such a member may be without a master
//!
//! [[member]]
//! name = "east"
//! sentinels = ["redis://s1.example", "redis://s2.example", "redis://s3.example"]   # port 26379
//! master = "mymaster"
//! password = "${REDIS_PASSWORD}"
//! # sentinel_username and sentinel_password where the sentinels want them; tls = true where the servers speak TLS
//!
//! [[member]]
//! name = "west"
//! urls = ["redis://c1.example", "redis://c2.example"]   # some nodes; the others are found
//! password = "${REDIS_PASSWORD}"
//! ```
//!
//! A master that moves *inside* a member is no failover of the group: the connection stays, and its socket is replaced.
//! Meanwhile an operation waits up to `unavailable.wait`, or fails with a known fate, as after any lost connection; checks
//! of the active say nothing; a standby in that state is not promoted. When `member_failover` is over, the member is lost
//! and the group moves. So it must be longer than what the servers need: `down-after-milliseconds` or
//! `cluster-node-timeout`, and about two seconds. A member that is the only one loses nothing by a long one.
//!
//! The events are a `Notice` with one of these words:
//!
//! | `what` | |
//! |---|---|
//! | `master_lost` | the socket to the master was left, and no other is found after a quarter of a second |
//! | `master_found` | the master is connected, where the text says |
//! | `cluster_down` | for a quarter of a second a master does not answer, or not all slots are served |
//! | `cluster_up` | the cluster serves again |
//!
//! Sentinels are asked in order, each for a bounded time, and one is listened to; without any, a connected master stays.
//! An old master that still takes writes is left as soon as a sentinel says so. What it acknowledged between the promotion
//! and that word (up to a second) is lost by Redis; `min-replicas-to-write` on the servers narrows that. SCAN cursors and
//! WATCH end with a server, with [`ErrorKind::Moved`](backend_api::ErrorKind::Moved); subscriptions go along.
//!
//! On a cluster, redirections are followed and moving slots are not seen. Commands over several slots are split by redis-rs
//! where it knows how (MGET, MSET, DEL, ..: each part by itself), otherwise the server's CROSSSLOT is the answer; a pipeline
//! has one slot. A write is never sent again behind [`Replay`]'s back. A pipeline that meets a slot half-way on its move
//! may fail as one that may have been applied. WATCH, blocking commands, WAIT, SCAN and subscriptions need one server and
//! are refused with [`ErrorKind::Unsupported`](backend_api::ErrorKind::Unsupported). A cluster's connection has a thread.
//!
//! Not there yet: subscriptions, blocking commands and WATCH on a cluster; reads from replicas.

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
