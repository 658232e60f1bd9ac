//! A server of the world: its data, what it counted, and the ways in for the backend.
//!
//! Its faults are in [`faults`](super::faults). A test's own look at the data goes past every fault: it is the test's
//! hand in the machine, not an operation.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Dial, Error, ErrorKind};
use tokio::sync::watch;

use super::faults::Method;
use super::line::Line;
use super::state::{State, Tally};
use super::{Connection, Settings};

struct Shared {
    at: String,
    state: watch::Sender<State>,
}

/// One server of a [`World`](super::World). Cheap to clone; all clones are the same server.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    pub(super) fn new(at: &str) -> Self {
        Self {
            shared: Arc::new(Shared {
                at: at.to_owned(),
                state: watch::Sender::new(State::new()),
            }),
        }
    }

    /// Its address.
    pub fn at(&self) -> &str {
        &self.shared.at
    }

    /// Whether its process runs, frozen or not.
    pub fn is_up(&self) -> bool {
        self.look(|state| state.up)
    }
}

/// The data. It belongs to the server and outlives its death.
impl Server {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        self.look(|state| state.store.get(key))
    }

    /// Sets a key.
    pub fn set(&self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        self.touch(|state| state.store.set(key, value));
    }

    /// Counts a key up and says how far; an absent one counts from zero. [`ErrorKind::Other`] if its value is no
    /// number.
    pub fn incr(&self, key: &str) -> Result<i64, Error> {
        self.touch(|state| state.store.incr(key))
    }

    /// Removes a key; false if there was none.
    pub fn del(&self, key: &str) -> bool {
        self.touch(|state| state.store.del(key))
    }
}

/// What it counted since it was created, over deaths and starts.
impl Server {
    /// Dials begun, whatever came of them.
    pub fn dials(&self) -> u64 {
        self.tally().dials
    }

    /// Connections that were opened.
    pub fn connections_ever(&self) -> u64 {
        self.tally().connections_ever
    }

    /// Connections that are open: neither lost nor retired, held by anybody or not.
    pub fn open_connections(&self) -> usize {
        self.look(State::open_connections)
    }

    /// Connections that the engine retired.
    pub fn retired(&self) -> u64 {
        self.tally().retired
    }

    /// Connections that the engine has yet to retire, lost ones included.
    pub fn unretired(&self) -> u64 {
        let tally = self.tally();
        tally.connections_ever - tally.retired
    }

    /// How often a connection was retired that had been retired before. Always zero, or the engine has a bug.
    pub fn retired_again(&self) -> u64 {
        self.tally().retired_again
    }

    /// Proofs begun.
    pub fn proofs(&self) -> u64 {
        self.tally().proofs
    }

    /// Probes begun of the check [`Status`](super::Status).
    pub fn checks(&self) -> u64 {
        self.tally().checks
    }

    /// Operations that arrived, whatever they were answered.
    pub fn operations(&self) -> u64 {
        self.tally().operations
    }

    /// Connections that became a standby.
    pub fn armed(&self) -> u64 {
        self.tally().armed
    }

    /// Connections that were promoted.
    pub fn promoted(&self) -> u64 {
        self.tally().promoted
    }

    /// Drains begun.
    pub fn drained(&self) -> u64 {
        self.tally().drained
    }

    fn tally(&self) -> Tally {
        self.look(|state| state.tally)
    }
}

/// Ways in for the backend.
impl Server {
    pub(super) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.shared.state.borrow())
    }

    /// Changes what nobody waits for.
    pub(super) fn touch<T>(&self, touch: impl FnOnce(&mut State) -> T) -> T {
        let mut touched = None;
        self.shared.state.send_if_modified(|state| {
            touched = Some(touch(state));
            false
        });
        touched.expect("the channel calls the closure")
    }

    /// Changes what dials may wait for.
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        self.shared.state.send_modify(change);
    }

    /// Panics where a test wants a panic. No lock is held then.
    pub(super) fn enter(&self, method: Method) {
        assert!(
            !self.look(|state| state.faults.panics(method)),
            "{} panics in {method:?}, as it was told to",
            self.at()
        );
    }

    pub(super) fn delay(&self, method: Method) -> Duration {
        self.look(|state| state.faults.delay(method))
    }

    /// One handshake, without a bound of its own. Nothing is left of it if it is dropped.
    pub(super) async fn accept(&self, dial: &Dial<'_, Settings>) -> Result<Connection, Error> {
        self.touch(|state| state.tally.dials += 1);
        self.enter(Method::Connect);
        let mut states = self.shared.state.subscribe();
        let (deaths, takes) = {
            let state = states.borrow();
            state.admit(self.at())?;
            let delay = state.faults.delay(Method::Connect);
            (state.deaths, delay.saturating_add(state.faults.latency))
        };
        tokio::select! {
            biased;
            _ = states.wait_for(|state| state.deaths != deaths) => return Err(self.died()),
            () = pause(takes) => {}
        }
        loop {
            // Every change up to here is either seen already or still wakes the wait below: none is missed.
            if let Some(line) = self.touch(|state| self.greet(state, deaths, dial)) {
                return line.map(|line| Connection::new(self.clone(), line, dial.operation));
            }
            if states.changed().await.is_err() {
                return Err(self.died());
            }
        }
    }

    /// The end of a handshake, or `None` while the server is silent.
    fn greet(
        &self,
        state: &mut State,
        deaths: u64,
        dial: &Dial<'_, Settings>,
    ) -> Option<Result<Arc<Line>, Error>> {
        if state.deaths != deaths {
            return Some(Err(self.died()));
        }
        if state.faults.frozen {
            return None;
        }
        if state.faults.refuse_credentials {
            let reason = format!("{} does not accept the credentials", self.at());
            return Some(Err(Error::new(ErrorKind::Auth, reason)));
        }
        Some(Ok(state.open(dial.signals.clone())))
    }

    fn died(&self) -> Error {
        let reason = format!("{} died during the handshake", self.at());
        Error::new(ErrorKind::Lost, reason)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // No data: it may be anything, and this ends up in logs.
        self.look(|state| {
            f.debug_struct("Server")
                .field("at", &self.at())
                .field("up", &state.up)
                .field("faults", &state.faults)
                .field("tally", &state.tally)
                .finish_non_exhaustive()
        })
    }
}

/// Takes time only if it is told to: the shortest sleep is a whole tick of tokio's clock.
pub(super) async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}
