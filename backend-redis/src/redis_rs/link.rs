//! A handle on whatever carries commands, as the client sees it: clones share, and sending needs no lock.
//!
//! Never to come in: who owns the socket behind it, or what a failure means.

#[cfg(feature = "cluster")]
use std::pin::Pin;
use std::time::Duration;

#[cfg(feature = "cluster")]
use backend_api::Error;
#[cfg(feature = "cluster")]
use redis::aio::ConnectionLike;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, Pipeline, RedisResult, Value};

#[cfg(feature = "cluster")]
use crate::address::Address;
#[cfg(feature = "cluster")]
use crate::redis_rs::errors;

/// What commands are sent on.
#[derive(Clone)]
pub(crate) enum Link {
    /// One socket.
    One(MultiplexedConnection),
    /// All servers of one member.
    #[cfg(feature = "cluster")]
    Many(Box<dyn Many>),
}

/// Several servers that answer as one: each command goes to whichever of them is responsible.
#[cfg(feature = "cluster")]
pub(crate) trait Many: ConnectionLike + Send + Sync {
    /// Another handle on the same servers.
    fn share(&self) -> Box<dyn Many>;

    /// Whether they serve as a whole. `name` is what errors call them.
    fn look<'a>(&'a mut self, name: &'a Address) -> Looking<'a>;
}

#[cfg(feature = "cluster")]
pub(crate) type Looking<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

#[cfg(feature = "cluster")]
impl Clone for Box<dyn Many> {
    fn clone(&self) -> Self {
        (**self).share()
    }
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
            Self::Many(servers) => servers
                .req_packed_command(command)
                .await
                .map_err(errors::unveil),
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
            Self::Many(servers) => servers
                .req_packed_commands(pipeline, offset, count)
                .await
                .map_err(errors::unveil),
        }
    }

    /// For what is sent on this handle; other clones keep theirs. Several servers have one for all.
    pub(crate) fn set_response_timeout(&mut self, time: Duration) {
        match self {
            Self::One(socket) => socket.set_response_timeout(time),
            #[cfg(feature = "cluster")]
            Self::Many(_) => {}
        }
    }
}
