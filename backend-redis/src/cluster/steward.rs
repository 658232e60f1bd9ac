//! The task of a connection that looks whether its cluster serves.
//!
//! It looks when somebody doubts: an operation or a check that failed. While the cluster helps itself nothing is held
//! back, since the other shards may be well. When it serves again, the line counts on, so that whatever waits for that
//! goes on; when it has not for too long, the connection says that it is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use backend_api::{Error, ErrorKind, Signals};
use redis::Value;
use redis::cluster_routing::{MultipleNodeRoutingInfo, RoutingInfo};
use tokio::time::{sleep, timeout};

use crate::config::Settings;
use crate::connection::Connection;
use crate::line::{Line, Mood};
use crate::link::Link;
use crate::target::Address;

/// The cluster does not serve, or not all of its slots.
const CLUSTER_DOWN: &str = "cluster_down";
/// It does again.
const CLUSTER_UP: &str = "cluster_up";

/// Between two looks at a cluster that does not serve.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether every master answers and says that the cluster is well.
pub(crate) async fn look(link: &mut Link, name: &Address) -> Result<(), Error> {
    let Link::Cluster(cluster) = link else {
        return Err(Error::new(ErrorKind::Other, "this is no cluster"));
    };
    let mut command = redis::cmd("CLUSTER");
    command.arg("INFO");
    let masters = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
    let answers = match cluster.nodes.route_command(command, masters).await {
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
    let ok = |answer: &Value| match answer {
        Value::BulkString(text) => {
            let text = String::from_utf8_lossy(text);
            text.lines()
                .any(|line| line.trim_end() == "cluster_state:ok")
        }
        Value::VerbatimString { text, .. } => text.contains("cluster_state:ok"),
        Value::ServerError(error) => error.code() == "NOPERM",
        _ => false,
    };
    if answers.is_empty() || !answers.iter().all(ok) {
        let text = format!("{name} is down, or serves only some of its slots");
        return Err(Error::new(ErrorKind::Unhealthy, text));
    }
    Ok(())
}

/// Says that the connection is lost when the steward is gone, whyever.
struct LastWord {
    line: Arc<Line>,
    signals: Signals<Settings>,
    reason: Error,
}

impl Drop for LastWord {
    fn drop(&mut self) {
        self.line.end(self.line.state().0);
        if !self.line.is_retired() {
            self.signals.lost(self.reason.clone());
        }
    }
}

pub(super) fn start(
    connection: &Connection,
    signals: Signals<Settings>,
    operation: Duration,
    failover: Duration,
) {
    let line = connection.line().clone();
    let last = LastWord {
        line: line.clone(),
        signals: signals.clone(),
        reason: Error::new(ErrorKind::Lost, "what looks after the cluster ended"),
    };
    connection.spawn(async move {
        let mut last = last;
        last.reason = attend(&line, &signals, operation, failover).await;
    });
}

/// Until the cluster has not served for too long; says so.
async fn attend(
    line: &Line,
    signals: &Signals<Settings>,
    operation: Duration,
    failover: Duration,
) -> Error {
    let name = line.address();
    let mut link = line.now().link;
    let mut phases = line.phases();
    loop {
        let _ = phases.wait_for(|phase| phase.mood != Mood::Well).await;
        let since = Instant::now();
        let mut told = false;
        loop {
            let looked = timeout(operation, look(&mut link, &name)).await;
            let reason = match looked {
                Ok(Ok(())) => break,
                Ok(Err(reason)) => reason,
                Err(_late) => {
                    let text = format!("a master of {name} does not answer");
                    Error::new(ErrorKind::Timeout, text)
                }
            };
            if !told {
                told = true;
                signals.notice(CLUSTER_DOWN, reason.message());
            }
            if since.elapsed() >= failover {
                let text = format!("{} (for {failover:?}: member_failover)", reason.message());
                return Error::new(ErrorKind::Lost, text);
            }
            sleep(PAUSE).await;
        }
        if told {
            line.resume();
            let text = format!("{name} serves again after {:?}", since.elapsed());
            signals.notice(CLUSTER_UP, text);
        } else {
            line.clear();
        }
    }
}
