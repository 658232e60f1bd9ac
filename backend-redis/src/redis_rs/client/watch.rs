//! Commands while something is watched: how a pin begins, carries commands, and ends. See [`pin`](super::pin).

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, Fate, Lease, Outcome};
use redis::{Cmd, RedisResult, Value};

use super::FailoverConnection;
use super::follow::turn;
use super::judge::Failed;
use super::pin::{self, Pin};
use super::work::Work;
use crate::failures::{Cause, Socket};
use crate::redis_rs::connection::Connection;
use crate::redis_rs::{dedicated, errors};

/// What became of a command on a pin.
pub(super) enum OnPin<A> {
    Answer(RedisResult<A>),
    /// The pin is over: the command goes where it would have gone without.
    Over,
}

impl FailoverConnection {
    /// WATCH without a pin: takes a dedicated socket of the active.
    pub(super) async fn watch(&mut self, command: &Cmd) -> RedisResult<Value> {
        let mut deadline = None;
        loop {
            let lease = self.lease_for(&command).await?;
            let failed = match self.watch_once(command, lease).await {
                Ok(answer) => return answer,
                Err(failed) => failed,
            };
            if let Some(answer) = self.settle(&command, failed, &mut deadline).await {
                return answer;
            }
        }
    }

    async fn watch_once(
        &mut self,
        command: &Cmd,
        lease: Lease<Connection>,
    ) -> Result<RedisResult<Value>, Failed<Value>> {
        let revision = lease.connection().line().revision();
        let mut socket = match lease.connection().dedicated().await {
            Ok(socket) => socket,
            Err(reason) => return Err(self.no_socket(&command, lease, reason, revision)),
        };
        let limit = Some(lease.connection().operation());
        let answer = dedicated::bounded(limit, (&command).send(&mut socket.link)).await;
        if let Some(cause) = self.cause_of(&command, &answer) {
            let judge = self.judge_on(revision);
            return Err(judge.failed(&command, lease, Socket::Watch, &cause, answer));
        }
        if matches!(answer, Ok(Value::ServerError(_))) {
            lease.connection().keep(socket);
        } else {
            self.pin = Some(Arc::new(Pin::new(socket, lease.epoch())));
        }
        lease.finish(Outcome::Success);
        Ok(answer)
    }

    /// UNWATCH: afterwards nothing is watched, whatever became of the socket, so it never fails.
    pub(super) async fn unwatch(&mut self, command: &Cmd) -> RedisResult<Value> {
        let Some(pin) = self.pin.take() else {
            return Ok(Value::Okay);
        };
        if let Ok(Some(mut in_use)) = pin.take().await
            && let Ok(lease) = self.slot.try_lease()
            && lease.epoch() == pin.epoch()
        {
            let limit = Some(lease.connection().operation());
            let link = &mut in_use.socket().link;
            let answer = dedicated::bounded(limit, (&command).send(link)).await;
            if matches!(answer, Ok(Value::Okay)) {
                lease.connection().keep(in_use.end());
                lease.finish(Outcome::Success);
            }
        }
        Ok(Value::Okay)
    }

    /// Any other command while there is a pin.
    pub(super) async fn on_pin<W: Work>(
        &mut self,
        work: &W,
        own_time: Option<Duration>,
        scans: bool,
    ) -> OnPin<W::Answer> {
        let Some(pin) = self.pin.clone() else {
            return OnPin::Over;
        };
        let mut in_use = match pin.take().await {
            Ok(Some(in_use)) => in_use,
            Ok(None) => {
                self.pin = None;
                return OnPin::Over;
            }
            Err(moved) => return self.unpin(work, moved),
        };
        let lease = match self.slot.try_lease() {
            Ok(lease) if lease.epoch() == pin.epoch() && !in_use.socket().has_ended() => lease,
            // Dropping `in_use` closes the socket: the server forgets what was watched.
            _ => return self.unpin(work, pin::moved()),
        };
        let revision = lease.connection().line().revision();
        let turn = turn(&lease);
        if scans && let Err(moved) = self.check_cursors(work, turn) {
            in_use.give_back();
            return OnPin::Answer(Err(errors::wrap(
                moved
                    .with_operation(work.name())
                    .with_fate(Fate::NotApplied),
            )));
        }
        let limit = own_time.map(|time| time.saturating_add(lease.connection().operation()));
        let answer = dedicated::bounded(limit, work.send(&mut in_use.socket().link)).await;
        match self.cause_of(work, &answer) {
            None => {
                if scans && let Ok(answer) = &answer {
                    self.note_cursors(work, answer, turn);
                }
                if work.is_transaction() {
                    // EXEC ended the watch, whether it ran or not.
                    self.pin = None;
                    lease.connection().keep(in_use.end());
                } else {
                    in_use.give_back();
                }
                lease.finish(Outcome::Success);
                OnPin::Answer(answer)
            }
            Some(Cause::Mistake) => {
                in_use.give_back();
                lease.finish(Outcome::Neutral);
                OnPin::Answer(answer)
            }
            Some(cause) => {
                let failed =
                    self.judge_on(revision)
                        .failed(work, lease, Socket::Dedicated, &cause, answer);
                if failed.past.again || work.reads(&self.shared.commands) {
                    // Nothing was applied: the transaction can start again, on whichever is active then. Of a pipeline
                    // that was refused in part something was; its answers say what.
                    return self.unpin(work, pin::moved());
                }
                self.pin = None;
                OnPin::Answer(failed.answer)
            }
        }
    }

    fn unpin<W: Work>(&mut self, work: &W, reason: Error) -> OnPin<W::Answer> {
        self.pin = None;
        OnPin::Answer(Err(errors::wrap(reason.with_operation(work.name()))))
    }

    /// A dedicated socket could not be had, so nothing was sent.
    pub(super) fn no_socket<W: Work>(
        &self,
        work: &W,
        lease: Lease<Connection>,
        reason: Error,
        revision: u64,
    ) -> Failed<W::Answer> {
        debug_assert!(reason.fate() != Some(Fate::MayHaveBeenApplied));
        let cause = Cause::NoSocket(reason.kind());
        let judge = self.judge_on(revision);
        judge.unsent(work, lease, Socket::Dedicated, &cause, reason)
    }
}
