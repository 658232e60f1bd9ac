//! What applications hold: one NATS client over all switches.

mod publish;
mod request;
mod shared;
mod subscribe;

use std::sync::Arc;

use async_nats::Client;
use backend_api::{Error, Lease, Outcome, Slot};

pub use request::Ask;
pub(crate) use shared::Shared;

use crate::connection::Connection;

/// One client over all switches. Cheap to clone; all clones are the same client.
///
/// Every operation takes the active connection for as long as it lasts, waits for one as long as the group is configured to
/// (`unavailable.wait`) where there is none, and is told when the connection ends under it. What is under way when the
/// traffic moves: see [`publish`](Self::publish), [`request`](Self::request) and [`Delivery`](crate::Delivery).
#[derive(Clone)]
pub struct FailoverClient {
    slot: Slot<Connection>,
    shared: Arc<Shared>,
}

impl FailoverClient {
    pub(crate) fn new(slot: Slot<Connection>, shared: Arc<Shared>) -> Self {
        shared.set_wait(slot.wait());
        Self { slot, shared }
    }

    /// The active connection for something that is not offered here. A drain waits for the lease; its outcome is the caller's
    /// to report. What is published on the client inside is not carried over, and what is subscribed there ends with it.
    pub async fn lease(&self) -> Result<Lease<Connection>, Error> {
        self.slot.lease().await
    }

    /// JetStream on the connection that is active now. Take it anew for every piece of work and do not keep it: it does not
    /// follow a switch, and holds up no drain. What goes on over switches: [`publisher`](Self::publisher),
    /// [`pull_consumer`](Self::pull_consumer), [`ordered_consumer`](Self::ordered_consumer), [`kv_watch`](Self::kv_watch).
    pub async fn jetstream(&self) -> Result<async_nats::jetstream::Context, Error> {
        Ok(async_nats::jetstream::new(self.client().await?))
    }

    /// A real round trip on the active connection: what was published before has been handled by the server, and what the
    /// server had sent has been read. Bounded by `timeouts.operation`. Cancel-safe.
    pub async fn flush(&self) -> Result<(), Error> {
        let lease = self.slot.lease().await?;
        let connection = lease.connection().clone();
        let answer = connection.flush().await;
        let answer =
            answer.map_err(|error| error.with_member(lease.member()).with_operation("flush"));
        lease.finish(outcome(&answer));
        answer
    }

    pub(crate) fn slot(&self) -> &Slot<Connection> {
        &self.slot
    }

    /// The client of the active connection; it ends with it.
    async fn client(&self) -> Result<Client, Error> {
        let lease = self.slot.lease().await?;
        Ok(lease.connection().client().clone())
    }
}

impl std::fmt::Debug for FailoverClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FailoverClient")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

fn outcome<T>(answer: &Result<T, Error>) -> Outcome {
    match answer {
        Ok(_) => Outcome::Success,
        Err(_) => Outcome::Failure,
    }
}
