//! What went wrong on the socket of the subscriptions, as the table of [`failures`](crate::failures) judges it.

use backend_api::Error;

use crate::failures::{self, Cause, Failure, Member, Sent, Socket, Verdict, Work};
use crate::options::Replay;

/// An error, and what it says about the member.
pub(super) struct Trouble {
    pub(super) error: Error,
    pub(super) member: Member,
}

impl Trouble {
    /// `text`: for people, without the cause's kind.
    pub(super) fn of(cause: &Cause, text: String) -> Self {
        let verdict = judged(cause);
        Self {
            error: Error::new(verdict.kind, text),
            member: verdict.member,
        }
    }

    /// There is no socket: whoever tried to open it says why.
    pub(super) fn of_opening(error: Error) -> Self {
        let member = judged(&Cause::NoSocket(error.kind())).member;
        Self { error, member }
    }
}

fn judged(cause: &Cause) -> Verdict {
    failures::judge(&Failure {
        cause,
        sent: match cause {
            Cause::Answered(_) => Sent::Alone,
            Cause::NoSocket(_) => Sent::Nothing,
            _ => Sent::Perhaps,
        },
        socket: Socket::Subscriptions,
        // Nothing of it outlives its socket, and it is always tried again.
        work: Work::Reads,
        replay: Replay::All,
        retired: false,
        excused: false,
    })
}
