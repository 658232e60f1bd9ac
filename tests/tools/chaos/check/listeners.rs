//! Subscriptions as the promises about messages see them: alone, or together as a queue group.
//!
//! A message goes to each subscription once, and to each queue group once. So `doubled` and `lost` ask listeners, and a
//! listener is one subscription or all of one group. No promise is decided here.

use std::collections::BTreeMap;

use super::run::Run;
use crate::record::{Heard, OperationId, Record};

/// What gets each message once.
pub(crate) struct Listener<'a> {
    /// One subscription, or the members of one queue group.
    pub(crate) parts: Vec<&'a Heard>,
}

/// All listeners of a run.
pub(crate) fn listeners(record: &Record) -> Vec<Listener<'_>> {
    let mut groups: BTreeMap<&str, Vec<&Heard>> = BTreeMap::new();
    let mut all = Vec::new();
    for heard in &record.heard {
        match heard.queue {
            Some(queue) => groups.entry(queue).or_default().push(heard),
            None => all.push(Listener { parts: vec![heard] }),
        }
    }
    all.extend(groups.into_values().map(|parts| Listener { parts }));
    all
}

impl Listener<'_> {
    /// What all parts were promised alike.
    pub(crate) fn first(&self) -> &Heard {
        self.parts[0]
    }
}

/// For each operation of some workers a small value: most messages come, so a table is smaller than a map.
pub(crate) struct Marks<T> {
    first: u16,
    logs: Vec<Vec<T>>,
}

impl<T: Copy + Default> Marks<T> {
    pub(crate) fn of(run: &Run<'_>, heard: &Heard) -> Self {
        let logs = heard.from.clone().map(|worker| {
            let log = run.record.workers.get(usize::from(worker));
            vec![T::default(); log.map_or(0, Vec::len)]
        });
        Self {
            first: heard.from.start,
            logs: logs.collect(),
        }
    }

    /// None for an operation that does not exist, which is the matter of `answers`.
    pub(crate) fn at(&mut self, id: OperationId) -> Option<&mut T> {
        let worker = id.worker.checked_sub(self.first)?;
        let log = self.logs.get_mut(usize::from(worker))?;
        log.get_mut(id.number as usize)
    }
}
