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
//! They are the same for every driver ([`Driver`]), and run on the data socket itself: a probe on a socket of its own finds a half-open data socket healthy. Only
//! `lag-aware` asks somebody else; its socket belongs to the connection.

pub(crate) mod driver;
mod lag;
#[cfg(feature = "lag-aware")]
pub(crate) mod lag_aware;
mod server;
mod write_read;

use std::sync::Arc;

use backend_api::HealthCheck;

pub use driver::Driver;
pub use lag::LagCheck;
#[cfg(feature = "lag-aware")]
pub use lag_aware::LagAwareCheck;
pub use server::{PingCheck, RoleCheck};
pub use write_read::WriteReadCheck;

/// All of them.
pub(crate) fn all<D: Driver>() -> Vec<Arc<dyn HealthCheck<D>>> {
    vec![
        Arc::new(PingCheck),
        Arc::new(RoleCheck),
        Arc::new(LagCheck),
        Arc::new(WriteReadCheck),
        #[cfg(feature = "lag-aware")]
        Arc::new(LagAwareCheck),
    ]
}
