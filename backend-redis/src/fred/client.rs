//! [`FredClient`]: what applications use. fred's client of whichever member is active, lent for one operation at a time.

use std::pin::pin;
use std::sync::Arc;

use ::fred::clients::Client;
use ::fred::error::Error as FredError;
use backend_api::{Error, Fate, Lease, Outcome, Slot};

use super::connection::FredConnection;
use super::judge::{Failed, Terms};
use crate::failures::Cause;
use crate::options::{Options, Replay};
use crate::retry::{self, Next, Nowhere};
use crate::subscriptions::Registry;

/// fred on the active member, across switches. Cheap to clone.
///
/// An operation is a closure that gets a [`fred::clients::Client`](Client) and does one thing with it: one command, one
/// pipeline, one transaction, one script. It is lent the client of whichever member is active at that moment:
///
/// ```
/// use backend_redis::FredClient;
/// use fred::interfaces::KeysInterface;
///
/// async fn visit(redis: &FredClient) -> Result<i64, backend_api::Error> {
///     let name: Option<String> = redis
///         .run_idempotent(|client| async move { client.get("name").await })
///         .await?;
///     println!("hello, {}", name.as_deref().unwrap_or("stranger"));
///     redis.run(|client| async move { client.incr("visits").await }).await
/// }
/// ```
///
/// - An operation waits up to `unavailable.wait` for an active. Each of its commands fails after `timeouts.operation`
///   without an answer, and all of it as soon as its connection ends.
/// - What the server certainly did not apply (never sent, or answered with READONLY, LOADING or MASTERDOWN) runs again on
///   the next active: the closure is called again. That is why it should do one thing. Of several commands in one closure
///   the first ones may have been applied when a later one is rejected, and would be applied twice.
/// - What was interrupted, so that nobody knows whether it was applied, runs again as
///   [`Replay`] says: never; with [`run_idempotent`](Self::run_idempotent) (`"reads"`, the default); or always. Otherwise
///   its error says [`Fate::MayHaveBeenApplied`].
/// - Errors are the contract's, with kind, member and fate. What fred or the server itself said is found with
///   [`cause`](Self::cause). An error that a closure keeps to itself is seen by nobody.
/// - Blocking commands belong into [`run_blocking`](Self::run_blocking). On the shared client they hold up everybody, health
///   checks included.
/// - Pub/sub is [`subscribe`](Self::subscribe), which goes on across switches.
/// - Everybody shares one connection. What changes its state (SELECT, AUTH, SUBSCRIBE, CLIENT ..) changes it for all, and
///   is gone with it; fred does not let us refuse it. Use `client.clone_new()` of your own for such things.
///
/// Dropping a future gives the operation up. What fred had queued by then is still sent.
#[derive(Clone)]
pub struct FredClient {
    pub(super) slot: Slot<FredConnection>,
    pub(super) registry: Arc<Registry>,
    replay: Replay,
    replicas: bool,
}

impl FredClient {
    pub(super) fn new(
        slot: Slot<FredConnection>,
        registry: Arc<Registry>,
        options: &Options,
    ) -> Self {
        Self {
            slot,
            registry,
            replay: options.replay,
            replicas: options.allow_replicas,
        }
    }

    /// The client of the active member as it is, for what has no place in a closure.
    ///
    /// It escapes the framework: drains do not wait for what is done with it, the breaker does not see how that ends, and it
    /// does not follow a switch. When its member is lost or retired it is dead for good: commands on it fail, the first at
    /// the latest after `timeouts.operation`, and calling `init` on it revives nothing that this framework knows of. Take
    /// it anew each time.
    ///
    /// Fails where there is no active at this moment.
    pub fn client(&self) -> Result<Client, Error> {
        let lease = self.slot.try_lease()?;
        let client = lease.connection().client().clone();
        lease.finish(Outcome::Neutral);
        Ok(client)
    }

    /// Runs an operation on the active member. It runs again elsewhere only if it certainly was not applied, unless
    /// [`Replay::All`] says otherwise.
    pub fn run<T, F, Fut>(&self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        F: FnMut(Arc<Client>) -> Fut,
        Fut: Future<Output = Result<T, FredError>>,
    {
        self.carry(operation, self.terms("run"))
    }

    /// Runs an operation that may be applied twice, such as one that only reads: if it is interrupted it runs again on the
    /// next active, unless [`Replay::Never`] says otherwise.
    pub fn run_idempotent<T, F, Fut>(&self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        F: FnMut(Arc<Client>) -> Fut,
        Fut: Future<Output = Result<T, FredError>>,
    {
        let terms = Terms {
            idempotent: true,
            ..self.terms("run_idempotent")
        };
        self.carry(operation, terms)
    }

    /// Runs an operation that blocks, such as BLPOP, on a client of its own at the active member. It may take as long as it
    /// says itself, and ends with its member: a drain waits for it up to its window. Once it was sent it never moves to
    /// another member: a pop whose answer was lost has popped.
    ///
    /// Dropping the future closes its connection.
    pub async fn run_blocking<T, F, Fut>(&self, mut operation: F) -> Result<T, Error>
    where
        F: FnMut(Arc<Client>) -> Fut,
        Fut: Future<Output = Result<T, FredError>>,
    {
        let terms = Terms {
            apart: true,
            ..self.terms("run_blocking")
        };
        let mut deadline = None;
        loop {
            let lease = self.lease(terms).await?;
            let failed = match block(&mut operation, lease, terms).await {
                Ok(value) => return Ok(value),
                Err(failed) => failed,
            };
            self.next(terms, failed, &mut deadline).await?;
        }
    }

    /// What fred said inside an error of this client: the server's own words, for instance. `None` where nobody said
    /// anything.
    pub fn cause(error: &Error) -> Option<&FredError> {
        std::error::Error::source(error)?.downcast_ref()
    }

    fn terms(&self, name: &'static str) -> Terms {
        Terms {
            name,
            idempotent: false,
            apart: false,
            replay: self.replay,
            replicas: self.replicas,
        }
    }

    async fn carry<T, F, Fut>(&self, mut operation: F, terms: Terms) -> Result<T, Error>
    where
        F: FnMut(Arc<Client>) -> Fut,
        Fut: Future<Output = Result<T, FredError>>,
    {
        let mut deadline = None;
        loop {
            let lease = match self.slot.try_lease() {
                Ok(lease) => lease,
                Err(_waits) => Box::pin(self.lease(terms)).await?,
            };
            let connection = lease.connection();
            let failed = if connection.state().has_ended() {
                // The engine is about to replace it. Sent now, the fate of a write would be unknown; so it is not.
                let reason = connection.interrupted();
                terms.unsent(lease, &Cause::AlreadyEnded, reason)
            } else {
                // fred's futures are large: this one stays where it was made.
                let work = pin!(operation(connection.lend()));
                match connection.state().until_end(work).await {
                    Some(Ok(value)) => {
                        lease.finish(Outcome::Success);
                        return Ok(value);
                    }
                    Some(Err(error)) => terms.failed(lease, Some(error)),
                    None => terms.failed(lease, None),
                }
            };
            Box::pin(self.next(terms, failed, &mut deadline)).await?;
        }
    }

    async fn lease(&self, terms: Terms) -> Result<Lease<FredConnection>, Error> {
        let lease = self.slot.lease().await;
        lease.map_err(|reason| unavailable(terms, reason))
    }

    /// After a failure: returns once the operation may run on another active.
    async fn next(
        &self,
        terms: Terms,
        failed: Failed,
        deadline: &mut Option<tokio::time::Instant>,
    ) -> Result<(), Error> {
        match retry::next(&self.slot, failed.past, None::<&Nowhere>, deadline).await {
            Next::Attempt => Ok(()),
            Next::Failed => Err(failed.error),
            Next::NoActive(reason) => Err(unavailable(terms, reason)),
        }
    }
}

impl std::fmt::Debug for FredClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FredClient")
            .field("slot", &self.slot)
            .field("replay", &self.replay)
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

/// No active: it certainly was not sent.
#[cold]
fn unavailable(terms: Terms, reason: Error) -> Error {
    reason
        .with_operation(terms.name)
        .with_fate(Fate::NotApplied)
}

async fn block<T, F, Fut>(
    operation: &mut F,
    lease: Lease<FredConnection>,
    terms: Terms,
) -> Result<T, Failed>
where
    F: FnMut(Arc<Client>) -> Fut,
    Fut: Future<Output = Result<T, FredError>>,
{
    let mut lease = Waiting(Some(lease));
    let mut dedicated = match lease.connection().dedicated().await {
        Ok(dedicated) => dedicated,
        Err(reason) => {
            let cause = match lease.connection().state().has_ended() {
                true => Cause::AlreadyEnded,
                false => Cause::NoSocket(reason.kind()),
            };
            return Err(terms.unsent(lease.done(), &cause, reason));
        }
    };
    let work = operation(dedicated.client.clone());
    let state = lease.connection().state().clone();
    let answer = state
        .until_end(async {
            tokio::select! {
                biased;
                answer = work => Some(answer),
                () = dedicated.over() => None,
            }
        })
        .await
        .flatten();
    let lease = lease.done();
    match answer {
        Some(Ok(value)) => {
            lease.connection().keep(dedicated);
            lease.finish(Outcome::Success);
            Ok(value)
        }
        Some(Err(error)) => Err(terms.failed(lease, Some(error))),
        None => Err(terms.failed(lease, None)),
    }
}

/// The lease of something that is meant to take long: given up, it says nothing about the member, however old it is.
struct Waiting(Option<Lease<FredConnection>>);

impl Waiting {
    fn connection(&self) -> &FredConnection {
        self.0.as_ref().expect("held until done").connection()
    }

    fn done(&mut self) -> Lease<FredConnection> {
        self.0.take().expect("held until done")
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            lease.finish(Outcome::Neutral);
        }
    }
}
