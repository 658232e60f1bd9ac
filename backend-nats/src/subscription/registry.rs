//! All subscriptions of a group, and the connections that they are or should be on.
//!
//! Everybody who needs both looks at them under one lock: a subscription that is made while the traffic moves sees both
//! connections or is seen by the move, and ends up on the new one exactly once.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_nats::Subject;
use backend_api::Generation;

use super::delivery::Delivery;
use super::entry::Entry;
use crate::connection::Connection;

/// What a connection is to subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Open, and nothing is made on it.
    Idle,
    /// A standby: mirrored subscriptions are on it.
    Armed,
    /// About to be active: what may be on two connections comes to be on it.
    Promoting,
    /// The same, and those that may be on one only come as well.
    Taking,
    /// All are on it.
    Active,
    /// Everything but what is mirrored leaves it.
    Leaving,
}

struct Side {
    connection: Connection,
    role: Role,
}

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Registry {
    next: AtomicU64,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    entries: BTreeMap<u64, Arc<Entry>>,
    sides: HashMap<Generation, Side>,
    /// The last promotion, from whom to whom, until its end is known: the old one is drained or retired. The new one may
    /// die between its promotion and the move, and then the old one is the active as before.
    unsettled: Option<(Generation, Generation)>,
}

impl Registry {
    /// A new entry. From here on every move sees it.
    pub(crate) fn add(
        &self,
        subject: Subject,
        queue: Option<String>,
        delivery: Delivery,
    ) -> Arc<Entry> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Entry::new(id, subject, queue, delivery));
        self.books().entries.insert(id, entry.clone());
        entry
    }

    /// Where the entry should be now; the connection that counts is the last.
    pub(crate) fn wanted(&self, entry: &Entry) -> Vec<Connection> {
        let books = self.books();
        let mut sides: Vec<&Side> = books
            .sides
            .values()
            .filter(|side| wants(side.role, entry) && !side.connection.has_ended())
            .collect();
        sides.sort_by_key(|side| {
            let rank = match side.role {
                Role::Active => 2,
                Role::Taking => 1,
                _ => 0,
            };
            (rank, side.connection.generation())
        });
        sides
            .into_iter()
            .map(|side| side.connection.clone())
            .collect()
    }

    /// Whether the entry should be on this connection.
    pub(crate) fn wants(&self, generation: Generation, entry: &Entry) -> bool {
        let books = self.books();
        books
            .sides
            .get(&generation)
            .is_some_and(|side| wants(side.role, entry))
    }

    /// All connections.
    pub(super) fn connections(&self) -> Vec<Connection> {
        self.books()
            .sides
            .values()
            .map(|side| side.connection.clone())
            .collect()
    }

    pub(crate) fn remove(&self, entry: &Entry) {
        self.books().entries.remove(&entry.id);
    }

    /// All entries of now.
    pub(super) fn entries(&self) -> Vec<Arc<Entry>> {
        self.books().entries.values().cloned().collect()
    }

    pub(super) fn entries_where(&self, which: impl Fn(&Entry) -> bool) -> Vec<Arc<Entry>> {
        let mut entries = self.entries();
        entries.retain(|entry| which(entry));
        entries
    }

    /// A new connection.
    pub(super) fn insert(&self, connection: &Connection) {
        let side = Side {
            connection: connection.clone(),
            role: Role::Idle,
        };
        self.books().sides.insert(connection.generation(), side);
    }

    /// What a connection becomes. One that is retired does not come back.
    pub(super) fn set(&self, connection: &Connection, role: Role) {
        self.books().set(connection.generation(), role);
    }

    /// One takes over from another, or gives back.
    pub(super) fn set_both(&self, first: (&Connection, Role), second: Option<(&Connection, Role)>) {
        let mut books = self.books();
        for (connection, role) in std::iter::once(first).chain(second) {
            books.set(connection.generation(), role);
        }
    }

    pub(super) fn role(&self, generation: Generation) -> Option<Role> {
        self.books().sides.get(&generation).map(|side| side.role)
    }

    /// The traffic moves.
    pub(super) fn promoted(&self, from: Option<Generation>, to: &Connection) {
        let mut books = self.books();
        books.set(to.generation(), Role::Active);
        let from = from.filter(|from| books.sides.contains_key(from));
        books.unsettled = from.map(|from| (from, to.generation()));
    }

    /// The traffic has moved away from here.
    pub(super) fn moved_from(&self, connection: &Connection) {
        let mut books = self.books();
        books.set(connection.generation(), Role::Leaving);
        books.settle(connection.generation());
    }

    /// The connection is retired. Says whose the traffic still is, if it was promoted and never got it.
    pub(super) fn remove_side(&self, generation: Generation) -> Option<Connection> {
        let mut books = self.books();
        books.sides.remove(&generation);
        let kept = match books.unsettled {
            Some((from, to)) if to == generation => {
                books.unsettled = None;
                books.sides.get_mut(&from).map(|side| {
                    side.role = Role::Active;
                    side.connection.clone()
                })
            }
            _ => None,
        };
        books.settle(generation);
        kept
    }

    /// Whether the traffic is on this connection, as far as is known here.
    pub(crate) fn is_active(&self, connection: &Connection) -> bool {
        self.role(connection.generation()) == Some(Role::Active)
    }

    /// The connection that is active, as far as is known here.
    pub(crate) fn active(&self) -> Option<Connection> {
        let books = self.books();
        let active = books
            .sides
            .values()
            .filter(|side| side.role == Role::Active && !side.connection.has_ended());
        active
            .max_by_key(|side| side.connection.generation())
            .map(|side| side.connection.clone())
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn settle(&mut self, generation: Generation) {
        if self.unsettled.is_some_and(|(from, _)| from == generation) {
            self.unsettled = None;
        }
    }

    fn set(&mut self, generation: Generation, role: Role) {
        if let Some(side) = self.sides.get_mut(&generation) {
            side.role = role;
        }
    }
}

fn wants(role: Role, entry: &Entry) -> bool {
    match role {
        Role::Active | Role::Taking => true,
        Role::Promoting => entry.delivery() != Delivery::AtMostOnce,
        Role::Armed => entry.delivery().is_mirrored(),
        Role::Idle | Role::Leaving => false,
    }
}
