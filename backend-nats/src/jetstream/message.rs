//! A message that was read from a stream, and its acknowledgement through whichever connection is active.
//!
//! An acknowledgement names the stream's position. It does not go through what carries unsent messages over to the next
//! active: carried into another cluster it would acknowledge a message there that nobody has read.

use std::ops::Deref;
use std::time::Duration;

use async_nats::datetime::{self, DateTime};
use async_nats::jetstream::AckKind;
use async_nats::{Message, Subject};
use backend_api::{Error, ErrorKind, Fate, Lease, Outcome};
use bytes::Bytes;
use tokio::time::Instant;

use super::OnOtherCluster;
use super::api::{self, Failed, Why};
use super::pace::{PATIENCE, Pace};
use super::place::Cluster;
use crate::FailoverClient;
use crate::connection::Connection;

/// A message from a stream. Dereferences to async-nats's message. It holds the group open like a client does.
#[derive(Clone, Debug)]
pub struct JetStreamMessage {
    message: Message,
    info: MessageInfo,
    client: FailoverClient,
    cluster: Cluster,
    on_other_cluster: OnOtherCluster,
}

/// Where a message stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageInfo {
    /// Its number in the stream.
    pub stream_sequence: u64,
    /// Its number among everything that the consumer was given, again counted from one when an ordered consumer is
    /// bound anew.
    pub consumer_sequence: u64,
    /// How often it was delivered, this time included.
    pub delivered: u64,
    /// How many more messages wait for the consumer.
    pub pending: u64,
    /// When the stream got it.
    pub published: DateTime,
}

impl MessageInfo {
    /// From the subject for acknowledgements, `$JS.ACK.<stream>.<consumer>.` and the numbers of the fields,
    /// in the order: deliveries, stream, consumer, time, pending. With domain and account before them in its newer form.
    pub(super) fn parse(reply: &str) -> Option<Self> {
        let rest = reply.strip_prefix("$JS.ACK.")?;
        let tokens: Vec<&str> = rest.split('.').collect();
        let numbers = match tokens.len() {
            7 => &tokens[2..7],
            9.. => &tokens[4..9],
            _ => return None,
        };
        let number = |at: usize| numbers[at].parse::<u64>().ok();
        Some(Self {
            delivered: number(0)?,
            stream_sequence: number(1)?,
            consumer_sequence: number(2)?,
            published: datetime::from_nanos(numbers[3].parse().ok()?).ok()?,
            pending: number(4)?,
        })
    }
}

impl JetStreamMessage {
    pub(super) fn new(
        message: Message,
        info: MessageInfo,
        client: FailoverClient,
        cluster: Cluster,
        on_other_cluster: OnOtherCluster,
    ) -> Self {
        Self {
            message,
            info,
            client,
            cluster,
            on_other_cluster,
        }
    }

    /// Where it stands in stream and consumer.
    pub fn info(&self) -> &MessageInfo {
        &self.info
    }

    /// The cluster where it was read.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The message itself.
    pub fn into_message(self) -> Message {
        self.message
    }

    /// Acknowledges: it is done with. `Ok` means that the acknowledgement is on its way. Where its connection ends just then
    /// it is lost and the message comes again: [`double_ack`](Self::double_ack) waits until the server has it.
    ///
    /// The message may have come on an earlier connection. In another cluster than where it was read this fails with
    /// [`ErrorKind::Moved`], unless [`OnOtherCluster::SamePositions`] was chosen. Cancel-safe.
    pub async fn ack(&self) -> Result<(), Error> {
        self.say("ack", AckKind::Ack).await
    }

    /// Not done with: to be delivered again, after `delay` where one is given. Else as [`ack`](Self::ack).
    pub async fn nak(&self, delay: Option<Duration>) -> Result<(), Error> {
        self.say("nak", AckKind::Nak(delay)).await
    }

    /// Still at work: the time after which it is delivered again begins anew. Else as [`ack`](Self::ack).
    pub async fn progress(&self) -> Result<(), Error> {
        self.say("progress", AckKind::Progress).await
    }

    /// Never to be delivered again, though not done with. Else as [`ack`](Self::ack).
    pub async fn term(&self) -> Result<(), Error> {
        self.say("term", AckKind::Term).await
    }

    /// Acknowledges and waits until the server has it, on the next active too where the connection ends, or where the
    /// consumer has no leader for a moment. Bounded by 15 s, each attempt by `timeouts.operation`.
    ///
    /// Errors as with [`ack`](Self::ack); after an attempt without an answer with the fate
    /// [`MayHaveBeenApplied`](Fate::MayHaveBeenApplied). Doing it again is always safe. Cancel-safe in that sense.
    pub async fn double_ack(&self) -> Result<(), Error> {
        const OPERATION: &str = "double_ack";
        let reply = self.reply(OPERATION)?;
        let deadline = Instant::now() + PATIENCE;
        let mut pace = Pace::default();
        let mut fate = Fate::NotApplied;
        loop {
            let lease = self.client.slot().lease().await;
            let lease = lease.map_err(|error| error.with_operation(OPERATION).with_fate(fate))?;
            self.check(&lease, OPERATION, fate)?;
            let within = deadline.min(Instant::now() + lease.connection().operation());
            let Err(Failed { why, error }) = acknowledge(lease.connection(), reply, within).await
            else {
                lease.finish(Outcome::Success);
                return Ok(());
            };
            if matches!(why, Why::Silent | Why::Ended) && error.fate() != Some(Fate::NotApplied) {
                fate = Fate::MayHaveBeenApplied;
            }
            let error = error.with_member(lease.member()).with_operation(OPERATION);
            let epoch = lease.epoch();
            lease.finish(why.outcome());
            let long = pace.failed(PATIENCE);
            if why == Why::Refused || long || Instant::now() >= deadline {
                return Err(error.with_fate(fate));
            }
            if why != Why::Ended {
                tokio::time::sleep(pace.pause()).await;
            } else if self.client.slot().moved_from(epoch).await.is_err() {
                return Err(error.with_fate(fate));
            }
        }
    }

    async fn say(&self, operation: &str, kind: AckKind) -> Result<(), Error> {
        let reply = self.reply(operation)?;
        let payload = Bytes::from(kind);
        loop {
            let lease = self.client.slot().lease().await;
            let lease = lease
                .map_err(|error| error.with_operation(operation).with_fate(Fate::NotApplied))?;
            self.check(&lease, operation, Fate::NotApplied)?;
            let connection = lease.connection();
            let said = !connection.has_ended()
                && connection
                    .client()
                    .publish(reply.clone(), payload.clone())
                    .await
                    .is_ok();
            if said {
                lease.finish(Outcome::Success);
                return Ok(());
            }
            let error = connection.interrupted().with_member(lease.member());
            let epoch = lease.epoch();
            lease.finish(Outcome::Neutral);
            if self.client.slot().moved_from(epoch).await.is_err() {
                return Err(error.with_operation(operation).with_fate(Fate::NotApplied));
            }
        }
    }

    fn reply(&self, operation: &str) -> Result<&Subject, Error> {
        self.message.reply.as_ref().ok_or_else(|| {
            let text = "the message came without a subject for acknowledgements";
            Error::new(ErrorKind::Unsupported, text)
                .with_operation(operation)
                .with_fate(Fate::NotApplied)
        })
    }

    fn check(&self, lease: &Lease<Connection>, operation: &str, fate: Fate) -> Result<(), Error> {
        let here = Cluster::of(lease.connection());
        if here == self.cluster || self.on_other_cluster == OnOtherCluster::SamePositions {
            return Ok(());
        }
        let cure = "it cannot be acknowledged here; it comes again there once the traffic is back";
        let error = self
            .cluster
            .moved(&here, "the message was read in", cure, Some(fate));
        Err(error.with_operation(operation))
    }
}

/// The answer is empty, not JSON.
async fn acknowledge(
    connection: &Connection,
    reply: &Subject,
    deadline: Instant,
) -> Result<(), Failed> {
    match api::request(connection, reply, None, Bytes::from(AckKind::Ack), deadline).await {
        Ok(_) => Ok(()),
        Err(failed) => Err(failed),
    }
}

impl Deref for JetStreamMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_the_subject_for_acknowledgements_are_read() {
        let old = MessageInfo::parse("$JS.ACK.S.C.2.17.5.1700000000000000000.3").unwrap();
        assert_eq!((old.delivered, old.stream_sequence), (2, 17));
        assert_eq!((old.consumer_sequence, old.pending), (5, 3));
        let new = "$JS.ACK.hub.hash.S.C.2.17.5.1700000000000000000.3";
        assert_eq!(MessageInfo::parse(new), Some(old.clone()));
        assert_eq!(MessageInfo::parse(&format!("{new}.token")), Some(old));
        for wrong in ["", "a.b", "$JS.ACK.S.C.2.17", "$JS.ACK.S.C.x.17.5.1.3"] {
            assert_eq!(MessageInfo::parse(wrong), None, "{wrong}");
        }
    }
}
