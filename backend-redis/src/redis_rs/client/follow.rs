//! Waiting for the next socket of a member that follows its master, beside waiting for the next active.

use std::sync::Arc;

use backend_api::Lease;

use super::scan::Turn;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::line::{Line, Mood};
use crate::retry::Within;

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
}

impl Within for Follow {
    async fn next(&self) {
        self.line.newer(self.revision).await;
    }

    fn is_under_way(&self) -> bool {
        self.line.phase().mood == Mood::Gone
    }
}

/// In which turn the leased connection is. The turns of the servers within a member count too.
pub(super) fn turn(lease: &Lease<Connection>) -> Turn {
    Turn {
        epoch: lease.epoch(),
        revision: lease.connection().line().revision(),
    }
}
