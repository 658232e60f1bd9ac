//! [`Fred`]: the contract, implemented.

use std::sync::Arc;

use backend_api::{
    Backend, Capabilities, Dial, Error, ErrorKind, FromOptions, HealthCheck, Leases, Slot,
    async_trait,
};

use super::ask::Link;
use super::client::FredClient;
use super::connect::Connector;
use super::connection::{FredConnection, Terms};
use crate::check::driver::Group;
use crate::check::{self, Driver};
use crate::options::Options;
use crate::place::Place;
use crate::probe;
use crate::replication::Board;
use crate::settings::Settings;
use crate::subscriptions::{self, Registry};
use crate::target::Target;

/// The Redis backend through fred. One value serves one group.
///
/// It takes the same configuration as the driver for redis-rs does: the driver is a type, not a word in a file.
///
/// `wait_for_replication` and `maintenance_notices` are not there through fred, and refused.
///
/// fred's feature `custom-reconnect-errors` makes a client end itself when it hears READONLY or the like. It works, but a
/// demoted member then looks lost instead of read-only, so leave it off where you can.
pub struct Fred {
    options: Options,
    registry: Arc<Registry>,
    board: Board<Link>,
}

impl Fred {
    /// The backend with default options; [`from_options`](FromOptions::from_options) takes others.
    pub fn new() -> Self {
        Self::of(Options::default())
    }

    fn of(options: Options) -> Self {
        Self {
            registry: Arc::new(Registry::new(options.pubsub_buffer)),
            board: Board::default(),
            options,
        }
    }
}

impl Default for Fred {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Fred {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fred")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Driver for Fred {
    fn options(&self) -> &Options {
        &self.options
    }
}

impl Group for Fred {
    fn board(&self) -> &Board<Link> {
        &self.board
    }
}

impl FromOptions for Fred {
    type Options = Options;

    fn from_options(options: Options) -> Result<Self, Error> {
        options.check()?;
        let missing = if options.wait_for_replication.is_some() {
            "wait_for_replication"
        } else if options.maintenance_notices {
            "maintenance_notices"
        } else {
            return Ok(Self::of(options));
        };
        let text = format!("{missing} is not there through fred: leave it out, or use redis-rs");
        Err(Error::new(ErrorKind::Config, text))
    }
}

/// The one server that a member is.
fn server(settings: &Settings) -> Result<Target, Error> {
    match Place::parse(settings)? {
        Place::Server(target) => Ok(target),
        #[cfg(any(feature = "sentinel", feature = "cluster"))]
        _ => Err(Error::new(
            ErrorKind::Config,
            "through fred a member is one server: give it a url, or use redis-rs",
        )),
    }
}

#[async_trait]
impl Backend for Fred {
    type Settings = Settings;
    type Connection = FredConnection;
    type Client = FredClient;

    fn client(&self, slot: Slot<FredConnection>) -> FredClient {
        FredClient::new(slot, self.registry.clone(), &self.options)
    }

    async fn connect(&self, dial: Dial<'_, Settings>) -> Result<FredConnection, Error> {
        let connector = Arc::new(Connector::new(
            server(&dial.member.settings)?,
            &self.options,
            dial.timeout,
            dial.operation,
        ));
        let opened = tokio::time::timeout(dial.timeout, connector.open(dial.operation))
            .await
            .unwrap_or_else(|_elapsed| {
                Err(Error::new(
                    ErrorKind::Timeout,
                    format!(
                        "{} did not answer within {:?}",
                        connector.target.address, dial.timeout
                    ),
                )
                .with_operation("connect"))
            })?;
        Ok(FredConnection::start(
            connector,
            opened,
            Terms {
                signals: dial.signals,
                prove: dial.prove,
                registry: self.registry.clone(),
                heartbeat: self.options.pubsub_heartbeat,
            },
        ))
    }

    async fn prove(&self, connection: &FredConnection) -> Result<(), Error> {
        probe::ping_and_role(connection, self.options.allow_replicas).await
    }

    async fn promote(
        &self,
        to: &FredConnection,
        from: Option<&FredConnection>,
    ) -> Result<(), Error> {
        to.keep_feed();
        let heard = from.is_some_and(|from| !from.state().has_ended() && from.feed().is_live());
        // Before the engine drops it: what to do then is ours to say.
        let bound = to.prove() / 4 * 3;
        if let Some((what, text)) = subscriptions::promote(to.feed(), heard, bound).await? {
            to.signals().notice(what, text);
        }
        Ok(())
    }

    async fn drain(&self, connection: &FredConnection, leases: Leases) {
        // Operations under way may still publish on it.
        leases.ended().await;
        connection.feed().leave().await;
    }

    async fn retire(&self, connection: FredConnection) {
        connection.retire().await;
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new().serving_again_after_drain()
    }

    fn checks(&self) -> Vec<Arc<dyn HealthCheck<Self>>> {
        check::all()
    }

    fn default_checks(&self) -> Vec<String> {
        vec!["ping".to_owned(), "role".to_owned()]
    }

    fn validate(&self, settings: &Settings) -> Result<(), Error> {
        let target = server(settings)?;
        Connector::database(&target).map(drop)
    }
}
