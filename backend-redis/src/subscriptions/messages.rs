//! What the application holds: the stream of messages, and the handle that changes what it hears.
//!
//! Neither knows a connection: the registry tells what is wanted, and its leader whether a server agrees.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use backend_api::{Error, ErrorKind, Slot};
use futures_core::Stream;
use tokio::sync::mpsc;

use super::registry::Registry;
use super::topic::{Delivery, Kind, Message, Topic};

pub(crate) type Ended = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// The group as a stream sees it. Whoever holds it keeps the group alive.
pub(crate) trait Group: Send + Sync + 'static {
    /// How long whoever needs an active waits for one.
    fn wait(&self) -> Duration;
    /// Why there is no active, as far as known.
    fn absence(&self) -> Error;
    /// Resolves when the group is closed.
    fn closed(&self) -> Ended;
}

impl<C: Send + Sync + 'static> Group for Slot<C> {
    fn wait(&self) -> Duration {
        Slot::wait(self)
    }

    fn absence(&self) -> Error {
        match self.try_lease() {
            Err(reason) => reason,
            Ok(_lease) => Error::new(ErrorKind::Timeout, "the active did not answer in time"),
        }
    }

    fn closed(&self) -> Ended {
        let slot = self.clone();
        Box::pin(async move { slot.closed().await })
    }
}

/// The messages of some subscriptions, across switches: a [`Stream`] that ends when the group is closed, and never
/// because of a switch, a lost connection or a time without an active.
///
/// Subscribe and unsubscribe at any time, through this or through [`subscriptions`](Self::subscriptions), which another
/// task may hold. Dropping the stream ends its subscriptions.
///
/// It holds up to `pubsub_buffer` messages that nobody has read yet. What comes beyond that is dropped and counted by
/// [`missed`](Self::missed), and an event `slow_subscriber` says so once for each time: other streams are never held up.
pub struct Messages {
    received: mpsc::Receiver<Message>,
    subscriptions: Subscriptions,
    closed: Ended,
    ended: bool,
}

/// Changes what a [`Messages`] stream hears. Cheap to clone.
#[derive(Clone)]
pub struct Subscriptions {
    shared: Arc<Shared>,
}

struct Shared {
    id: u64,
    registry: Arc<Registry>,
    group: Box<dyn Group>,
    missed: Arc<AtomicU64>,
    delivery: Delivery,
}

impl Messages {
    pub(crate) fn new(registry: &Arc<Registry>, group: impl Group, delivery: Delivery) -> Self {
        let entered = registry.enter(delivery);
        Self {
            received: entered.messages,
            closed: group.closed(),
            subscriptions: Subscriptions {
                shared: Arc::new(Shared {
                    id: entered.id,
                    registry: registry.clone(),
                    group: Box::new(group),
                    missed: entered.missed,
                    delivery,
                }),
            },
            ended: false,
        }
    }

    /// The next message; `None` once the group is closed. Waits for ever otherwise. Cancel-safe.
    pub async fn next(&mut self) -> Option<Message> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The handle that changes what is heard here.
    pub fn subscriptions(&self) -> Subscriptions {
        self.subscriptions.clone()
    }

    /// See [`Subscriptions::subscribe`].
    pub async fn subscribe<N: Into<Vec<u8>>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.subscriptions.subscribe(channels).await
    }

    /// See [`Subscriptions::psubscribe`].
    pub async fn psubscribe<N: Into<Vec<u8>>>(
        &self,
        patterns: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.subscriptions.psubscribe(patterns).await
    }

    /// See [`Subscriptions::ssubscribe`].
    pub async fn ssubscribe<N: Into<Vec<u8>>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.subscriptions.ssubscribe(channels).await
    }

    /// See [`Subscriptions::unsubscribe`].
    pub fn unsubscribe<N: Into<Vec<u8>>>(&self, channels: impl IntoIterator<Item = N>) {
        self.subscriptions.unsubscribe(channels);
    }

    /// See [`Subscriptions::punsubscribe`].
    pub fn punsubscribe<N: Into<Vec<u8>>>(&self, patterns: impl IntoIterator<Item = N>) {
        self.subscriptions.punsubscribe(patterns);
    }

    /// See [`Subscriptions::sunsubscribe`].
    pub fn sunsubscribe<N: Into<Vec<u8>>>(&self, channels: impl IntoIterator<Item = N>) {
        self.subscriptions.sunsubscribe(channels);
    }

    /// How many messages were dropped because this stream was full.
    pub fn missed(&self) -> u64 {
        self.subscriptions.shared.missed.load(Ordering::Relaxed)
    }
}

impl Stream for Messages {
    type Item = Message;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Message>> {
        if let Poll::Ready(message) = self.received.poll_recv(context) {
            return Poll::Ready(message);
        }
        if !self.ended && self.closed.as_mut().poll(context).is_ready() {
            self.ended = true;
            self.received.close();
            // Nothing is lost that came in between the two looks.
            return self.received.poll_recv(context);
        }
        Poll::Pending
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        let shared = &self.subscriptions.shared;
        shared.registry.leave(shared.id);
    }
}

impl Subscriptions {
    /// Hears these channels too. Returns once the active has confirmed it: what is published there from then on comes.
    ///
    /// Without an active it waits up to `unavailable.wait` for one. An error means that nothing was changed:
    /// [`ErrorKind::Auth`] where the server does not permit a channel, [`ErrorKind::Unsupported`] where it does not know
    /// the command, [`ErrorKind::Timeout`], [`ErrorKind::NoActive`] or [`ErrorKind::Closed`]. Once it has succeeded, the
    /// subscription lasts until it is taken back, whatever the members do. Cancel-safe: given up, nothing was changed.
    pub async fn subscribe<N: Into<Vec<u8>>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.add(topics(Kind::Channel, channels)).await
    }

    /// The same for the channels that match a pattern.
    pub async fn psubscribe<N: Into<Vec<u8>>>(
        &self,
        patterns: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.add(topics(Kind::Pattern, patterns)).await
    }

    /// The same for sharded channels (SPUBLISH), which servers know from Redis 7 on.
    pub async fn ssubscribe<N: Into<Vec<u8>>>(
        &self,
        channels: impl IntoIterator<Item = N>,
    ) -> Result<(), Error> {
        self.add(topics(Kind::Shard, channels)).await
    }

    /// Does not hear these channels any more. It holds from now on, on every member; the server is told meanwhile. What
    /// the stream already holds can still be read.
    pub fn unsubscribe<N: Into<Vec<u8>>>(&self, channels: impl IntoIterator<Item = N>) {
        self.remove(&topics(Kind::Channel, channels));
    }

    /// The same for patterns.
    pub fn punsubscribe<N: Into<Vec<u8>>>(&self, patterns: impl IntoIterator<Item = N>) {
        self.remove(&topics(Kind::Pattern, patterns));
    }

    /// The same for sharded channels.
    pub fn sunsubscribe<N: Into<Vec<u8>>>(&self, channels: impl IntoIterator<Item = N>) {
        self.remove(&topics(Kind::Shard, channels));
    }

    /// What a planned move may do to this stream.
    pub fn delivery(&self) -> Delivery {
        self.shared.delivery
    }

    async fn add(&self, topics: Vec<Topic>) -> Result<(), Error> {
        if topics.is_empty() {
            return Ok(());
        }
        let (version, fresh) = self.shared.registry.add(self.shared.id, &topics)?;
        let mut withdraw = Withdraw(&self.shared, fresh);
        tokio::select! {
            confirmed = self.confirmed(version, &topics) => confirmed?,
            () = self.shared.group.closed() => {
                return Err(Error::new(ErrorKind::Closed, "the group is closed"));
            }
        }
        withdraw.1.clear();
        Ok(())
    }

    fn remove(&self, topics: &[Topic]) {
        self.shared.registry.remove(self.shared.id, topics);
    }

    /// Asks whichever member leads, until one has answered.
    async fn confirmed(&self, version: u64, topics: &[Topic]) -> Result<(), Error> {
        let mut leaders = self.shared.registry.leaders();
        loop {
            let leads = |leader: &Option<std::sync::Weak<_>>| leader.is_some();
            let there = tokio::time::timeout(self.shared.group.wait(), leaders.wait_for(leads));
            let leader = match there.await {
                Ok(Ok(leader)) => leader.as_ref().and_then(std::sync::Weak::upgrade),
                _ => return Err(self.shared.group.absence()),
            };
            // It may be gone by now: then the next is told of.
            if let Some(leader) = leader {
                tokio::select! {
                    confirmed = leader.confirmed(version, topics) => return confirmed,
                    _ = leaders.changed() => {}
                }
            } else if tokio::time::timeout(self.shared.group.wait(), leaders.changed())
                .await
                .is_err()
            {
                return Err(self.shared.group.absence());
            }
        }
    }
}

/// Takes back what was not confirmed.
struct Withdraw<'a>(&'a Shared, Vec<Topic>);

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        if !self.1.is_empty() {
            self.0.registry.remove(self.0.id, &self.1);
        }
    }
}

fn topics<N: Into<Vec<u8>>>(kind: Kind, names: impl IntoIterator<Item = N>) -> Vec<Topic> {
    let named = names.into_iter().map(|name| Topic::new(kind, name.into()));
    named.collect()
}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Messages")
            .field("unread", &self.received.len())
            .field("missed", &self.missed())
            .field("delivery", &self.subscriptions.delivery())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Subscriptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscriptions")
            .field("delivery", &self.delivery())
            .finish_non_exhaustive()
    }
}
