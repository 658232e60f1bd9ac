//! How far masters were, and when: what the check `lag` compares replicas with.
//!
//! A check sees one member. Masters of the group write here when they are checked themselves, and a replica finds its master by
//! the id of the history that both have.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Replication;

/// Histories of which nobody was heard for so long are forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// Places kept of one history. More often than this within `lag_time` nobody is checked.
const PLACES: usize = 64;

/// The masters of a group, and how each can be asked again (`L`).
pub(crate) struct Board<L>(Mutex<HashMap<String, Master<L>>>);

struct Master<L> {
    link: L,
    /// Where it was, oldest first.
    places: VecDeque<(Instant, u64)>,
}

impl<L> Default for Board<L> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<L: Clone> Board<L> {
    /// A master said where it is; `link` is how it can be asked again.
    pub(crate) fn write(&self, said: &Replication, link: L) {
        let now = Instant::now();
        let mut masters = self.masters();
        masters.retain(|_, master| {
            let last = master.places.back();
            last.is_some_and(|(at, _)| now.duration_since(*at) < FORGOTTEN)
        });
        let master = masters.entry(said.id.clone()).or_insert_with(|| Master {
            link: link.clone(),
            places: VecDeque::new(),
        });
        master.link = link;
        if master.places.len() == PLACES {
            master.places.pop_front();
        }
        master.places.push_back((now, said.offset));
    }

    /// How the master of a history can be asked.
    pub(crate) fn master(&self, id: &str) -> Option<L> {
        self.masters().get(id).map(|master| master.link.clone())
    }

    /// How far the master of a history was at least, so long ago.
    pub(crate) fn place(&self, id: &str, ago: Duration) -> Option<u64> {
        let now = Instant::now();
        let masters = self.masters();
        let places = &masters.get(id)?.places;
        let then = places
            .iter()
            .rev()
            .find(|(at, _)| now.duration_since(*at) >= ago);
        then.map(|(_, offset)| *offset)
    }

    fn masters(&self) -> MutexGuard<'_, HashMap<String, Master<L>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
