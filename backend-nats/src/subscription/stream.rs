//! What applications hold: a stream of messages that goes on over switches.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_nats::{Message, Subject};
use backend_api::{Error, ErrorKind, Slot};
use futures_util::Stream;
use futures_util::future::join_all;

use super::entry::Entry;
use super::moves;
use crate::client::Shared;
use crate::connection::Connection;

/// A subscription: a stream of messages that goes on over switches and ends with the group.
///
/// Dropped, it unsubscribes. It holds the group open like a client does. One subscription holds up to
/// [`subscription_capacity`](crate::Options::subscription_capacity) messages for a reader that is busy.
pub struct Subscription {
    entry: Arc<Entry>,
    shared: Arc<Shared>,
    closed: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
}

impl Subscription {
    pub(crate) fn new(entry: Arc<Entry>, shared: Arc<Shared>, slot: Slot<Connection>) -> Self {
        Self {
            entry,
            shared,
            closed: Box::pin(async move { slot.closed().await }),
        }
    }

    /// The subject that it is for.
    pub fn subject(&self) -> &Subject {
        self.entry.subject()
    }

    /// The next message; `None` once it has ended, and for good. Cancel-safe.
    pub async fn next(&mut self) -> Option<Message> {
        futures_util::StreamExt::next(self).await
    }

    /// Ends after so many messages in all, those that were delivered before included; a switch does not begin the count
    /// again. What the server sends beyond is dropped.
    pub fn unsubscribe_after(&self, total: u64) {
        self.entry.stop_after(total);
    }

    /// Unsubscribes now. What is under way or not yet read is dropped.
    pub fn unsubscribe(self) {
        drop(self);
    }

    /// Unsubscribes in order: when it returns, everything that was sent to this subscription is here to be read, and after
    /// that the stream ends. With that a subscription can be moved by hand: drain it, switch, subscribe again.
    ///
    /// Fails with [`ErrorKind::Timeout`] if a server has not answered within `time`, and with [`ErrorKind::Auth`] if it has come
    /// to forbid the question. What had arrived is here to be read all the same, and then the stream ends; messages under way may be
    /// missing. Cancel-safe: dropped, it ends like that as well.
    pub async fn drain(&mut self, time: Duration) -> Result<(), Error> {
        // Out of the registry first: no move brings it anywhere again.
        self.shared.registry.remove(&self.entry);
        self.entry.close();
        let _ending = Ending(&self.entry);
        let mut sides = self.shared.registry.connections();
        sides.retain(|side| self.entry.hears(side.generation()));
        let only = std::slice::from_ref(&self.entry);
        // Beside each other: one that is silent takes no time from the others.
        let leaving = sides.iter().map(|side| async move {
            match moves::leave(side, only).await {
                // What ended has sent its last message as well.
                Err(_) if side.has_ended() => Ok(()),
                left => left,
            }
        });
        let left = match tokio::time::timeout(time, join_all(leaving)).await {
            Ok(left) => left.into_iter().collect(),
            Err(_elapsed) => {
                let text = format!(
                    "the server did not confirm within {time:?}: messages under way may be missing"
                );
                Err(Error::new(ErrorKind::Timeout, text))
            }
        };
        left.map_err(|error: Error| error.with_operation("drain"))
    }
}

/// However a drain goes, also where it is dropped: what is here then is the rest.
struct Ending<'a>(&'a Entry);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.settle();
    }
}

impl Stream for Subscription {
    type Item = Message;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        let mut idle = false;
        let polled = self.entry.poll(cx, &mut idle);
        if idle {
            // Between two connections, or the group is closed: the end, which is not looked for a second time.
            let closed = self.closed.as_mut().poll(cx);
            if closed.is_ready() {
                self.entry.end();
            }
            return closed.map(|()| None);
        }
        polled
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.registry.remove(&self.entry);
        self.entry.end();
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("subject", &self.entry.subject())
            .field("delivery", &self.entry.delivery())
            .finish_non_exhaustive()
    }
}
