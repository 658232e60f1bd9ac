//! What follows from an attempt that failed: what the engine is told, what the caller is told, and whether the work may
//! run again on the next active.

use backend_api::{Error, ErrorKind, Fate, Lease, Outcome};
use redis::RedisResult;

use super::follow::Follow;
use super::work::{Trouble, Work};
use crate::options::Replay;
use crate::redis_rs::commands::Commands;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::errors;
use crate::retry::Past;
use crate::server_errors;

/// A failed attempt.
pub(super) struct Failed<A> {
    /// What the caller gets if it stays at that.
    pub(super) answer: RedisResult<A>,
    pub(super) past: Past,
    /// The member may find itself another socket.
    pub(super) follow: Option<Follow>,
}

/// On which socket it was tried.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Socket {
    Shared,
    /// Its end says nothing certain about the shared one, and what blocked there does not run again.
    Dedicated,
}

/// What a verdict depends on besides the attempt.
pub(super) struct Judge<'c> {
    pub(super) commands: &'c Commands,
    pub(super) replay: Replay,
    /// The socket that it was sent on, among those of its connection.
    pub(super) revision: u64,
}

impl Judge<'_> {
    #[cold]
    pub(super) fn failed<W: Work>(
        &self,
        work: &W,
        lease: Lease<Connection>,
        socket: Socket,
        trouble: &Trouble,
        answer: RedisResult<W::Answer>,
    ) -> Failed<W::Answer> {
        let epoch = lease.epoch();
        let connection = lease.connection().clone();
        let doubtful = matches!(trouble, Trouble::Late) && !connection.is_retired();
        let follow = Follow::of(&connection, self.revision);
        // Another server of the member may be the master by now. Until that is clear, it is nothing against the member.
        let excused = follow.is_some()
            && !matches!(trouble, Trouble::Mistake)
            && !connection.is_retired()
            && self.doubt(&connection, trouble);
        let (answer, again) = match trouble {
            Trouble::Mistake => {
                lease.finish(Outcome::Neutral);
                (answer, false)
            }
            Trouble::Rejected(kind, said) => {
                let reason =
                    server_errors::condemnation(*kind, said.code()).with_operation(work.name());
                if excused {
                    lease.finish(Outcome::Neutral);
                } else {
                    connection.signals().condemned(reason);
                    lease.finish(Outcome::Failure);
                }
                let again = work.untouched(&answer, self.commands);
                (answer, again)
            }
            Trouble::Gone | Trouble::Late => {
                let retired = connection.is_retired();
                let reason = match trouble {
                    Trouble::Late if !retired => Self::late(&connection, socket),
                    _ => connection.interrupted(),
                };
                let gone = matches!(trouble, Trouble::Gone) && socket == Socket::Shared;
                if gone && !retired && follow.is_none() {
                    // Usually the driver said so already.
                    connection.signals().lost(reason.clone());
                }
                // A retired connection says nothing about its member: the engine ended it.
                lease.finish(if retired || excused {
                    Outcome::Neutral
                } else {
                    Outcome::Failure
                });
                let reads = work.reads(self.commands);
                let again = socket == Socket::Shared
                    && match self.replay {
                        Replay::Never => false,
                        Replay::Reads => reads,
                        Replay::All => true,
                    };
                let reason = reason
                    .with_member(connection.signals().member())
                    .with_operation(work.name());
                let reason = if reads {
                    reason
                } else {
                    reason.with_fate(Fate::MayHaveBeenApplied)
                };
                (Err(errors::wrap(with_cause(reason, answer))), again)
            }
        };
        Failed {
            answer,
            past: Past {
                epoch,
                again,
                unsent: false,
                doubtful,
            },
            follow,
        }
    }

    /// Whether the failure is the business of the member itself for now.
    fn doubt(&self, connection: &Connection, trouble: &Trouble) -> bool {
        let line = connection.line();
        if line.state() != (self.revision, false) {
            // That socket is gone already.
            return true;
        }
        match trouble {
            // Its end tells itself.
            Trouble::Gone => true,
            Trouble::Late => line.doubt_lateness(),
            _ => {
                line.doubt();
                true
            }
        }
    }

    /// The connection could not even take it.
    #[cold]
    pub(super) fn unsent<W: Work>(
        &self,
        work: &W,
        lease: Lease<Connection>,
        reason: Error,
        outcome: Outcome,
    ) -> Failed<W::Answer> {
        let epoch = lease.epoch();
        let doubtful = reason.kind() == ErrorKind::Timeout;
        let again = reason.kind() != ErrorKind::Unsupported;
        let follow = Follow::of(lease.connection(), self.revision);
        let excused = follow.is_some() && outcome == Outcome::Failure;
        let outcome = if excused && self.doubt(lease.connection(), &Trouble::Late) {
            Outcome::Neutral
        } else {
            outcome
        };
        let reason = reason
            .with_member(lease.member())
            .with_operation(work.name())
            .with_fate(Fate::NotApplied);
        lease.finish(outcome);
        Failed {
            answer: Err(errors::wrap(reason)),
            past: Past {
                epoch,
                again,
                unsent: again,
                doubtful,
            },
            follow,
        }
    }

    fn late(connection: &Connection, socket: Socket) -> Error {
        let bound = match socket {
            Socket::Shared => format!(" within {:?}", connection.operation()),
            Socket::Dedicated => " in time".to_owned(),
        };
        Error::new(
            ErrorKind::Timeout,
            format!("{} did not answer{bound}", connection.address()),
        )
    }
}

fn with_cause<A>(reason: Error, answer: RedisResult<A>) -> Error {
    match answer {
        Ok(_) => reason,
        Err(cause) => reason.with_source(cause),
    }
}
