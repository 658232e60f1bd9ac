//! What a [`Keeper`](super::Keeper) needs of a driver: which server to listen to, and when that changes.
//!
//! Each driver fills this in where its own types stand; the socket itself is the same for both ([`socket`](super::socket)).
//! Never to come in: a driver.

use backend_api::Error;

use crate::address::Address;
use crate::stream::Tcp;
use crate::target::Target;

/// The server that is listened to, and how it is dialled.
pub(crate) struct Server {
    pub(crate) target: Target,
    pub(crate) tcp: Tcp,
}

/// Where the subscriptions of one connection are to be listened to.
pub(crate) trait Listen: Send + Sync + 'static {
    fn address(&self) -> Address;

    /// The server at this moment. An error where there is no one server.
    fn server(&self) -> Result<Server, Error>;

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
}
