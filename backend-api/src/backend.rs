//! The trait that a backend implements: how one kind of service is connected, proven, promoted and retired.
//!
//! A backend only connects. It never decides: no retry loop, no choice of members, no timer beyond the bounds it
//! is given. Everything that more than one kind of service needs belongs in the engine.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;

use crate::{Capabilities, Error, Generation, HealthCheck, Leases, Member, Ping, Signals, Slot};

/// One kind of service. One value serves one group.
///
/// A minimal backend writes `client`, `connect`, `prove` and `retire`. The engine drops the futures of `connect`,
/// `prove`, `arm` and `promote` at their deadlines, and that of `drain` at any time: they must be cancel-safe. It
/// never drops `retire`. A panic in any of them counts as that method's failure.
#[async_trait]
pub trait Backend: Sized + Send + Sync + 'static {
    /// What a `[[member]]` table holds beyond the engine's own keys. Two equal values mean that a connection made
    /// with one serves for the other.
    type Settings: DeserializeOwned + Clone + PartialEq + Send + Sync + 'static;
    /// One connection: cheap to clone, all clones are the same connection.
    type Connection: Clone + Send + Sync + 'static;
    /// What applications use; it lives across switches, and takes a lease from its [`Slot`] for every operation.
    type Client: Clone + Send + Sync + 'static;

    /// Makes a client over the active slot. A group ends when the last slot is dropped, so a backend hands the
    /// slot to the client and keeps none itself.
    fn client(&self, slot: Slot<Self::Connection>) -> Self::Client;

    /// One attempt to connect within `dial.timeout`: no retry of its own, no automatic reconnect afterwards. What
    /// happens to the connection later is told through `dial.signals`.
    async fn connect(&self, dial: Dial<'_, Self::Settings>) -> Result<Self::Connection, Error>;

    /// A real round trip to the server on exactly this connection. Bounded by the engine. A read-only replica
    /// fails with [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly).
    async fn prove(&self, connection: &Self::Connection) -> Result<(), Error>;

    /// The connection becomes a standby: whatever should be warm is warmed here.
    async fn arm(&self, connection: &Self::Connection) -> Result<(), Error> {
        let _ = connection;
        Ok(())
    }

    /// Brings over what must live on the active, before traffic moves to `to`. `from` is the connection that was
    /// active last, which may be dead or even retired. If it fails, the switch is off, `to` is retired, and nothing
    /// else has changed. Between this call and the retirement of `from` a backend treats both connections as its own.
    /// With [`promoting_ahead`](Capabilities::promoting_ahead) it may be called off later, too.
    async fn promote(
        &self,
        to: &Self::Connection,
        from: Option<&Self::Connection>,
    ) -> Result<(), Error> {
        let _ = (to, from);
        Ok(())
    }

    /// Serve nothing new, finish what is under way. The engine bounds it by the drain window, and drops it early
    /// to promote the connection again or to retire it.
    async fn drain(&self, connection: &Self::Connection, leases: Leases) {
        let _ = connection;
        leases.ended().await;
    }

    /// Ends the connection now, bounded, waiting for nobody. When it returns, nothing of the connection is left: no
    /// task, no socket, no reconnect, also while an idle clone of it is still held somewhere. Operations still on it
    /// end with [`ErrorKind::Retired`](crate::ErrorKind::Retired) and what is known of their fate.
    async fn retire(&self, connection: Self::Connection);

    /// Which server the connection ended at, if that can be told: the server's own id, the same under every name and
    /// address that leads to it, and never another for one connection. Asked once, right after [`connect`](Self::connect);
    /// it must not wait. The engine keeps active and standby on different servers by it where it can. Where it is not
    /// known, every member counts as a server of its own.
    fn identity(&self, connection: &Self::Connection) -> Option<String> {
        let _ = connection;
        None
    }

    /// What this backend can do beyond that. Constant for the life of the value.
    fn capabilities(&self) -> Capabilities {
        Capabilities::new()
    }

    /// The health checks that a configuration can name with `check = [".."]`. By default `ping`, which is `prove`.
    fn checks(&self) -> Vec<Arc<dyn HealthCheck<Self>>> {
        vec![Arc::new(Ping)]
    }

    /// The names of the checks that run where the configuration names none.
    fn default_checks(&self) -> Vec<String> {
        vec!["ping".to_owned()]
    }

    /// Says what is wrong with settings that parsed: called for every member before anything is connected, so that
    /// the error can point at the member's line.
    fn validate(&self, settings: &Self::Settings) -> Result<(), Error> {
        let _ = settings;
        Ok(())
    }
}

/// One order to connect.
#[non_exhaustive]
pub struct Dial<'a, S> {
    /// Where to.
    pub member: &'a Member<S>,
    /// The number of the connection that comes of it.
    pub generation: Generation,
    /// How long the attempt may take, handshake and authentication included.
    pub timeout: Duration,
    /// How long one operation on it may take (`timeouts.operation`): bounding operations is the client's part.
    pub operation: Duration,
    /// How long a proof of it may take (`timeouts.prove`), and each of `arm` and `promote`: the engine drops them then.
    pub prove: Duration,
    /// How the connection speaks of itself later.
    pub signals: Signals<S>,
}

impl<'a, S> Dial<'a, S> {
    /// An order as an engine gives it, with two seconds to connect and half a second each for an operation and a proof.
    pub fn new(member: &'a Member<S>, generation: Generation, signals: Signals<S>) -> Self {
        Self {
            member,
            generation,
            timeout: Duration::from_secs(2),
            operation: Duration::from_millis(500),
            prove: Duration::from_millis(500),
            signals,
        }
    }

    /// The same with another time to connect.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same with another time for an operation.
    #[must_use]
    pub fn with_operation(mut self, operation: Duration) -> Self {
        self.operation = operation;
        self
    }

    /// The same with another time for a proof.
    #[must_use]
    pub fn with_prove(mut self, prove: Duration) -> Self {
        self.prove = prove;
        self
    }
}

impl<S> std::fmt::Debug for Dial<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dial")
            .field("member", &self.member.name)
            .field("generation", &self.generation)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// How a backend is made from the `[backend]` table of a configuration: options of the whole group.
pub trait FromOptions: Sized {
    /// The table. Its default stands for an absent one.
    type Options: DeserializeOwned + Default;

    /// Checks the options and makes the backend. Errors are of kind
    /// [`Config`](crate::ErrorKind::Config).
    fn from_options(options: Self::Options) -> Result<Self, Error>;
}
