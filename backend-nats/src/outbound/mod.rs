//! What is kept of what was published on one connection, until it certainly left; and the order in which it is published.
//!
//! The client takes a message into a channel and says `Ok`; what is in the channel when the connection dies is lost with
//! it. So a copy is kept here, in the order of the channel, until it is known to have left ([`Carry::Unsent`]) or to have
//! reached the server ([`Carry::Unconfirmed`]). Copies are cheap: subject and payload are counted references.
//!
//! # The order over moves
//!
//! The promise: no server is handed a message while something older can still reach another server from here. It holds
//! with either kind of [`Carry`], and on a machine of any speed.
//!
//! How it is kept: a connection publishes in *turns*. A turn ends where the gate closes. The next turn, of whichever
//! connection, begins only when no other connection is *owing* ([`order`]). One stops owing in two ways. Its server has
//! answered a question that was asked behind its last message. Or the connection has ended; then what certainly did not
//! leave is published on the next active first. Until then the new active's gate is [`Gate::Behind`], and whoever publishes
//! waits (`keeping::catch_up`). A server that does not answer for the time of an operation has its connection ended: that is
//! the only way to take back what the client still has for it.
//!
//! Time never decides on the order. Where a connection cannot even be ended, what it has is dropped and told
//! (`carry_late`), and not published late.
//!
//! What had left the process is the old server's. A server that stood still delivers it when it goes on, and servers of a
//! cluster tell one another at their own pace.
//!
//! - [`parcel`]: a message, small.
//! - [`queue`]: the copies, and which of them certainly never left.
//! - [`order`]: who may publish.
//! - [`pending`]: copies of connections that ended, on their way to the next.
//!
//! [`Carry::Unsent`]: crate::Carry::Unsent
//! [`Carry::Unconfirmed`]: crate::Carry::Unconfirmed

mod order;
mod parcel;
mod pending;
mod queue;
#[cfg(test)]
mod tests;

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
use crate::connection::Connection;

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
    /// The traffic is here, and something older is still on its way.
    Behind,
    /// The traffic is about to move.
    Closed,
    /// All is ready for it to move. It does so at once, or not at all.
    Passed,
}

/// How long the move may take after everything was ready for it. Until then the old connection is the active, and a move that
/// nothing more is heard of must not keep messages from it. This decides on no order: a turn that begins here is one, and the
/// new connection waits for its end.
const MOVE: Duration = Duration::from_millis(20);

/// How often it is looked whether what has left made room.
const AGAIN: Duration = Duration::from_millis(1);

/// Why a message was not taken. It certainly did not leave.
pub(crate) enum Refused {
    /// The traffic is about to move: to be published on the next active.
    Moving(Parcel),
    /// Something older is still on its way: to be published here behind it.
    Behind(Parcel),
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
        connection: &Connection,
        message: Parcel,
        order: &Pending,
    ) -> Result<(), Refused> {
        match self.try_send(connection, message, order) {
            Attempt::Sent => Ok(()),
            Attempt::Refused(refused) => Err(*refused),
            Attempt::Later(message) => self.send_later(connection, *message, order).await,
        }
    }

    /// The same for one that the client did not take at once.
    #[cold]
    pub(crate) async fn send_later(
        &self,
        connection: &Connection,
        message: Parcel,
        order: &Pending,
    ) -> Result<(), Refused> {
        if self.carry != Carry::None {
            return self.send_in_turn(connection, message, order).await;
        }
        let kept = message.clone();
        let sent = message.deliver(connection.client()).await;
        sent.map_err(|error| failed(error, kept))
    }

    /// The same where the client takes the message at once, which is nearly always.
    #[inline]
    pub(crate) fn try_send(
        &self,
        connection: &Connection,
        message: Parcel,
        order: &Pending,
    ) -> Attempt {
        if self.carry == Carry::None {
            return tried(message.hand_over(connection.client()), message);
        }
        let mut queue = self.queue();
        if queue.closed {
            return Attempt::Refused(Box::new(Refused::Moving(message)));
        }
        if queue.waiting {
            return Attempt::Later(Box::new(message));
        }
        self.put(&mut queue, connection, message, order)
    }

    /// Into the channel, and the copy behind those before it.
    #[inline]
    fn put(
        &self,
        queue: &mut Queue,
        connection: &Connection,
        message: Parcel,
        order: &Pending,
    ) -> Attempt {
        if !queue.is_running() {
            match order.begin(connection) {
                Some(first) => queue.begin(first),
                None => return Attempt::Refused(Box::new(Refused::Behind(message))),
            }
        }
        if !self.has_room(queue) {
            return Attempt::Later(Box::new(message));
        }
        self.look(queue);
        let handed = message.hand_over(connection.client());
        if let Poll::Ready(Ok(())) = handed {
            queue.keep(message);
            return Attempt::Sent;
        }
        tried(handed, message)
    }

    async fn send_in_turn(
        &self,
        connection: &Connection,
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
                match self.put(&mut queue, connection, message, order) {
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
        let sent = message.deliver(connection.client()).await;
        match sent {
            // Nobody else has published meanwhile, also where the gate has just closed: whoever closed it waits for this.
            Ok(()) => {
                self.queue().keep(copy);
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

    /// Nothing is taken any more; who comes waits for the next active, or for [`open`](Self::open).
    pub(crate) fn close(&self) {
        self.set(Gate::Closed);
    }

    /// The traffic moves now.
    pub(crate) fn pass(&self) {
        self.change(Gate::Closed, Gate::Passed);
    }

    /// Messages are taken (again).
    pub(crate) fn open(&self) {
        self.set(Gate::Open);
    }

    /// Waits until a turn is over, and nobody in the middle of publishing. What is asked behind that is asked behind its last
    /// message.
    pub(crate) async fn turn_over(&self) {
        let mut gate = self.gate.subscribe();
        while self.queue().is_running() {
            // It changes when a turn ends; errors would mean that the sender is dropped, which `self` owns.
            let _ = gate.changed().await;
        }
        // Who waits for the client has this: what it takes still is behind the rest, and before the answer.
        drop(self.turn.lock().await);
    }

    /// Nothing is taken until [`caught_up`](Self::caught_up). `false` where nothing is taken as it is.
    pub(crate) fn fall_behind(&self) -> bool {
        self.change(Gate::Open, Gate::Behind)
    }

    /// What is older is there. If the traffic is about to move on already, it is for the next to open.
    pub(crate) fn caught_up(&self) {
        self.change(Gate::Behind, Gate::Open);
    }

    fn set(&self, gate: Gate) {
        let mut queue = self.queue();
        self.put_gate(&mut queue, gate);
    }

    fn change(&self, from: Gate, to: Gate) -> bool {
        let mut queue = self.queue();
        let changes = *self.gate.borrow() == from;
        if changes {
            self.put_gate(&mut queue, to);
        }
        changes
    }

    fn put_gate(&self, queue: &mut Queue, gate: Gate) {
        queue.set(gate != Gate::Open);
        self.gate.send_replace(gate);
        self.room.notify_waiters();
    }

    /// Resolves when nothing older is still on its way here, or the traffic is about to move on.
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
        loop {
            // Errors would mean that the sender is dropped, which `self` owns.
            let now = gate.wait_for(|gate| matches!(gate, Gate::Open | Gate::Passed));
            if now.await.is_ok_and(|gate| *gate == Gate::Open) {
                return;
            }
            let moved = gate.wait_for(|gate| *gate != Gate::Passed);
            if tokio::time::timeout(MOVE, moved).await.is_err() {
                self.change(Gate::Passed, Gate::Open);
            }
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
