//! The health checks that a configuration can name, one file each.
//!
//! | name | a member passes it if |
//! |---|---|
//! | `ping` | it answers PONG |
//! | `role` | it is a primary, or replicas are allowed |
//! | `lag` | it is no replica, or one that is not too far behind its master |
//! | `write-read` | what is written there can be read there |
//! | `lag-aware` | its Redis Enterprise cluster calls it available (feature `lag-aware`) |
//!
//! They run on the data socket itself: a probe on a socket of its own finds a half-open data socket healthy. Only
//! `lag-aware` asks somebody else; its socket belongs to the connection.

mod lag;
#[cfg(feature = "lag-aware")]
mod lag_aware;
mod options;
mod server;
mod write_read;

use std::sync::Arc;

use backend_api::{Error, Health, HealthCheck};

use crate::backend::Redis;

pub use lag::LagCheck;
#[cfg(feature = "lag-aware")]
pub use lag_aware::LagAwareCheck;
#[cfg(feature = "lag-aware")]
pub(crate) use lag_aware::{Rest, Session};
pub use server::{PingCheck, RoleCheck};
pub use write_read::WriteReadCheck;

/// All of them.
pub(crate) fn all() -> Vec<Arc<dyn HealthCheck<Redis>>> {
    vec![
        Arc::new(PingCheck),
        Arc::new(RoleCheck),
        Arc::new(LagCheck),
        Arc::new(WriteReadCheck),
        #[cfg(feature = "lag-aware")]
        Arc::new(LagAwareCheck),
    ]
}

fn verdict(answer: Result<(), Error>) -> Health {
    match answer {
        Ok(()) => Health::Healthy,
        Err(reason) => Health::Unhealthy(reason),
    }
}
