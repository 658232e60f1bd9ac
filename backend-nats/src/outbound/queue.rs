//! The copies, in the order of the client's channel, and which of them certainly never left.
//!
//! The client counts what it takes out of its channel. A copy's place in that count is not known exactly, because others may
//! use the client as well, but a lower bound of it is: the copies up to it, and as many of others as have certainly gone in
//! before. Those are known in two ways that must not be added up: requests that were answered, and whatever has left beyond
//! the copies. What has not reached even the lower bound has not left.

use std::collections::VecDeque;
use std::time::Instant;

use super::parcel::Parcel;

/// A published message.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its place among all messages of the group.
    pub(crate) order: u64,
    /// When it was published, or up to a quarter of a second before.
    pub(crate) when: Instant,
    pub(crate) message: Parcel,
    /// At least so many messages have left the channel when this one has.
    place: u64,
}

pub(crate) struct Queue {
    copies: VecDeque<Kept>,
    /// The next copy's place among all messages of the group.
    order: u64,
    /// A turn has begun: nobody else publishes before this is closed.
    running: bool,
    /// So many copies have gone in.
    copied: u64,
    /// So many of others have gone in, at least.
    others: u64,
    /// So many have left, as of the last look.
    left: u64,
    /// When that was.
    looked: Instant,
    /// Copies since then.
    unlooked: u32,
    /// Nothing is taken.
    pub(super) closed: bool,
    /// Somebody waits until the client takes his message.
    pub(super) waiting: bool,
}

/// How many copies may come before it is looked what has left: the client's task writes that number all the time, from
/// another core. [`Queue::tidy`] bounds it in time.
const LOOK_EVERY: u32 = 64;

impl Default for Queue {
    fn default() -> Self {
        Self {
            copies: VecDeque::new(),
            order: 0,
            running: false,
            copied: 0,
            others: 0,
            left: 0,
            looked: Instant::now(),
            unlooked: LOOK_EVERY,
            closed: false,
            waiting: false,
        }
    }
}

#[cfg(test)]
impl Kept {
    pub(super) fn of(order: u64, message: Parcel) -> Self {
        Self {
            order,
            when: Instant::now(),
            message,
            place: 0,
        }
    }
}

impl Queue {
    /// To be called before a message goes into the channel. `left` says how many messages have left it, `answered` how many
    /// requests were answered, all of which have, and `frees` whether what has left need not be kept.
    #[inline]
    pub(super) fn look(&mut self, left: impl Fn() -> u64, answered: u64, frees: bool) {
        self.others = self.others.max(answered);
        self.unlooked += 1;
        if self.unlooked >= LOOK_EVERY {
            self.unlooked = 0;
            self.looked = Instant::now();
            self.left = left();
            self.others = self.others.max(self.left.saturating_sub(self.copied));
        }
        if frees {
            // A few at a time: whoever comes next waits for this.
            for _ in 0..2 {
                match self.copies.front() {
                    Some(kept) if kept.place <= self.left => self.copies.pop_front(),
                    _ => break,
                };
            }
        }
    }

    /// Looks now and then, however little is published: what others publish meanwhile is not counted.
    pub(super) fn tidy(&mut self, left: u64, frees: bool) {
        self.unlooked = LOOK_EVERY;
        if frees {
            self.left(left);
        }
    }

    #[inline]
    pub(super) fn is_running(&self) -> bool {
        self.running
    }

    /// A turn begins, with its first place among all messages of the group.
    pub(super) fn begin(&mut self, order: u64) {
        self.running = true;
        self.order = order;
    }

    /// Messages are taken or not from here on. Others may be published elsewhere meanwhile.
    pub(super) fn set(&mut self, closed: bool) {
        self.closed = closed;
        self.running = false;
    }

    /// Keeps a copy of what has just gone into the channel.
    #[inline]
    pub(super) fn keep(&mut self, message: Parcel) {
        let order = self.order;
        self.order += 1;
        self.copied += 1;
        self.copies.push_back(Kept {
            order,
            when: self.looked,
            message,
            place: self.copied + self.others,
        });
    }

    /// Keeps again what came from another connection, as old as it is.
    pub(super) fn keep_again(&mut self, kept: Kept) {
        self.copied += 1;
        let place = self.copied + self.others;
        self.copies.push_back(Kept { place, ..kept });
    }

    /// So many messages have left the channel.
    pub(super) fn left(&mut self, left: u64) {
        while self.copies.front().is_some_and(|kept| kept.place <= left) {
            self.copies.pop_front();
        }
    }

    /// The server got everything up to this place.
    pub(super) fn confirmed(&mut self, place: u64) {
        self.left(place);
    }

    /// The place of the last copy: in the channel, where what was carried over can stand behind what is newer.
    pub(super) fn newest(&self) -> Option<u64> {
        self.copies.back().map(|kept| kept.place)
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

    fn message() -> Parcel {
        Parcel::new("s".into(), "m".into())
    }

    fn publish(queue: &mut Queue, order: u64, left: u64) {
        queue.tidy(0, false);
        queue.look(|| left, 0, true);
        keep(queue, order);
    }

    fn keep(queue: &mut Queue, order: u64) {
        queue.begin(order);
        queue.keep(message());
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

    /// Those of others that are known of need no look.
    #[test]
    fn answered_requests_count() {
        let mut queue = Queue::default();
        publish(&mut queue, 1, 0);
        queue.look(|| 0, 3, true);
        keep(&mut queue, 2);
        queue.left(4);
        assert_eq!(kept(&mut queue), [2], "it is the fifth");
    }

    /// A request is counted when it leaves and when it is answered, and is one.
    #[test]
    fn an_answered_request_counts_once() {
        let mut queue = Queue::default();
        publish(&mut queue, 1, 1);
        queue.look(|| 1, 1, true);
        keep(&mut queue, 2);
        queue.left(3);
        assert!(queue.is_empty(), "the request and both have left");
    }

    #[test]
    fn the_channel_is_looked_at_now_and_then() {
        let mut queue = Queue::default();
        let looks = std::cell::Cell::new(0);
        for order in 1..=640 {
            let look = || {
                looks.set(looks.get() + 1);
                order - 1
            };
            queue.look(look, 0, true);
            keep(&mut queue, order);
        }
        assert_eq!(looks.get(), 10);
        assert!(queue.len() <= 2 * LOOK_EVERY as usize, "{}", queue.len());
        queue.tidy(640, true);
        assert!(queue.is_empty());
    }

    /// Whoever publishes elsewhere meanwhile comes between.
    #[test]
    fn places_go_on_within_a_turn_and_begin_anew_with_the_next() {
        let mut queue = Queue::default();
        queue.begin(1000);
        queue.keep(message());
        queue.keep(message());
        queue.set(true);
        assert!(!queue.is_running());
        // Taken by the client while this was being closed: still of its turn.
        queue.keep(message());
        queue.set(false);
        assert!(!queue.is_running());
        queue.begin(3000);
        queue.keep(message());
        assert_eq!(kept(&mut queue), [1000, 1001, 1002, 3000]);
    }

    /// What is carried over is older than what is there, and stands behind it.
    #[test]
    fn what_is_confirmed_goes_by_the_place_in_the_channel() {
        let mut queue = Queue::default();
        for order in [5, 9] {
            queue.look(|| 1000, 0, false);
            keep(&mut queue, order);
        }
        let asked = queue.newest().unwrap();
        let mut other = Queue::default();
        keep(&mut other, 3);
        queue.keep_again(other.take().remove(0));
        queue.confirmed(asked);
        assert_eq!(kept(&mut queue), [3]);
    }
}
