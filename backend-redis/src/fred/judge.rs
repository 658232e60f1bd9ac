//! What follows from an attempt that failed: what the engine is told, what the caller is told, and whether it may run
//! again on the next active.

use ::fred::error::Error as FredError;
use backend_api::{Error, ErrorKind, Fate, Lease, Outcome};

use super::connection::FredConnection;
use super::errors::{self, Trouble};
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
        let trouble = match &answer {
            Some(error) => errors::of(error, self.replicas),
            None => Trouble::Gone,
        };
        let connection = lease.connection().clone();
        let retired = connection.state().is_retired();
        let mut past = Past {
            epoch: lease.epoch(),
            again: false,
            unsent: false,
            doubtful: false,
        };
        let (error, outcome) = match trouble {
            Trouble::Answered(code) => (of_server(&code), Outcome::Success),
            Trouble::Unread => (
                Error::new(
                    ErrorKind::Other,
                    "the server's answer is not what it was to be read as",
                ),
                Outcome::Success,
            ),
            Trouble::Mistake => (
                Error::new(ErrorKind::Other, "fred cannot do this"),
                Outcome::Neutral,
            ),
            Trouble::Rejected(kind, code) => {
                let reason = server_errors::condemnation(kind, &code);
                connection.signals().condemned(reason.clone());
                past.again = true;
                (reason.with_fate(Fate::NotApplied), Outcome::Failure)
            }
            // fred's word for a blocking command that the server answered with nothing.
            Trouble::Late if self.apart && !retired => (
                Error::new(
                    ErrorKind::Timeout,
                    "nothing came in the time it was to wait",
                ),
                Outcome::Success,
            ),
            Trouble::Full => {
                past = Past {
                    again: true,
                    unsent: true,
                    doubtful: true,
                    ..past
                };
                let text = format!(
                    "too many commands already wait for {}",
                    connection.address()
                );
                let error = Error::new(ErrorKind::Timeout, text).with_fate(Fate::NotApplied);
                (error, Outcome::Failure)
            }
            Trouble::Gone | Trouble::Late => {
                let late = matches!(trouble, Trouble::Late) && !retired;
                past.doubtful = late;
                past.again = !self.apart
                    && match self.replay {
                        Replay::Never => false,
                        Replay::Reads => self.idempotent,
                        Replay::All => true,
                    };
                let reason = match late {
                    true => Error::new(
                        ErrorKind::Timeout,
                        format!("{} did not answer in time", connection.address()),
                    ),
                    false => connection.interrupted(),
                };
                // A retired connection says nothing about its member: the engine ended it.
                let outcome = match retired {
                    true => Outcome::Neutral,
                    false => Outcome::Failure,
                };
                (reason.with_fate(Fate::MayHaveBeenApplied), outcome)
            }
        };
        let error = self.about(error, &lease);
        lease.finish(outcome);
        Failed {
            error: match answer {
                Some(cause) => error.with_source(cause),
                None => error,
            },
            past,
        }
    }

    /// The connection could not even take it.
    #[cold]
    pub(super) fn unsent(self, lease: Lease<FredConnection>, reason: Error) -> Failed {
        let past = Past {
            epoch: lease.epoch(),
            again: true,
            unsent: true,
            doubtful: reason.kind() == ErrorKind::Timeout,
        };
        // The engine knows already of a connection that has ended.
        let outcome = match reason.kind() {
            ErrorKind::Lost | ErrorKind::Retired => Outcome::Neutral,
            _ => Outcome::Failure,
        };
        let error = self.about(reason, &lease).with_fate(Fate::NotApplied);
        lease.finish(outcome);
        Failed { error, past }
    }

    fn about(self, error: Error, lease: &Lease<FredConnection>) -> Error {
        error.with_member(lease.member()).with_operation(self.name)
    }
}

/// An answer that is an error of the caller's making. The server's own text may quote arguments: it is in the source.
fn of_server(code: &str) -> Error {
    let kind = match code {
        "NOAUTH" | "WRONGPASS" => ErrorKind::Auth,
        "READONLY" => ErrorKind::ReadOnly,
        _ => ErrorKind::Other,
    };
    Error::new(kind, format!("the server answered {code}"))
}
