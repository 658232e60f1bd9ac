//! Waiting for the next socket of a member that follows its master, beside waiting for the next active.

use std::sync::Arc;

use backend_api::{Epoch, Error, Lease, Slot};

use crate::connection::Connection;
use crate::line::{Line, Mood};

/// Where something failed, within the member.
pub(super) struct Follow {
    line: Arc<Line>,
    revision: u64,
}

impl Follow {
    /// `None` where a member has only ever one socket.
    pub(super) fn of(connection: &Connection, revision: u64) -> Option<Self> {
        let line = connection.line();
        line.follows().then(|| Self {
            line: line.clone(),
            revision,
        })
    }

    /// Its socket is gone, and the next one is not there yet.
    pub(super) fn is_under_way(&self) -> bool {
        self.line.phase().mood == Mood::Gone
    }
}

/// Resolves once there is somewhere else to go: another active, or another socket of the same.
pub(super) async fn elsewhere(
    slot: &Slot<Connection>,
    epoch: Epoch,
    follow: Option<&Follow>,
) -> Result<(), Error> {
    let moved = async { slot.moved_from(epoch).await.map(drop) };
    match follow {
        None => moved.await,
        Some(follow) => tokio::select! {
            moved = moved => moved,
            () = follow.line.newer(follow.revision) => Ok(()),
        },
    }
}

/// What a cursor is good for: one server's turn as the active. The turns of the servers within a member count too; the first
/// of all is 1, as the first epoch.
pub(super) fn turn(lease: &Lease<Connection>) -> Epoch {
    let (revision, _gone) = lease.connection().line().state();
    Epoch(lease.epoch().0 | revision << 40)
}
