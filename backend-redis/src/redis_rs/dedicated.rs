//! Sockets of their own: for blocking commands, which would hold up everything behind them on a shared socket, and for
//! WATCH, which belongs to a socket.
//!
//! They belong to a connection and end with it. A socket that is dropped is closed: whoever is done with one, and sure
//! that nothing is under way on it, gives it back.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use redis::RedisResult;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::redis_rs::connect::Listener;
use crate::redis_rs::line::Line;
use crate::redis_rs::link::Link;
use crate::tasks::Tasks;

/// One dedicated socket. Dropping it closes it, so that a cancelled BLPOP pops nothing afterwards.
pub(crate) struct Dedicated {
    pub(crate) link: Link,
    task: AbortHandle,
}

impl Dedicated {
    pub(crate) fn has_ended(&self) -> bool {
        self.task.is_finished()
    }
}

impl Drop for Dedicated {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Those that are kept for the next who needs one. More are opened as needed and closed after use.
#[derive(Default)]
pub(crate) struct Idle(Mutex<Vec<Dedicated>>);

/// How many are kept.
const IDLE: usize = 8;

impl Idle {
    /// One that still lives, if there is one.
    pub(crate) fn take(&self) -> Option<Dedicated> {
        let mut idle = self.sockets();
        std::iter::from_fn(|| idle.pop()).find(|socket| !socket.has_ended())
    }

    pub(crate) fn keep(&self, socket: Dedicated) {
        let mut idle = self.sockets();
        if !socket.has_ended() && idle.len() < IDLE {
            idle.push(socket);
        }
    }

    /// A poisoned lock holds nothing half-done here.
    fn sockets(&self) -> MutexGuard<'_, Vec<Dedicated>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why there is none.
pub(crate) enum NotOpened {
    /// The connection that it was to belong to ended first.
    Ended,
    Failed(Error),
}

impl From<Error> for NotOpened {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Opens one, in a task of the connection, so that retiring ends also the attempt. Cancel-safe.
pub(crate) async fn open(
    tasks: &Tasks,
    line: &Arc<Line>,
    bound: Duration,
) -> Result<Dedicated, NotOpened> {
    let (sender, receiver) = oneshot::channel();
    let line = line.clone();
    let now = line.now();
    let connector = now.connector.ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} is several servers, and this needs a connection of its own to one",
                now.address
            ),
        )
    })?;
    let task = tasks
        .spawn(async move {
            let opened = timeout(bound, connector.open(None, Listener::default())).await;
            let driver = match opened {
                Ok(Ok((link, driver))) => {
                    sender.send(Ok(Link::One(link))).is_ok().then_some(driver)
                }
                Ok(Err(error)) => {
                    let _ = sender.send(Err(error));
                    None
                }
                Err(_elapsed) => {
                    let _ = sender.send(Err(Error::new(
                        ErrorKind::Timeout,
                        format!(
                            "{} did not open another connection within {bound:?}",
                            connector.target.address
                        ),
                    )));
                    None
                }
            };
            if let Some(driver) = driver {
                tokio::select! {
                    () = driver => {}
                    // Another server is the master now: what waits on the old one waits in vain.
                    () = line.left(now.revision), if line.follows() => {}
                }
            }
        })
        .ok_or(NotOpened::Ended)?;
    let guard = AbortOnDrop(Some(task));
    let link = receiver.await.map_err(|_aborted| NotOpened::Ended)??;
    Ok(Dedicated {
        link,
        task: guard.disarm(),
    })
}

/// Runs `work` on a socket without a response timeout of its own, for `limit` at most.
pub(crate) async fn bounded<T>(
    limit: Option<Duration>,
    work: impl Future<Output = RedisResult<T>>,
) -> RedisResult<T> {
    match limit {
        None => work.await,
        Some(limit) => match timeout(limit, work).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
        },
    }
}

struct AbortOnDrop(Option<AbortHandle>);

impl AbortOnDrop {
    fn disarm(mut self) -> AbortHandle {
        self.0.take().expect("armed until disarmed")
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}
