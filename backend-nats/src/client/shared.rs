//! What the clients of a group and its backend share. No slot: a group ends when its last client does.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
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
    addresses: Mutex<Addresses>,
}

/// Which addresses members have.
#[derive(Default)]
pub(crate) struct Addresses {
    /// Those that the configuration names.
    pub(crate) configured: HashSet<String>,
    /// Those that servers told of.
    pub(crate) told: HashSet<String>,
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

    pub(crate) fn addresses(&self) -> MutexGuard<'_, Addresses> {
        self.addresses
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
