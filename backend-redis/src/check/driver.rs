//! What the checks need of a driver: its backend, and its connections.
//!
//! Each driver fills these in where its own types stand. Nothing here asks a server.

use std::time::Duration;

use backend_api::{Backend, Error, Health};

#[cfg(feature = "lag-aware")]
use super::lag_aware::session::Session;
use crate::options::Options;
use crate::probe::Ask;
use crate::replication::Board;
#[cfg(feature = "lag-aware")]
use crate::target::Target;

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

/// A connection to a member, as far as checks and what follows a switch look at it.
pub(crate) trait Watched: Ask {
    /// Asks on the same socket, and neither holds it open nor ends it.
    type Link: Ask + Clone + Send + Sync + 'static;

    fn link(&self) -> Self::Link;

    /// How a member that is several servers is as a whole, in less than `bound`. `None` where it is one server, or is asked
    /// as one.
    fn several(&self, bound: Duration) -> impl Future<Output = Option<Health>> + Send {
        let _ = bound;
        async { None }
    }

    /// The server, where the member is one.
    #[cfg(feature = "lag-aware")]
    fn target(&self) -> Option<Target>;

    /// What the check `lag-aware` keeps between two probes.
    #[cfg(feature = "lag-aware")]
    fn rest(&self) -> &Session;

    /// Runs a task that ends with the connection at the latest. `false` once it is retired.
    #[cfg(feature = "lag-aware")]
    fn run(&self, task: impl Future<Output = ()> + Send + 'static) -> bool;

    /// The error of what the end of this connection interrupted.
    #[cfg(feature = "lag-aware")]
    fn ended(&self) -> Error;
}

pub(super) fn verdict(answer: Result<(), Error>) -> Health {
    match answer {
        Ok(()) => Health::Healthy,
        Err(reason) => Health::Unhealthy(reason),
    }
}
