//! The check `status`: the server's own word on how it is.

use backend_api::{Health, HealthCheck, Probe, async_trait};

use super::Memory;
use super::faults::Method;

/// The default check, by name `status`: one round trip that also asks for what [`Server`](super::Server) was told to
/// say of itself. It finds everything that a ping finds, without being counted as a proof.
#[derive(Clone, Copy, Debug, Default)]
pub struct Status;

#[async_trait]
impl HealthCheck<Memory> for Status {
    fn name(&self) -> &str {
        "status"
    }

    async fn check(&self, probe: Probe<'_, Memory>) -> Health {
        let connection = probe.connection;
        connection.server().touch(|state| state.tally.checks += 1);
        let answer = connection
            .control(Method::Check, "status", |state| state.faults.status())
            .await;
        answer.unwrap_or_else(Health::Unhealthy)
    }
}
