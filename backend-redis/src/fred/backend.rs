//! [`Fred`]: the contract, implemented.

use std::sync::Arc;

use backend_api::{
    Backend, Capabilities, Dial, Error, ErrorKind, FromOptions, HealthCheck, Slot, async_trait,
};

use super::client::FredClient;
use super::connect::Connector;
use super::connection::FredConnection;
use crate::check::{Driver, PingCheck, RoleCheck};
use crate::config::{Options, Settings};
use crate::probe;
use crate::target::Target;

/// The Redis backend through fred. One value serves one group.
///
/// It takes the same configuration as the driver for redis-rs does: the driver is a type, not a word in a file.
///
/// fred's feature `custom-reconnect-errors` makes a client end itself when it hears READONLY or the like. It works, but a
/// demoted member then looks lost instead of read-only, so leave it off where you can.
#[derive(Debug, Default)]
pub struct Fred {
    options: Options,
}

impl Fred {
    /// The backend with default options; [`from_options`](FromOptions::from_options) takes others.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Driver for Fred {
    fn options(&self) -> &Options {
        &self.options
    }
}

impl FromOptions for Fred {
    type Options = Options;

    fn from_options(options: Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self { options })
    }
}

#[async_trait]
impl Backend for Fred {
    type Settings = Settings;
    type Connection = FredConnection;
    type Client = FredClient;

    fn client(&self, slot: Slot<FredConnection>) -> FredClient {
        FredClient::new(slot, &self.options)
    }

    async fn connect(&self, dial: Dial<'_, Settings>) -> Result<FredConnection, Error> {
        let connector = Arc::new(Connector::new(
            Target::parse(&dial.member.settings)?,
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
        Ok(FredConnection::start(connector, opened, dial.signals))
    }

    async fn prove(&self, connection: &FredConnection) -> Result<(), Error> {
        probe::ping_and_role(connection, self.options.allow_replicas).await
    }

    async fn retire(&self, connection: FredConnection) {
        connection.retire().await;
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::new().serving_again_after_drain()
    }

    fn checks(&self) -> Vec<Arc<dyn HealthCheck<Self>>> {
        vec![Arc::new(PingCheck), Arc::new(RoleCheck)]
    }

    fn default_checks(&self) -> Vec<String> {
        vec!["ping".to_owned(), "role".to_owned()]
    }

    fn validate(&self, settings: &Settings) -> Result<(), Error> {
        let target = Target::parse(settings)?;
        Connector::database(&target).map(drop)
    }
}
