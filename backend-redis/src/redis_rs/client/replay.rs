//! One attempt, and the attempts after it on the next actives. How long one waits for those stands in
//! [`retry`](crate::retry).

use backend_api::{Error, ErrorKind, Fate, Lease, Outcome};
use redis::{RedisError, RedisResult};
use tokio::time::Instant;

use super::FailoverConnection;
use super::follow::turn;
use super::judge::Failed;
use super::scan::Turn;
use super::work::Work;
use crate::failures::{Cause, Socket};
use crate::redis_rs::connection::Connection;
use crate::redis_rs::errors;
use crate::retry::{self, Next};

/// No active: it certainly was not sent.
#[cold]
fn unavailable<W: Work>(work: &W, reason: Error) -> RedisError {
    let reason = reason
        .with_operation(work.name())
        .with_fate(Fate::NotApplied);
    errors::wrap(reason)
}

/// SCAN walks the keys of one server.
fn one_server<W: Work>(work: &W, connection: &Connection) -> Result<(), Error> {
    if connection.line().now().connector.is_some() {
        return Ok(());
    }
    let mut walks = false;
    work.each(None, &mut |command, _answer| {
        walks |= matches!(command.args_iter().next(), Some(redis::Arg::Simple(name)) if name.eq_ignore_ascii_case(b"scan"));
    });
    if walks {
        let text = "SCAN walks the keys of one server, and the active member is a cluster: scan its nodes one by one";
        return Err(Error::new(ErrorKind::Unsupported, text).with_operation(work.name()));
    }
    Ok(())
}

impl FailoverConnection {
    /// Sends once, on the shared socket of the leased connection.
    pub(super) async fn attempt<W: Work>(
        &mut self,
        work: &W,
        lease: Lease<Connection>,
        scans: bool,
    ) -> Result<RedisResult<W::Answer>, Failed<W::Answer>> {
        if scans && let Err(moved) = self.check_cursors(work, turn(&lease)) {
            lease.finish(Outcome::Neutral);
            return Ok(Err(errors::wrap(
                moved
                    .with_operation(work.name())
                    .with_fate(Fate::NotApplied),
            )));
        }
        let revision = lease.connection().line().revision();
        if lease.connection().line().is_over(revision) {
            // The engine is about to replace it. Sent now, the fate of a write would be unknown; so it is not.
            let reason = lease.connection().interrupted();
            let judge = self.judge_on(revision);
            return Err(judge.unsent(work, lease, Socket::Shared, &Cause::AlreadyEnded, reason));
        }
        if scans && let Err(refused) = one_server(work, lease.connection()) {
            lease.finish(Outcome::Neutral);
            return Ok(Err(errors::wrap(refused)));
        }
        let turn = turn(&lease);
        let answer = work.send(self.link(&lease)).await;
        match self.cause_of(work, &answer) {
            None => {
                if scans && let Ok(answer) = &answer {
                    self.note_cursors(work, answer, turn);
                }
                lease.finish(Outcome::Success);
                Ok(answer)
            }
            Some(cause) => {
                let judge = self.judge_on(self.revision());
                Err(judge.failed(work, lease, Socket::Shared, &cause, answer))
            }
        }
    }

    /// After the first attempt failed: the next ones, while they are allowed and there is somewhere to go.
    #[cold]
    pub(super) async fn recover<W: Work>(
        &mut self,
        work: W,
        mut failed: Failed<W::Answer>,
        scans: bool,
    ) -> RedisResult<W::Answer> {
        let mut deadline = None;
        loop {
            if let Some(answer) = self.settle(&work, failed, &mut deadline).await {
                return answer;
            }
            let lease = self.lease_for(&work).await?;
            match self.attempt(&work, lease, scans).await {
                Ok(answer) => return answer,
                Err(again) => failed = again,
            }
        }
    }

    pub(super) async fn lease_for<W: Work>(&self, work: &W) -> RedisResult<Lease<Connection>> {
        let mut passed = None;
        loop {
            let lease = self.slot.lease().await;
            let lease = lease.map_err(|reason| unavailable(work, reason))?;
            let generation = lease.generation();
            match &self.shared.guard {
                Some(guard)
                    if passed != Some(generation)
                        && guard.watches(generation)
                        && work.looks(&self.shared.commands) =>
                {
                    // It holds up no drain while it waits, and another may be active afterwards.
                    drop(lease);
                    let waited = guard.pass(generation).await;
                    waited.map_err(|reason| unavailable(work, reason))?;
                    passed = Some(generation);
                }
                _ => return Ok(lease),
            }
        }
    }

    /// `None` once another active is there and the work may run on it; otherwise what the caller gets.
    pub(super) async fn settle<W: Work>(
        &self,
        work: &W,
        failed: Failed<W::Answer>,
        deadline: &mut Option<Instant>,
    ) -> Option<RedisResult<W::Answer>> {
        match retry::next(&self.slot, failed.past, failed.follow.as_ref(), deadline).await {
            Next::Attempt => None,
            Next::Failed => Some(failed.answer),
            Next::NoActive(reason) => Some(Err(unavailable(work, reason))),
        }
    }

    pub(super) fn check_cursors<W: Work>(&mut self, work: &W, now: Turn) -> Result<(), Error> {
        let mut verdict = Ok(());
        work.each(None, &mut |command, _answer| {
            if verdict.is_ok() {
                verdict = self.shared.cursors.check(&mut self.cursors, command, now);
            }
        });
        verdict
    }

    pub(super) fn note_cursors<W: Work>(&mut self, work: &W, answer: &W::Answer, now: Turn) {
        work.each(Some(answer), &mut |command, answer| {
            if let Some(answer) = answer {
                self.shared
                    .cursors
                    .note(&mut self.cursors, command, answer, now);
            }
        });
    }
}
