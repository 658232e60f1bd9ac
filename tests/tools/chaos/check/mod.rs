//! The checker: reads a [`Record`] and says which promises it breaks, where, and with which operations.
//!
//! Each promise is one file and one line in [`PROMISES`]. The head of its file says exactly what is promised and what is
//! not. All of it is pure: no clock, no server, no randomness. The time is that of a few passes over the operations, and
//! the memory beside the record is at most four bytes an operation. So ten minutes of a busy run are read in seconds.
//!
//! A false alarm costs a night. Where the record cannot tell, a promise is taken as kept: events may be recorded a little
//! late ([`bounds::LATE_EVENT`]), a call overlaps a fault, this process was stopped, the run ended.

mod answered;
mod answers;
pub(crate) mod bounds;
mod counts;
mod dials;
mod doubled;
mod fates;
mod flat;
#[cfg(test)]
pub(crate) mod forge;
mod kept;
mod listeners;
mod lost;
mod moves;
mod order;
#[cfg(test)]
mod random;
mod replaced;
mod run;
mod service;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::record::{Member, Micros, OperationId, Record};
use run::Run;

/// Looks at a whole run, and tells what breaks one promise.
type Promise = fn(&Run<'_>, &mut Verdict);

/// Every promise, in the order in which a report tells them.
const PROMISES: &[(&str, Promise)] = &[
    ("kept", kept::check),
    ("doubled", doubled::check),
    ("fates", fates::check),
    ("answers", answers::check),
    ("lost", lost::check),
    ("order", order::check),
    ("answered", answered::check),
    ("service", service::check),
    ("moves", moves::check),
    ("dials", dials::check),
    ("replaced", replaced::check),
    ("flat", flat::check),
];

/// So many violations of one promise are described. The others are only counted.
const EXAMPLES: usize = 5;
/// Of a promise that several subscriptions can break, so many of each.
const EXAMPLES_OF_EACH: usize = 2;

/// One broken promise, with what leads to the history around it.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    /// A sentence.
    pub(crate) what: String,
    pub(crate) at: Micros,
    pub(crate) operations: Vec<OperationId>,
    pub(crate) members: Vec<Member>,
}

/// What one promise found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// How often the promise was broken.
    pub(crate) count: u64,
    /// The first few.
    pub(crate) examples: Vec<Violation>,
    /// What it measured on the way, for the report.
    pub(crate) figures: BTreeMap<&'static str, u64>,
}

impl Verdict {
    /// The sentence is only made where it is kept: a broken run can have millions of violations.
    fn add(
        &mut self,
        at: Micros,
        operations: &[OperationId],
        members: &[Member],
        what: impl FnOnce() -> String,
    ) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(Violation {
                what: what(),
                at,
                operations: operations.to_vec(),
                members: members.to_vec(),
            });
        }
    }

    /// Takes over what one of several subscriptions broke. So the first one does not hide the others.
    fn add_all(&mut self, of_one: Self) {
        let Self {
            count, examples, ..
        } = of_one;
        self.count += count;
        let first = examples.into_iter().take(EXAMPLES_OF_EACH);
        self.examples.extend(first.map(|example| Violation {
            what: format!("{} ({count} times in all)", example.what),
            ..example
        }));
    }

    fn figure(&mut self, name: &'static str, value: u64) {
        self.figures.insert(name, value);
    }
}

/// What the checker says of a run.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    /// All promises, also those that were kept.
    pub(crate) promises: Vec<(&'static str, Verdict)>,
    /// Why the run does not count, if it does not: too little work, too few faults. That breaks no promise.
    pub(crate) discounted: Vec<String>,
    /// How many operations there were.
    pub(crate) operations: u64,
    pub(crate) operations_per_second: u64,
}

impl Findings {
    /// How many violations there are.
    pub(crate) fn violations(&self) -> u64 {
        self.promises.iter().map(|(_, verdict)| verdict.count).sum()
    }

    /// Whether every promise was kept in a run that counts.
    pub(crate) fn passed(&self) -> bool {
        self.violations() == 0 && self.discounted.is_empty()
    }

    /// What was measured under this name.
    #[cfg(test)]
    fn figure(&self, name: &str) -> u64 {
        let mut verdicts = self.promises.iter().map(|(_, verdict)| verdict);
        let figure = verdicts.find_map(|verdict| verdict.figures.get(name));
        *figure.expect("a figure")
    }

    /// How often this promise was broken.
    #[cfg(test)]
    fn of(&self, promise: &str) -> u64 {
        let found = self.promises.iter().find(|(name, _)| *name == promise);
        found.expect("a promise of the table").1.count
    }
}

/// See the [module](self).
pub(crate) fn check(record: &Record) -> Findings {
    let run = Run::new(record);
    let promises = PROMISES
        .iter()
        .map(|(name, check)| {
            let mut verdict = Verdict::default();
            check(&run, &mut verdict);
            (*name, verdict)
        })
        .collect();
    Findings {
        promises,
        discounted: counts::reasons(&run),
        operations: counts::operations(record),
        operations_per_second: counts::operations_per_second(record),
    }
}
