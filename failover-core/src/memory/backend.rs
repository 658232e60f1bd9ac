//! The backend over a world: how the engine's words become acts on servers.

use std::sync::{Arc, Mutex, PoisonError};

use backend_api::{
    Backend, Capabilities, Dial, Error, ErrorKind, FromOptions, HealthCheck, Leases, MemberName,
    Ping, Slot, async_trait,
};
use serde::Deserialize;

use super::faults::Method;
use super::server::pause;
use super::state::State;
use super::{Client, Connection, Status, World};

/// What a `[[member]]` table says beyond name and weight.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The address of the server: see [`World::server`].
    pub at: String,
}

impl Settings {
    /// The server at an address.
    pub fn at(at: impl Into<String>) -> Self {
        Self { at: at.into() }
    }
}

/// The `[backend]` table: there is nothing to say in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {}

/// One promotion that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promotion {
    /// Whose connection was active last, if any was.
    pub from: Option<MemberName>,
    /// Whose connection was promoted.
    pub to: MemberName,
}

/// The embedded backend. Cheap to clone; a clone kept by the test reads the same [`promotions`](Self::promotions).
///
/// Made from a configuration alone ([`FromOptions`]) it gets a world of its own, whose servers come to life, up and
/// without a fault, as the members are dialled; [`world`](Self::world) finds them. To share a world between several
/// groups, or to prepare its servers, make the backend with [`World::backend`] and take only the members from the
/// configuration.
#[derive(Clone, Debug)]
pub struct Memory {
    world: World,
    capabilities: Capabilities,
    promotions: Arc<Mutex<Vec<Promotion>>>,
}

impl Memory {
    /// A backend whose members are the servers of a world.
    pub fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
            capabilities: Capabilities::new()
                .announcing_lame_duck()
                .serving_again_after_drain()
                .promoting_ahead(),
            promotions: Arc::default(),
        }
    }

    /// What the engine is told that this backend can do. By default it announces lame ducks, serves again after a drain and
    /// promotes ahead; a test that uses [`Server::tell_members`](super::Server::tell_members) adds the discovery of members.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Capabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// The world that it connects to.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// All promotions that succeeded, in their order.
    pub fn promotions(&self) -> Vec<Promotion> {
        let promotions = self.promotions.lock();
        promotions.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl FromOptions for Memory {
    type Options = Options;

    fn from_options(_: Options) -> Result<Self, Error> {
        Ok(World::new().backend())
    }
}

#[async_trait]
impl Backend for Memory {
    type Settings = Settings;
    type Connection = Connection;
    type Client = Client;

    fn client(&self, slot: Slot<Connection>) -> Client {
        Client::new(slot)
    }

    async fn connect(&self, dial: Dial<'_, Settings>) -> Result<Connection, Error> {
        let server = self.world.server(&dial.member.settings.at);
        let opened = match tokio::time::timeout(dial.timeout, server.accept(&dial)).await {
            Ok(opened) => opened,
            Err(_elapsed) => {
                let reason = format!("{} did not answer within {:?}", server.at(), dial.timeout);
                Err(Error::new(ErrorKind::Timeout, reason))
            }
        };
        opened.map_err(|error| {
            error
                .with_member(&dial.member.name)
                .with_operation("connect")
        })
    }

    async fn prove(&self, connection: &Connection) -> Result<(), Error> {
        connection.server().touch(|state| state.tally.proofs += 1);
        let work = |state: &mut State| state.faults.proof();
        connection.control(Method::Prove, "prove", work).await
    }

    async fn arm(&self, connection: &Connection) -> Result<(), Error> {
        let work = |state: &mut State| {
            state.tally.armed += 1;
            Ok(())
        };
        connection.control(Method::Arm, "arm", work).await
    }

    async fn promote(&self, to: &Connection, from: Option<&Connection>) -> Result<(), Error> {
        let work = |state: &mut State| {
            if state.faults.refuse_promotion {
                let reason = "the server refuses to be promoted";
                return Err(Error::new(ErrorKind::Unhealthy, reason));
            }
            state.tally.promoted += 1;
            Ok(())
        };
        to.control(Method::Promote, "promote", work).await?;
        let promotion = Promotion {
            from: from.map(|from| from.member().clone()),
            to: to.member().clone(),
        };
        let promotions = self.promotions.lock();
        promotions
            .unwrap_or_else(PoisonError::into_inner)
            .push(promotion);
        Ok(())
    }

    async fn drain(&self, connection: &Connection, leases: Leases) {
        let server = connection.server();
        server.touch(|state| state.tally.drained += 1);
        server.enter(Method::Drain);
        leases.ended().await;
        pause(server.delay(Method::Drain)).await;
    }

    async fn retire(&self, connection: Connection) {
        let server = connection.server();
        server.enter(Method::Retire);
        pause(server.delay(Method::Retire)).await;
        connection.retire();
    }

    /// The address of its server.
    fn identity(&self, connection: &Connection) -> Option<String> {
        Some(connection.server().at().to_owned())
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn checks(&self) -> Vec<Arc<dyn HealthCheck<Self>>> {
        vec![Arc::new(Ping), Arc::new(Status)]
    }

    fn default_checks(&self) -> Vec<String> {
        vec!["status".to_owned()]
    }

    fn validate(&self, settings: &Settings) -> Result<(), Error> {
        if settings.at.is_empty() {
            return Err(Error::new(
                ErrorKind::Config,
                "`at` is empty: it names a server",
            ));
        }
        Ok(())
    }
}
