//! What is kept of what was published on one connection, until it certainly left.
//!
//! The client takes a message into a channel and says `Ok`; what is in the channel when the connection dies is lost with
//! it. So a copy is kept here, in the order of the channel, until it is known to have left ([`Carry::Unsent`]) or to have
//! reached the server ([`Carry::Unconfirmed`]). Copies are cheap: subject and payload are counted references.
//!
//! - [`parcel`]: a message, small.
//! - [`queue`]: the copies, and which of them certainly never left.
//! - [`pending`]: copies of connections that ended, on their way to the next.
//!
//! [`Carry::Unsent`]: crate::Carry::Unsent
//! [`Carry::Unconfirmed`]: crate::Carry::Unconfirmed

mod parcel;
mod pending;
mod queue;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use async_nats::{Client, PublishError, Statistics};
use tokio::sync::{Notify, watch};

pub(crate) use parcel::Parcel;
pub(crate) use pending::Pending;
pub(crate) use queue::Kept;
use queue::Queue;

use crate::config::{Carry, Options};

/// See the [module](self).
pub(crate) struct Outbound {
    carry: Carry,
    limit: usize,
    /// How long a publish waits for room.
    patience: Duration,
    statistics: Arc<Statistics>,
    /// Requests that were answered: they went through the client's channel as well.
    answered: AtomicU64,
    queue: Mutex<Queue>,
    /// Whoever has to wait for the client does so alone, or the order of the copies were not that of the channel.
    turn: tokio::sync::Mutex<()>,
    room: Notify,
    gate: watch::Sender<Gate>,
}

/// Whether messages are taken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gate {
    Open,
    /// The traffic has moved here, and something from before is still to be published.
    Behind,
    /// The traffic is about to move.
    Closed,
    /// All is ready for it to move. It does so at once, or not at all.
    Passed,
}

/// How long the move may take after everything was ready for it. A move that fails opens the old connection by itself; this is
/// for one of which nothing more is heard, and below what anybody who publishes may be willing to wait.
const MOVE: Duration = Duration::from_millis(20);
/// How often it is looked whether what has left made room.
const AGAIN: Duration = Duration::from_millis(1);

/// Why a message was not taken. It certainly did not leave.
pub(crate) enum Refused {
    /// The traffic is about to move: to be published on the next active.
    Moving(Parcel),
    /// The connection has ended: to be published on the next active.
    Ended(Parcel),
    /// Too many messages wait to be confirmed.
    Full,
    /// The message cannot be published at all.
    Unfit(PublishError),
}

/// What came of trying at once. Small, because it is handed on for every message.
pub(crate) enum Attempt {
    Sent,
    Refused(Box<Refused>),
    /// The client does not take it now.
    Later(Box<Parcel>),
}

impl Outbound {
    pub(crate) fn new(client: &Client, options: &Options, patience: Duration) -> Self {
        Self {
            carry: options.carry,
            limit: options.carry_limit,
            patience,
            statistics: client.statistics(),
            answered: AtomicU64::new(0),
            queue: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
            room: Notify::new(),
            gate: watch::Sender::new(Gate::Open),
        }
    }

    /// Publishes behind everything that was published here before. Cancel-safe: dropped, it has published or it has not.
    pub(crate) async fn send(
        &self,
        client: &Client,
        message: Parcel,
        order: &Pending,
    ) -> Result<(), Refused> {
        match self.try_send(client, message, order) {
            Attempt::Sent => Ok(()),
            Attempt::Refused(refused) => Err(*refused),
            Attempt::Later(message) => self.send_later(client, *message, order).await,
        }
    }

    /// The same for one that the client did not take at once.
    #[cold]
    pub(crate) async fn send_later(
        &self,
        client: &Client,
        message: Parcel,
        order: &Pending,
    ) -> Result<(), Refused> {
        if self.carry != Carry::None {
            return self.send_in_turn(client, message, order).await;
        }
        let kept = message.clone();
        let sent = message.deliver(client).await;
        sent.map_err(|error| failed(error, kept))
    }

    /// The same where the client takes the message at once, which is nearly always.
    #[inline]
    pub(crate) fn try_send(&self, client: &Client, message: Parcel, order: &Pending) -> Attempt {
        if self.carry == Carry::None {
            return tried(message.hand_over(client), message);
        }
        let mut queue = self.queue();
        if queue.closed {
            return Attempt::Refused(Box::new(Refused::Moving(message)));
        }
        if queue.waiting {
            return Attempt::Later(Box::new(message));
        }
        self.put(&mut queue, client, message, order)
    }

    /// Into the channel, and the copy behind those before it.
    #[inline]
    fn put(&self, queue: &mut Queue, client: &Client, message: Parcel, order: &Pending) -> Attempt {
        if !self.has_room(queue) {
            return Attempt::Later(Box::new(message));
        }
        self.look(queue);
        let handed = message.hand_over(client);
        if let Poll::Ready(Ok(())) = handed {
            let order = queue.next(|| order.turn());
            queue.keep(message, order);
            return Attempt::Sent;
        }
        tried(handed, message)
    }

    async fn send_in_turn(
        &self,
        client: &Client,
        mut message: Parcel,
        order: &Pending,
    ) -> Result<(), Refused> {
        let _turn = self.turn.lock().await;
        let deadline = tokio::time::Instant::now() + self.patience;
        loop {
            // Before looking, so that room made meanwhile is not missed: `notify_waiters` wakes who has this already.
            let room = self.room.notified();
            {
                let mut queue = self.queue();
                if queue.closed {
                    return Err(Refused::Moving(message));
                }
                // While this waited for its turn the channel may have been emptied. Nobody else is kept waiting then.
                match self.put(&mut queue, client, message, order) {
                    Attempt::Sent => return Ok(()),
                    Attempt::Refused(refused) => return Err(*refused),
                    Attempt::Later(back) => message = *back,
                }
                if self.has_room(&mut queue) {
                    queue.waiting = true;
                    break;
                }
            }
            // What has left makes room without a word, and is looked for.
            let again = tokio::time::Instant::now() + AGAIN;
            let until = if self.frees() {
                again.min(deadline)
            } else {
                deadline
            };
            let waited = tokio::time::timeout_at(until, room).await;
            if waited.is_err() && tokio::time::Instant::now() >= deadline {
                return Err(Refused::Full);
            }
        }
        let _waiting = Waiting(self);
        let copy = message.clone();
        let sent = message.deliver(client).await;
        match sent {
            // Nobody else has published meanwhile: it is still this one's turn.
            Ok(()) => {
                let mut queue = self.queue();
                let order = queue.next(|| order.turn());
                queue.keep(copy, order);
                Ok(())
            }
            Err(error) => Err(failed(error, copy)),
        }
    }

    /// Publishes what a connection before this one left behind.
    pub(crate) async fn send_carried(
        &self,
        client: &Client,
        kept: &Kept,
    ) -> Result<(), PublishError> {
        let keeps = self.carry != Carry::None;
        {
            let mut queue = self.queue();
            self.look(&mut queue);
            if let Poll::Ready(handed) = kept.message.hand_over(client) {
                handed?;
                if keeps {
                    queue.keep_again(kept.clone());
                }
                return Ok(());
            }
        }
        kept.message.clone().deliver(client).await?;
        if keeps {
            self.queue().keep_again(kept.clone());
        }
        Ok(())
    }

    /// Nothing is taken any more; who comes waits for the next active, or for [`open`](Self::open). Says whether something
    /// from before was still to be published here.
    pub(crate) fn close(&self) -> bool {
        self.set(Gate::Closed) == Gate::Behind
    }

    /// Messages are taken (again).
    pub(crate) fn open(&self) {
        let _ = self.set(Gate::Open);
    }

    /// Nothing is taken until [`caught_up`](Self::caught_up).
    pub(crate) fn fall_behind(&self) {
        let _ = self.set(Gate::Behind);
    }

    /// What was from before is published. If the traffic is about to move on already, it is for the next to open.
    pub(crate) fn caught_up(&self) {
        let mut queue = self.queue();
        if *self.gate.borrow() == Gate::Behind {
            queue.set(false);
            self.gate.send_replace(Gate::Open);
        }
    }

    /// Says what it was.
    fn set(&self, gate: Gate) -> Gate {
        let mut queue = self.queue();
        queue.set(gate != Gate::Open);
        self.room.notify_waiters();
        self.gate.send_replace(gate)
    }

    /// The traffic moves now.
    pub(crate) fn pass(&self) {
        self.gate.send_replace(Gate::Passed);
    }

    /// Resolves when nothing from before is still to be published here, or the traffic is about to move on.
    pub(crate) async fn has_caught_up(&self) {
        // Errors would mean that the sender is dropped, which `self` owns.
        let _ = self
            .gate
            .subscribe()
            .wait_for(|gate| *gate != Gate::Behind)
            .await;
    }

    /// Resolves when messages are taken here: at the latest a moment after a move was ready and did not come.
    pub(crate) async fn opened(&self) {
        let mut gate = self.gate.subscribe();
        // Errors would mean that the sender is dropped, which `self` owns.
        let _ = gate
            .wait_for(|gate| !matches!(gate, Gate::Closed | Gate::Behind))
            .await;
        let opened = gate.wait_for(|gate| *gate == Gate::Open);
        if tokio::time::timeout(MOVE, opened).await.is_err() {
            self.open();
        }
    }

    /// Lets go of what has left.
    pub(crate) fn tidy(&self) {
        let left = self.left();
        self.queue().tidy(left, self.frees());
    }

    /// Whether anything is kept, as far as is known.
    pub(crate) fn holds_any(&self) -> bool {
        // Without copies nobody knows: ask.
        self.carry == Carry::None || self.is_behind()
    }

    /// Whether something is kept that did not leave, or is not confirmed.
    pub(crate) fn is_behind(&self) -> bool {
        self.tidy();
        !self.queue().is_empty()
    }

    /// The newest copy; everything up to it is [`confirmed`](Self::confirmed) by a round trip that begins after this.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.queue().newest()
    }

    /// A round trip has shown that the server got everything up to here.
    pub(crate) fn confirmed(&self, newest: Option<u64>) {
        if let Some(newest) = newest {
            self.queue().confirmed(newest);
            self.room.notify_waiters();
        }
    }

    /// What the end of the connection left behind, in order. Once: the second time there is nothing.
    pub(crate) fn take(&self) -> Vec<Kept> {
        let left = self.left();
        let mut queue = self.queue();
        queue.set(true);
        self.room.notify_waiters();
        if self.carry == Carry::Unsent {
            queue.left(left);
        }
        queue.take()
    }

    /// How many messages have left the client's channel. The client's task counts them, those of others included.
    fn left(&self) -> u64 {
        self.statistics.out_messages.load(Ordering::Acquire)
    }

    /// A request went through the client and was answered.
    pub(crate) fn answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    fn look(&self, queue: &mut Queue) {
        let answered = self.answered.load(Ordering::Relaxed);
        queue.look(|| self.left(), answered, self.frees());
    }

    /// Whether what has left need not be kept.
    fn frees(&self) -> bool {
        self.carry == Carry::Unsent
    }

    fn has_room(&self, queue: &mut Queue) -> bool {
        if queue.len() < self.limit {
            return true;
        }
        if self.carry == Carry::Unsent {
            queue.left(self.left());
        }
        queue.len() < self.limit
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody waits for the client; also when he gives up.
struct Waiting<'a>(&'a Outbound);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.queue().waiting = false;
    }
}

/// What became of what was handed to the client.
#[inline]
fn tried(handed: Poll<Result<(), PublishError>>, message: Parcel) -> Attempt {
    match handed {
        Poll::Ready(Ok(())) => Attempt::Sent,
        Poll::Ready(Err(error)) => Attempt::Refused(Box::new(failed(error, message))),
        Poll::Pending => Attempt::Later(Box::new(message)),
    }
}

fn failed(error: PublishError, message: Parcel) -> Refused {
    match error.kind() {
        async_nats::PublishErrorKind::Send => Refused::Ended(message),
        _ => Refused::Unfit(error),
    }
}
