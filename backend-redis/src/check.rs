//! The health checks that a configuration can name: `ping` and `role`. The same for every driver.
//!
//! They run on the data socket itself: a probe on a socket of its own finds a half-open data socket healthy.

use backend_api::{Backend, Error, Health, HealthCheck, Probe, async_trait};

use crate::config::Options;
use crate::probe::{self, Ask};

/// `ping`: the server answers PONG. A server that is loading or has lost its master says so instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct PingCheck;

/// `role`: the server is a primary, or replicas are allowed.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoleCheck;

/// A backend of this crate, as far as the checks need to know it.
#[expect(
    private_bounds,
    reason = "how questions are put is each driver's own affair"
)]
pub trait Driver: Backend<Connection: Ask> {
    /// The options of the group.
    fn options(&self) -> &Options;
}

#[async_trait]
impl<D: Driver> HealthCheck<D> for PingCheck {
    fn name(&self) -> &str {
        "ping"
    }

    async fn check(&self, probe: Probe<'_, D>) -> Health {
        verdict(probe::ping(probe.connection).await)
    }
}

#[async_trait]
impl<D: Driver> HealthCheck<D> for RoleCheck {
    fn name(&self) -> &str {
        "role"
    }

    async fn check(&self, probe: Probe<'_, D>) -> Health {
        let allowed = probe.backend.options().allow_replicas;
        verdict(probe::role(probe.connection, allowed).await)
    }
}

fn verdict(answer: Result<(), Error>) -> Health {
    match answer {
        Ok(()) => Health::Healthy,
        Err(reason) => Health::Unhealthy(reason),
    }
}
