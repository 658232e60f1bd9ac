//! What the clients of a group and its backend share. No slot: a group ends when its last client does.

use std::sync::OnceLock;
use std::time::Duration;

use backend_api::Error;

use crate::config::Options;
use crate::connection::Connection;
use crate::outbound::Pending;
use crate::subscription::Registry;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) registry: Registry,
    pub(crate) pending: Pending,
    /// `unavailable.wait`, once there is a client.
    wait: OnceLock<Duration>,
}

impl Shared {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    pub(crate) fn set_wait(&self, wait: Duration) {
        // The same for all clients of a group.
        let _ = self.wait.set(wait);
    }

    /// Publishes on `to` what ended connections left behind.
    pub(crate) async fn carry_to(&self, to: &Connection) -> Result<(), Error> {
        let wait = self.wait.get().copied().unwrap_or(Duration::MAX);
        self.pending.carry_to(to, wait).await
    }
}
