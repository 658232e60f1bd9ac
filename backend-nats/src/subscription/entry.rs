//! One subscription: what it asks for, and the feeds that its messages come from.
//!
//! Feeds stand in the order in which they were opened, and the oldest is read first. They are behind a mutex because a move
//! works on them while the application reads; nobody holds it across an await.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use async_nats::{Message, Subject};
use backend_api::{Error, ErrorKind, Generation};
use tokio::task::coop;

use super::delivery::{Dedupe, Delivery};
use super::feed::{Feed, Stage};
use super::filter::Filter;
use crate::connection::Connection;

/// See the [module](self).
pub(crate) struct Entry {
    pub(super) id: u64,
    subject: Subject,
    queue: Option<String>,
    delivery: Delivery,
    feeds: Mutex<Feeds>,
}

struct Feeds {
    list: Vec<Feed>,
    /// The connections of `list` that can still deliver, for the filter.
    sides: Vec<Generation>,
    /// Connections that are being subscribed on.
    attaching: Vec<Generation>,
    filter: Filter,
    waker: Option<Waker>,
    delivered: u64,
    /// How many messages are still to be delivered, where there is an end.
    until: Option<u64>,
    /// The same, where servers may count as well. With a filter they may not: they count what the reader never sees.
    remaining: Option<u64>,
    /// Nothing is added any more; the stream ends when the feeds have.
    closed: bool,
}

impl Entry {
    pub(super) fn new(
        id: u64,
        subject: Subject,
        queue: Option<String>,
        delivery: Delivery,
    ) -> Self {
        Self {
            id,
            subject,
            queue,
            delivery,
            feeds: Mutex::new(Feeds {
                list: Vec::with_capacity(2),
                sides: Vec::with_capacity(2),
                attaching: Vec::new(),
                filter: Filter::new(delivery.dedupe()),
                waker: None,
                delivered: 0,
                until: None,
                remaining: None,
                closed: false,
            }),
        }
    }

    pub(crate) fn delivery(&self) -> Delivery {
        self.delivery
    }

    pub(crate) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The next message of any feed; `None` where it is closed and all is read. `idle` becomes true where no connection has
    /// it, so that nothing can come for now.
    #[inline]
    pub(super) fn poll(&self, cx: &mut Context<'_>, idle: &mut bool) -> Poll<Option<Message>> {
        let mut feeds = self.feeds();
        let feeds = &mut *feeds;
        if feeds.until.is_none()
            && let [feed] = feeds.list.as_mut_slice()
            && feed.stage == Stage::Live
            && self.delivery.dedupe() == Dedupe::None
        {
            // As it is nearly always. The message is large, and handed on without a copy in between.
            let polled = feed.poll(cx);
            if let Poll::Ready(Some(_)) = polled {
                feeds.delivered += 1;
                return polled;
            }
            if polled.is_pending() {
                feeds.await_from(cx);
                return polled;
            }
        }
        self.poll_all(feeds, cx, idle)
    }

    fn poll_all(
        &self,
        feeds: &mut Feeds,
        cx: &mut Context<'_>,
        idle: &mut bool,
    ) -> Poll<Option<Message>> {
        if let Some(message) = self.take(feeds, cx) {
            feeds.delivered += 1;
            for count in [&mut feeds.until, &mut feeds.remaining] {
                *count = count.map(|count| count.saturating_sub(1));
            }
            if feeds.until == Some(0) {
                // Now, and not when it is read on: nobody may.
                feeds.end();
            }
            return Poll::Ready(Some(message));
        }
        if feeds.closed && feeds.list.is_empty() {
            return Poll::Ready(None);
        }
        feeds.await_from(cx);
        *idle = feeds.list.is_empty() && feeds.attaching.is_empty();
        Poll::Pending
    }

    fn take(&self, feeds: &mut Feeds, cx: &mut Context<'_>) -> Option<Message> {
        let Feeds {
            list,
            sides,
            attaching,
            filter,
            ..
        } = feeds;
        // Mirrored feeds get the same messages: one that always came first would let the others run over.
        let count = list.len();
        if self.delivery.is_mirrored() && count > 1 {
            list.rotate_left(1);
        }
        let alone = count < 2 && attaching.is_empty() && !self.delivery.is_mirrored();
        let mut at = 0;
        while at < list.len() {
            let feed = &mut list[at];
            match feed.poll(cx) {
                Poll::Ready(Some(message)) => {
                    if filter.is_new(&message, feed.generation, sides, alone) {
                        return Some(message);
                    }
                }
                Poll::Ready(None) => {
                    list.remove(at);
                    restate(list, sides);
                }
                Poll::Pending if feed.stage == Stage::Left && coop::has_budget_remaining() => {
                    list.remove(at);
                    restate(list, sides);
                }
                Poll::Pending if self.delivery.is_ordered() => break,
                Poll::Pending => at += 1,
            }
        }
        None
    }

    /// Subscribes on a connection, unless it is already. Cancel-safe. The server knows of it after the next round trip.
    ///
    /// What may be on one connection only stays where it is, if it is on another by the time that this is done.
    pub(crate) async fn attach(&self, connection: &Connection) -> Result<(), Error> {
        self.attach_as(connection, Claim::Joins).await
    }

    /// The same for the connection that the traffic moves to: what may be on one connection only is cut off elsewhere.
    pub(super) async fn take_over(&self, connection: &Connection) -> Result<(), Error> {
        self.attach_as(connection, Claim::Takes).await
    }

    async fn attach_as(&self, connection: &Connection, claim: Claim) -> Result<(), Error> {
        let generation = connection.generation();
        {
            let mut feeds = self.feeds();
            let has = feeds
                .list
                .iter()
                .any(|feed| feed.generation == generation && feed.stage == Stage::Live);
            if feeds.closed || has || feeds.attaching.contains(&generation) {
                return Ok(());
            }
            // Before the server knows: what it delivers then is compared.
            feeds.attaching.push(generation);
        }
        let attaching = Attaching(self, generation);
        let client = connection.client();
        let subscribed = match &self.queue {
            Some(queue) => {
                client
                    .queue_subscribe(self.subject.clone(), queue.clone())
                    .await
            }
            None => client.subscribe(self.subject.clone()).await,
        };
        let subscriber = subscribed.map_err(|error| match error.kind() {
            async_nats::SubscribeErrorKind::Other => connection.interrupted(),
            _ => Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{:?} cannot be subscribed to: {error}",
                    self.subject.as_str()
                ),
            ),
        })?;
        let mut feed = Feed::new(connection, subscriber);
        let mut feeds = self.feeds();
        // Retired or closed meanwhile, or not needed: the feed is dropped here.
        if feeds.attaching.contains(&generation)
            && !feeds.closed
            && (self.delivery != Delivery::AtMostOnce || feeds.make_way(claim))
        {
            if let Some(remaining) = feeds.remaining {
                feed.stop_after(remaining);
            }
            feeds.list.push(feed);
            feeds.restate();
            feeds.wake();
        }
        drop(feeds);
        drop(attaching);
        Ok(())
    }

    /// Whether it is subscribed on this connection, or about to be.
    pub(super) fn is_on(&self, generation: Generation) -> bool {
        let feeds = self.feeds();
        feeds
            .list
            .iter()
            .any(|feed| feed.generation == generation && feed.stage == Stage::Live)
    }

    /// Whether the server of this connection was told to send no more, and may not have heard yet.
    pub(super) fn is_leaving(&self, generation: Generation) -> bool {
        let feeds = self.feeds();
        let mut list = feeds.list.iter();
        list.any(|feed| feed.generation == generation && feed.stage == Stage::Leaving)
    }

    /// Tells the server of this connection to send no more. `None` if there is nothing to tell, `Some(false)` if the client
    /// does not take it yet.
    pub(super) fn leave(&self, generation: Generation) -> Option<bool> {
        let mut feeds = self.feeds();
        let feed = feeds
            .list
            .iter_mut()
            .find(|feed| feed.generation == generation && feed.stage == Stage::Live)?;
        Some(feed.leave())
    }

    /// The server has answered since: everything is here.
    pub(super) fn left(&self, generation: Generation) {
        let mut feeds = self.feeds();
        for feed in &mut feeds.list {
            if feed.generation == generation && feed.stage == Stage::Leaving {
                feed.stage = Stage::Left;
            }
        }
        feeds.restate();
        feeds.wake();
    }

    /// The server of this connection may send more, but that is not waited for: what is here is all.
    pub(super) fn cut(&self, generation: Generation) {
        let mut feeds = self.feeds();
        for feed in &mut feeds.list {
            if feed.generation == generation {
                feed.cut();
            }
        }
        feeds.restate();
        feeds.wake();
    }

    /// The connection is gone. What it delivered before is still read: its feed ends by itself.
    pub(super) fn forget(&self, generation: Generation) {
        let mut feeds = self.feeds();
        feeds.attaching.retain(|other| *other != generation);
        feeds.wake();
    }

    /// Ends after so many messages in all, those before this call included.
    pub(super) fn stop_after(&self, total: u64) {
        let mut feeds = self.feeds();
        let remaining = total.saturating_sub(feeds.delivered);
        feeds.until = Some(remaining);
        if remaining == 0 {
            feeds.end();
        } else if self.delivery.dedupe() == Dedupe::None {
            feeds.remaining = Some(remaining);
            for feed in &mut feeds.list {
                feed.stop_after(remaining);
            }
        }
        feeds.wake();
    }

    /// Nothing is added any more: what is there is read to its end.
    pub(super) fn close(&self) {
        let mut feeds = self.feeds();
        feeds.closed = true;
        feeds.wake();
    }

    /// Whether this connection may still send something that is read.
    pub(super) fn hears(&self, generation: Generation) -> bool {
        let feeds = self.feeds();
        let mut list = feeds.list.iter();
        list.any(|feed| feed.generation == generation && feed.stage != Stage::Left)
    }

    /// Whatever servers may still send is not waited for: what is here is all.
    pub(super) fn settle(&self) {
        let mut feeds = self.feeds();
        for feed in &mut feeds.list {
            feed.stage = Stage::Left;
        }
        feeds.wake();
    }

    /// Nothing is read any more.
    pub(crate) fn end(&self) {
        self.feeds().end();
    }

    fn feeds(&self) -> MutexGuard<'_, Feeds> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Feeds {
    fn restate(&mut self) {
        restate(&self.list, &mut self.sides);
    }

    /// Whether one more may come beside what is there, of which there may be one only.
    fn make_way(&mut self, claim: Claim) -> bool {
        if claim == Claim::Joins {
            return !self.list.iter().any(Feed::is_flowing);
        }
        for feed in &mut self.list {
            feed.cut();
        }
        true
    }

    fn await_from(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }

    fn end(&mut self) {
        self.closed = true;
        self.list.clear();
        self.sides.clear();
    }
}

fn restate(list: &[Feed], sides: &mut Vec<Generation>) {
    sides.clear();
    sides.extend(
        list.iter()
            .filter(|feed| feed.stage != Stage::Left)
            .map(|feed| feed.generation),
    );
}

/// For whom a connection is subscribed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// For the subscriber, who may be late.
    Joins,
    /// For the traffic.
    Takes,
}

/// A subscription on a connection has begun; also where it is given up.
struct Attaching<'a>(&'a Entry, Generation);

impl Drop for Attaching<'_> {
    fn drop(&mut self) {
        self.0.feeds().attaching.retain(|other| *other != self.1);
    }
}
