//! What one operation holds while it uses the active connection.

use std::sync::atomic::Ordering;

use super::stripe::Stripe;
use crate::sync::{Arc, watch};
use crate::{Epoch, Generation, MemberName, Outcome};

/// The right of one operation to use the active connection. Report how it ended with [`finish`](Self::finish);
/// dropped without that it counts as cancelled, which says nothing about the member unless the operation was already
/// older than `timeouts.operation`: then the engine proves the connection.
///
/// A drain waits for the leases of the old connection. A lease held for ever holds nothing up for ever: the
/// connection ends at the end of the window, and the operation with it.
pub struct Lease<C> {
    /// One word. `None` once it is finished, so that dropping does no more.
    stripe: Option<Arc<Stripe<C>>>,
}

impl<C> Lease<C> {
    pub(crate) fn new(stripe: Arc<Stripe<C>>) -> Self {
        Self {
            stripe: Some(stripe),
        }
    }

    fn stripe(&self) -> &Stripe<C> {
        // Only `finish` takes it, and that consumes the lease.
        match &self.stripe {
            Some(stripe) => stripe,
            None => unreachable!("a finished lease is gone"),
        }
    }

    /// The connection. A clone of it is no lease: retiring ends it regardless.
    pub fn connection(&self) -> &C {
        &self.stripe().connection
    }

    /// The member it belongs to.
    pub fn member(&self) -> &MemberName {
        &self.stripe().common.member
    }

    /// The number of the connection.
    pub fn generation(&self) -> Generation {
        self.stripe().common.generation
    }

    /// Which turn as active it is: see [`Slot::moved_from`](super::Slot::moved_from).
    pub fn epoch(&self) -> Epoch {
        self.stripe().common.epoch
    }

    /// Ends the operation and counts its outcome for the connection that served it, whichever is active by now.
    pub fn finish(mut self, outcome: Outcome) {
        let Some(stripe) = self.stripe.take() else {
            return;
        };
        match outcome {
            Outcome::Success => {
                stripe.success.fetch_add(1, Ordering::Relaxed);
            }
            Outcome::Failure => {
                stripe.failure.fetch_add(1, Ordering::Relaxed);
                stripe.common.suspicion.raise();
            }
            Outcome::Neutral => {}
        }
    }
}

impl<C> Drop for Lease<C> {
    fn drop(&mut self) {
        if let Some(stripe) = &self.stripe
            && stripe.is_overdue()
        {
            stripe.common.suspicion.raise();
        }
    }
}

impl<C> std::fmt::Debug for Lease<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lease")
            .field("member", self.member())
            .field("generation", &self.generation())
            .finish_non_exhaustive()
    }
}

/// The leases still held of a connection that is no longer active.
#[derive(Clone, Debug)]
pub struct Leases {
    pub(crate) ended: watch::Receiver<()>,
}

impl Leases {
    /// Those of a connection that was never active: there is nothing to wait for.
    pub fn none() -> Self {
        let (_, ended) = watch::channel(());
        Self { ended }
    }

    /// Resolves when the last of them was dropped. Cancel-safe; any number may wait.
    pub async fn ended(&self) {
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}
