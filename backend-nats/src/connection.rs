//! One connection to one server: the client, the runtime that it lives on, and what is kept of what it publishes.
//!
//! Ending the runtime closes the socket, whoever still holds a clone; that is what retiring is. Nothing here decides
//! whether a connection should end.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::{Client, Request, RequestErrorKind, ServerInfo};
use backend_api::{Error, ErrorKind, Generation, MemberName, Signals};
use bytes::Bytes;

use crate::config::{Options, Settings};
use crate::connect::{Opened, Own, State};
use crate::echo::Echo;
use crate::outbound::Outbound;
use crate::target::{Address, Target};

/// A live link to a server. All clones are the same link.
#[derive(Clone)]
pub struct Connection {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    server: ServerInfo,
    address: Address,
    target: Target,
    state: Arc<State>,
    signals: Signals<Settings>,
    runtime: Mutex<Option<Own>>,
    outbound: Outbound,
    echo: Echo,
    operation: Duration,
}

/// How long what was published gets to leave a connection that is ended.
const FAREWELL: Duration = Duration::from_millis(50);
/// How long the end of the client's task is waited for. It takes well below a millisecond.
const GONE: Duration = Duration::from_secs(1);

impl Connection {
    pub(crate) fn new(
        opened: Opened,
        target: Target,
        options: &Options,
        signals: Signals<Settings>,
        operation: Duration,
    ) -> Self {
        let Opened {
            client,
            runtime,
            address,
            state,
        } = opened;
        Self {
            inner: Arc::new(Inner {
                server: client.server_info(),
                outbound: Outbound::new(&client, options, operation),
                echo: Echo::new(client.new_inbox()),
                client,
                address,
                target,
                state,
                signals,
                runtime: Mutex::new(Some(runtime)),
                operation,
            }),
        }
    }

    /// The client of async-nats on this connection. It ends with the connection, and what is published on it is not
    /// carried over.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// What the server said about itself when the connection was opened.
    pub fn server_info(&self) -> &ServerInfo {
        &self.inner.server
    }

    /// The member that the connection belongs to.
    pub fn member(&self) -> &MemberName {
        self.inner.signals.member()
    }

    /// The connection's number.
    pub fn generation(&self) -> Generation {
        self.inner.signals.generation()
    }

    pub(crate) fn address(&self) -> &Address {
        &self.inner.address
    }

    pub(crate) fn target(&self) -> &Target {
        &self.inner.target
    }

    pub(crate) fn signals(&self) -> &Signals<Settings> {
        &self.inner.signals
    }

    pub(crate) fn state(&self) -> &Arc<State> {
        &self.inner.state
    }

    pub(crate) fn outbound(&self) -> &Outbound {
        &self.inner.outbound
    }

    pub(crate) fn echo(&self) -> &Echo {
        &self.inner.echo
    }

    /// How long one operation may take.
    pub(crate) fn operation(&self) -> Duration {
        self.inner.operation
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.inner.state.has_ended()
    }

    /// Asks the server and waits for its answer: everything that was sent on this connection before has been handled by the
    /// server then, and everything that the server sent before has been read. Without a deadline; cancel-safe.
    ///
    /// A request to a subject to which nobody listens, since the client offers no PING and its `flush` ends in the kernel.
    pub(crate) async fn round_trip(&self) -> Result<(), Error> {
        let subject = &self.inner.target.probe_subject;
        let request = Request::new().payload(Bytes::new()).timeout(None);
        let asked = self.inner.client.send_request(subject.clone(), request);
        tokio::select! {
            answer = asked => match answer {
                Ok(_) => {
                    self.inner.outbound.answered();
                    Ok(())
                }
                Err(error) if error.kind() == RequestErrorKind::NoResponders => {
                    self.inner.outbound.answered();
                    Ok(())
                }
                Err(error) if error.kind() == RequestErrorKind::TimedOut => {
                    Err(Error::new(ErrorKind::Timeout, format!("{} does not answer", self.address())))
                }
                Err(_) => Err(self.interrupted()),
            },
            words = self.inner.state.forbids(subject.as_str()) => Err(Error::new(
                ErrorKind::Auth,
                format!("{} forbids the probe: {words}; allow it, or set probe_subject to a subject that is allowed", self.address()),
            )),
        }
    }

    /// The same, bounded.
    pub(crate) async fn round_trip_within(&self, time: Duration) -> Result<(), Error> {
        self.within(time, self.round_trip()).await
    }

    async fn within(
        &self,
        time: Duration,
        asked: impl Future<Output = Result<(), Error>>,
    ) -> Result<(), Error> {
        tokio::time::timeout(time, asked)
            .await
            .unwrap_or_else(|_elapsed| {
                Err(Error::new(
                    ErrorKind::Timeout,
                    format!("{} did not answer within {time:?}", self.address()),
                ))
            })
    }

    /// The same, behind everything that was published before, wherever that was. Bounded by the time of an operation.
    pub(crate) async fn flush(&self) -> Result<(), Error> {
        let asked = async {
            self.outbound().has_caught_up().await;
            self.round_trip().await
        };
        self.within(self.operation(), asked).await
    }

    /// The same, after which nothing need be kept of what was published before: the server has it.
    pub(crate) async fn confirm(&self) -> Result<(), Error> {
        let newest = self.outbound().newest();
        self.round_trip().await?;
        self.outbound().confirmed(newest);
        Ok(())
    }

    /// The member announced its shutdown.
    pub(crate) fn lame_duck(&self) {
        self.inner.state.lame_duck(&self.inner.signals);
    }

    /// Runs a task that ends with the connection at the latest.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &*self.runtime() {
            runtime.spawn(task);
        }
    }

    /// Ends client, tasks and socket. When it returns they are gone.
    ///
    /// What was published just before gets its chance, and `farewell`; a server that is stuck gets no more than a moment, and
    /// none where a promotion waits for what this connection leaves behind.
    pub(crate) async fn retire(&self, farewell: impl Future<Output = ()>) {
        self.inner.state.retiring();
        if !self.has_ended() {
            let said = async {
                farewell.await;
                if self.inner.outbound.holds_any() {
                    let _ = self.confirm().await;
                }
            };
            tokio::select! {
                _ = tokio::time::timeout(FAREWELL, said) => {}
                () = self.inner.state.hurried() => {}
            }
        }
        self.inner.state.retire();
        drop(self.runtime().take());
        self.ended().await;
    }

    /// It has ended, or the engine is about to end it.
    pub(crate) fn is_going(&self) -> bool {
        self.inner.state.is_going()
    }

    /// Ends a connection that the traffic has left and whose server does not answer. The engine hears that it is lost.
    pub(crate) fn cut_off(&self, why: Error) {
        self.inner.signals.lost(why);
        drop(self.runtime().take());
    }

    /// Waits until a connection that is [going](Self::is_going) has gone, and hurries it. Whether it has.
    pub(crate) async fn gone(&self) -> bool {
        self.inner.state.hurry();
        self.ended().await
    }

    /// Waits until the client's task is gone, after which it takes nothing more out of its channel. Bounded.
    async fn ended(&self) -> bool {
        let gone = self.inner.state.gone();
        tokio::time::timeout(GONE, gone).await.is_ok()
    }

    /// The error of an operation that the end of this connection interrupted.
    pub(crate) fn interrupted(&self) -> Error {
        if self.inner.state.is_retired() {
            Error::new(
                ErrorKind::Retired,
                format!("the connection to {} was retired", self.address()),
            )
        } else {
            Error::new(
                ErrorKind::Lost,
                format!("the connection to {} ended", self.address()),
            )
        }
    }

    fn runtime(&self) -> std::sync::MutexGuard<'_, Option<Own>> {
        self.inner
            .runtime
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("member", self.member())
            .field("generation", &self.generation())
            .field("address", &format_args!("{}", self.address()))
            .field("server_id", &self.inner.server.server_id)
            .finish_non_exhaustive()
    }
}
