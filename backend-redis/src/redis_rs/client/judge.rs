//! An attempt that failed: its cause goes into the table of [`failures`](crate::failures), and what comes out is told to the
//! engine and to the caller.

use backend_api::{Error, ErrorKind, Fate, Lease};
use redis::RedisResult;

use super::follow::Follow;
use super::work::Work;
use crate::failures::{self, Cause, Failure, Member, Sent, Socket};
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
        cause: &Cause,
        answer: RedisResult<W::Answer>,
    ) -> Failed<W::Answer> {
        let epoch = lease.epoch();
        let connection = lease.connection().clone();
        let retired = connection.is_retired();
        let follow = Follow::of(&connection, self.revision);
        // Another server of the member may be the master by now. Until that is clear, it is nothing against the member.
        let excused = follow.is_some()
            && *cause != Cause::Mistake
            && !retired
            && self.doubt(&connection, cause);
        let verdict = failures::judge(&Failure {
            cause,
            sent: match cause {
                Cause::Mistake => Sent::Nothing,
                Cause::Condemned(..) => work.refused(&answer, self.commands),
                _ => Sent::Perhaps,
            },
            socket,
            work: self.kind_of(work),
            replay: self.replay,
            retired,
            excused,
        });
        let about = |reason: Error| reason.with_operation(work.name());
        let reason = match cause {
            // The caller gets what the server or redis-rs itself said.
            Cause::Mistake => None,
            Cause::Condemned(kind, code) => {
                if verdict.member == Member::Condemned {
                    let reason = server_errors::condemnation(*kind, code);
                    connection.signals().condemned(about(reason));
                }
                None
            }
            Cause::Late if !retired => Some(Self::late(&connection, socket)),
            _ => Some(connection.interrupted()),
        };
        if let Some(reason) = &reason
            && verdict.member == Member::Lost
        {
            // Usually the driver said so already.
            connection.signals().lost(reason.clone());
        }
        lease.finish(verdict.outcome());
        let answer = match reason {
            None => answer,
            Some(reason) => {
                let reason = about(reason).with_member(connection.signals().member());
                let reason = match verdict.fate {
                    None => reason,
                    Some(fate) => reason.with_fate(fate),
                };
                Err(errors::wrap(with_cause(reason, answer)))
            }
        };
        Failed {
            answer,
            past: verdict.past(epoch),
            follow,
        }
    }

    fn kind_of<W: Work>(&self, work: &W) -> failures::Work {
        match work.reads(self.commands) {
            true => failures::Work::Reads,
            false => failures::Work::Writes,
        }
    }

    /// Whether the failure is the business of the member itself for now.
    fn doubt(&self, connection: &Connection, cause: &Cause) -> bool {
        let line = connection.line();
        if line.revision() != self.revision || line.is_over(self.revision) {
            // That socket is gone already.
            return true;
        }
        match cause {
            // Its end tells itself.
            Cause::Ended => true,
            Cause::Late => line.doubt_lateness(),
            _ => {
                line.doubt();
                true
            }
        }
    }

    /// The connection could not even take it: `reason` says why, and `cause` what that is in the table.
    #[cold]
    pub(super) fn unsent<W: Work>(
        &self,
        work: &W,
        lease: Lease<Connection>,
        socket: Socket,
        cause: &Cause,
        reason: Error,
    ) -> Failed<W::Answer> {
        let epoch = lease.epoch();
        let follow = Follow::of(lease.connection(), self.revision);
        let mut failure = Failure {
            cause,
            sent: Sent::Nothing,
            socket,
            work: self.kind_of(work),
            replay: self.replay,
            retired: lease.connection().is_retired(),
            excused: false,
        };
        let mut verdict = failures::judge(&failure);
        if follow.is_some() && verdict.member == Member::Failed {
            failure.excused = self.doubt(lease.connection(), &Cause::Late);
            verdict = failures::judge(&failure);
        }
        let reason = reason
            .with_member(lease.member())
            .with_operation(work.name())
            .with_fate(Fate::NotApplied);
        lease.finish(verdict.outcome());
        Failed {
            answer: Err(errors::wrap(reason)),
            past: verdict.past(epoch),
            follow,
        }
    }

    fn late(connection: &Connection, socket: Socket) -> Error {
        let bound = match socket {
            Socket::Shared => format!(" within {:?}", connection.operation()),
            _ => " in time".to_owned(),
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
