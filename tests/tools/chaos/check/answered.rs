//! `answered`: every call ends, within the time that its settings promise.
//!
//! A call may take its patience and [`bounds::LATE_ANSWER`] more. Time in which this process was stopped does not count.
//! A call that had not ended when the run was over is a violation if it had begun more than its patience before.

use super::run::{Run, end, milliseconds};
use super::{Verdict, bounds};
use crate::record::Outcome;

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let length = run.record.length;
    let late = bounds::LATE_ANSWER.micros();
    let mut longest = 0;
    for (id, operation) in run.operations() {
        let unended = operation.outcome == Outcome::Unended;
        let until = if unended { length } else { end(operation) };
        let took = until.saturating_sub(operation.begun);
        longest = longest.max(took);
        let patience = run.patience(operation.kind).saturating_add(late);
        if took <= patience {
            continue;
        }
        // Rare, so that looking at all stops is no matter.
        let ran = took - run.stopped(&(operation.begun..until));
        if ran > patience {
            verdict.add(until, &[id], &[], || {
                let how = if unended { "had not ended" } else { "ended" };
                let kind = operation.kind;
                format!(
                    "a call ({kind:?}) {how} after {}, of which this process ran {}; at most {} are promised",
                    milliseconds(took),
                    milliseconds(ran),
                    milliseconds(patience)
                )
            });
        }
    }
    verdict.figure("longest_call_ms", u64::from(longest / 1000));
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{Kind, Outcome};

    #[test]
    fn a_call_that_takes_too_long_is_found() {
        let mut forge = Forge::redis();
        let patience = forge.record.patience;
        forge.operation(6 * S, patience + 251 * MS, Kind::Read, Outcome::NoFate);
        only(&check(&forge.record), "answered", 1);
    }

    #[test]
    fn a_call_that_never_ends_is_found() {
        let mut forge = Forge::redis();
        forge.operation(6 * S, 0, Kind::Write, Outcome::Unended);
        only(&check(&forge.record), "answered", 1);
    }

    #[test]
    fn stops_and_the_end_of_the_run_excuse_a_call() {
        let mut forge = Forge::redis();
        let (patience, length) = (forge.record.patience, forge.record.length);
        forge.operation(6 * S, patience + S, Kind::Read, Outcome::Right);
        forge.record.stops.push(6 * S + MS..7 * S + MS);
        forge.operation(length - patience, 0, Kind::Write, Outcome::Unended);
        only(&check(&forge.record), "answered", 0);
    }
}
