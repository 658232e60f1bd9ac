//! `ping` and `role`: what the server says about itself.

use backend_api::{Health, HealthCheck, Probe, async_trait};

use super::verdict;
use crate::backend::Redis;
use crate::probe;

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
        let noting = probe.backend.note_position(probe.connection);
        let ((), answer) = tokio::join!(noting, probe::ping(probe.connection));
        verdict(answer)
    }
}

#[async_trait]
impl HealthCheck<Redis> for RoleCheck {
    fn name(&self) -> &str {
        "role"
    }

    async fn check(&self, probe: Probe<'_, Redis>) -> Health {
        let allowed = probe.backend.options().allow_replicas;
        verdict(probe::role(probe.connection, allowed).await)
    }
}
