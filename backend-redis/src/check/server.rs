//! `ping` and `role`: what the server says about itself.
//!
//! Where a member is several servers, each of the two asks both, and what they find is the member's own business for a
//! while.

use backend_api::{Health, HealthCheck, Probe, async_trait};

use super::driver::{Driver, verdict};
use crate::check::driver::Watched as _;
use crate::probe;

/// `ping`: the server answers PONG. A server that is loading or has lost its master says so instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct PingCheck;

/// `role`: the server is a primary, or replicas are allowed.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoleCheck;

#[async_trait]
impl<D: Driver> HealthCheck<D> for PingCheck {
    fn name(&self) -> &str {
        "ping"
    }

    async fn check(&self, probe: Probe<'_, D>) -> Health {
        if let Some(health) = probe.connection.several(probe.timeout).await {
            return health;
        }
        let noting = probe.backend.note_position(probe.connection);
        let ((), answer) = tokio::join!(noting, probe::ping(probe.connection));
        verdict(answer)
    }
}

#[async_trait]
impl<D: Driver> HealthCheck<D> for RoleCheck {
    fn name(&self) -> &str {
        "role"
    }

    async fn check(&self, probe: Probe<'_, D>) -> Health {
        if let Some(health) = probe.connection.several(probe.timeout).await {
            return health;
        }
        let allowed = probe.backend.options().allow_replicas;
        verdict(probe::role(probe.connection, allowed).await)
    }
}
