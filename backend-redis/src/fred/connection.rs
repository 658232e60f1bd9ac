//! One connection to one member: the shared client, the dedicated ones, the socket of the subscriptions, and the tasks that
//! watch over them.
//!
//! The tasks are owned here and by nobody else. Ending them closes the sockets, whoever still holds a clone of a client;
//! that is what retiring is. Nothing here decides whether a connection should end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::fred::clients::Client;
use ::fred::interfaces::ClientLike;
use backend_api::{Error, ErrorKind, Signals};

use super::connect::{Connector, Opened};
use super::dedicated::{self, Dedicated, Idle};
use super::state::{PLACES, State, place};
use crate::address::Address;
use crate::settings::Settings;
use crate::subscriptions::{Feed, Keeper, Origin, Registry};
use crate::tasks::Tasks;

/// A live link to a member through fred. All clones are the same link.
#[derive(Clone)]
pub struct FredConnection {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    /// What operations are lent: the count of a client is one word, written twice for each operation, and right beside what
    /// everybody reads. Threads count at places of their own.
    lent: [Lent; PLACES],
    connector: Arc<Connector>,
    signals: Signals<Settings>,
    state: Arc<State>,
    /// Each ends the client that it watches over before it ends itself.
    tasks: Tasks,
    idle: Idle,
    feed: Arc<Feed>,
    /// The keeper of the feed. Unlike the other tasks it is ended by retiring alone, and by being aborted.
    listening: Tasks,
    /// It was started.
    kept: AtomicBool,
    prove: Duration,
    heartbeat: Duration,
    #[cfg(feature = "lag-aware")]
    rest: crate::check::lag_aware::session::Session,
}

/// What comes of a dial beside the client.
pub(super) struct Terms {
    pub(super) signals: Signals<Settings>,
    /// How long a proof or a promotion may take.
    pub(super) prove: Duration,
    /// What is subscribed to where this is the active.
    pub(super) registry: Arc<Registry>,
    /// How often the socket of the subscriptions is asked whether it lives.
    pub(super) heartbeat: Duration,
}

#[repr(align(128))]
struct Lent(Arc<Client>);

/// How long a retired client may take to take its leave. It waits for what is in flight, which a silent server never
/// answers; and only this way fred ends the streams that applications have of it.
const FAREWELL: Duration = Duration::from_millis(5);

impl FredConnection {
    /// Takes over a client that was just opened. From here on its end is told through `signals`.
    pub(super) fn start(connector: Arc<Connector>, opened: Opened, terms: Terms) -> Self {
        let signals = terms.signals;
        let state = Arc::<State>::default();
        let origin = Origin {
            member: signals.member().clone(),
            generation: signals.generation(),
        };
        let feed = Arc::new(Feed::new(terms.registry, origin, connector.operation));
        let Opened {
            client,
            mut task,
            mut errors,
        } = opened;
        let tasks = Tasks::default();
        tasks.spawn({
            let (state, signals) = (state.clone(), signals.clone());
            let address = connector.target.address.clone();
            async move {
                // Whichever comes first: what fred says before it gives the socket up, or the end of its task, which a panic
                // brings about as well.
                let _retired = state
                    .until_end(async {
                        tokio::select! {
                            () = task.over() => {}
                            _error = errors.recv() => {}
                        }
                    })
                    .await;
                state.end();
                if !state.is_retired() {
                    signals.lost(lost(&address));
                }
                task.end().await;
            }
        });
        Self {
            inner: Arc::new(Inner {
                lent: std::array::from_fn(|_| Lent(Arc::new(client.clone()))),
                client,
                connector,
                signals,
                state,
                tasks,
                idle: Idle::default(),
                feed,
                listening: Tasks::default(),
                kept: AtomicBool::new(false),
                prove: terms.prove,
                heartbeat: terms.heartbeat,
                #[cfg(feature = "lag-aware")]
                rest: crate::check::lag_aware::session::Session::default(),
            }),
        }
    }

    /// The shared client, for an operation.
    pub(super) fn lend(&self) -> Arc<Client> {
        self.inner.lent[place()].0.clone()
    }

    /// The shared client.
    pub(super) fn client(&self) -> &Client {
        &self.inner.client
    }

    pub(super) fn signals(&self) -> &Signals<Settings> {
        &self.inner.signals
    }

    #[cfg(feature = "lag-aware")]
    pub(super) fn connector(&self) -> &Arc<Connector> {
        &self.inner.connector
    }

    pub(super) fn address(&self) -> &Address {
        &self.inner.connector.target.address
    }

    pub(super) fn state(&self) -> &Arc<State> {
        &self.inner.state
    }

    /// How long a promotion may take.
    pub(super) fn prove(&self) -> Duration {
        self.inner.prove
    }

    /// Its part in pub/sub.
    pub(super) fn feed(&self) -> &Arc<Feed> {
        &self.inner.feed
    }

    /// What the check `lag-aware` keeps between two probes.
    #[cfg(feature = "lag-aware")]
    pub(super) fn rest(&self) -> &crate::check::lag_aware::session::Session {
        &self.inner.rest
    }

    /// Starts the task that keeps the feed, once. Most connections never need it.
    pub(super) fn keep_feed(&self) {
        if self.inner.kept.swap(true, Ordering::AcqRel) {
            return;
        }
        let connector = self.inner.connector.clone();
        // It holds no clone of the connection: it would hold itself.
        let keeper = Keeper {
            feed: self.inner.feed.clone(),
            signals: self.inner.signals.clone(),
            open: connector.dial.min(connector.operation),
            operation: connector.operation,
            heartbeat: self.inner.heartbeat,
            connector,
        };
        self.inner.listening.spawn(keeper.run());
    }

    /// Runs a task that ends, by itself, when the connection does. `false` once it is retired.
    #[cfg(feature = "lag-aware")]
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> bool {
        self.inner.tasks.spawn(task).is_some()
    }

    /// A dedicated client: an idle one, or one that is opened now. Cancel-safe.
    pub(super) async fn dedicated(&self) -> Result<Dedicated, Error> {
        if let Some(idle) = self.inner.idle.take() {
            return Ok(idle);
        }
        let inner = &self.inner;
        dedicated::open(&inner.tasks, &inner.state, &inner.connector)
            .await
            .unwrap_or_else(|| Err(self.interrupted()))
    }

    /// Keeps a dedicated client, on which nothing is under way, for the next who needs one.
    pub(super) fn keep(&self, dedicated: Dedicated) {
        if !self.inner.state.has_ended() {
            self.inner.idle.keep(dedicated);
        }
    }

    /// Ends every socket and task of the connection. When it returns they are closed.
    pub(super) async fn retire(&self) {
        let had_ended = self.inner.state.has_ended();
        self.inner.state.retire();
        if !had_ended {
            let _ = tokio::time::timeout(FAREWELL, self.inner.client.quit()).await;
        }
        self.inner.state.end();
        let tasks = self.inner.tasks.close();
        self.inner.idle.clear();
        self.inner.listening.end().await;
        self.inner.feed.end();
        if let Some(mut tasks) = tasks {
            // Each aborts its client and waits until that is gone. Bounded: no client of fred blocks its thread.
            while tasks.join_next().await.is_some() {}
        }
    }

    /// The error of an operation that the end of this connection interrupted.
    pub(super) fn interrupted(&self) -> Error {
        if self.inner.state.is_retired() {
            Error::new(
                ErrorKind::Retired,
                format!("the connection to {} was retired", self.address()),
            )
        } else {
            lost(self.address())
        }
    }
}

impl std::fmt::Debug for FredConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FredConnection")
            .field("member", self.signals().member())
            .field("generation", &self.signals().generation())
            .field("address", &format_args!("{}", self.address()))
            .field("ended", &self.inner.state.has_ended())
            .finish_non_exhaustive()
    }
}

fn lost(address: &Address) -> Error {
    Error::new(
        ErrorKind::Lost,
        format!("the connection to {address} ended"),
    )
}
