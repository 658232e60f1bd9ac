//! A record with what several promises ask of it: who was active when, which spans are stops, how operations are found.
//!
//! Built once for each check. No promise is decided here.

use std::ops::Range;

use super::bounds;
use crate::record::{Kind, Member, Micros, Operation, OperationId, Outcome, Record};

/// See the [module](self).
pub(crate) struct Run<'a> {
    pub(crate) record: &'a Record,
    /// Fit spans of each member: in order, and joined where they touch.
    pub(crate) fit: Vec<Vec<Range<Micros>>>,
    /// Stops of this process, in order and joined.
    pub(crate) stops: Vec<Range<Micros>>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(record: &'a Record) -> Self {
        let mut fit = vec![Vec::new(); record.members.len()];
        for span in &record.fit {
            fit[usize::from(span.member)].push(span.during.clone());
        }
        Self {
            record,
            fit: fit.into_iter().map(joined).collect(),
            stops: joined(record.stops.clone()),
        }
    }

    /// All operations, worker by worker.
    pub(crate) fn operations(
        &self,
    ) -> impl Iterator<Item = (OperationId, &'a Operation)> + use<'a> {
        (0u16..)
            .zip(&self.record.workers)
            .flat_map(|(worker, log)| {
                (0u32..)
                    .zip(log)
                    .map(move |(number, operation)| (OperationId { worker, number }, operation))
            })
    }

    pub(crate) fn operation(&self, id: OperationId) -> Option<&'a Operation> {
        let log = self.record.workers.get(usize::from(id.worker))?;
        log.get(id.number as usize)
    }

    /// How often it was applied, as was read at the end.
    pub(crate) fn applied(&self, id: OperationId) -> u8 {
        let log = self.record.applied.get(usize::from(id.worker));
        let count = log.and_then(|log| log.get(id.number as usize));
        count.copied().unwrap_or(0)
    }

    /// The active at that time, by the moves.
    pub(crate) fn active(&self, at: Micros) -> Option<Member> {
        let next = self.record.moves.partition_point(|step| step.at <= at);
        Some(self.record.moves[..next].last()?.to)
    }

    /// Who may have been the active at some time in this span. Moves may have been recorded a little late.
    pub(crate) fn actives(&self, during: &Range<Micros>) -> Vec<Member> {
        let end = during.end.saturating_add(bounds::LATE_EVENT.micros());
        let moves = &self.record.moves;
        let first = moves.partition_point(|step| step.at <= during.start);
        let last = moves.partition_point(|step| step.at <= end);
        let mut members: Vec<Member> = moves[first.saturating_sub(1)..last]
            .iter()
            .map(|step| step.to)
            .collect();
        members.sort_unstable();
        members.dedup();
        members
    }

    /// How much of this span the process did not run.
    pub(crate) fn stopped(&self, span: &Range<Micros>) -> Micros {
        let overlaps = self.stops.iter().map(|stop| overlap(stop, span));
        overlaps.map(|both| both.end - both.start).sum()
    }

    /// The name of a member, for a sentence.
    pub(crate) fn name(&self, member: Member) -> &'a str {
        let name = self.record.members.get(usize::from(member));
        name.map_or("an unknown member", String::as_str)
    }

    /// How long a call of this kind may take.
    pub(crate) fn patience(&self, kind: Kind) -> Micros {
        let own = self.record.patience_of.get(&kind);
        own.copied().unwrap_or(self.record.patience)
    }
}

/// When the call ended.
pub(crate) fn end(operation: &Operation) -> Micros {
    operation.begun.saturating_add(operation.took)
}

/// A change whose application the servers count.
pub(crate) fn is_write(kind: Kind) -> bool {
    match kind {
        Kind::Write | Kind::Pipeline | Kind::Transaction | Kind::Script | Kind::StreamPublish => {
            true
        }
        Kind::Read | Kind::Blocking | Kind::Publish | Kind::Request => false,
    }
}

/// The server said that it did this write.
pub(crate) fn acknowledged(operation: &Operation) -> bool {
    operation.outcome == Outcome::Right && is_write(operation.kind)
}

/// What both have; empty where they don't meet.
pub(crate) fn overlap(a: &Range<Micros>, b: &Range<Micros>) -> Range<Micros> {
    let start = a.start.max(b.start);
    start..a.end.min(b.end).max(start)
}

/// Whether they have a moment in common.
pub(crate) fn meet(a: &Range<Micros>, b: &Range<Micros>) -> bool {
    a.start <= b.end && b.start <= a.end
}

/// The same time, in order and without overlaps.
pub(crate) fn joined(mut spans: Vec<Range<Micros>>) -> Vec<Range<Micros>> {
    spans.sort_unstable_by_key(|span| span.start);
    let mut joined: Vec<Range<Micros>> = Vec::new();
    for span in spans.into_iter().filter(|span| span.start < span.end) {
        match joined.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}

/// A time for people.
pub(crate) fn seconds(time: Micros) -> String {
    format!("{:.3} s", f64::from(time) / 1e6)
}

/// A span of time for people.
pub(crate) fn milliseconds(time: Micros) -> String {
    format!("{:.1} ms", f64::from(time) / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_are_one() {
        assert_eq!(joined(vec![5..9, 1..3, 3..4, 8..10]), [1..4, 5..10]);
        assert_eq!(joined(vec![7..7, 9..9]), []);
        assert_eq!(overlap(&(1..4), &(6..9)), 6..6);
    }
}
