//! One subscription on one connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_nats::{Message, Subscriber};
use backend_api::Generation;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::task::coop::unconstrained;

use crate::connect::State;
use crate::connection::Connection;

/// A number without which the server unsubscribes at once and the client goes on delivering.
///
/// What an UNSUB leaves under way is lost in the client, which forgets the subscription as it sends it; its own drain waits
/// for no answer. The protocol has what is needed: UNSUB, and whatever comes before the answer to the next request is the
/// last. The client keeps a subscription for as long as fewer messages than the maximum have come, and a server takes a
/// maximum of more than nine digits for none at all (so do 2.9 and 2.15; a test asks each).
const NO_MORE: u64 = u64::MAX;

/// Tells the server to send no more, and the client to go on delivering: everything is here once the server has answered a
/// request behind that. Ready when the client takes it; cancel-safe.
pub(crate) async fn no_more(subscriber: &mut Subscriber) {
    // An error means that the connection has ended, and has sent the last as well.
    let _ = subscriber.unsubscribe_after(NO_MORE).await;
}

/// See the [module](self).
pub(super) struct Feed {
    pub(super) generation: Generation,
    connection: Arc<State>,
    /// None once it is cut off: what had come by then is in `rest`.
    subscriber: Option<Subscriber>,
    rest: VecDeque<Message>,
    /// Messages taken from it.
    pub(super) received: u64,
    pub(super) stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Subscribed.
    Live,
    /// The server was told to send no more.
    Leaving,
    /// It has sent the last: what is here is all.
    Left,
}

impl Feed {
    pub(super) fn new(connection: &Connection, subscriber: Subscriber) -> Self {
        Self {
            generation: connection.generation(),
            connection: connection.state().clone(),
            subscriber: Some(subscriber),
            rest: VecDeque::new(),
            received: 0,
            stage: Stage::Live,
        }
    }

    /// Subscribed, on a connection of which more can come.
    pub(super) fn is_flowing(&self) -> bool {
        self.stage == Stage::Live && !self.connection.is_going()
    }

    #[inline]
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Message>> {
        let polled = match &mut self.subscriber {
            Some(subscriber) => subscriber.poll_next_unpin(cx),
            None => Poll::Ready(self.rest.pop_front()),
        };
        if let Poll::Ready(Some(_)) = polled {
            self.received += 1;
        }
        polled
    }

    /// Tells the server to send no more. `false` if the client does not take that at once.
    pub(super) fn leave(&mut self) -> bool {
        // An error means that the connection has ended, and has sent the last as well.
        let told = match &mut self.subscriber {
            Some(subscriber) => no_more(subscriber).now_or_never().is_some(),
            None => true,
        };
        if told {
            self.stage = Stage::Leaving;
        }
        told
    }

    /// Takes nothing more from the server, whatever it sends: what is here is all.
    pub(super) fn cut(&mut self) {
        self.stage = Stage::Left;
        if let Some(mut subscriber) = self.subscriber.take() {
            while let Some(Some(message)) = unconstrained(subscriber.next()).now_or_never() {
                self.rest.push_back(message);
            }
        }
    }

    /// Tells the server after how many further messages to stop.
    pub(super) fn stop_after(&mut self, further: u64) {
        let total = self.received.saturating_add(further);
        if let Some(subscriber) = &mut self.subscriber {
            // If the client does not take it at once the reader still stops counting there; only the server sends more.
            let _ = subscriber.unsubscribe_after(total).now_or_never();
        }
    }
}
