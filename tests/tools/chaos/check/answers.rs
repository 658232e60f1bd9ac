//! `answers`: an answer belongs to its question, and a message to one that was sent.
//!
//! A read gives the value of its key, a request the echo of its text. A subscription hears only messages that its
//! workers sent, of its kind, and none before it was sent.

use super::Verdict;
use super::run::Run;
use crate::record::Outcome;

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    for (id, operation) in run.operations() {
        if operation.outcome == Outcome::Wrong {
            verdict.add(operation.begun, &[id], &[], || {
                format!(
                    "a call ({:?}) got the answer to another question",
                    operation.kind
                )
            });
        }
    }
    for heard in &run.record.heard {
        for (at, id) in &heard.messages {
            let sent = run
                .operation(*id)
                .filter(|sent| sent.kind == heard.kind && heard.from.contains(&id.worker));
            match sent {
                None => verdict.add(*at, &[*id], &[], || {
                    format!(
                        "a subscription ({:?}) heard a message that nobody sent to it",
                        heard.delivery
                    )
                }),
                Some(sent) if *at < sent.begun => verdict.add(*at, &[*id], &[], || {
                    format!(
                        "a subscription ({:?}) heard a message before it was sent",
                        heard.delivery
                    )
                }),
                Some(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{Kind, OperationId, Outcome};

    #[test]
    fn another_questions_answer_is_found() {
        let mut forge = Forge::redis();
        forge.operation(6 * S, MS, Kind::Read, Outcome::Wrong);
        only(&check(&forge.record), "answers", 1);
    }

    #[test]
    fn a_message_that_nobody_sent_is_found() {
        let mut forge = Forge::nats();
        let nobodys = OperationId {
            worker: 0,
            number: u32::MAX,
        };
        forge.record.heard[0].messages.push((20 * S, nobodys));
        only(&check(&forge.record), "answers", 1);
    }

    #[test]
    fn a_message_before_it_was_sent_is_found() {
        let mut forge = Forge::nats();
        let heard = &mut forge.record.heard[0].messages;
        heard[0].0 = 0;
        only(&check(&forge.record), "answers", 1);
    }

    #[test]
    fn right_answers_and_errors_are_fine() {
        let mut forge = Forge::redis();
        forge.operation(6 * S, MS, Kind::Read, Outcome::Right);
        forge.operation(7 * S, MS, Kind::Request, Outcome::MayHaveBeenApplied);
        only(&check(&forge.record), "answers", 0);
    }
}
