//! What applications use: operations on whichever server is active.
//!
//! Every operation takes a lease, is bounded in time and reports how it ended. What it does after a failure is the
//! part worth copying: an operation runs again on the next active only where that cannot double it. No knowledge of
//! faults belongs here: a client meets them as any other would.

use backend_api::{Epoch, Error, ErrorKind, Fate, Lease, Outcome, Slot};
use tokio::time::Instant;

use super::Connection;
use super::command::{Command, Del, Get, Incr, PingServer, Set};

/// Operations on the active server of a group. Cheap to clone; it lives across switches.
///
/// Every operation waits for an active for [`Slot::wait`], and then for its answer for the member's
/// `timeouts.operation`.
///
/// When the connection fails under it, an operation that only reads, or that certainly was not applied, waits for the
/// next active and runs again. It starts no further attempt once [`Slot::wait`] has passed since the first failure. One
/// that had no answer in time gives up after [`Slot::verdict_within`] where the same connection is still active then: the
/// engine has proven it meanwhile, and there is nothing to wait for.
/// Otherwise, or when nothing else becomes active, it fails with what happened on the last connection it tried:
///
/// - [`ErrorKind::Lost`], [`ErrorKind::Retired`], [`ErrorKind::Timeout`]: the connection or the time ended. For a
///   write, [`Error::fate`] tells whether it may have been applied.
/// - [`ErrorKind::Unhealthy`], [`ErrorKind::ReadOnly`]: the server refused it, and did nothing.
/// - [`ErrorKind::Other`]: the caller's own mistake.
/// - [`ErrorKind::NoActive`], [`ErrorKind::Closed`]: there was no active to try.
///
/// All are cancel-safe as a write can be: dropped, it may have been applied.
#[derive(Clone, Debug)]
pub struct Client {
    slot: Slot<Connection>,
}

impl Client {
    pub(super) fn new(slot: Slot<Connection>) -> Self {
        Self { slot }
    }

    /// The value of a key.
    pub async fn get(&self, key: &str) -> Result<Option<String>, Error> {
        self.run(Get(key.to_owned())).await
    }

    /// Sets a key.
    pub async fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        self.run(Set(key.to_owned(), value.to_owned())).await
    }

    /// Counts a key up and says how far; an absent one counts from zero. [`ErrorKind::Other`] if its value is no
    /// number.
    pub async fn incr(&self, key: &str) -> Result<i64, Error> {
        self.run(Incr(key.to_owned())).await
    }

    /// Removes a key; false if there was none.
    pub async fn del(&self, key: &str) -> Result<bool, Error> {
        self.run(Del(key.to_owned())).await
    }

    /// Asks whether the active server answers.
    pub async fn ping(&self) -> Result<(), Error> {
        self.run(PingServer).await
    }

    /// A bare lease: for code that uses the connection itself, and for tests that hold one.
    pub async fn lease(&self) -> Result<Lease<Connection>, Error> {
        self.slot.lease().await
    }

    /// The slot under this client.
    pub fn slot(&self) -> &Slot<Connection> {
        &self.slot
    }

    async fn run<C: Command>(&self, command: C) -> Result<C::Answer, Error> {
        let mut first_failure: Option<Instant> = None;
        loop {
            let lease = self.slot.lease().await.map_err(|error| {
                let error = error.with_operation(C::NAME);
                if C::WRITES {
                    error.with_fate(Fate::NotApplied)
                } else {
                    error
                }
            })?;
            let epoch = lease.epoch();
            let answer = self.attempt(&lease, command.clone()).await;
            lease.finish(outcome(&answer));
            let error = match answer {
                Err(error) if may_run_again::<C>(&error) => error,
                answer => return answer,
            };
            // The first time even without any time to wait: the next active may be there already.
            let given_up = first_failure.is_some_and(|at| at.elapsed() >= self.slot.wait());
            first_failure.get_or_insert_with(Instant::now);
            if given_up || !self.moved(epoch, &error).await {
                return Err(error);
            }
        }
    }

    /// Whether another active is there to run on, in time.
    async fn moved(&self, from: Epoch, error: &Error) -> bool {
        let moving = async {
            if error.kind() == ErrorKind::Timeout {
                // The server may be slow and well; the engine proves it now.
                let verdict = self.slot.verdict_within();
                let moved = tokio::time::timeout(verdict, self.slot.moved_from(from)).await;
                if moved.is_err() && self.slot.epoch() == Some(from) {
                    return false;
                }
            }
            self.slot.moved_from(from).await.is_ok()
        };
        let moved = tokio::time::timeout(self.slot.wait(), moving).await;
        moved.unwrap_or(false)
    }

    async fn attempt<C: Command>(
        &self,
        lease: &Lease<Connection>,
        command: C,
    ) -> Result<C::Answer, Error> {
        let timeout = lease.connection().operation();
        let call = lease.connection().call(command);
        match tokio::time::timeout(timeout, call).await {
            Ok(answer) => answer,
            Err(_elapsed) => {
                let reason = format!("no answer within {timeout:?}");
                let error = Error::new(ErrorKind::Timeout, reason);
                let fate = Fate::MayHaveBeenApplied;
                Err(lease.connection().described::<C>(error, fate))
            }
        }
    }
}

/// Whether the connection failed, rather than the operation, and running it elsewhere cannot double it.
fn may_run_again<C: Command>(error: &Error) -> bool {
    use ErrorKind::{Lost, ReadOnly, Retired, Timeout};
    let elsewhere = matches!(error.kind(), Lost | Retired | Timeout | ReadOnly);
    elsewhere && (!C::WRITES || error.fate() == Some(Fate::NotApplied))
}

/// What the answer says about the server. Retiring is the engine's own doing, and a caller's mistake was answered.
fn outcome<T>(answer: &Result<T, Error>) -> Outcome {
    match answer.as_ref().map_err(Error::kind) {
        Ok(_) | Err(ErrorKind::Other) => Outcome::Success,
        Err(ErrorKind::Retired) => Outcome::Neutral,
        Err(_) => Outcome::Failure,
    }
}
