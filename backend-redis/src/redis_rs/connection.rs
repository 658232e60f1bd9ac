//! One connection to one member: the shared socket, the dedicated ones, and the tasks that move their bytes.
//!
//! The tasks are owned here and by nobody else. Ending them closes the sockets, whoever still holds a clone; that is what
//! retiring is. Nothing here decides whether a connection should end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backend_api::{Error, ErrorKind, Signals};
use tokio::task::AbortHandle;

use crate::address::Address;
use crate::redis_rs::connect::{Connector, Driver};
use crate::redis_rs::dedicated::{self, Dedicated, Idle, NotOpened};
use crate::redis_rs::line::Line;
use crate::redis_rs::link::Link;
use crate::replication::Noted;
use crate::settings::Settings;
use crate::subscriptions::{Feed, Keeper, Origin, Registry};
use crate::tasks::Tasks;

/// A live link to a member. All clones are the same link.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    line: Arc<Line>,
    signals: Signals<Settings>,
    tasks: Arc<Tasks>,
    idle: Idle,
    dial_timeout: Duration,
    operation: Duration,
    prove: Duration,
    db: i64,
    feed: Arc<Feed>,
    heartbeat: Duration,
    /// The keeper of the feed was started.
    kept: AtomicBool,
    noted: Arc<Noted>,
    #[cfg(feature = "lag-aware")]
    rest: crate::check::lag_aware::session::Session,
    /// What is ended besides the tasks.
    ending: Mutex<Option<Ending>>,
}

/// Blocks for a moment.
pub(crate) type Ending = Box<dyn FnOnce() + Send>;

/// What a dial says about the connection that comes of it.
pub(crate) struct Terms {
    pub(crate) signals: Signals<Settings>,
    /// How long opening a further socket to the member may take.
    pub(crate) dial: Duration,
    /// How long one command may take; blocking ones this long beyond their own timeout.
    pub(crate) operation: Duration,
    /// How long a proof or a promotion may take.
    pub(crate) prove: Duration,
    /// What is subscribed to where this is the active.
    pub(crate) registry: Arc<Registry>,
    /// How often the socket of the subscriptions is asked whether it lives.
    pub(crate) heartbeat: Duration,
}

/// Lives in the task of a shared socket and speaks when that ends: also by a panic of the driver, which a line behind its
/// `await` would miss. Where the member follows its master, the line is all that it tells.
struct Watchman {
    line: Arc<Line>,
    revision: u64,
    signals: Signals<Settings>,
    address: Address,
}

impl Drop for Watchman {
    fn drop(&mut self) {
        self.line.end(self.revision);
        if !self.line.follows() && !self.line.is_retired() {
            self.signals.lost(lost(&self.address));
        }
    }
}

/// The task of a shared socket.
pub(crate) fn moving(
    line: &Arc<Line>,
    revision: u64,
    signals: &Signals<Settings>,
    driver: Driver,
) -> impl Future<Output = ()> + Send + 'static {
    let watchman = Watchman {
        line: line.clone(),
        revision,
        signals: signals.clone(),
        address: line.address(),
    };
    async move {
        let _watchman = watchman;
        driver.await;
    }
}

/// redis-rs cannot take a response timeout back. No deadline that can be configured is later than this.
const UNBOUNDED: Duration = Duration::from_secs(366 * 24 * 3600);

impl Connection {
    /// Starts moving the bytes of `shared`. From here on its end is told through `signals`.
    pub(crate) fn start(
        connector: Arc<Connector>,
        shared: impl Into<Link>,
        driver: Driver,
        terms: Terms,
    ) -> Self {
        let address = connector.target.address.clone();
        let db = connector.target.db;
        let line = Line::new(shared.into(), address, Some(connector), false);
        Self::over(line, db, Some(driver), terms)
    }

    /// A connection over a line, with the driver of its first socket where that is ours to run.
    pub(crate) fn over(line: Line, db: i64, driver: Option<Driver>, terms: Terms) -> Self {
        let line = Arc::new(line);
        let signals = terms.signals;
        let origin = Origin {
            member: signals.member().clone(),
            generation: signals.generation(),
        };
        let feed = Arc::new(Feed::new(terms.registry, origin, terms.operation));
        let tasks = Arc::<Tasks>::default();
        if let Some(driver) = driver {
            tasks.spawn(moving(&line, 0, &signals, driver));
        }
        Self {
            inner: Arc::new(Inner {
                line,
                signals,
                tasks,
                idle: Idle::default(),
                dial_timeout: terms.dial,
                operation: terms.operation,
                prove: terms.prove,
                db,
                feed,
                heartbeat: terms.heartbeat,
                kept: AtomicBool::new(false),
                noted: Arc::default(),
                #[cfg(feature = "lag-aware")]
                rest: crate::check::lag_aware::session::Session::default(),
                ending: Mutex::default(),
            }),
        }
    }

    /// A handle on the shared socket, for operations: what is sent on it fails after [`operation`](Self::operation).
    pub(crate) fn shared(&self) -> Link {
        self.inner.line.link()
    }

    /// A handle on the shared socket for whoever bounds the time himself. The engine drops proofs and checks at deadlines
    /// of their own, which may well be later than that of an operation.
    pub(crate) fn unbounded(&self) -> Link {
        let mut link = self.shared();
        link.set_response_timeout(UNBOUNDED);
        link
    }

    /// Its present socket, which another may follow.
    pub(crate) fn line(&self) -> &Arc<Line> {
        &self.inner.line
    }

    /// What retiring has to end besides the tasks.
    #[cfg(feature = "cluster")]
    pub(crate) fn ends_with(&self, ending: Ending) {
        *locked(&self.inner.ending) = Some(ending);
    }

    #[cfg(feature = "sentinel")]
    pub(crate) fn tasks(&self) -> &Arc<Tasks> {
        &self.inner.tasks
    }

    pub(crate) fn signals(&self) -> &Signals<Settings> {
        &self.inner.signals
    }

    pub(crate) fn db(&self) -> i64 {
        self.inner.db
    }

    pub(crate) fn address(&self) -> Address {
        self.inner.line.address()
    }

    /// How long one command may take.
    pub(crate) fn operation(&self) -> Duration {
        self.inner.operation
    }

    /// How long a promotion may take.
    pub(crate) fn prove(&self) -> Duration {
        self.inner.prove
    }

    /// Its part in pub/sub.
    pub(crate) fn feed(&self) -> &Arc<Feed> {
        &self.inner.feed
    }

    /// What its server last said that it had acknowledged.
    pub(crate) fn noted(&self) -> &Arc<Noted> {
        &self.inner.noted
    }

    /// What the check `lag-aware` keeps between two probes.
    #[cfg(feature = "lag-aware")]
    pub(crate) fn rest(&self) -> &crate::check::lag_aware::session::Session {
        &self.inner.rest
    }

    /// Starts the task that keeps the feed, once. Most connections never need it.
    pub(crate) fn keep_feed(&self) {
        if self.inner.kept.swap(true, Ordering::AcqRel) {
            return;
        }
        // It holds no clone of the connection: it would hold itself.
        let keeper = Keeper {
            feed: self.inner.feed.clone(),
            connector: self.inner.line.clone(),
            signals: self.inner.signals.clone(),
            open: self.inner.dial_timeout.min(self.inner.operation),
            operation: self.inner.operation,
            heartbeat: self.inner.heartbeat,
        };
        self.spawn(keeper.run());
    }

    /// The shared socket is gone: what is sent from here on certainly does not leave.
    pub(crate) fn has_ended(&self) -> bool {
        self.inner.line.has_ended()
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.inner.line.is_retired()
    }

    /// Runs a task that ends with the connection at the latest. `None` once it is retired.
    pub(crate) fn spawn(
        &self,
        task: impl Future<Output = ()> + Send + 'static,
    ) -> Option<AbortHandle> {
        self.inner.tasks.spawn(task)
    }

    /// A dedicated socket: an idle one, or one that is opened now. Cancel-safe.
    pub(crate) async fn dedicated(&self) -> Result<Dedicated, Error> {
        if let Some(idle) = self.inner.idle.take() {
            return Ok(idle);
        }
        // An operation waits for it, and a dial may be given more time than an operation.
        let bound = self.inner.dial_timeout.min(self.inner.operation);
        dedicated::open(&self.inner.tasks, &self.inner.line, bound)
            .await
            .map_err(|why| match why {
                NotOpened::Ended => self.interrupted(),
                NotOpened::Failed(error) => error,
            })
    }

    /// Keeps a dedicated socket, on which nothing is under way, for the next who needs one.
    pub(crate) fn keep(&self, socket: Dedicated) {
        if !self.has_ended() {
            self.inner.idle.keep(socket);
        }
    }

    /// Ends every socket and task of the connection. When it returns they are closed.
    pub(crate) async fn retire(&self) {
        self.inner.line.retire();
        // Those of the idle dedicated sockets are among them.
        self.inner.tasks.end().await;
        let ending = locked(&self.inner.ending).take();
        if let Some(ending) = ending {
            // It may panic only where a task of redis-rs did, and is over then too.
            let _ = tokio::task::spawn_blocking(ending).await;
        }
        self.inner.feed.end();
    }

    /// The error of an operation that the end of this connection interrupted.
    pub(crate) fn interrupted(&self) -> Error {
        if self.is_retired() {
            Error::new(
                ErrorKind::Retired,
                format!("the connection to {} was retired", self.address()),
            )
        } else if self.inner.line.follows() {
            let text = format!(
                "the connection to {} ended, and the member looks for its next master (member_failover)",
                self.address()
            );
            Error::new(ErrorKind::Lost, text)
        } else {
            lost(&self.address())
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("member", self.signals().member())
            .field("generation", &self.signals().generation())
            .field("address", &format_args!("{}", self.address()))
            .field("ended", &self.has_ended())
            .finish_non_exhaustive()
    }
}

pub(crate) fn lost(address: &Address) -> Error {
    Error::new(
        ErrorKind::Lost,
        format!("the connection to {address} ended"),
    )
}

/// A poisoned lock holds nothing half-done here: the values are replaced as a whole.
fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
