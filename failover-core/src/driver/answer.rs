//! Answers to people: in words, with names, and with what to do.

use backend_api::{Backend, Error, ErrorKind};
use tokio::sync::oneshot;

use super::message::Moved;
use super::{Core, Driver};
use crate::machine::{Answer, Refusal, RequestId};

/// Who waits for the answer to a control operation.
pub(super) enum Caller {
    /// The engine itself.
    Nobody,
    Waiting(oneshot::Sender<Result<Moved, Error>>),
}

impl<B: Backend> Driver<B> {
    pub(super) fn reply(&mut self, core: &Core<B>, request: RequestId, answer: Answer) {
        let Some(Caller::Waiting(reply)) = self.callers.remove(&request) else {
            return;
        };
        let name = |id| core.directory.name(id);
        // A caller who gave up needs no answer; the operation was whole or not at all.
        let _ = reply.send(match answer {
            Answer::Done => Ok(Moved {
                from: None,
                to: None,
            }),
            Answer::Switched { from, to } => Ok(Moved {
                from: from.map(name),
                to: Some(name(to)),
            }),
            Answer::Refused(refusal) => Err(refused(core, refusal)),
        });
    }

    /// What operations are told while there is no active.
    pub(super) fn absence(&self, core: &Core<B>) -> Error {
        let states = core.directory.states(&core.machine);
        Error::new(
            ErrorKind::NoActive,
            format!("group {} has no active member: {states}", self.group),
        )
    }

    /// Keeps the reason that waiting operations are given true.
    pub(super) fn explain_absence(&mut self, core: &Core<B>) {
        if core.machine.active().is_none() && !core.machine.is_closed() {
            let reason = self.absence(core);
            self.slot.explain(reason);
        }
    }
}

fn refused<B: Backend>(core: &Core<B>, refusal: Refusal) -> Error {
    let about = |kind, id, text: &str| {
        let error = Error::new(kind, text).with_member(&core.directory.name(id));
        let cause = match kind {
            ErrorKind::Aborted => core.cause_of_abort(id),
            _ => core.directory.cause(id),
        };
        match cause {
            Some(cause) => error.with_source(cause),
            None => error,
        }
    };
    match refusal {
        Refusal::Unknown => Error::new(ErrorKind::UnknownMember, "there is no such member"),
        Refusal::Duplicate => Error::new(
            ErrorKind::DuplicateMember,
            "there is a member of that name already",
        ),
        Refusal::NotEligible(id) => about(
            ErrorKind::NotEligible,
            id,
            "it cannot take the traffic now: disabled, unconnected, or held back by its checks, breaker or lame-duck \
             mark; see status()",
        ),
        Refusal::NoStandby => Error::new(
            ErrorKind::NotEligible,
            format!(
                "there is no member to move to: {}",
                core.directory.states(&core.machine)
            ),
        ),
        Refusal::Aborted(id) => about(
            ErrorKind::Aborted,
            id,
            "the move was given up, and the active is what it was",
        ),
        Refusal::LastMember => Error::new(
            ErrorKind::LastMember,
            "it is the last member that takes part; add or enable another first",
        ),
        Refusal::Closed => Error::new(ErrorKind::Closed, "the group is closed"),
    }
}
