//! One whole check of a member: probes, one after the other, until the majority is certain, as the engine's own plan of
//! checks runs them.

use backend_api::Generation;

use super::host::{Ask, Reply};
use super::stage::{Event, Stage, To};
use crate::config::HealthRules;
use crate::machine::{Failure, Input, MemberId, Op, Verdict};

pub(super) struct Checking {
    pub(super) member: MemberId,
    generation: Generation,
    probe: u32,
    began: u64,
    pausing: bool,
    healthy: u32,
    unhealthy: u32,
}

impl Checking {
    pub(super) fn new(member: MemberId, generation: Generation) -> Self {
        Self {
            member,
            generation,
            probe: 0,
            began: 0,
            pausing: false,
            healthy: 0,
            unhealthy: 0,
        }
    }

    /// Begins the next probe.
    pub(super) fn next(&mut self, now: u64) -> (Generation, u32) {
        self.probe += 1;
        self.began = now;
        self.pausing = false;
        (self.generation, self.probe)
    }

    pub(super) fn awaits(&self, probe: u32) -> bool {
        self.probe == probe && !self.pausing
    }

    pub(super) fn is_pause(&self, probe: u32) -> bool {
        self.probe == probe && self.pausing
    }

    /// Counts a probe; the verdict, once no further probe can change it.
    pub(super) fn count(&mut self, rules: &HealthRules, well: bool) -> Option<Verdict> {
        if well {
            self.healthy += 1;
        } else {
            self.unhealthy += 1;
        }
        let needed = rules.probes / 2 + 1;
        if self.healthy >= needed {
            Some(Verdict::Healthy)
        } else if self.unhealthy > rules.probes - needed {
            Some(Verdict::Unhealthy { read_only: false })
        } else {
            None
        }
    }

    /// When the next probe begins after one that failed.
    pub(super) fn pause(&mut self, rules: &HealthRules) -> (u64, u32) {
        self.pausing = true;
        let delay = u64::try_from(rules.probe_delay.as_millis()).unwrap_or(u64::MAX);
        (self.began + delay, self.probe)
    }
}

impl Stage<'_> {
    pub(super) fn probe(&mut self, op: Op) {
        let Some(checking) = self.checks.get_mut(&op) else {
            return;
        };
        let (generation, probe) = checking.next(self.now);
        let timeout = self.case.rules.member.health.timeout.as_millis();
        let timeout = u64::try_from(timeout).unwrap_or(u64::MAX);
        self.ask(generation, Ask::Check, None, To::Probe(op, probe));
        self.send(self.now + timeout, Event::Probe(op, probe));
    }

    /// A probe's time is over, if it was not answered, or the pause after it.
    pub(super) fn probe_over(&mut self, op: Op, probe: u32) {
        match self.checks.get(&op) {
            Some(checking) if checking.is_pause(probe) => self.probe(op),
            Some(checking) if checking.awaits(probe) => self.probed(op, probe, Reply::Closed),
            _ => {}
        }
    }

    pub(super) fn probed(&mut self, op: Op, probe: u32, reply: Reply) {
        let rules = &self.case.rules.member.health;
        let Some(checking) = self.checks.get_mut(&op).filter(|one| one.awaits(probe)) else {
            return;
        };
        let id = checking.member;
        let verdict = if reply == Reply::Badly(Failure::ReadOnly) {
            Some(Verdict::Unhealthy { read_only: true })
        } else {
            checking.count(rules, reply == Reply::Well)
        };
        match verdict {
            Some(verdict) => {
                self.checks.remove(&op);
                self.answer(Input::Checked(id, op, verdict));
            }
            None if reply == Reply::Well => self.probe(op),
            None => {
                let (at, probe) = checking.pause(rules);
                self.send(at, Event::Probe(op, probe));
            }
        }
    }
}
