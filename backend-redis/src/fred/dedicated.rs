//! Clients of their own: for blocking commands, which would hold up everything behind them on the shared one.
//!
//! They belong to a [`FredConnection`] and end with it. One that is dropped is closed: whoever is done with one, and sure
//! that nothing is under way on it, gives it back with [`FredConnection::keep`].

use std::sync::Arc;
use std::time::Duration;

use ::fred::clients::Client;
use backend_api::{Error, ErrorKind};
use tokio::sync::oneshot;

use super::connect::Opened;
use super::connection::FredConnection;

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

/// Takes an idle dedicated client of `connection`, or opens one. Cancel-safe.
pub(super) async fn lease(connection: &FredConnection) -> Result<Dedicated, Error> {
    if let Some(idle) = connection.take_idle() {
        return Ok(idle);
    }
    let (sender, receiver) = oneshot::channel();
    let spawned = connection.spawn(watch(connection.clone(), sender));
    if !spawned {
        return Err(connection.interrupted());
    }
    receiver.await.map_err(|_ended| connection.interrupted())?
}

/// Opens a client and watches over it: a task of the connection, so that retiring ends also the attempt.
async fn watch(connection: FredConnection, mut asked: oneshot::Sender<Result<Dedicated, Error>>) {
    let state = connection.state().clone();
    let opened = tokio::select! {
        opened = state.until_end(open(&connection)) => opened,
        () = asked.closed() => None,
    };
    // It holds the connection's tasks, and is held by them.
    drop(connection);
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

async fn open(connection: &FredConnection) -> Result<Opened, Error> {
    let connector = connection.connector();
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
