//! One attempt, and the attempts after it on the next actives.
//!
//! Bounded as a whole by the slot's `wait` from the first failure on: an operation is not carried from member to member
//! for longer than it would wait for an active. Where only an answer is missing the wait is shorter: the engine proves the
//! connection, and if that is well nothing will move.

use backend_api::{Epoch, Error, ErrorKind, Fate, Lease, Outcome};
use redis::{RedisError, RedisResult};
use tokio::time::Instant;

use super::FailoverConnection;
use super::follow::{Follow, elsewhere, turn};
use super::judge::{Failed, Socket};
use super::work::Work;
use crate::connection::Connection;
use crate::error;

/// No active: it certainly was not sent.
#[cold]
fn unavailable<W: Work>(work: &W, reason: Error) -> RedisError {
    let reason = reason
        .with_operation(work.name())
        .with_fate(Fate::NotApplied);
    error::wrap(reason)
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
            return Ok(Err(error::wrap(moved.with_operation(work.name()))));
        }
        let (revision, ended) = lease.connection().line().state();
        if ended {
            // The engine is about to replace it. Sent now, the fate of a write would be unknown; so it is not.
            let reason = lease.connection().interrupted();
            let judge = self.judge_on(revision);
            return Err(judge.unsent(work, lease, reason, Outcome::Neutral));
        }
        if scans && let Err(refused) = one_server(work, lease.connection()) {
            lease.finish(Outcome::Neutral);
            return Ok(Err(error::wrap(refused)));
        }
        let turn = turn(&lease);
        let answer = work.send(self.link(&lease)).await;
        match self.trouble(work, &answer) {
            None => {
                if scans && let Ok(answer) = &answer {
                    self.note_cursors(work, answer, turn);
                }
                lease.finish(Outcome::Success);
                Ok(answer)
            }
            Some(trouble) => {
                let judge = self.judge_on(self.revision());
                Err(judge.failed(work, lease, Socket::Shared, &trouble, answer))
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
        self.slot
            .lease()
            .await
            .map_err(|reason| unavailable(work, reason))
    }

    /// `None` once another active is there and the work may run on it; otherwise what the caller gets.
    pub(super) async fn settle<W: Work>(
        &self,
        work: &W,
        failed: Failed<W::Answer>,
        deadline: &mut Option<Instant>,
    ) -> Option<RedisResult<W::Answer>> {
        if !failed.again {
            return Some(failed.answer);
        }
        let deadline = *deadline.get_or_insert_with(|| Instant::now() + self.slot.wait());
        if failed.doubtful && self.stays(&failed, deadline).await {
            return Some(failed.answer);
        }
        let elsewhere = elsewhere(&self.slot, failed.epoch, failed.follow.as_ref());
        match tokio::time::timeout_at(deadline, elsewhere).await {
            Ok(Ok(())) => None,
            // A member that looks for its next master is active all the while, and says itself what is missing.
            Ok(Err(reason)) if failed.unsent && failed.follow.is_none() => {
                Some(Err(unavailable(work, reason)))
            }
            Ok(Err(_)) | Err(_) => Some(failed.answer),
        }
    }

    /// Whether the active is still the same when the engine has proven it. Without any active there is more to wait for.
    async fn stays<A>(&self, failed: &Failed<A>, deadline: Instant) -> bool {
        let verdict = deadline.min(Instant::now() + self.slot.verdict_within());
        let follow = failed.follow.as_ref();
        let moved = elsewhere(&self.slot, failed.epoch, follow);
        let moved = tokio::time::timeout_at(verdict, moved).await;
        !matches!(moved, Ok(Ok(())))
            && self.slot.epoch() == Some(failed.epoch)
            && !follow.is_some_and(Follow::is_under_way)
    }

    pub(super) fn check_cursors<W: Work>(&mut self, work: &W, now: Epoch) -> Result<(), Error> {
        let mut verdict = Ok(());
        work.each(None, &mut |command, _answer| {
            if verdict.is_ok() {
                verdict = self.shared.cursors.check(&mut self.cursors, command, now);
            }
        });
        verdict
    }

    pub(super) fn note_cursors<W: Work>(&mut self, work: &W, answer: &W::Answer, now: Epoch) {
        work.each(Some(answer), &mut |command, answer| {
            if let Some(answer) = answer {
                self.shared
                    .cursors
                    .note(&mut self.cursors, command, answer, now);
            }
        });
    }
}
