//! Reading a stream through a pull consumer, over switches: a durable one, or one of the reader's own in order.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use backend_api::Error;
use futures_util::{Stream, StreamExt as _};

use super::OnOtherCluster;
use super::message::JetStreamMessage;
use super::reading::{Begin, Reading, What};
use super::source::{Messages, Source};
use crate::FailoverClient;

/// Messages of a stream, over switches; it ends with the group.
///
/// An error is news, not an end: reading on goes on. [`ErrorKind::Moved`](backend_api::ErrorKind::Moved) says that the
/// traffic is in another cluster, see [`OnOtherCluster`]; other kinds that the consumer could not be reached for
/// [`patience`](PullConsumerBuilder::patience), or refuses to be read.
///
/// A planned move reads what is under way on the old connection first. What was sent and did not arrive all the same, as
/// when the active is killed, a durable consumer sends again when its `ack_wait` is over, and an ordered one at once. While
/// nobody reads, nothing runs, and no more than one batch is held. Dropped, it leaves nothing. It holds the group open like
/// a client does.
pub struct PullConsumer {
    messages: Messages,
}

impl PullConsumer {
    /// The next message; `None` once the group is closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<JetStreamMessage, Error>> {
        futures_util::StreamExt::next(self).await
    }
}

impl Stream for PullConsumer {
    type Item = Result<JetStreamMessage, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.messages.poll_next_unpin(cx);
        polled.map(|next| next.map(|next| next.map(|(message, _)| message)))
    }
}

impl std::fmt::Debug for PullConsumer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PullConsumer").finish_non_exhaustive()
    }
}

/// How a durable pull consumer is read.
#[derive(Clone, Debug)]
#[must_use]
pub struct PullConsumerBuilder {
    client: FailoverClient,
    reading: Reading,
}

/// How a stream is read in order.
#[derive(Clone, Debug)]
#[must_use]
pub struct OrderedConsumerBuilder {
    client: FailoverClient,
    reading: Reading,
}

/// Where an ordered consumer begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OrderedBegin {
    /// With the first message of the stream.
    #[default]
    All,
    /// With what comes after it was opened.
    New,
    /// With the last message of each subject.
    LastPerSubject,
    /// With the message of this number.
    Sequence(u64),
}

impl FailoverClient {
    /// Reads a durable pull consumer by the names of stream and consumer, over switches. Both must be there: see
    /// [`jetstream`](Self::jetstream) to create them.
    ///
    /// ```no_run
    /// # async fn shown(client: backend_nats::FailoverClient) -> Result<(), backend_api::Error> {
    /// let mut orders = client.pull_consumer("ORDERS", "worker").batch(50).open().await?;
    /// while let Some(order) = orders.next().await {
    ///     match order {
    ///         Ok(order) => {
    ///             println!("{}", order.subject);
    ///             order.double_ack().await?;
    ///         }
    ///         Err(error) => eprintln!("{error}"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn pull_consumer(
        &self,
        stream: impl Into<String>,
        durable: impl Into<String>,
    ) -> PullConsumerBuilder {
        PullConsumerBuilder {
            client: self.clone(),
            reading: Reading::new(stream.into(), What::Durable(durable.into())),
        }
    }

    /// Reads a stream in order and without acknowledgements, over switches: each time with a consumer of its own that
    /// begins behind the last message that was read.
    ///
    /// ```no_run
    /// # async fn shown(client: backend_nats::FailoverClient) -> Result<(), backend_api::Error> {
    /// use backend_nats::OrderedBegin;
    ///
    /// let orders = client.ordered_consumer("ORDERS").filter("orders.new");
    /// let mut orders = orders.begin(OrderedBegin::New).open().await?;
    /// if let Some(order) = orders.next().await {
    ///     println!("number {}", order?.info().stream_sequence);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn ordered_consumer(&self, stream: impl Into<String>) -> OrderedConsumerBuilder {
        let what = What::Ordered {
            filter: String::new(),
            begin: Begin::All,
        };
        OrderedConsumerBuilder {
            client: self.clone(),
            reading: Reading::new(stream.into(), what),
        }
    }
}

macro_rules! choices {
    () => {
        /// How many messages are under way at most, 1 to 10,000. Default: 100.
        pub fn batch(mut self, messages: usize) -> Self {
            self.reading.batch = messages;
            self
        }

        /// How often the consumer says that it is there when it has nothing to send, 100 ms to 60 s. Two and a half without
        /// a word, and it is bound anew. Default: 1 s.
        pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
            self.reading.heartbeat = heartbeat;
            self
        }

        /// How long it is tried in silence to reach the consumer, before an error says so. Default: 15 s, which outlasts an
        /// election.
        pub fn patience(mut self, patience: Duration) -> Self {
            self.reading.patience = patience;
            self
        }

        /// What to do when the traffic has moved to another cluster. Default: refuse.
        pub fn on_other_cluster(mut self, on_other_cluster: OnOtherCluster) -> Self {
            self.reading.on_other_cluster = on_other_cluster;
            self
        }

        /// The JetStream domain. Default: that of the server.
        pub fn domain(mut self, domain: impl Into<String>) -> Self {
            self.reading.domain = Some(domain.into());
            self
        }
    };
}

impl PullConsumerBuilder {
    choices!();

    /// Binds it. Fails with [`ErrorKind::Unsupported`](backend_api::ErrorKind::Unsupported) where stream or consumer is not
    /// there or is no pull consumer, and with [`ErrorKind::Config`](backend_api::ErrorKind::Config) where a choice cannot be
    /// used. Bounded by the patience. Cancel-safe.
    pub async fn open(self) -> Result<PullConsumer, Error> {
        let source = Source::open(self.client, self.reading).await?;
        Ok(PullConsumer {
            messages: source.messages(),
        })
    }
}

impl OrderedConsumerBuilder {
    choices!();

    /// Only messages of this subject, which may be a pattern. Default: all.
    pub fn filter(mut self, subject: impl Into<String>) -> Self {
        if let What::Ordered { filter, .. } = &mut self.reading.what {
            *filter = subject.into();
        }
        self
    }

    /// Where it begins. Default: with the first message.
    pub fn begin(mut self, at: OrderedBegin) -> Self {
        if let What::Ordered { begin, .. } = &mut self.reading.what {
            *begin = match at {
                OrderedBegin::All => Begin::All,
                OrderedBegin::New => Begin::New,
                OrderedBegin::LastPerSubject => Begin::LastPerSubject,
                OrderedBegin::Sequence(at) => Begin::At(at),
            };
        }
        self
    }

    /// Binds it; see [`PullConsumerBuilder::open`]. Acknowledgements of its messages mean nothing.
    pub async fn open(self) -> Result<PullConsumer, Error> {
        let source = Source::open(self.client, self.reading).await?;
        Ok(PullConsumer {
            messages: source.messages(),
        })
    }
}
