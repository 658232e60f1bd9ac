//! Which connection may publish: the rule that keeps the order over moves. See the [module above](super) for what is promised.
//!
//! Pure: no waiting and no connection, so that every case is a table. What a link is does not matter here.

use std::collections::BTreeMap;

use backend_api::Generation;

use super::queue::Kept;

/// A connection publishes no more than two to the power of this in one turn, and is opened no more often than is left of 64.
const TURN: u32 = 44;

/// What was published before, and where it still is.
#[derive(Debug)]
pub(super) struct Order<L> {
    /// Turns and stamps that were given out. One counter for both: a turn is behind everything that was stamped before.
    given: u64,
    /// Connections that may still deliver what was published on them.
    owing: BTreeMap<Generation, Owing<L>>,
    /// What ended connections left behind, by its place among all messages of the group.
    waiting: BTreeMap<u64, Kept>,
}

#[derive(Debug)]
struct Owing<L> {
    link: L,
    stamp: u64,
}

impl<L> Default for Order<L> {
    fn default() -> Self {
        Self {
            given: 0,
            owing: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }
}

impl<L: Clone> Order<L> {
    /// Begins a turn of a connection: where the numbers of its messages begin, behind all others. A connection counts by itself
    /// from there, since one counter for all would be written by every thread for every message.
    ///
    /// `None` while anything older is on its way: it would be overtaken.
    pub(super) fn begin(
        &mut self,
        connection: Generation,
        link: impl FnOnce() -> L,
    ) -> Option<u64> {
        if !self.is_clear_for(connection) {
            return None;
        }
        Some(self.owe(connection, link()) << TURN)
    }

    /// Something is published on a connection from here on. Returns the stamp that says until when.
    pub(super) fn owe(&mut self, connection: Generation, link: L) -> u64 {
        self.given += 1;
        let stamp = self.given;
        self.owing.insert(connection, Owing { link, stamp });
        stamp
    }

    /// Until when a connection has published.
    pub(super) fn stamp(&self, connection: Generation) -> Option<u64> {
        self.owing.get(&connection).map(|owing| owing.stamp)
    }

    /// The server of a connection has everything that was published there up to the stamp.
    pub(super) fn settled(&mut self, connection: Generation, stamp: Option<u64>) {
        if stamp.is_some() && self.stamp(connection) == stamp {
            self.owing.remove(&connection);
        }
    }

    /// A connection has ended, and this certainly never left it, or is not known to have.
    pub(super) fn collected(
        &mut self,
        connection: Generation,
        left: impl IntoIterator<Item = Kept>,
    ) {
        self.owing.remove(&connection);
        let left = left.into_iter().map(|kept| (kept.order, kept));
        self.waiting.extend(left);
    }

    /// Nobody but this connection has anything older.
    pub(super) fn is_clear_for(&self, connection: Generation) -> bool {
        self.waiting.is_empty() && self.owing.keys().all(|other| *other == connection)
    }

    /// The connections that are to be waited for before this one publishes.
    pub(super) fn owing_besides(&self, connection: Generation) -> Vec<L> {
        let others = self.owing.iter().filter(|(other, _)| **other != connection);
        others.map(|(_, owing)| owing.link.clone()).collect()
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The oldest that waits.
    pub(super) fn oldest(&self) -> Option<Kept> {
        self.waiting.first_key_value().map(|(_, kept)| kept.clone())
    }

    /// It waits no more.
    pub(super) fn done(&mut self, kept: &Kept) {
        self.waiting.remove(&kept.order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbound::Parcel;

    const OLD: Generation = Generation(1);
    const NEW: Generation = Generation(2);
    const THIRD: Generation = Generation(3);

    fn kept(order: u64) -> Kept {
        Kept::of(order, Parcel::new("s".into(), "m".into()))
    }

    fn begins(order: &mut Order<u64>, connection: Generation) -> Option<u64> {
        order.begin(connection, || connection.0)
    }

    #[test]
    fn nothing_newer_is_published_before_the_old_server_has_everything() {
        let mut order = Order::default();
        assert!(begins(&mut order, OLD).is_some());
        assert_eq!(begins(&mut order, NEW), None);
        assert_eq!(order.owing_besides(NEW), [OLD.0]);
        let stamp = order.stamp(OLD);
        order.settled(OLD, stamp);
        assert!(begins(&mut order, NEW).is_some());
    }

    #[test]
    fn what_an_ended_connection_left_behind_goes_first() {
        let mut order = Order::default();
        let turn = begins(&mut order, OLD).unwrap();
        order.collected(OLD, [kept(turn + 1), kept(turn)]);
        assert_eq!(begins(&mut order, NEW), None);
        for place in [turn, turn + 1] {
            let oldest = order.oldest().unwrap();
            assert_eq!(oldest.order, place);
            order.done(&oldest);
        }
        let next = begins(&mut order, NEW).unwrap();
        assert!(next > turn + 1, "numbers go up with the turns");
    }

    /// An answer says nothing about what was published behind the question.
    #[test]
    fn an_answer_is_for_what_was_before_it() {
        let mut order = Order::default();
        begins(&mut order, OLD);
        let asked = order.stamp(OLD);
        // The move was called off, and the old one has published since.
        begins(&mut order, OLD);
        order.settled(OLD, asked);
        assert_eq!(begins(&mut order, NEW), None);
        let asked = order.stamp(OLD);
        order.settled(OLD, asked);
        assert!(begins(&mut order, NEW).is_some());
        // Nothing was published there when it was asked.
        order.settled(NEW, None);
        assert_eq!(begins(&mut order, OLD), None);
    }

    /// A promotion that was called off has carried something over already: who comes next waits for that, too.
    #[test]
    fn what_was_carried_to_another_is_waited_for() {
        let mut order = Order::default();
        order.owe(THIRD, THIRD.0);
        assert_eq!(begins(&mut order, OLD), None);
        assert!(begins(&mut order, THIRD).is_some(), "it is behind it there");
        order.collected(THIRD, []);
        assert!(begins(&mut order, OLD).is_some());
    }

    /// Two moves away from silent servers: the third waits for both.
    #[test]
    fn a_move_away_from_one_that_never_published_forgets_nothing() {
        let mut order = Order::default();
        begins(&mut order, OLD);
        assert_eq!(begins(&mut order, NEW), None);
        assert_eq!(begins(&mut order, THIRD), None);
        assert_eq!(order.owing_besides(THIRD), [OLD.0]);
    }
}
