//! The socket to one node, as redis-rs's cluster connection uses it.
//!
//! redis-rs repeats what failed on a node after it has looked where the slot is now. That is right for what was never sent
//! and for what only reads. What may have been applied is not repeated unless the group's `replay` says so: for that, its
//! error is one that redis-rs does not retry, and [`unveil`](crate::redis_rs::errors::unveil) turns it back into what it was.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backend_api::{Error, ErrorKind};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster_async::Connect;
use redis::{
    AsyncConnectionConfig, Cmd, ConnectionAddr, IntoConnectionInfo, Pipeline, RedisError,
    RedisFuture, RedisResult, ServerErrorKind, Value,
};

use tokio::task::AbortHandle;

use super::own::{self, Context};
use crate::address::Address;
use crate::failures::{self, Cause, Failure, Sent, Socket, Work};
use crate::redis_rs::commands::Commands;
use crate::redis_rs::connect::Connector;
use crate::redis_rs::errors;

#[derive(Clone)]
pub(crate) struct Node {
    socket: MultiplexedConnection,
    driver: Arc<Driven>,
    context: Arc<Context>,
}

/// The task that moves the bytes of a socket.
struct Driven {
    ended: Arc<AtomicBool>,
    task: AbortHandle,
    /// Since when nothing was answered, although something should have been.
    silent: Mutex<Option<Instant>>,
    is_silent: AtomicBool,
}

impl Driven {
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    fn answered(&self) {
        if self.is_silent.swap(false, Ordering::Relaxed) {
            *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// One late answer is a slow command. When the next is late too and nothing came in between, the socket is given up:
    /// otherwise nothing would make redis-rs look where the slots are now.
    fn late(&self, operation: Duration) {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let since = *silent.get_or_insert_with(Instant::now);
        self.is_silent.store(true, Ordering::Relaxed);
        if since.elapsed() > operation / 4 {
            self.task.abort();
        }
    }
}

/// Marks the end of the socket, also when its driver panics.
struct End {
    ended: Arc<AtomicBool>,
    context: Arc<Context>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        self.context.ends.notify_one();
    }
}

impl Connect for Node {
    fn connect_with_config<'a, T>(info: T, config: AsyncConnectionConfig) -> RedisFuture<'a, Self>
    where
        T: IntoConnectionInfo + Send + 'a,
    {
        Box::pin(async move {
            let context = own::context().ok_or_else(|| {
                errors::wrap(Error::new(ErrorKind::Other, "outside of its runtime"))
            })?;
            let info = info.into_connection_info()?;
            let mut target = context.server.clone();
            target.address = match info.addr() {
                ConnectionAddr::Tcp(host, port) => Address::new(context.tls, host.clone(), *port),
                _ => {
                    let text = "a node of a cluster has a host and a port";
                    return Err(errors::wrap(Error::new(ErrorKind::Protocol, text)));
                }
            };
            let address = target.address.clone();
            let connector = Connector::new(target, &context.options);
            let opened = tokio::time::timeout(context.bound, connector.open_for_cluster(config));
            let (socket, driver) = opened
                .await
                .unwrap_or_else(|_late| {
                    let text = format!("{address} did not answer within {:?}", context.bound);
                    Err(Error::new(ErrorKind::Timeout, text))
                })
                .map_err(errors::wrap)?;
            let ended = Arc::<AtomicBool>::default();
            let end = End {
                ended: ended.clone(),
                context: context.clone(),
            };
            let task = tokio::spawn(async move {
                let _end = end;
                driver.await;
            });
            let driver = Driven {
                ended,
                task: task.abort_handle(),
                silent: Mutex::default(),
                is_silent: AtomicBool::new(false),
            };
            Ok(Self {
                socket,
                driver: Arc::new(driver),
                context,
            })
        })
    }
}

impl Node {
    /// `unsent`: the socket had ended before.
    fn judge<T>(
        &self,
        answer: RedisResult<T>,
        unsent: bool,
        reads: impl FnOnce(&Commands) -> bool,
    ) -> RedisResult<T> {
        let Err(trouble) = &answer else {
            self.driver.answered();
            return answer;
        };
        if trouble.is_timeout() {
            self.driver.late(self.context.operation);
        }
        if unsent || !(trouble.is_io_error() || trouble.is_unrecoverable_error()) {
            return answer;
        }
        let cause = match trouble.is_timeout() {
            true => Cause::Late,
            false => Cause::Ended,
        };
        let verdict = failures::judge(&Failure {
            cause: &cause,
            sent: Sent::Perhaps,
            socket: Socket::Node,
            work: work(reads(&self.context.commands)),
            replay: self.context.options.replay,
            retired: false,
            excused: false,
        });
        if verdict.again {
            return answer;
        }
        let veiled = Error::new(verdict.kind, "a node did not answer what it was sent");
        Err(veil(veiled))
    }

    /// Whether a part of a pipeline was refused here and the rest was not. redis-rs would send all of it again.
    fn is_torn(&self, pipeline: &Pipeline, answer: &RedisResult<Vec<Value>>) -> bool {
        let Ok(values) = answer else {
            return false;
        };
        let refused = values.iter().filter(|value| is_elsewhere(value)).count();
        let torn = refused > 0 && refused < values.len() && !pipeline.is_transaction();
        let commands = &self.context.commands;
        let reads = || pipeline.cmd_iter().all(|command| commands.reads(command));
        torn && !failures::may_repeat(self.context.options.replay, work(reads()))
    }
}

fn work(reads: bool) -> Work {
    match reads {
        true => Work::Reads,
        false => Work::Writes,
    }
}

/// redis-rs does not retry what was not permitted.
fn veil(error: Error) -> RedisError {
    std::io::Error::new(std::io::ErrorKind::PermissionDenied, error).into()
}

/// Not applied here, and redis-rs knows what to do about it.
fn is_elsewhere(value: &Value) -> bool {
    use ServerErrorKind as K;
    let Value::ServerError(error) = value else {
        return false;
    };
    let kinds = [
        K::Moved,
        K::Ask,
        K::TryAgain,
        K::ClusterDown,
        K::MasterDown,
        K::BusyLoading,
        K::ReadOnly,
    ];
    error.kind().is_some_and(|kind| kinds.contains(&kind))
}

impl ConnectionLike for Node {
    fn req_packed_command<'a>(&'a mut self, cmd: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(async move {
            let unsent = self.driver.has_ended();
            let answer = self.socket.req_packed_command(cmd).await;
            self.judge(answer, unsent, |commands| commands.reads(cmd))
        })
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        cmd: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(async move {
            let unsent = self.driver.has_ended();
            let answer = self.socket.req_packed_commands(cmd, offset, count).await;
            if self.is_torn(cmd, &answer) {
                let text = "the slot of the pipeline is moving, and a part of it was refused";
                return Err(veil(Error::new(ErrorKind::Lost, text)));
            }
            self.judge(answer, unsent, |commands| {
                cmd.cmd_iter().all(|cmd| commands.reads(cmd))
            })
        })
    }

    fn get_db(&self) -> i64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATION: Duration = Duration::from_millis(40);

    fn driven() -> Driven {
        Driven {
            ended: Arc::default(),
            task: tokio::spawn(std::future::pending::<()>()).abort_handle(),
            silent: Mutex::default(),
            is_silent: AtomicBool::new(false),
        }
    }

    /// Longer than the quarter of an operation.
    async fn pause() {
        tokio::time::sleep(OPERATION).await;
    }

    #[tokio::test]
    async fn the_socket_of_a_silent_node_is_given_up_at_the_second_late_answer() {
        let node = driven();
        node.late(OPERATION);
        pause().await;
        assert!(
            !node.task.is_finished(),
            "one late answer is a slow command"
        );
        node.late(OPERATION);
        pause().await;
        assert!(node.task.is_finished());
    }

    #[tokio::test]
    async fn an_answer_in_between_says_that_somebody_is_there() {
        let node = driven();
        for _ in 0..3 {
            node.late(OPERATION);
            pause().await;
            node.answered();
        }
        assert!(!node.task.is_finished());
        // Those that were sent together are late together.
        for _ in 0..3 {
            node.late(Duration::from_secs(3600));
        }
        pause().await;
        assert!(!node.task.is_finished());
    }
}
