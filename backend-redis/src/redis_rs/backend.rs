//! [`Redis`]: the contract, implemented.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{
    Backend, Capabilities, Dial, Error, ErrorKind, FromOptions, HealthCheck, Leases, Slot,
    async_trait,
};

use crate::check::driver::{Group, Watched as _};
use crate::check::{self, Driver};
use crate::options::{Options, Replay};
use crate::place::Place;
use crate::probe;
use crate::redis_rs::client::FailoverConnection;
use crate::redis_rs::commands::Commands;
use crate::redis_rs::connect::{Connector, Listener};
use crate::redis_rs::connection::{Connection, Terms, lost};
use crate::redis_rs::link::Link;
#[cfg(feature = "cluster")]
use crate::redis_rs::topology::cluster;
#[cfg(feature = "sentinel")]
use crate::redis_rs::topology::sentinel;
use crate::redis_rs::topology::several;
use crate::replication::{Board, Guard, New, Old};
use crate::settings::Settings;
use crate::subscriptions::{self, Registry};
use crate::target::Target;

/// The Redis backend. One value serves one group.
pub struct Redis {
    options: Options,
    commands: Arc<Commands>,
    registry: Arc<Registry>,
    board: Board<Link>,
    /// Where reads wait after a switch.
    guard: Option<Arc<Guard>>,
}

impl Redis {
    /// The backend with default options; see [`builder`](Self::builder) for others.
    pub fn new() -> Self {
        Self::of(Options::default())
    }

    /// Options by code; the same as the `[backend]` table.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }

    fn of(options: Options) -> Self {
        Self {
            registry: Arc::new(Registry::new(options.pubsub_buffer)),
            board: Board::default(),
            guard: options.wait_for_replication.map(Guard::new),
            options,
            commands: Arc::default(),
        }
    }

    /// The options of the group.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn terms(&self, dial: Dial<'_, Settings>) -> Terms {
        Terms {
            signals: dial.signals,
            dial: dial.timeout,
            operation: dial.operation,
            prove: dial.prove,
            registry: self.registry.clone(),
            heartbeat: self.options.pubsub_heartbeat,
        }
    }

    /// A member that is one server.
    async fn connect_to(
        &self,
        target: Target,
        dial: Dial<'_, Settings>,
    ) -> Result<Connection, Error> {
        let connector = Arc::new(Connector::new(target, &self.options));
        let address = connector.target.address.clone();
        let listener = {
            let signals = dial.signals.clone();
            let address = address.clone();
            let listener = Listener::disconnect(move || signals.lost(lost(&address)));
            let signals = dial.signals.clone();
            match self.options.maintenance_notices {
                true => listener.with_maintenance(move || signals.lame_duck()),
                false => listener,
            }
        };
        let opening = connector.open(Some(dial.operation), listener);
        let (shared, driver) = within(dial.timeout, &address, opening).await?;
        let terms = self.terms(dial);
        Ok(Connection::start(connector, shared, driver, terms))
    }
}

/// From here on reads on `to` wait until it has what `from` acknowledged.
fn wait_for_replication(guard: &Arc<Guard>, to: &Connection, from: &Connection) {
    let new = New {
        member: to.signals().member().clone(),
        generation: to.signals().generation(),
        link: to.link(),
        operation: to.operation(),
    };
    let old = Old {
        member: from.signals().member().clone(),
        generation: from.signals().generation(),
        link: (!from.has_ended()).then(|| from.link()),
        acknowledged: from.noted().clone(),
    };
    if let Some(rounds) = guard.begin(new, old) {
        let signals = to.signals().clone();
        to.spawn(async move {
            if let Some((what, text)) = rounds.await {
                signals.notice(what, text);
            }
        });
    }
}

/// One attempt to connect, and no longer.
async fn within<T>(
    bound: Duration,
    whom: impl std::fmt::Display,
    opening: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(bound, opening)
        .await
        .unwrap_or_else(|_elapsed| {
            let text = format!("{whom} did not answer within {bound:?}");
            Err(Error::new(ErrorKind::Timeout, text).with_operation("connect"))
        })
}

impl Default for Redis {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Redis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redis")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Driver for Redis {
    fn options(&self) -> &Options {
        &self.options
    }
}

impl Group for Redis {
    fn board(&self) -> &Board<Link> {
        &self.board
    }

    async fn note_position(&self, connection: &Connection) {
        if self.guard.is_some()
            && let Ok(Some(said)) = crate::replication::ask(connection).await
        {
            connection.noted().note(said);
        }
    }
}

impl FromOptions for Redis {
    type Options = Options;

    fn from_options(options: Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self::of(options))
    }
}

/// Builds a [`Redis`]. See [`Options`] for what each value means and its default.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct RedisBuilder {
    pub(crate) options: Options,
}

impl RedisBuilder {
    /// See [`Options::replay`].
    pub fn replay(mut self, replay: Replay) -> Self {
        self.options.replay = replay;
        self
    }

    /// See [`Options::allow_replicas`].
    pub fn allow_replicas(mut self, allow: bool) -> Self {
        self.options.allow_replicas = allow;
        self
    }

    /// See [`Options::tcp_nodelay`].
    pub fn tcp_nodelay(mut self, nodelay: bool) -> Self {
        self.options.tcp_nodelay = nodelay;
        self
    }

    /// See [`Options::user_timeout`].
    pub fn user_timeout(mut self, timeout: Duration) -> Self {
        self.options.user_timeout = Some(timeout);
        self
    }

    /// See [`Options::keepalive`].
    pub fn keepalive(mut self, time: Duration) -> Self {
        self.options.keepalive = Some(time);
        self
    }

    /// See [`Options::member_failover`].
    pub fn member_failover(mut self, bound: Duration) -> Self {
        self.options.member_failover = bound;
        self
    }

    /// See [`Options::pubsub_heartbeat`].
    pub fn pubsub_heartbeat(mut self, interval: Duration) -> Self {
        self.options.pubsub_heartbeat = interval;
        self
    }

    /// See [`Options::pubsub_buffer`].
    pub fn pubsub_buffer(mut self, messages: usize) -> Self {
        self.options.pubsub_buffer = messages;
        self
    }

    /// Fails with [`ErrorKind::Config`] where an option cannot be used.
    pub fn build(self) -> Result<Redis, Error> {
        Redis::from_options(self.options)
    }
}

#[async_trait]
impl Backend for Redis {
    type Settings = Settings;
    type Connection = Connection;
    type Client = FailoverConnection;

    fn client(&self, slot: Slot<Connection>) -> FailoverConnection {
        FailoverConnection::new(
            slot,
            self.commands.clone(),
            self.registry.clone(),
            self.guard.clone(),
            &self.options,
        )
    }

    async fn connect(&self, dial: Dial<'_, Settings>) -> Result<Connection, Error> {
        let connection = match Place::parse(&dial.member.settings)? {
            Place::Server(target) => self.connect_to(target, dial).await?,
            #[cfg(feature = "sentinel")]
            Place::Sentinel(place) => {
                let bound = dial.timeout;
                let opening = sentinel::connect(place, &self.options, self.terms(dial));
                within(bound, "the sentinels or their master", opening).await?
            }
            #[cfg(feature = "cluster")]
            Place::Cluster(place) => {
                let (bound, name) = (dial.timeout, place.to_string());
                let commands = self.commands.clone();
                let opening = cluster::connect(place, &self.options, commands, self.terms(dial));
                within(bound, name, opening).await?
            }
        };
        if !self.commands.is_known() {
            let commands = self.commands.clone();
            let link = connection.shared();
            connection.spawn(async move { commands.learn(link).await });
        }
        Ok(connection)
    }

    async fn prove(&self, connection: &Connection) -> Result<(), Error> {
        let asking = async {
            if connection.line().follows() {
                return several::prove(connection).await;
            }
            probe::ping_and_role(connection, self.options.allow_replicas).await
        };
        tokio::join!(self.note_position(connection), asking).1
    }

    async fn promote(&self, to: &Connection, from: Option<&Connection>) -> Result<(), Error> {
        to.keep_feed();
        let heard = from.is_some_and(|from| !from.has_ended() && from.feed().is_live());
        // Before the engine drops it: what to do then is ours to say.
        let bound = to.prove() / 4 * 3;
        if let Some((what, text)) = subscriptions::promote(to.feed(), heard, bound).await? {
            to.signals().notice(what, text);
        }
        if let Some((guard, from)) = self.guard.as_ref().zip(from) {
            wait_for_replication(guard, to, from);
        }
        Ok(())
    }

    async fn drain(&self, connection: &Connection, leases: Leases) {
        // Operations under way may still publish on it.
        leases.ended().await;
        if let Some(guard) = &self.guard {
            guard.drained(connection.signals().generation());
        }
        connection.feed().leave().await;
    }

    async fn retire(&self, connection: Connection) {
        connection.retire().await;
    }

    fn capabilities(&self) -> Capabilities {
        let capabilities = Capabilities::new().serving_again_after_drain();
        match self.options.maintenance_notices {
            true => capabilities.announcing_lame_duck(),
            false => capabilities,
        }
    }

    fn checks(&self) -> Vec<Arc<dyn HealthCheck<Self>>> {
        check::all()
    }

    fn default_checks(&self) -> Vec<String> {
        vec!["ping".to_owned(), "role".to_owned()]
    }

    fn validate(&self, settings: &Settings) -> Result<(), Error> {
        Place::parse(settings).map(drop)
    }
}
