//! What is true of the stage at a moment, written down as a fact: of the servers what nobody could know, of the engine what
//! its status shows.

use super::host::Line;
use super::record::{Fact, Known};
use super::stage::Stage;
use crate::machine::{LinkView, View};

impl Stage<'_> {
    /// Writes down what is true now, if that is new.
    pub(super) fn observe(&mut self) {
        if !self.began {
            return;
        }
        let view = self.machine.view();
        let line = self.active.and_then(|(_, of)| self.world.lines.get(&of));
        let fact = Fact {
            at: self.now,
            active: self.active.map(|(id, _)| id.0),
            serving: line.is_some_and(|line| line.serves(&self.world.hosts[line.host])),
            silent_since: line.and_then(|line| line.silent_since(self.now)),
            refused: line.and_then(|line| line.refused),
            members: (0..self.case.weights.len())
                .map(|id| self.known(&view, id))
                .collect(),
        };
        let facts = &mut self.record.facts;
        let new = facts.last().is_none_or(|last| {
            let same = Fact {
                at: last.at,
                ..fact.clone()
            };
            same != *last
        });
        if facts.last().is_some_and(|last| last.at == self.now) {
            facts.pop();
            facts.push(fact);
        } else if new {
            facts.push(fact);
        }
    }

    fn known(&self, view: &View, id: usize) -> Known {
        let host = &self.world.hosts[self.world.names[id]];
        let shown = view.members.iter().find(|one| one.id.0 as usize == id);
        let line = shown
            .and_then(|one| one.generation)
            .and_then(|generation| self.world.lines.get(&generation));
        let here =
            |line: &Line| line.host == self.world.names[id] && !line.ended && line.serves(host);
        Known {
            fit: host.is_fit() && self.case.app.poison.is_none(),
            looks_fit: host.looks_fit(),
            serves_reads: host.serves_reads(),
            accepts: host.alive,
            dial: if host.two_addresses { 300 } else { host.round },
            round: host.round,
            connected: line.is_some_and(here),
            link: shown.map_or(LinkView::Cold, |one| one.link),
            healthy: shown.and_then(|one| one.healthy),
            lame: shown.is_some_and(|one| one.lame_duck),
            broken: shown.is_some_and(|one| one.broken),
            grace: shown.is_some_and(|one| one.grace.is_some()),
            enabled: shown.is_some_and(|one| one.enabled && !one.leaving),
        }
    }
}
