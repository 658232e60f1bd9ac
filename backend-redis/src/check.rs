//! The health checks that a configuration can name: `ping` and `role`.
//!
//! Where a member is several servers, each of the two asks both, and what they find is the member's own business for a
//! while: see [`several`](crate::several).
//!
//! They run on the data socket itself: a probe on a socket of its own finds a half-open data socket healthy.

use backend_api::{Error, Health, HealthCheck, Probe, async_trait};

use crate::backend::Redis;
use crate::probe;
use crate::several;

/// `ping`: the server answers PONG. A server that is loading or has lost its master says so instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct PingCheck;

/// `role`: the server is a primary, or replicas are allowed.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoleCheck;

#[async_trait]
impl HealthCheck<Redis> for PingCheck {
    fn name(&self) -> &str {
        "ping"
    }

    async fn check(&self, probe: Probe<'_, Redis>) -> Health {
        if probe.connection.line().follows() {
            return several::check(probe.connection, probe.timeout).await;
        }
        verdict(probe::ping(probe.connection).await)
    }
}

#[async_trait]
impl HealthCheck<Redis> for RoleCheck {
    fn name(&self) -> &str {
        "role"
    }

    async fn check(&self, probe: Probe<'_, Redis>) -> Health {
        if probe.connection.line().follows() {
            return several::check(probe.connection, probe.timeout).await;
        }
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
