//! A handle on whatever carries commands, as the client sees it: clones share, and sending needs no lock.
//!
//! Never to come in: who owns the socket behind it, or what a failure means.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisResult, Value};

/// What commands are sent on.
#[derive(Clone)]
pub(crate) enum Link {
    /// One socket.
    One(MultiplexedConnection),
    /// All nodes of a cluster.
    #[cfg(feature = "cluster")]
    Cluster(crate::redis_rs::topology::cluster::Cluster),
}

impl From<MultiplexedConnection> for Link {
    fn from(socket: MultiplexedConnection) -> Self {
        Self::One(socket)
    }
}

impl Link {
    pub(crate) async fn command(&mut self, command: &Cmd) -> RedisResult<Value> {
        match self {
            Self::One(socket) => socket.send_packed_command(command).await,
            #[cfg(feature = "cluster")]
            Self::Cluster(nodes) => nodes.command(command).await,
        }
    }

    pub(crate) async fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        match self {
            Self::One(socket) => socket.send_packed_commands(pipeline, offset, count).await,
            #[cfg(feature = "cluster")]
            Self::Cluster(nodes) => nodes.pipeline(pipeline, offset, count).await,
        }
    }

    /// For what is sent on this handle; other clones keep theirs. A cluster's is the same for all.
    pub(crate) fn set_response_timeout(&mut self, time: Duration) {
        match self {
            Self::One(socket) => socket.set_response_timeout(time),
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => {}
        }
    }
}
