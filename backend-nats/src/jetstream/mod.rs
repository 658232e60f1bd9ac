//! JetStream work that goes on over switches: publishing, reading, watching a bucket.
//!
//! async-nats ties each of its JetStream handles to one client, so all of them end with a connection. What stands here
//! ties them to the group instead: it binds to the active, works there, and binds anew on the next one. It speaks the few
//! subjects of JetStream's protocol itself ([`api`], [`pull`]), since a pull stream of async-nats that is held without
//! being read on a client that has ended occupies a whole core.
//!
//! - [`publish`]: a message with an id, again on the next active until a stream has confirmed it.
//! - [`source`]: what reads a stream over switches; [`consumer`] and [`kv`] are its two faces.
//! - [`message`]: what was read, and its acknowledgement through whichever connection is active.
//! - [`place`]: which cluster a connection is in. Sequences, revisions and duplicate windows mean nothing in another one.
//!
//! Never to come in: managing streams, consumers and buckets. [`FailoverClient::jetstream`] is for that.
//!
//! [`FailoverClient::jetstream`]: crate::FailoverClient::jetstream

mod api;
mod bind;
mod consumer;
mod kv;
mod message;
mod pace;
mod place;
mod publish;
mod pull;
mod reading;
mod source;
#[cfg(test)]
mod tests;

pub use consumer::{OrderedBegin, OrderedConsumerBuilder, PullConsumer, PullConsumerBuilder};
pub use kv::{KvWatch, KvWatchBuilder, WatchFrom};
pub use message::{JetStreamMessage, MessageInfo};
pub use place::Cluster;
pub use publish::{Publication, Publisher};

/// What to do when the traffic has moved to another cluster than the one where a position was taken.
///
/// Stream sequences, revisions of a bucket, positions of durable consumers and windows of duplicates belong to one cluster.
/// A connection's cluster is what its server says: the name of the cluster and the JetStream domain; of a server in no
/// cluster, its configured name, or else its address. So clusters that are not the same need names that are not the same.
/// Readers also notice when the stream itself is another one of the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OnOtherCluster {
    /// An error of kind [`Moved`](backend_api::ErrorKind::Moved) says so. A reader then waits, and goes on when the traffic
    /// is back.
    #[default]
    Refuse,
    /// As if it had begun there: a message is published anew, which may store it in both clusters; a durable consumer goes
    /// on at the position that the one of its name has there; an ordered one and a watch begin again. Acknowledgements of
    /// messages from elsewhere are still refused.
    StartOver,
    /// Positions hold there too: the names differ, yet it is one JetStream, as with clusters joined by gateways. If they do
    /// not hold, messages are lost or acknowledged unread.
    SamePositions,
}
