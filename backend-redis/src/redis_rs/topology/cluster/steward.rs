//! The task of a connection that looks whether its cluster serves.
//!
//! It looks when somebody doubts: an operation or a check that failed. While the cluster helps itself nothing is held
//! back, since the other shards may be well. When it serves again, the line counts on, so that whatever waits for that
//! goes on; when it has not for too long, the connection says that it is lost.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backend_api::{Error, ErrorKind, Signals};
use redis::Value;
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::node::Node;
use super::own::Own;
use crate::address::Address;
use crate::redis_rs::connection::Connection;
use crate::redis_rs::line::{Line, Mood};
use crate::redis_rs::topology::last_word::{LastWord, UNSAID};
use crate::redis_rs::values::text;
use crate::settings::Settings;

/// The cluster does not serve, or not all of its slots.
const CLUSTER_DOWN: &str = "cluster_down";
/// It does again.
const CLUSTER_UP: &str = "cluster_up";

/// Between two looks at a cluster that does not serve.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether every master answers and says that the cluster is well.
pub(super) async fn look(nodes: &mut ClusterConnection<Node>, name: &Address) -> Result<(), Error> {
    let mut command = redis::cmd("CLUSTER");
    command.arg("INFO");
    let masters = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
    let answers = match nodes.route_command(command, masters).await {
        Ok(answers) => answers,
        Err(error) if error.is_timeout() => {
            let text = format!("a master of {name} does not answer");
            return Err(Error::new(ErrorKind::Timeout, text));
        }
        Err(error) if error.is_io_error() || error.is_unrecoverable_error() => {
            let text = format!("a master of {name} is gone");
            return Err(Error::new(ErrorKind::Lost, text));
        }
        // Who may not ask takes an answer as one: the node is there.
        Err(error) if error.code() == Some("NOPERM") => return Ok(()),
        Err(error) => {
            let code = error.code().unwrap_or("an error");
            let text = format!("a master of {name} answers {code}");
            return Err(Error::new(ErrorKind::Unhealthy, text));
        }
    };
    let answers = match answers {
        Value::Map(answers) => answers.into_iter().map(|(_node, answer)| answer).collect(),
        Value::Array(answers) => answers,
        answer => vec![answer],
    };
    judged(&answers, name)
}

/// What the answers of the masters to CLUSTER INFO say. They are those of the masters that redis-rs has a socket to: one that
/// is gone may be missing, and the others do not know it yet.
fn judged(answers: &[Value], name: &Address) -> Result<(), Error> {
    let told: Vec<_> = answers.iter().filter_map(text).collect();
    let is_forbidden =
        |answer: &Value| matches!(answer, Value::ServerError(error) if error.code() == "NOPERM");
    if told.is_empty() && answers.iter().any(is_forbidden) {
        return Ok(());
    }
    let says = |text: &str, what: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(what));
        found.map(|value| value.trim().to_owned())
    };
    let well = |text: &&str| says(text, "cluster_state:").is_some_and(|state| state == "ok");
    if told.is_empty() || told.len() < answers.len() || !told.iter().all(well) {
        let text = format!("{name} is down, or serves only some of its slots");
        return Err(Error::new(ErrorKind::Unhealthy, text));
    }
    let masters = says(told[0], "cluster_size:").and_then(|count| count.parse().ok());
    if masters.is_some_and(|masters: usize| told.len() < masters) {
        let text = format!("only {} masters of {name} answer", told.len());
        return Err(Error::new(ErrorKind::Lost, text));
    }
    Ok(())
}

pub(super) struct Steward {
    pub(super) nodes: ClusterConnection<Node>,
    pub(super) line: Arc<Line>,
    pub(super) signals: Signals<Settings>,
    /// The socket of a node ended.
    pub(super) ends: Arc<Notify>,
    /// Lost, nothing of the connection may dial nodes any more.
    pub(super) own: Arc<Mutex<Option<Own>>>,
    pub(super) operation: Duration,
    /// How long the cluster may be down.
    pub(super) failover: Duration,
}

impl Steward {
    pub(super) fn start(self, connection: &Connection) {
        let last = LastWord {
            line: self.line.clone(),
            signals: self.signals.clone(),
            reason: Error::new(ErrorKind::Lost, "what looks after the cluster ended"),
        };
        connection.spawn(async move {
            let mut last = last;
            last.reason = self.attend().await;
            // Does not wait: that is left to retiring, which has nothing else to wait for then.
            drop(
                self.own
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(),
            );
        });
    }

    /// Until the cluster has not served for too long; says so.
    async fn attend(&self) -> Error {
        let name = self.line.address();
        let mut nodes = self.nodes.clone();
        let mut phases = self.line.phases();
        loop {
            tokio::select! {
                _ = phases.wait_for(|phase| phase.mood != Mood::Well) => {}
                () = self.ends.notified() => {}
            }
            let since = Instant::now();
            let (mut failed, mut told) = (false, false);
            while let Err(reason) = self.look(&mut nodes, &name).await {
                failed = true;
                if !told && since.elapsed() > UNSAID {
                    told = true;
                    self.signals.notice(CLUSTER_DOWN, reason.message());
                }
                if since.elapsed() >= self.failover {
                    let text = format!(
                        "{} (for {:?}: member_failover)",
                        reason.message(),
                        self.failover
                    );
                    return Error::new(ErrorKind::Lost, text);
                }
                sleep(PAUSE).await;
            }
            if failed {
                self.line.resume();
            } else {
                self.line.clear();
            }
            if told {
                let text = format!("{name} serves again after {:?}", since.elapsed());
                self.signals.notice(CLUSTER_UP, text);
            }
        }
    }

    async fn look(&self, nodes: &mut ClusterConnection<Node>, name: &Address) -> Result<(), Error> {
        timeout(self.operation, look(nodes, name))
            .await
            .unwrap_or_else(|_late| {
                let text = format!("a master of {name} does not answer");
                Err(Error::new(ErrorKind::Timeout, text))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(state: &str, masters: usize) -> Value {
        let text =
            format!("cluster_enabled:1\r\ncluster_state:{state}\r\ncluster_size:{masters}\r\n");
        Value::BulkString(text.into_bytes())
    }

    fn refused(code: &str) -> Value {
        let error: Result<Value, _> =
            redis::parse_redis_value(format!("-{code} no\r\n").as_bytes());
        error.unwrap()
    }

    #[test]
    fn all_masters_have_to_answer_and_to_be_well() {
        let name = Address::Tcp("home".to_owned(), 7000);
        let judged = |answers: &[Value]| match judged(answers, &name) {
            Ok(()) => "well".to_owned(),
            Err(error) => format!("{:?}: {}", error.kind(), error.message()),
        };
        let down = "Unhealthy: home:7000 is down, or serves only some of its slots";
        assert_eq!(judged(&[info("ok", 2), info("ok", 2)]), "well");
        assert_eq!(judged(&[info("ok", 2), info("fail", 2)]), down);
        assert_eq!(judged(&[info("ok", 2), refused("LOADING")]), down);
        assert_eq!(judged(&[]), down);
        // One of three has no socket any more, and the others do not know yet that it is gone.
        assert_eq!(
            judged(&[info("ok", 3), info("ok", 3)]),
            "Lost: only 2 masters of home:7000 answer"
        );
        // Who may not ask takes an answer as one: the node is there.
        assert_eq!(judged(&[refused("NOPERM"), refused("NOPERM")]), "well");
    }
}
