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
//! pubsub_heartbeat = "1s"      # how often the connection of the subscriptions is asked whether it lives
//! pubsub_buffer = 8192         # unread messages that one stream holds
//! wait_for_replication = "2s"  # reads after a switch, see below; off by default
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
//! # Pub/sub
//!
//! `subscribe`, `psubscribe` and `ssubscribe` of either client give a stream of [`Messages`] that goes on across
//! switches and outages and ends when the group is closed. Each active member is listened to on one connection beside
//! the shared one, opened with the first subscription. It speaks RESP2, whichever driver serves the commands. What happens to it is told as an event `Notice`, with one of these
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
//! # Checks
//!
//! `check = [".."]` of `[group.health]` names them; all that are named have to pass. Their options stand in `[backend]`.
//!
//! | name | passes | options |
//! |---|---|---|
//! | `ping`, `role` | the default: it answers, and is a master (or `allow_replicas`) | |
//! | `lag` | it is no replica, or one that is close enough to its master: [`LagCheck`] | `lag_bytes`, `lag_time` |
//! | `write-read` | what is written can be read: [`WriteReadCheck`] | `check_key` |
//! | `lag-aware` | Redis Enterprise calls it available; feature `redis-lag-aware` or `fred-lag-aware` of failover-core | `rest_lag_tolerance`, `rest_local`; `rest_url`, `rest_username`, `rest_password`, `rest_ca_file` of the member |
//!
//! # Announced maintenance
//!
//! Through redis-rs only, of members that are one server: `Fred` refuses the option.
//!
//! With `maintenance_notices = true` a server is asked, as a connection is opened by RESP3, to announce its maintenance
//! (`CLIENT MAINT_NOTIFICATIONS ON`; Redis Enterprise and Redis Cloud do). A member that announces `MOVING`, `MIGRATING` or
//! `FAILING_OVER` is a lame duck, and what happens then stands in `[group.lame_duck]`. A server that refuses, or does not
//! answer within `timeouts.operation`, is used without.
//!
//! # Was it applied?
//!
//! `FailoverConnection::fate` says of any failed operation whether it was not applied or may have been. Through fred the
//! error itself says it: [`Error::fate`](backend_api::Error::fate).
//!
//! # Reads after a switch
//!
//! Through redis-rs only, from one member to another: `Fred` refuses the option, and what moves inside a member does not count.
//!
//! Redis replicates after it has acknowledged, so a replica that takes over can lack acknowledged writes. With
//! `wait_for_replication = "2s"`, where the new active was a replica of the old one, reads after a switch wait until it has
//! what the old one acknowledged (`INFO replication` of both, asked only after a switch and with the checks), or fail with
//! [`ErrorKind::Unhealthy`](backend_api::ErrorKind::Unhealthy) and fate `NotApplied`. What is certain depends on what can be known:
//!
//! | the old active | what a read sees |
//! |---|---|
//! | answers (planned moves, drains) | everything that was acknowledged before the read was asked for, also during the drain |
//! | is dead or silent | everything acknowledged before the last `ping` check or proof of it began (`health.interval`); what came after that cannot be known |
//! | was made a replica itself | as if it were dead: what it acknowledged as a master |
//!
//! | the new active | reads |
//! |---|---|
//! | has it | are served at once |
//! | still follows, and lacks some of it | wait, until `wait_for_replication` after the switch; then they fail at once until it has caught up |
//! | was promoted without some of it | fail at once until `wait_for_replication` after the switch; then they are served, since nothing better ever comes, and an event `Notice` (`writes_lost`) has told it |
//! | has no history in common (independent databases, a server that started empty) or may not be asked | are served at once: nothing is guaranteed |
//!
//! Reads are what the server's command table calls so, pipelines with one of them, and WATCH; scripts and writes that return
//! what was there are not held back. The guarantee is about the two members of one switch. Offsets count bytes and not writes:
//! a master that has other replicas also sends them a PING every ten seconds, which counts like a write.
//!
//! # Members that are several servers
//!
//! Through redis-rs only: `Fred` refuses such a member.
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

#[cfg(not(any(feature = "redis-rs", feature = "fred")))]
compile_error!("a driver is needed: the feature `redis-rs` or `fred`");

mod address;
mod check;
mod failures;
#[cfg(feature = "fred")]
mod fred;
mod options;
mod place;
mod probe;
#[cfg(feature = "redis-rs")]
mod redis_rs;
mod replication;
mod retry;
mod server_errors;
mod settings;
mod stream;
mod subscriptions;
mod target;
mod tasks;

#[cfg(feature = "lag-aware")]
pub use check::LagAwareCheck;
pub use check::{Driver, LagCheck, PingCheck, RoleCheck, WriteReadCheck};
#[cfg(feature = "fred")]
pub use fred::{Fred, FredClient, FredConnection};
pub use options::{Options, Replay};
#[cfg(feature = "redis-rs")]
pub use redis_rs::{Connection, FailoverConnection, Redis, RedisBuilder};
pub use settings::Settings;
pub use subscriptions::{Delivery, Message, Messages, Subscriptions};
