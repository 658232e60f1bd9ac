//! Sockets of their own: for blocking commands, which would hold up everything behind them on a shared socket, and for
//! WATCH, which belongs to a socket.
//!
//! They belong to a [`Connection`] and end with it. A socket that is dropped is closed: whoever is done with one, and sure
//! that nothing is under way on it, gives it back with [`Connection::keep`].

use std::time::Duration;

use backend_api::{Error, ErrorKind};
use redis::RedisResult;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::redis_rs::connect::Listener;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::link::Link;

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

/// Takes an idle dedicated socket of `connection`, or opens one. Cancel-safe.
pub(crate) async fn lease(connection: &Connection) -> Result<Dedicated, Error> {
    if let Some(idle) = connection.take_idle() {
        return Ok(idle);
    }
    let (sender, receiver) = oneshot::channel();
    let line = connection.line().clone();
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
    // An operation waits for it, and a dial may be given more time than an operation.
    let timeout = connection.dial_timeout().min(connection.operation());
    // Opened by a task of the connection, so that retiring ends also the attempt.
    let task = connection
        .spawn(async move {
            let opened =
                tokio::time::timeout(timeout, connector.open(None, Listener::default())).await;
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
                            "{} did not open another connection within {timeout:?}",
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
        .ok_or_else(|| connection.interrupted())?;
    let guard = AbortOnDrop(Some(task));
    let link = receiver
        .await
        .map_err(|_aborted| connection.interrupted())??;
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
        Some(limit) => match tokio::time::timeout(limit, work).await {
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
