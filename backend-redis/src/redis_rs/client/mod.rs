//! [`FailoverConnection`]: what applications use. A connection to whichever member is active.
//!
//! The way of an ordinary command is short: a lease, the cached clone of the connection, redis-rs's own sending, the
//! outcome. Everything else (replay, blocking, WATCH, cursors) is off that way, in the modules beside this one.

mod blocking;
mod follow;
mod judge;
mod pin;
mod replay;
mod route;
mod scan;
mod subscriptions;
mod watch;
mod work;

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind, Fate, Generation, Lease, Outcome, Slot};
use redis::aio::ConnectionLike;
use redis::{Cmd, Pipeline, RedisError, RedisFuture, RedisResult, Value};

use crate::failures::{Cause, Socket};
use crate::options::{Options, Replay};
use crate::redis_rs::commands::Commands;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::errors;
use crate::redis_rs::link::Link;
use crate::replication::Guard;
use crate::subscriptions::Registry;
use judge::Judge;
use pin::Pin;
use route::Route;
use watch::OnPin;
use work::{Batch, Work};

/// A connection to the active member, across switches. Cheap to clone; clones share nothing that they could wait for, so
/// give each task its own.
///
/// It implements [`ConnectionLike`], so `AsyncCommands`, pipelines, atomic pipelines, scripts, SCAN iterators and
/// [`redis::aio::transaction_async`] work unchanged. What differs from one plain connection:
///
/// - A command waits up to `unavailable.wait` for an active, and fails after `timeouts.operation` without an answer.
/// - What the server certainly did not apply (never sent, or answered with READONLY, LOADING, MASTERDOWN or CLUSTERDOWN)
///   runs again on the next active. If there is none in time, the caller gets the server's own answer.
///   Where replicas are allowed, READONLY is an ordinary answer.
/// - What was interrupted runs again as [`Replay`] says. Otherwise its error says that it may have been applied.
/// - An operation that had no answer in time, and may run again, waits for another active for as long as the proof of its
///   connection may take (the longest `timeouts.prove` of the group, and 100 ms), at most `unavailable.wait`. If the member
///   is slow but well, it fails with [`ErrorKind::Timeout`] then: after 1.1 s by default. If the proof has no answer either,
///   there is no active, and it waits for the next up to `unavailable.wait` in all.
/// - Blocking commands use a socket of their own, and end with the member they are on. Opening one takes no longer than
///   `timeouts.operation`.
/// - WATCH uses a socket of its own, which this handle and clones made of it from then on use until EXEC or UNWATCH. If
///   the active changes in between, the next command fails with [`ErrorKind::Moved`] and nothing of the transaction was
///   applied. A pipeline without MULTI that the server refused in part is answered with what the server said.
/// - A cursor of another active than the present one fails with [`ErrorKind::Moved`]: start the scan again.
/// - Commands that would change the shared connection (SELECT, AUTH, SUBSCRIBE, MULTI outside an atomic pipeline, ..) fail
///   with [`ErrorKind::Unsupported`] and a text that says what to use.
///
/// [`subscribe`](Self::subscribe) and its kin give a stream of messages that goes on across switches.
///
/// Where a member is several servers (sentinels, a cluster), what differs stands in the documentation of the crate.
///
/// Dropping a future gives the operation up: what was not yet written is not sent, what was written is still executed.
///
/// [`cause`](Self::cause) finds the contract's error, with its kind and fate, inside a [`RedisError`].
#[derive(Clone)]
pub struct FailoverConnection {
    slot: Slot<Connection>,
    shared: Arc<Shared>,
    /// A clone of the active's connection, so that a command need not make one. It is no lease: retiring ends it.
    cached: Option<Cached>,
    pin: Option<Arc<Pin>>,
    cursors: scan::Own,
}

/// A handle on one socket of one connection.
#[derive(Clone)]
struct Cached {
    generation: Generation,
    revision: u64,
    link: Link,
}

/// What all clones have in common. It holds no slot and no connection.
struct Shared {
    commands: Arc<Commands>,
    replay: Replay,
    allow_replicas: bool,
    cursors: scan::Cursors,
    registry: Arc<Registry>,
    guard: Option<Arc<Guard>>,
}

impl FailoverConnection {
    pub(crate) fn new(
        slot: Slot<Connection>,
        commands: Arc<Commands>,
        registry: Arc<Registry>,
        guard: Option<Arc<Guard>>,
        options: &Options,
    ) -> Self {
        Self {
            slot,
            shared: Arc::new(Shared {
                commands,
                replay: options.replay,
                allow_replicas: options.allow_replicas,
                cursors: scan::Cursors::default(),
                registry,
                guard,
            }),
            cached: None,
            pin: None,
            cursors: scan::Own::default(),
        }
    }

    /// The contract's error inside a driver's error, where the failure is ours to explain: its kind, member and
    /// [fate](backend_api::Fate). `None` for what the server or redis-rs itself said.
    pub fn cause(error: &RedisError) -> Option<&Error> {
        errors::cause(error)
    }

    /// What became of an operation that failed, whoever says so: this connection, the server, or redis-rs. `None` where there
    /// was nothing to apply (a read).
    ///
    /// `NotApplied` is said only where it is certain:
    ///
    /// - An error of the server is its refusal of one command, and nothing of that was applied. Exceptions: what a script
    ///   answers (it may have written before it failed), and codes that Redis itself does not have. A script that answers
    ///   with an error of its own should use a code of its own and not `ERR`, or it is taken for a refusal.
    /// - Of a pipeline whose commands failed in part the others were applied. A transaction that EXEC refused was not.
    pub fn fate(error: &RedisError) -> Option<Fate> {
        errors::fate(error)
    }

    /// The lease of an ordinary operation on the shared socket, if nothing stands in its way.
    fn quick_lease(&self, route: Route) -> Option<Lease<Connection>> {
        if route != Route::Shared || self.pin.is_some() {
            return None;
        }
        let lease = self.slot.try_lease().ok()?;
        if let Some(guard) = &self.shared.guard
            && guard.watches(lease.generation())
        {
            return None;
        }
        (!lease.connection().has_ended()).then_some(lease)
    }

    /// The path of nearly every operation: one future around the driver's own, and nothing in it that is rarely needed.
    async fn quick<W: Work>(
        &mut self,
        work: W,
        lease: Lease<Connection>,
    ) -> RedisResult<W::Answer> {
        let answer = work.send(self.link(&lease)).await;
        match self.cause_of(&work, &answer) {
            None => {
                lease.finish(Outcome::Success);
                answer
            }
            Some(cause) => {
                let judge = self.judge_on(self.revision());
                let failed = judge.failed(&work, lease, Socket::Shared, &cause, answer);
                Box::pin(self.recover(work, failed, false)).await
            }
        }
    }

    async fn run<W: Work>(&mut self, work: W, route: Route) -> RedisResult<W::Answer> {
        if route != Route::Shared || self.pin.is_some() {
            return self.run_apart(work, route).await;
        }
        let lease = self.lease_for(&work).await?;
        match self.attempt(&work, lease, false).await {
            Ok(answer) => answer,
            Err(failed) => self.recover(work, failed, false).await,
        }
    }

    /// Whatever is not an ordinary command on the shared socket.
    async fn run_apart<W: Work>(&mut self, work: W, route: Route) -> RedisResult<W::Answer> {
        let (own_time, scans) = match route {
            Route::Refused(text) => {
                let error = Error::new(ErrorKind::Unsupported, text)
                    .with_operation(work.name())
                    .with_fate(Fate::NotApplied);
                return Err(errors::wrap(error));
            }
            Route::Blocking(time) | Route::Wait(time) => (time, false),
            Route::Scan => (Some(Duration::ZERO), true),
            Route::Shared | Route::Watch | Route::Unwatch => (Some(Duration::ZERO), false),
        };
        if let OnPin::Answer(answer) = self.on_pin(&work, own_time, scans).await {
            return answer;
        }
        if let Route::Blocking(_) | Route::Wait(_) = route {
            return self.block(&work, own_time).await;
        }
        let lease = self.lease_for(&work).await?;
        match self.attempt(&work, lease, scans).await {
            Ok(answer) => answer,
            Err(failed) => self.recover(work, failed, scans).await,
        }
    }

    /// WATCH and UNWATCH change this handle; only single commands can be either.
    async fn run_command(&mut self, command: &Cmd, route: Route) -> RedisResult<Value> {
        match route {
            Route::Unwatch => Box::pin(self.unwatch(command)).await,
            Route::Watch => {
                Box::pin(async {
                    match self.on_pin(&command, Some(Duration::ZERO), false).await {
                        OnPin::Answer(answer) => answer,
                        OnPin::Over => self.watch(command).await,
                    }
                })
                .await
            }
            route => self.run(command, route).await,
        }
    }

    /// The cached clone of the leased connection, made anew where another one is active now, or another socket of it.
    fn link(&mut self, lease: &Lease<Connection>) -> &mut Link {
        let generation = lease.generation();
        let revision = lease.connection().line().revision();
        if !matches!(&self.cached, Some(cached) if (cached.generation, cached.revision) == (generation, revision))
        {
            let now = lease.connection().line().now();
            self.cached = Some(Cached {
                generation,
                revision: now.revision,
                link: now.link,
            });
        }
        &mut self.cached.as_mut().expect("filled just now").link
    }

    /// Of the socket that was sent on last.
    fn revision(&self) -> u64 {
        self.cached.as_ref().map_or(0, |cached| cached.revision)
    }

    /// What went wrong with the server, if something did.
    fn cause_of<W: Work>(&self, work: &W, answer: &RedisResult<W::Answer>) -> Option<Cause> {
        work.cause(answer, self.shared.allow_replicas)
    }

    /// For what was sent on a socket of this revision, or could not be for the lack of a newer one.
    fn judge_on(&self, revision: u64) -> Judge<'_> {
        Judge {
            commands: &self.shared.commands,
            replay: self.shared.replay,
            revision,
        }
    }
}

impl ConnectionLike for FailoverConnection {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        let route = route::of_command(cmd);
        match self.quick_lease(route) {
            Some(lease) => Box::pin(self.quick(cmd, lease)),
            None => Box::pin(self.run_command(cmd, route)),
        }
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        let work = Batch {
            pipeline,
            offset,
            count,
        };
        let route = route::of_pipeline(pipeline);
        match self.quick_lease(route) {
            Some(lease) => Box::pin(self.quick(work, lease)),
            None => Box::pin(self.run(work, route)),
        }
    }

    /// The database of the active member; 0 while there is none.
    fn get_db(&self) -> i64 {
        self.slot
            .try_lease()
            .map_or(0, |lease| lease.connection().db())
    }
}

impl std::fmt::Debug for FailoverConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FailoverConnection")
            .field("slot", &self.slot)
            .field("watching", &self.pin.is_some())
            .finish_non_exhaustive()
    }
}
