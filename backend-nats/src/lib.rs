//! NATS for the failover engine, through async-nats.
//!
//! [`Nats`] is the backend: how a member is connected, proven and retired. [`FailoverClient`] is what an application holds:
//! one client over all switches, whose subscriptions go on with the traffic.
//!
//! ```
//! use backend_nats::{Ask, Carry, Dedupe, Delivery, FailoverClient, Nats, Settings};
//! use backend_api::{Backend, Error, Member};
//! use std::time::Duration;
//!
//! let backend = Nats::builder().carry(Carry::Unsent).build()?;
//! let east = Member::new("east", Settings::new("nats://east.example").user("app", "secret"));
//! backend.validate(&east.settings)?;
//!
//! // The engine makes the client; here is what is done with it.
//! async fn use_it(client: &FailoverClient) -> Result<(), Error> {
//!     let mut orders = client.subscribe_with("orders.*", Delivery::at_least_once(Dedupe::Header)).await?;
//!     let mut jobs = client.queue_subscribe("jobs", "workers").await?;
//!     client.publish("orders.new", "42".into()).await?;
//!     let ask = Ask::new().timeout(Duration::from_secs(2)).idempotent(true);
//!     let price = client.request_with("price", "42".into(), ask).await?;
//!     println!("{:?} {:?} {:?}", price.payload, orders.next().await, jobs.next().await);
//!     Ok(())
//! }
//! # Ok::<(), Error>(())
//! ```
//!
//! In TOML, a member's table takes what [`Settings`] has beside the engine's own keys, and `[backend]` takes [`Options`]:
//!
//! ```toml
//! [backend]
//! carry = "unsent"             # none | unsent | unconfirmed: what is published again when its connection ends
//! # discover = true            # the other servers of the cluster become members
//!
//! [[member]]
//! name = "n0"
//! url = "nats://n0.example:4222"    # or urls = ["..", ".."]: several servers that are one member
//! credentials_file = "/etc/app.creds"  # or token, or username and password, or nkey
//! # ca_file, cert_file, key_file, tls_first, client_name, inbox_prefix, ping_interval
//! # probe_subject = "_FAILOVER.PROBE"  # a request there, which nobody answers, is the proof of a connection
//! ```
//!
//! # What a switch does
//!
//! To subscriptions: what [`Delivery`] says, chosen where one subscribes. To messages that were published and had not left:
//! what [`Carry`] says. To requests: a drain lets them finish; where their connection ends first they fail at once, or are
//! asked again if they say that this does no harm ([`Ask::idempotent`]).
//!
//! # Permissions
//!
//! A user needs to publish to the probe's subject and to subscribe to the inbox (`_INBOX.>`, or `inbox_prefix`). With
//! publishing to the inbox allowed as well, servers are asked whether they know of a moved subscription instead of being
//! given time ([`Options::overlap`]).
//!
//! # Notices
//!
//! `slow_consumer`, `forbidden`, `server_error`, and of published messages that were dropped: `carry_expired`, `carry_late`,
//! `carry_refused`. They are events of the engine, named by their `what`.

mod backend;
mod client;
mod config;
mod connect;
mod connection;
mod echo;
#[cfg(test)]
mod fake;
mod jetstream;
mod keeping;
mod outbound;
mod subscription;
mod target;

pub use async_nats;
pub use backend::{Nats, NatsBuilder};
pub use client::{Ask, FailoverClient};
pub use config::{Carry, Options, Settings};
pub use connection::Connection;
pub use jetstream::{
    Cluster, JetStreamMessage, KvWatch, KvWatchBuilder, MessageInfo, OnOtherCluster, OrderedBegin,
    OrderedConsumerBuilder, Publication, Publisher, PullConsumer, PullConsumerBuilder, WatchFrom,
};
pub use subscription::{Dedupe, Delivery, Subscription};
