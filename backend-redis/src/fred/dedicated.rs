//! Clients of their own: for blocking commands, which would hold up everything behind them on the shared one.
//!
//! They belong to a connection and end with it. One that is dropped is closed: whoever is done with one, and sure that
//! nothing is under way on it, gives it back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::fred::clients::Client;
use backend_api::{Error, ErrorKind};
use tokio::sync::oneshot;

use super::connect::{Connector, Opened};
use super::state::State;
use crate::tasks::Tasks;

/// One dedicated client. Dropping it closes its socket, so that a cancelled BLPOP pops nothing afterwards.
pub(super) struct Dedicated {
    pub(super) client: Arc<Client>,
    /// Whoever watches over the client ends it when this is dropped, and drops its own end when the client has ended.
    held: oneshot::Sender<()>,
}

impl Dedicated {
    pub(super) fn has_ended(&self) -> bool {
        self.held.is_closed()
    }

    /// When the client has ended by itself.
    pub(super) async fn over(&mut self) {
        self.held.closed().await;
    }
}

/// Those that are kept for the next blocking command. More are opened as needed and closed after use.
#[derive(Default)]
pub(super) struct Idle(Mutex<Vec<Dedicated>>);

/// How many are kept.
const IDLE: usize = 8;

impl Idle {
    /// One that still lives, if there is one.
    pub(super) fn take(&self) -> Option<Dedicated> {
        let mut idle = self.clients();
        std::iter::from_fn(|| idle.pop()).find(|dedicated| !dedicated.has_ended())
    }

    pub(super) fn keep(&self, dedicated: Dedicated) {
        let mut idle = self.clients();
        if !dedicated.has_ended() && idle.len() < IDLE {
            idle.push(dedicated);
        }
    }

    pub(super) fn clear(&self) {
        self.clients().clear();
    }

    /// A poisoned lock holds nothing half-done here.
    fn clients(&self) -> MutexGuard<'_, Vec<Dedicated>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens one, in a task of the connection, so that retiring ends also the attempt. `None` where the connection ended first.
/// Cancel-safe.
pub(super) async fn open(
    tasks: &Tasks,
    state: &Arc<State>,
    connector: &Arc<Connector>,
) -> Option<Result<Dedicated, Error>> {
    let (sender, receiver) = oneshot::channel();
    tasks.spawn(watch(state.clone(), connector.clone(), sender))?;
    receiver.await.ok()
}

/// Opens a client and watches over it.
async fn watch(
    state: Arc<State>,
    connector: Arc<Connector>,
    mut asked: oneshot::Sender<Result<Dedicated, Error>>,
) {
    let opened = tokio::select! {
        opened = state.until_end(dial(&connector)) => opened,
        () = asked.closed() => None,
    };
    let (client, mut task) = match opened {
        None => return,
        Some(Err(error)) => {
            let _ = asked.send(Err(error));
            return;
        }
        Some(Ok(Opened { client, task, .. })) => (client, task),
    };
    let (held, mut released) = oneshot::channel();
    if asked
        .send(Ok(Dedicated {
            client: Arc::new(client),
            held,
        }))
        .is_ok()
    {
        let _retired = state
            .until_end(async {
                tokio::select! {
                    () = task.over() => {}
                    _dropped = &mut released => {}
                }
            })
            .await;
    }
    released.close();
    task.end().await;
}

async fn dial(connector: &Connector) -> Result<Opened, Error> {
    // An operation waits for it, and a dial may be given more time than an operation.
    let timeout = connector.dial.min(connector.operation);
    // Its commands say themselves how long they take.
    let opened = tokio::time::timeout(timeout, connector.open(Duration::ZERO)).await;
    opened.unwrap_or_else(|_elapsed| {
        Err(Error::new(
            ErrorKind::Timeout,
            format!(
                "{} did not open another connection within {timeout:?}",
                connector.target.address
            ),
        ))
    })
}
