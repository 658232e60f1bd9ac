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

mod lag;
#[cfg(feature = "lag-aware")]
mod lag_aware;
mod server;
mod write_read;

use std::sync::Arc;

use backend_api::{Backend, Error, Health, HealthCheck};

use crate::options::Options;
use crate::probe::Watched;
use crate::replication::Board;

pub use lag::LagCheck;
#[cfg(feature = "lag-aware")]
pub use lag_aware::LagAwareCheck;
#[cfg(feature = "lag-aware")]
pub(crate) use lag_aware::{Rest, Session};
pub use server::{PingCheck, RoleCheck};
pub use write_read::WriteReadCheck;

/// A backend of this crate, as far as the checks need to know it.
#[expect(
    private_bounds,
    reason = "what checks ask and keep is the affair of this crate"
)]
pub trait Driver: Group {
    /// The options of the group.
    fn options(&self) -> &Options;
}

/// What the checks of a group keep between them.
pub(crate) trait Group: Backend<Connection: Watched> {
    /// What masters of the group said about how far they are.
    fn board(&self) -> &Board<<Self::Connection as Watched>::Link>;

    /// What the server acknowledged until now is compared after a switch, where the driver does that.
    fn note_position(&self, connection: &Self::Connection) -> impl Future<Output = ()> + Send {
        let _ = connection;
        async {}
    }
}

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

fn verdict(answer: Result<(), Error>) -> Health {
    match answer {
        Ok(()) => Health::Healthy,
        Err(reason) => Health::Unhealthy(reason),
    }
}
