//! The copies, in the order of the client's channel, and which of them certainly never left.
//!
//! The client counts what it takes out of its channel. A copy's place in that count is not known exactly, because others may
//! use the client as well, but a lower bound of it is: one more than that of the copy before it, and one more than what had
//! left before it came. What has not reached even the lower bound has not left.

use std::collections::VecDeque;
use std::time::Instant;

use async_nats::message::OutboundMessage;

/// A published message.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its place among all messages of the group.
    pub(crate) order: u64,
    /// When it was published, within a batch.
    pub(crate) when: Instant,
    pub(crate) message: OutboundMessage,
    /// At least so many messages have left the channel when this one has.
    place: u64,
}

#[derive(Default)]
pub(crate) struct Queue {
    copies: VecDeque<Kept>,
    /// The last copy's.
    place: u64,
    /// Copies since it was last looked what has left.
    unlooked: u32,
    busy: bool,
    /// Nothing is taken.
    pub(super) closed: bool,
    /// Somebody waits until the client takes his message.
    pub(super) waiting: bool,
}

/// How often it is looked what has left while the channel is never empty: on a busy connection another core writes that
/// number all the time.
const LOOK_EVERY: u32 = 64;
/// With so many copies after a look the channel counts as busy.
const BUSY: usize = 8;

impl Queue {
    /// To be called before a message goes into the channel. `left` says how many messages have left it; `frees` whether
    /// what has left need not be kept.
    pub(super) fn look(&mut self, left: impl Fn() -> u64, frees: bool) {
        self.unlooked += 1;
        if self.busy && self.unlooked < LOOK_EVERY {
            return;
        }
        let left = left();
        self.place = self.place.max(left);
        if frees {
            self.left(left);
        }
        self.unlooked = 0;
        self.busy = self.copies.len() >= BUSY;
    }

    /// Keeps a copy of what has just gone into the channel.
    pub(super) fn keep(&mut self, message: OutboundMessage, order: u64) {
        // On a busy connection the clock is looked at as rarely as the channel.
        let when = match self.copies.back() {
            Some(last) if self.busy && self.unlooked > 0 => last.when,
            _ => Instant::now(),
        };
        self.place += 1;
        self.push(message, order, when);
    }

    /// Keeps again what came from another connection, as old as it is.
    pub(super) fn keep_again(&mut self, kept: Kept) {
        self.place += 1;
        self.push(kept.message, kept.order, kept.when);
    }

    fn push(&mut self, message: OutboundMessage, order: u64, when: Instant) {
        let place = self.place;
        self.copies.push_back(Kept {
            order,
            when,
            message,
            place,
        });
    }

    /// So many messages have left the channel.
    pub(super) fn left(&mut self, left: u64) {
        while self.copies.front().is_some_and(|kept| kept.place <= left) {
            self.copies.pop_front();
        }
    }

    /// The server got everything up to this one.
    pub(super) fn confirmed(&mut self, order: u64) {
        while self.copies.front().is_some_and(|kept| kept.order <= order) {
            self.copies.pop_front();
        }
    }

    pub(super) fn newest(&self) -> Option<u64> {
        self.copies.back().map(|kept| kept.order)
    }

    pub(super) fn len(&self) -> usize {
        self.copies.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<Kept> {
        std::mem::take(&mut self.copies).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> OutboundMessage {
        OutboundMessage {
            subject: "s".into(),
            reply: None,
            payload: "m".into(),
            headers: None,
        }
    }

    fn publish(queue: &mut Queue, order: u64, left: u64) {
        queue.look(|| left, true);
        queue.keep(message(), order);
    }

    fn kept(queue: &mut Queue) -> Vec<u64> {
        queue.take().iter().map(|kept| kept.order).collect()
    }

    #[test]
    fn what_has_left_is_not_kept() {
        let mut queue = Queue::default();
        for order in 1..=100 {
            publish(&mut queue, order, 0);
        }
        queue.left(97);
        assert_eq!(kept(&mut queue), [98, 99, 100]);
    }

    /// Somebody else's messages go through the same channel. None of them makes one of ours that has left look as if it had
    /// stayed, and those that left before make none that has stayed look as if it had left.
    #[test]
    fn messages_of_others_are_no_riddle() {
        let mut queue = Queue::default();
        publish(&mut queue, 1, 40);
        queue.left(40);
        assert_eq!(
            queue.len(),
            1,
            "40 of others left before it, and nothing since"
        );
        // Two of others come between: the second of ours is the 44th, and known to be the 42nd at the earliest.
        publish(&mut queue, 2, 41);
        queue.left(43);
        assert!(queue.is_empty(), "what is not certain counts as gone");
        publish(&mut queue, 3, 44);
        queue.left(44);
        assert_eq!(kept(&mut queue), [3]);
    }

    #[test]
    fn a_busy_channel_is_looked_at_now_and_then() {
        let mut queue = Queue::default();
        let looks = std::cell::Cell::new(0);
        for order in 1..=1000 {
            let look = || {
                looks.set(looks.get() + 1);
                0
            };
            queue.look(look, true);
            queue.keep(message(), order);
        }
        assert!((15..40).contains(&looks.get()), "{}", looks.get());
    }

    #[test]
    fn what_is_confirmed_goes_by_order() {
        let mut queue = Queue::default();
        for order in [3, 5, 9] {
            queue.look(|| 1000, false);
            queue.keep(message(), order);
        }
        queue.confirmed(5);
        assert_eq!(kept(&mut queue), [9]);
    }
}
