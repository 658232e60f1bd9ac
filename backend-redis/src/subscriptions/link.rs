//! What a [`Keeper`](super::Keeper) needs of a driver: a socket that subscribes, and says what the server answered to each
//! subscription.
//!
//! Here are only the seams; each driver fills them in where its own types stand. Never to come in: a driver, a socket.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use backend_api::Error;

use super::topic::{Kind, Published, Topic};
use crate::address::Address;

/// Called with every message, by the future that reads the socket. It must not wait.
pub(crate) type OnMessage = Arc<dyn Fn(Published) + Send + Sync>;

/// The future that moves the bytes of one socket. The socket lives exactly as long as it.
pub(crate) type Moving = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Opens sockets that subscribe, to one member.
pub(crate) trait Listen: Send + Sync + 'static {
    type Link: Link;

    fn address(&self) -> Address;

    /// Which of its servers it leads to, where the member finds itself another one; they are counted.
    fn revision(&self) -> u64 {
        0
    }

    /// Resolves once the server of this revision is left.
    fn left(&self, revision: u64) -> impl Future<Output = ()> + Send {
        let _ = revision;
        std::future::pending()
    }

    /// Resolves once a newer one is there.
    fn newer(&self, revision: u64) -> impl Future<Output = ()> + Send {
        let _ = revision;
        std::future::pending()
    }

    /// Opens one. An exchange on it waits `operation` at most; what is published is handed to `tell`. No deadline of its
    /// own; dropped, nothing is left of it.
    fn listen(
        &self,
        operation: Duration,
        tell: OnMessage,
    ) -> impl Future<Output = Result<(Self::Link, Moving), Error>> + Send;
}

/// One socket that subscribes. Its [`Moving`] has to be polled meanwhile.
pub(crate) trait Link: Send {
    /// One command for each topic, in one exchange. Each has one answer, in their order: its confirmation or its refusal.
    fn ask(
        &mut self,
        word: fn(Kind) -> &'static str,
        topics: &[Topic],
    ) -> impl Future<Output = Result<Vec<Result<(), Refused>>, Broken>> + Send;

    /// Asks whether anybody is there: any answer says so.
    fn ping(&mut self) -> impl Future<Output = Result<(), Broken>> + Send;
}

/// What a server said instead of confirming: the first word, and the rest.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: String,
    pub(crate) details: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// None in time.
    Late,
    /// The socket ended, or can be used no further.
    Ended,
}
