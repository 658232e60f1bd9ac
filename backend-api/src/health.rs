//! Health checks: is a connected member fit to carry traffic?
//!
//! A check is one probe. How many probes make a verdict, how often, and what follows from it is the engine's.

use std::time::Duration;

use async_trait::async_trait;

use crate::{Backend, Error, Member};

/// What one probe found.
#[derive(Clone, Debug)]
pub enum Health {
    /// Fit to serve.
    Healthy,
    /// Not fit, and why. [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly) marks a replica, which is never
    /// promoted, not even as a last resort.
    Unhealthy(Error),
    /// The probe could not find out, for reasons of its own: nothing changes.
    Inconclusive,
}

/// What a probe may look at.
#[non_exhaustive]
pub struct Probe<'a, B: Backend> {
    /// The group's backend.
    pub backend: &'a B,
    /// The member in question.
    pub member: &'a Member<B::Settings>,
    /// Its connection, the one that would carry the traffic.
    pub connection: &'a B::Connection,
    /// How long the probe may take; the engine drops it then and counts it as unhealthy.
    pub timeout: Duration,
}

impl<'a, B: Backend> Probe<'a, B> {
    /// A probe as an engine makes it.
    pub fn new(
        backend: &'a B,
        member: &'a Member<B::Settings>,
        connection: &'a B::Connection,
        timeout: Duration,
    ) -> Self {
        Self {
            backend,
            member,
            connection,
            timeout,
        }
    }
}

impl<B: Backend> Clone for Probe<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Probe<'_, B> {}

impl<B: Backend> std::fmt::Debug for Probe<'_, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe")
            .field("member", &self.member.name)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// One probe of one kind. Cancel-safe: the engine drops it at its timeout. A check that needs a socket of its own
/// keeps it inside the connection, so that retiring the connection ends it.
#[async_trait]
pub trait HealthCheck<B: Backend>: Send + Sync + 'static {
    /// Its name in `check = [".."]`, unique within a group.
    fn name(&self) -> &str;

    /// Looks once. An error or a panic of the check itself counts as unhealthy.
    async fn check(&self, probe: Probe<'_, B>) -> Health;
}

/// The default check: [`Backend::prove`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Ping;

#[async_trait]
impl<B: Backend> HealthCheck<B> for Ping {
    fn name(&self) -> &str {
        "ping"
    }

    async fn check(&self, probe: Probe<'_, B>) -> Health {
        match probe.backend.prove(probe.connection).await {
            Ok(()) => Health::Healthy,
            Err(reason) => Health::Unhealthy(reason),
        }
    }
}
