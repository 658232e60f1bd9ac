//! `fates`: an error tells the truth about what became of the operation.
//!
//! - *Not applied* means: no server has it, and no subscription ever hears it.
//! - *May have been applied* says nothing that could be false.
//! - An error without a fate is a violation for everything that may change something. A read has no fate: it changes
//!   nothing.

use super::Verdict;
use super::run::Run;
use crate::record::{Kind, Outcome};

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    for (id, operation) in run.operations() {
        let kind = operation.kind;
        match operation.outcome {
            Outcome::NotApplied if run.applied(id) > 0 => {
                verdict.add(operation.begun, &[id], &[], || {
                    let times = run.applied(id);
                    format!("an error said \"not applied\", and the operation ({kind:?}) was applied {times} time(s)")
                });
            }
            Outcome::NoFate if kind != Kind::Read => {
                verdict.add(operation.begun, &[id], &[], || {
                    format!(
                        "an error of an operation that may change something ({kind:?}) has no fate"
                    )
                });
            }
            _ => {}
        }
    }
    for heard in &run.record.heard {
        for (at, id) in &heard.messages {
            let sent = run.operation(*id);
            if sent.is_some_and(|sent| sent.outcome == Outcome::NotApplied) {
                verdict.add(*at, &[*id], &[], || {
                    format!("an error said \"not applied\", and a subscription ({:?}) heard the message", heard.delivery)
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{Kind, Outcome};

    #[test]
    fn a_fate_that_lies_is_found() {
        let mut forge = Forge::redis();
        let id = forge.operation(6 * S, MS, Kind::Write, Outcome::NotApplied);
        forge.applied(id, 1);
        only(&check(&forge.record), "fates", 1);
    }

    #[test]
    fn a_message_that_was_not_sent_and_comes_is_found() {
        let mut forge = Forge::nats();
        let (_, id) = forge.record.heard[0].messages[5];
        forge.at(id).outcome = Outcome::NotApplied;
        // It was heard by every subscription.
        let listeners = forge.record.heard.iter();
        let heard = listeners.filter(|heard| heard.messages.iter().any(|(_, other)| *other == id));
        let count = heard.count() as u64;
        only(&check(&forge.record), "fates", count);
    }

    #[test]
    fn an_error_of_a_write_without_a_fate_is_found() {
        let mut forge = Forge::redis();
        forge.operation(6 * S, MS, Kind::Blocking, Outcome::NoFate);
        only(&check(&forge.record), "fates", 1);
    }

    #[test]
    fn true_fates_and_a_read_without_one_are_fine() {
        let mut forge = Forge::redis();
        forge.operation(6 * S, MS, Kind::Write, Outcome::NotApplied);
        let done = forge.operation(7 * S, MS, Kind::Write, Outcome::MayHaveBeenApplied);
        forge.applied(done, 1);
        forge.operation(8 * S, MS, Kind::Write, Outcome::MayHaveBeenApplied);
        forge.operation(9 * S, MS, Kind::Read, Outcome::NoFate);
        only(&check(&forge.record), "fates", 0);
    }
}
