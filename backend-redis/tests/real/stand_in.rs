//! The engine's part, played by hand: dials, fills the slot, listens to the signals.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use backend_api::engine::{Heard, SignalSource, SlotOwner, Tally, signal_channel};
use backend_api::{Backend, Dial, Error, ErrorKind, Generation, Leases, Member, Signal};
use backend_redis::{Connection, FailoverConnection, Redis, RedisBuilder, Settings};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::server::Server;

pub(crate) const WAIT: Duration = Duration::from_millis(600);

pub(crate) struct StandIn<B: Backend<Settings = Settings> = Redis> {
    pub(crate) backend: B,
    source: SignalSource<Settings>,
    pub(crate) heard: UnboundedReceiver<Heard<Settings>>,
    owner: SlotOwner<B::Connection>,
    generation: u64,
    /// `timeouts.operation` of the connections made from here on.
    pub(crate) operation: Duration,
    /// How often the client raised a suspicion.
    pub(crate) suspected: Arc<AtomicUsize>,
}

/// A connected member.
#[derive(Clone, Debug)]
pub(crate) struct Link<C = Connection> {
    pub(crate) name: &'static str,
    pub(crate) generation: Generation,
    pub(crate) connection: C,
}

impl StandIn {
    pub(crate) fn new(builder: RedisBuilder) -> (Self, FailoverConnection) {
        Self::of(builder.build().unwrap())
    }
}

impl<B: Backend<Settings = Settings>> StandIn<B> {
    pub(crate) fn of(backend: B) -> (Self, B::Client) {
        let (source, heard) = signal_channel();
        let reason = Error::new(ErrorKind::NoActive, "east: not connected yet");
        let (owner, slot) = SlotOwner::new(WAIT, reason);
        let client = backend.client(slot);
        let stand_in = Self {
            backend,
            source,
            heard,
            owner,
            generation: 0,
            operation: Duration::from_millis(500),
            suspected: Arc::default(),
        };
        (stand_in, client)
    }

    pub(crate) async fn connect(
        &mut self,
        name: &'static str,
        settings: Settings,
    ) -> Result<Link<B::Connection>, Error> {
        self.generation += 1;
        let generation = Generation(self.generation);
        let member = Member::new(name, settings);
        let signals = self.source.signals(member.name.clone(), generation);
        let dial = Dial::new(&member, generation, signals)
            .with_timeout(Duration::from_secs(1))
            .with_operation(self.operation);
        let connection = self.backend.connect(dial).await?;
        Ok(Link {
            name,
            generation,
            connection,
        })
    }

    /// Connects, proves and activates.
    pub(crate) async fn bring_up(
        &mut self,
        name: &'static str,
        settings: Settings,
    ) -> Link<B::Connection> {
        let link = self.connect(name, settings).await.unwrap();
        self.backend.prove(&link.connection).await.unwrap();
        self.activate(&link);
        link
    }

    pub(crate) fn activate(
        &mut self,
        link: &Link<B::Connection>,
    ) -> (Tally<B::Connection>, Option<Leases>) {
        let suspected = self.suspected.clone();
        let suspect = move || {
            suspected.fetch_add(1, Ordering::SeqCst);
        };
        self.owner.activate(
            &link.name.into(),
            link.generation,
            &link.connection,
            suspect,
        )
    }

    /// Leases taken so far are older than `timeouts.operation` from here on.
    pub(crate) fn age_leases(&mut self) {
        (0..2).for_each(|_| self.owner.tick());
    }

    /// How long a read without an answer waits for another active.
    pub(crate) fn set_verdict_within(&self, time: Duration) {
        self.owner.set_verdict_within(time);
    }

    pub(crate) fn clear(&mut self) {
        let reason = Error::new(ErrorKind::NoActive, "east: killed; west: never there");
        self.owner.clear(reason);
    }

    pub(crate) async fn retire(&self, link: &Link<B::Connection>) {
        let retiring = self.backend.retire(link.connection.clone());
        tokio::time::timeout(Duration::from_secs(1), retiring)
            .await
            .expect("retire is bounded");
    }

    /// The next signal, within a second.
    pub(crate) async fn hear(&mut self) -> Signal<Settings> {
        tokio::time::timeout(Duration::from_secs(1), self.heard.recv())
            .await
            .expect("no signal came")
            .unwrap()
            .take()
            .2
    }
}

/// Two servers, the first one active, the second connected.
pub(crate) struct Pair<B: Backend<Settings = Settings> = Redis> {
    pub(crate) east: Server,
    pub(crate) west: Server,
    pub(crate) engine: StandIn<B>,
    pub(crate) client: B::Client,
    pub(crate) on_east: Link<B::Connection>,
    pub(crate) on_west: Link<B::Connection>,
}

impl Pair {
    pub(crate) async fn start(builder: RedisBuilder) -> Self {
        Self::start_with(builder, Duration::from_millis(500)).await
    }

    pub(crate) async fn start_with(builder: RedisBuilder, operation: Duration) -> Self {
        Self::over(builder.build().unwrap(), operation).await
    }
}

impl<B: Backend<Settings = Settings>> Pair<B> {
    pub(crate) async fn over(backend: B, operation: Duration) -> Self {
        let (east, west) = (Server::start().await, Server::start().await);
        let (mut engine, client) = StandIn::of(backend);
        engine.operation = operation;
        let on_east = engine.bring_up("east", east.settings()).await;
        let on_west = engine.connect("west", west.settings()).await.unwrap();
        engine.backend.prove(&on_west.connection).await.unwrap();
        Self {
            east,
            west,
            engine,
            client,
            on_east,
            on_west,
        }
    }

    /// Makes west active, without ending east.
    pub(crate) fn move_west(&mut self) -> Option<Leases> {
        self.engine.activate(&self.on_west).1
    }
}

pub(crate) fn kind(error: &redis::RedisError) -> ErrorKind {
    FailoverConnection::cause(error)
        .unwrap_or_else(|| panic!("not ours: {error}"))
        .kind()
}
