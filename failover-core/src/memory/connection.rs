//! A connection to a server, and how a request travels over it.
//!
//! A request is on its way for half the latency, acted upon at one instant, and answered after the other half. It
//! can be cut off at any point, and only one thing is certain from outside: what never left was not applied. That is
//! the distinction made here, and the one that the fate of an operation rests on. No decision about repeating one
//! belongs here: that is the client's.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind, Fate};

use super::Server;
use super::command::{Command, Del, Get, Incr, PingServer, Set};
use super::faults::Method;
use super::line::Line;
use super::server::pause;
use super::state::{Delivery, State};

/// A connection to one server. Cheap to clone, and all clones are the same connection: retiring one ends them all.
///
/// Its operations have no bound of their own; [`Client`](super::Client) bounds them. Cancel-safe in so far as a
/// dropped operation leaves nothing behind, but it may have been applied.
#[derive(Clone)]
pub struct Connection {
    server: Server,
    line: Arc<Line>,
    operation: Duration,
}

/// How a request failed without an answer.
pub(super) enum Broken {
    /// The connection had ended before.
    Unsent(Error),
    /// The connection ended before the answer came.
    Unanswered(Error),
}

impl From<Broken> for Error {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Unsent(error) | Broken::Unanswered(error) => error,
        }
    }
}

impl Connection {
    pub(super) fn new(server: Server, line: Arc<Line>, operation: Duration) -> Self {
        Self {
            server,
            line,
            operation,
        }
    }

    /// How long an operation of a client waits for its answer.
    pub(super) fn operation(&self) -> Duration {
        self.operation
    }

    /// The server at its other end.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Whether it is neither lost nor retired, as far as this end can know.
    pub fn is_open(&self) -> bool {
        self.line.end().is_none()
    }

    /// Asks whether the server answers.
    pub async fn ping(&self) -> Result<(), Error> {
        self.call(PingServer).await
    }

    /// The value of a key.
    pub async fn get(&self, key: &str) -> Result<Option<String>, Error> {
        self.call(Get(key.to_owned())).await
    }

    /// Sets a key.
    pub async fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        self.call(Set(key.to_owned(), value.to_owned())).await
    }

    /// Counts a key up and says how far; an absent one counts from zero. [`ErrorKind::Other`] if its value is no
    /// number.
    pub async fn incr(&self, key: &str) -> Result<i64, Error> {
        self.call(Incr(key.to_owned())).await
    }

    /// Removes a key; false if there was none.
    pub async fn del(&self, key: &str) -> Result<bool, Error> {
        self.call(Del(key.to_owned())).await
    }

    /// One operation. Errors name member and operation, and those of writes their fate.
    pub(super) async fn call<C: Command>(&self, command: C) -> Result<C::Answer, Error> {
        let answered = self
            .exchange(Duration::ZERO, move |state| {
                state.tally.operations += 1;
                if C::CAN_FAIL {
                    state.faults.refuse_operation(C::WRITES)?;
                }
                command.run(&mut state.store)
            })
            .await;
        let (error, fate) = match answered {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => (error, Fate::NotApplied),
            Err(Broken::Unsent(error)) => (error, Fate::NotApplied),
            Err(Broken::Unanswered(error)) => (error, Fate::MayHaveBeenApplied),
        };
        if error.kind() == ErrorKind::ReadOnly {
            self.line.signals.condemned(error.clone());
        }
        Err(self.described::<C>(error, fate))
    }

    pub(super) fn described<C: Command>(&self, error: Error, fate: Fate) -> Error {
        let error = self.line.name(error).with_operation(C::NAME);
        if C::WRITES {
            error.with_fate(fate)
        } else {
            error
        }
    }

    /// One of the engine's own round trips, with the delay and the panic that the server has for it.
    pub(super) async fn control<T: Send + 'static>(
        &self,
        method: Method,
        name: &'static str,
        work: impl FnOnce(&mut State) -> Result<T, Error> + Send + Sync + 'static,
    ) -> Result<T, Error> {
        self.server.enter(method);
        let answered = self.exchange(self.server.delay(method), work).await;
        answered
            .map_err(Error::from)
            .flatten()
            .map_err(|error| self.line.name(error).with_operation(name))
    }

    /// One round trip, `delay` longer than usual.
    async fn exchange<T: Send + 'static>(
        &self,
        delay: Duration,
        work: impl FnOnce(&mut State) -> T + Send + Sync + 'static,
    ) -> Result<T, Broken> {
        // A round trip without latency would never give other tasks a turn.
        tokio::task::coop::consume_budget().await;
        if let Some(end) = self.line.end() {
            return Err(Broken::Unsent(end));
        }
        tokio::select! {
            biased;
            end = self.line.ended() => Err(Broken::Unanswered(end)),
            answer = self.travel(delay, work) => Ok(answer),
        }
    }

    /// The way there and back. Never ends if there is no answer.
    async fn travel<T: Send + 'static>(
        &self,
        delay: Duration,
        work: impl FnOnce(&mut State) -> T + Send + Sync + 'static,
    ) -> T {
        let latency = self.server.look(|state| state.faults.latency);
        let there = latency / 2;
        pause(delay.saturating_add(there)).await;
        let answer = match self.server.touch(|state| state.deliver(&self.line, work)) {
            Delivery::Answered(answer) => Some(answer),
            Delivery::Queued(answer) => answer.await.ok(),
            Delivery::Vanished => None,
        };
        let Some(answer) = answer else {
            return std::future::pending().await;
        };
        pause(latency - there).await;
        answer
    }

    pub(super) fn retire(&self) {
        self.server.touch(|state| state.retire(&self.line));
    }

    /// The member that it was dialled for.
    pub(super) fn member(&self) -> &backend_api::MemberName {
        self.line.signals.member()
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("member", self.member())
            .field("generation", &self.line.signals.generation())
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}
