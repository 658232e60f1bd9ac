//! An attempt that failed: its cause goes into the table of [`failures`](crate::failures), and what comes out is told to the
//! engine and to the caller.

use ::fred::error::Error as FredError;
use backend_api::{Error, Fate, Lease};

use super::connection::FredConnection;
use super::errors;
use crate::failures::{self, Cause, Failure, Member, Sent, Socket, Verdict, Work};
use crate::options::Replay;
use crate::retry::Past;
use crate::server_errors;

/// A failed attempt.
pub(super) struct Failed {
    /// What the caller gets if it stays at that.
    pub(super) error: Error,
    pub(super) past: Past,
}

/// What an operation is, as far as its failures depend on it.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) name: &'static str,
    /// The caller says that it may be applied twice.
    pub(super) idempotent: bool,
    /// It had a client of its own: what was interrupted there does not run again, and says nothing about the shared one.
    pub(super) apart: bool,
    pub(super) replay: Replay,
    pub(super) replicas: bool,
}

impl Terms {
    /// `answer` is `None` where the end of the connection cut the operation off.
    #[cold]
    pub(super) fn failed(self, lease: Lease<FredConnection>, answer: Option<FredError>) -> Failed {
        let connection = lease.connection().clone();
        let retired = connection.state().is_retired();
        let cause = match &answer {
            Some(error) => match errors::cause(error, self.replicas) {
                // fred's word for a blocking command that the server answered with nothing.
                Cause::Late if self.apart && !retired => Cause::NothingCame,
                cause => cause,
            },
            // Whoever watches over the client says that its socket ended.
            None => Cause::GivenUp,
        };
        let sent = match cause {
            Cause::Full => Sent::Nothing,
            Cause::GivenUp | Cause::Late => Sent::Perhaps,
            _ => Sent::Unseen,
        };
        let verdict = self.verdict(&cause, sent, retired);
        let error = match &cause {
            Cause::Condemned(kind, code) => {
                let reason = server_errors::condemnation(*kind, code);
                if verdict.member == Member::Condemned {
                    connection.signals().condemned(reason.clone());
                }
                reason
            }
            // The server's own text may quote arguments: it is in the source.
            Cause::Answered(code) => {
                Error::new(verdict.kind, format!("the server answered {code}"))
            }
            Cause::Unread => Error::new(
                verdict.kind,
                "the server's answer is not what it was to be read as",
            ),
            Cause::NothingCame => {
                Error::new(verdict.kind, "nothing came in the time it was to wait")
            }
            Cause::Full => {
                let address = connection.address();
                let text = format!("too many commands already wait for {address}");
                Error::new(verdict.kind, text)
            }
            Cause::Late if !retired => {
                let text = format!("{} did not answer in time", connection.address());
                Error::new(verdict.kind, text)
            }
            Cause::Mistake => Error::new(verdict.kind, "fred cannot do this"),
            _ => connection.interrupted(),
        };
        let error = match verdict.fate {
            None => error,
            Some(fate) => error.with_fate(fate),
        };
        let error = self.about(error, &lease);
        let past = verdict.past(lease.epoch());
        lease.finish(verdict.outcome());
        Failed {
            error: match answer {
                Some(cause) => error.with_source(cause),
                None => error,
            },
            past,
        }
    }

    /// The connection could not even take it: `reason` says why, and `cause` what that is in the table.
    #[cold]
    pub(super) fn unsent(
        self,
        lease: Lease<FredConnection>,
        cause: &Cause,
        reason: Error,
    ) -> Failed {
        let retired = lease.connection().state().is_retired();
        let verdict = self.verdict(cause, Sent::Nothing, retired);
        let error = self.about(reason, &lease).with_fate(Fate::NotApplied);
        let past = verdict.past(lease.epoch());
        lease.finish(verdict.outcome());
        Failed { error, past }
    }

    fn verdict(self, cause: &Cause, sent: Sent, retired: bool) -> Verdict {
        failures::judge(&Failure {
            cause,
            sent,
            socket: match self.apart {
                true => Socket::Dedicated,
                false => Socket::Shared,
            },
            work: match self.idempotent {
                true => Work::Repeatable,
                false => Work::Writes,
            },
            replay: self.replay,
            retired,
            excused: false,
        })
    }

    fn about(self, error: Error, lease: &Lease<FredConnection>) -> Error {
        error.with_member(lease.member()).with_operation(self.name)
    }
}
