//! What follows from a failure: one table for both drivers, for the nodes of a cluster, and for the subscriptions.
//!
//! In go what happened ([`Cause`]), what had left before ([`Sent`]), on which kind of socket ([`Socket`]), what the work was
//! ([`Work`]) and the group's [`Replay`]. Out come what the member is told to be, what became of the operation, whether it
//! may run again, and the kind of its error. Nothing else decides any of these: whoever speaks to a client crate only
//! translates its errors into causes.
//!
//! What cannot be told:
//!
//! - Neither driver says whether a command that was handed over was written. So what ended or was late is [`Sent::Perhaps`].
//! - fred shows nobody the commands of a closure ([`Sent::Unseen`]). Its refusals are taken to be about a closure of one
//!   command: one that had written before is told wrongly that nothing was applied.
//! - fred does not always say whether a socket ended or only the command was given up ([`Cause::GivenUp`]).
//!
//! Pure, and tested as a table (`failures/table.md`), each line of which says how to see it on a server.

use backend_api::{Epoch, ErrorKind, Fate, Outcome};

use crate::options::Replay;
use crate::retry::Past;
use crate::server_errors;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The server says that it serves nobody: as what that counts, and its first word.
    Condemned(ErrorKind, String),
    /// The server answered with an error that speaks of the command alone: its first word.
    Answered(String),
    /// The server answered, and not with what the caller asked to have the answer as.
    #[cfg_attr(not(feature = "fred"), allow(dead_code))]
    Unread,
    /// The socket ended.
    #[cfg_attr(not(feature = "redis-rs"), allow(dead_code))]
    Ended,
    /// The client gave the command up; its socket may have ended.
    #[cfg_attr(not(feature = "fred"), allow(dead_code))]
    GivenUp,
    /// What came in was no answer of a Redis server.
    Unreadable,
    /// No answer in time.
    Late,
    /// The server answered in the end that nothing came while it blocked, which the client calls an error.
    #[cfg_attr(not(feature = "fred"), allow(dead_code))]
    NothingCame,
    /// Too much waits to be sent.
    #[cfg_attr(not(feature = "fred"), allow(dead_code))]
    Full,
    /// The connection had ended before.
    AlreadyEnded,
    /// There was no socket to send it on: why there was none.
    NoSocket(ErrorKind),
    /// The caller asked for what the client cannot send.
    Mistake,
}

/// What had left this process, and what of it was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Nothing.
    Nothing,
    /// It was handed over: all of it, a part or nothing may have left.
    Perhaps,
    /// One command, or several that are one to the server, and this is the answer to it.
    #[cfg_attr(not(feature = "redis-rs"), allow(dead_code))]
    Alone,
    /// Several, and others of them were answered with results.
    #[cfg_attr(not(feature = "redis-rs"), allow(dead_code))]
    Among,
    /// Whatever the caller's closure sent. The last of it was answered with this.
    #[cfg_attr(not(feature = "fred"), allow(dead_code))]
    Unseen,
}

/// On which socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    /// The one that everybody shares.
    Shared,
    /// One for this operation alone: its end says nothing certain about the shared one.
    Dedicated,
    /// The same, for the WATCH that begins a transaction.
    #[cfg_attr(not(feature = "redis-rs"), allow(dead_code))]
    Watch,
    /// One to one node of a cluster.
    #[cfg_attr(not(feature = "cluster"), allow(dead_code))]
    Node,
    /// The one of the subscriptions.
    Subscriptions,
}

/// What it was that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It only reads, or changes nothing on the server that outlives its socket.
    #[cfg_attr(not(feature = "redis-rs"), allow(dead_code))]
    Reads,
    /// The caller says that it may be applied twice.
    #[cfg_attr(not(feature = "fred"), allow(dead_code))]
    Repeatable,
    /// Anything else.
    Writes,
}

/// A failure, as far as anything follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) cause: &'a Cause,
    pub(crate) sent: Sent,
    pub(crate) socket: Socket,
    pub(crate) work: Work,
    pub(crate) replay: Replay,
    /// The engine had ended the connection.
    pub(crate) retired: bool,
    /// The member is several servers, and looks whether another one is its master now.
    pub(crate) excused: bool,
}

/// What it says about the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// Nothing.
    Nothing,
    /// It answers.
    Answers,
    /// It failed: for the breaker and the engine's own proof.
    Failed,
    /// It serves nobody.
    Condemned,
    /// Its connection ended.
    Lost,
    /// Its connection is to be proven. What failed was no operation.
    Suspect,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) member: Member,
    /// `None` where there is nothing that could have been applied, or where nobody can say.
    pub(crate) fate: Option<Fate>,
    /// It may run again on the next active.
    pub(crate) again: bool,
    pub(crate) kind: ErrorKind,
    /// It certainly never left.
    unsent: bool,
    /// Only an answer is missing: the connection may be well.
    doubtful: bool,
}

impl Verdict {
    pub(crate) fn outcome(&self) -> Outcome {
        match self.member {
            Member::Nothing | Member::Suspect => Outcome::Neutral,
            Member::Answers => Outcome::Success,
            Member::Failed | Member::Condemned | Member::Lost => Outcome::Failure,
        }
    }

    /// For the next attempt.
    pub(crate) fn past(&self, epoch: Epoch) -> Past {
        Past {
            epoch,
            again: self.again,
            unsent: self.unsent,
            doubtful: self.doubtful,
        }
    }
}

/// Whether work whose fate is unknown may run again.
pub(crate) fn may_repeat(replay: Replay, work: Work) -> bool {
    match replay {
        Replay::Never => false,
        Replay::Reads => work != Work::Writes,
        Replay::All => true,
    }
}

/// The table.
pub(crate) fn judge(failure: &Failure<'_>) -> Verdict {
    let of_subscriptions = failure.socket == Socket::Subscriptions;
    let mut verdict = Verdict {
        member: member(failure),
        fate: fate(failure.cause, failure.sent, failure.work),
        again: again(failure),
        kind: kind(failure),
        unsent: false,
        doubtful: false,
    };
    // What the engine ended, and what the member itself is looking at, is nothing against it.
    let passed_over = match failure.cause {
        Cause::Mistake | Cause::Answered(_) | Cause::Unread | Cause::NothingCame => false,
        Cause::Ended | Cause::GivenUp | Cause::Unreadable | Cause::Late => {
            failure.retired || failure.excused
        }
        _ => failure.excused,
    };
    if passed_over && !of_subscriptions {
        verdict.member = Member::Nothing;
    }
    match failure.cause {
        Cause::Late => verdict.doubtful = !failure.retired,
        Cause::Full => (verdict.unsent, verdict.doubtful) = (true, true),
        Cause::AlreadyEnded => verdict.unsent = true,
        Cause::NoSocket(kind) => {
            verdict.unsent = verdict.again;
            verdict.doubtful = *kind == ErrorKind::Timeout;
        }
        _ => {}
    }
    verdict
}

fn member(failure: &Failure<'_>) -> Member {
    match (failure.cause, failure.socket) {
        (Cause::Answered(_) | Cause::Unread | Cause::NothingCame, Socket::Subscriptions)
        | (Cause::Mistake | Cause::AlreadyEnded, _)
        | (Cause::NoSocket(ErrorKind::Retired | ErrorKind::Unsupported), _) => Member::Nothing,
        (
            Cause::NoSocket(ErrorKind::Lost | ErrorKind::Timeout | ErrorKind::Protocol)
            | Cause::Ended
            | Cause::GivenUp
            | Cause::Unreadable
            | Cause::Late,
            Socket::Subscriptions,
        ) => Member::Suspect,
        // A server that condemns itself there says the same to the next proof or check.
        (_, Socket::Subscriptions) => Member::Nothing,
        (Cause::Answered(_) | Cause::Unread | Cause::NothingCame, _) => Member::Answers,
        (Cause::Condemned(..), _) => Member::Condemned,
        // Usually whoever moves the bytes said so already.
        (Cause::Ended, Socket::Shared) => Member::Lost,
        // fred's watcher says it, where it is true.
        (Cause::Ended | Cause::GivenUp | Cause::Unreadable | Cause::Late, _)
        | (Cause::Full | Cause::NoSocket(_), _) => Member::Failed,
    }
}

/// What became of it: the part of the table that needs no socket.
pub(crate) fn fate(cause: &Cause, sent: Sent, work: Work) -> Option<Fate> {
    match cause {
        Cause::Full | Cause::AlreadyEnded | Cause::NoSocket(_) => Some(Fate::NotApplied),
        Cause::Ended | Cause::GivenUp | Cause::Unreadable | Cause::Late => match work {
            Work::Reads => None,
            // That it may be applied twice does not say that it was not applied once.
            Work::Repeatable | Work::Writes => Some(Fate::MayHaveBeenApplied),
        },
        Cause::Condemned(..) => match sent {
            Sent::Among | Sent::Perhaps => Some(Fate::MayHaveBeenApplied),
            Sent::Nothing | Sent::Alone | Sent::Unseen => Some(Fate::NotApplied),
        },
        Cause::Answered(_) | Cause::Unread | Cause::NothingCame | Cause::Mistake => match sent {
            Sent::Nothing | Sent::Alone => Some(Fate::NotApplied),
            Sent::Among | Sent::Perhaps => Some(Fate::MayHaveBeenApplied),
            Sent::Unseen => None,
        },
    }
}

fn again(failure: &Failure<'_>) -> bool {
    if failure.socket == Socket::Subscriptions {
        // Subscribing twice is subscribing once.
        return true;
    }
    match failure.cause {
        Cause::Answered(_) | Cause::Unread | Cause::NothingCame | Cause::Mistake => false,
        Cause::Condemned(..) => failure.sent != Sent::Among,
        Cause::Full | Cause::AlreadyEnded => true,
        Cause::NoSocket(kind) => *kind != ErrorKind::Unsupported,
        Cause::Ended | Cause::GivenUp | Cause::Unreadable | Cause::Late => match failure.socket {
            Socket::Shared | Socket::Subscriptions => may_repeat(failure.replay, failure.work),
            // A pop whose answer was lost has popped.
            Socket::Dedicated => false,
            // A WATCH that was lost watches nothing and changed nothing.
            Socket::Watch => true,
            // A slow node is not asked a second time: the time of an operation is over.
            Socket::Node => {
                *failure.cause != Cause::Late && may_repeat(failure.replay, failure.work)
            }
        },
    }
}

fn kind(failure: &Failure<'_>) -> ErrorKind {
    match failure.cause {
        Cause::Condemned(kind, _) | Cause::NoSocket(kind) => *kind,
        Cause::Answered(code) if failure.socket == Socket::Subscriptions => match &**code {
            "NOPERM" => ErrorKind::Auth,
            _ => ErrorKind::Unsupported,
        },
        Cause::Answered(code) => server_errors::kind(code),
        Cause::Unread | Cause::Mistake => ErrorKind::Other,
        Cause::Full | Cause::NothingCame => ErrorKind::Timeout,
        Cause::Ended | Cause::GivenUp | Cause::Late | Cause::Unreadable | Cause::AlreadyEnded
            if failure.retired =>
        {
            ErrorKind::Retired
        }
        Cause::Late => ErrorKind::Timeout,
        Cause::Unreadable => ErrorKind::Protocol,
        Cause::Ended | Cause::GivenUp | Cause::AlreadyEnded => ErrorKind::Lost,
    }
}

#[cfg(test)]
mod tests;
