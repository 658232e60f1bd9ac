//! [`Nats`]: the contract, implemented.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Backend, Capabilities, Dial, Error, FromOptions, Leases, Slot, async_trait};
use futures_util::future::join_all;
use tokio::time::timeout;

use crate::client::{FailoverClient, Shared};
use crate::config::{Carry, Options, Settings};
use crate::connect::{self, Voice};
use crate::connection::Connection;
use crate::keeping;
use crate::target::Target;

/// The NATS backend. One value serves one group.
pub struct Nats {
    pub(crate) shared: Arc<Shared>,
}

impl Nats {
    /// The backend with default options; see [`builder`](Self::builder) for others.
    pub fn new() -> Self {
        Self::of(Options::default())
    }

    /// Options by code; the same as the `[backend]` table.
    pub fn builder() -> NatsBuilder {
        NatsBuilder::default()
    }

    fn of(options: Options) -> Self {
        Self {
            shared: Arc::new(Shared::new(options)),
        }
    }

    /// The options of the group.
    pub fn options(&self) -> &Options {
        &self.shared.options
    }
}

impl Default for Nats {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Nats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nats")
            .field("options", self.options())
            .finish_non_exhaustive()
    }
}

impl FromOptions for Nats {
    type Options = Options;

    fn from_options(options: Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self::of(options))
    }
}

/// Builds a [`Nats`]. See [`Options`] for what each value means and its default.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct NatsBuilder {
    options: Options,
}

impl NatsBuilder {
    /// See [`Options::carry`].
    pub fn carry(mut self, carry: Carry) -> Self {
        self.options.carry = carry;
        self
    }

    /// See [`Options::carry_limit`].
    pub fn carry_limit(mut self, messages: usize) -> Self {
        self.options.carry_limit = messages;
        self
    }

    /// See [`Options::discover`].
    pub fn discover(mut self, discover: bool) -> Self {
        self.options.discover = discover;
        self
    }

    /// See [`Options::discover_interval`].
    pub fn discover_interval(mut self, interval: Duration) -> Self {
        self.options.discover_interval = interval;
        self
    }

    /// See [`Options::overlap`].
    pub fn overlap(mut self, overlap: Duration) -> Self {
        self.options.overlap = overlap;
        self
    }

    /// See [`Options::subscription_capacity`].
    pub fn subscription_capacity(mut self, messages: usize) -> Self {
        self.options.subscription_capacity = messages;
        self
    }

    /// See [`Options::client_capacity`].
    pub fn client_capacity(mut self, messages: usize) -> Self {
        self.options.client_capacity = messages;
        self
    }

    /// Fails with [`ErrorKind::Config`](backend_api::ErrorKind::Config) where an option cannot be used.
    pub fn build(self) -> Result<Nats, Error> {
        Nats::from_options(self.options)
    }
}

/// How long what was published before a planned move gets to reach the server, so that nothing published after it
/// overtakes it.
const TAIL: Duration = Duration::from_millis(100);

/// That, or a quarter of an operation's time where it is shorter: a promotion has as long as a proof, and an old active
/// that went silent must not use it up. The new one would be taken for the one that does not answer.
fn tail(from: &Connection) -> Duration {
    TAIL.min(from.operation() / 4)
}

#[async_trait]
impl Backend for Nats {
    type Settings = Settings;
    type Connection = Connection;
    type Client = FailoverClient;

    fn client(&self, slot: Slot<Connection>) -> FailoverClient {
        FailoverClient::new(slot, self.shared.clone())
    }

    async fn connect(&self, dial: Dial<'_, Settings>) -> Result<Connection, Error> {
        let target = Target::parse(&dial.member.settings)?;
        let signals = dial.signals;
        let voice = |address: &crate::target::Address, state| {
            Voice::new(signals.clone(), address.to_string(), state)
        };
        let opened = connect::open(&target, &self.shared.options, dial.timeout, voice).await?;
        let connection = Connection::new(
            opened,
            target,
            &self.shared.options,
            signals.clone(),
            dial.operation,
        );
        if connection.server_info().lame_duck_mode {
            connection.lame_duck();
        }
        self.shared.registry.opened(&connection);
        keeping::start(&connection, &self.shared, &dial.member.settings);
        Ok(connection)
    }

    async fn prove(&self, connection: &Connection) -> Result<(), Error> {
        connection.round_trip().await
    }

    async fn arm(&self, connection: &Connection) -> Result<(), Error> {
        self.shared.registry.arm(connection).await
    }

    async fn promote(&self, to: &Connection, from: Option<&Connection>) -> Result<(), Error> {
        let promotion = self.shared.registry.promote(to, from).await?;
        let gate = Gate::close(from, &self.shared);
        let mut patience = Duration::ZERO;
        if let Some(from) = from
            && timeout(tail(from), keeping::settle(from, &self.shared)).await == Ok(true)
        {
            patience = tail(from);
        }
        // Others: after two moves at once, and where a promotion that was called off has carried something over already.
        let others = self.shared.pending.owing_besides(to);
        let settling = others
            .iter()
            .map(|other| timeout(tail(other), keeping::settle(other, &self.shared)));
        join_all(settling).await;
        // If there is a lot of it, or somebody does not answer, the rest follows behind the move.
        if self.shared.pending.owing_besides(to).is_empty()
            && let Ok(carried) = timeout(tail(to), self.shared.carry_to(to)).await
        {
            carried?;
        }
        promotion.take(patience).await?;
        if to.has_ended() {
            return Err(to.interrupted());
        }
        promotion.done();
        gate.pass();
        open(to, &self.shared);
        Ok(())
    }

    async fn drain(&self, connection: &Connection, leases: Leases) {
        // It is, unless it never got the traffic, or somebody published here after it was ready to move.
        connection.outbound().close();
        // Both fail with the connection only, which then has nothing left to hand over.
        let _ = self
            .shared
            .registry
            .leave(connection, self.shared.options.overlap)
            .await;
        leases.ended().await;
        let _ = connection.confirm().await;
    }

    async fn retire(&self, connection: Connection) {
        connection
            .retire(self.shared.registry.farewell(&connection))
            .await;
        self.shared.pending.collect(&connection).await;
        // Where it was promoted and never got the traffic, that goes on where it was.
        if let Some(kept) = self.shared.registry.forget(&connection) {
            open(&kept, &self.shared);
        }
    }

    fn identity(&self, connection: &Connection) -> Option<String> {
        Some(connection.server_info().server_id.clone())
    }

    fn capabilities(&self) -> Capabilities {
        let all = Capabilities::new()
            .announcing_lame_duck()
            .serving_again_after_drain()
            .promoting_ahead();
        if self.shared.options.discover {
            all.discovering_members()
        } else {
            all
        }
    }

    fn validate(&self, settings: &Settings) -> Result<(), Error> {
        Target::parse(settings).map(drop)
    }
}

/// Messages are taken, as soon as nothing older is on its way.
fn open(connection: &Connection, shared: &Arc<Shared>) {
    connection.outbound().open();
    if !shared.pending.is_clear_for(connection) {
        keeping::catch_up(connection, shared);
    }
}

/// While the traffic moves nothing is published on the old connection: it would be overtaken, or overtake.
struct Gate<'a> {
    from: Option<&'a Connection>,
    shared: &'a Arc<Shared>,
}

impl<'a> Gate<'a> {
    fn close(from: Option<&'a Connection>, shared: &'a Arc<Shared>) -> Self {
        if let Some(from) = from {
            from.outbound().close();
        }
        Self { from, shared }
    }

    /// The traffic moves.
    fn pass(mut self) {
        if let Some(from) = self.from.take() {
            from.outbound().pass();
        }
    }
}

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        if let Some(from) = self.from {
            open(from, self.shared);
        }
    }
}
