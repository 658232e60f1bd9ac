//! A member that is a Redis Cluster.
//!
//! ```text
//!  node      the socket to one node: opened as any other of ours, and honest about what may have been applied
//!  own       the runtime in which redis-rs keeps them, so that they can be ended
//!  steward   the task that looks whether the cluster serves, and says when it has not for too long
//! ```
//!
//! Which node serves a slot, MOVED and ASK are redis-rs's business. That a shard has no master for a while is the
//! cluster's: the group moves only when it has not helped itself within `member_failover`.

mod node;
mod own;
mod steward;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use backend_api::{Error, ErrorKind};
use redis::aio::ConnectionLike;
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use redis::{Cmd, Pipeline, ProtocolVersion, RedisResult, Value};
use tokio::sync::Notify;

use crate::options::Options;
use crate::redis_rs::commands::Commands;
use crate::redis_rs::connection::{Connection, Terms};
use crate::redis_rs::line::Line;
use crate::redis_rs::link::Link;
use crate::settings::Settings;
use crate::target::{Address, Target};
use node::{Context, Node};
use own::Own;
use steward::Steward;
pub(crate) use steward::look;

/// How often redis-rs tries a command again, redirections included. The time of an operation bounds them all.
const TRIES: u32 = 16;
/// Milliseconds between two tries, at first and at most.
const PAUSES: (u64, u64) = (10, 100);

/// The settings of such a member, checked.
pub(crate) struct Nodes {
    seeds: Vec<Target>,
    tls: bool,
}

impl Nodes {
    pub(crate) fn parse(settings: &Settings) -> Result<Self, Error> {
        let refuse = |text: &str| Err(Error::new(ErrorKind::Config, text));
        let mut seeds = Vec::new();
        for url in &settings.urls {
            let of_one = Settings {
                url: url.clone(),
                urls: Vec::new(),
                ..settings.clone()
            };
            let target = Target::parse(&of_one).map_err(|error| {
                Error::new(ErrorKind::Config, format!("urls: {}", error.message()))
            })?;
            if target.db != 0 {
                return refuse("urls: a cluster has only database 0");
            }
            seeds.push(target);
        }
        let tls = matches!(seeds[0].address, Address::Tls(..));
        for seed in &seeds {
            if matches!(seed.address, Address::Unix(_)) {
                return refuse("urls: a node of a cluster has a host and a port");
            }
            if matches!(seed.address, Address::Tls(..)) != tls {
                return refuse("urls: either all nodes of a cluster speak TLS or none");
            }
            let credentials = |target: &Target| (target.username.clone(), target.password.clone());
            if credentials(seed) != credentials(&seeds[0]) {
                return refuse(
                    "urls: all nodes of a cluster have the same user and password: say them once, beside the urls",
                );
            }
        }
        Ok(Self { seeds, tls })
    }

    /// Connects to the nodes that the seeds tell of. No deadline of its own.
    pub(crate) async fn connect(
        self,
        options: &Options,
        commands: Arc<Commands>,
        terms: Terms,
    ) -> Result<Connection, Error> {
        let name = Address::Several(self.to_string());
        let ends = Arc::<Notify>::default();
        let context = Arc::new(Context {
            server: self.seeds[0].clone(),
            tls: self.tls,
            options: options.clone(),
            commands,
            ends: ends.clone(),
            operation: terms.operation,
            bound: terms.dial.min(terms.operation * 2),
        });
        let seeds = self.seeds.iter().map(|seed| {
            // Only where it is: everything else stands in the context.
            match &seed.address {
                Address::Tcp(host, port) | Address::Tls(host, port) if host.contains(':') => {
                    format!("redis://[{host}]:{port}")
                }
                Address::Tcp(host, port) | Address::Tls(host, port) => {
                    format!("redis://{host}:{port}")
                }
                _ => String::new(),
            }
        });
        let unusable = |text: String| {
            Error::new(ErrorKind::Refused, format!("{name} cannot be used: {text}"))
                .with_operation("connect")
        };
        let client = ClusterClientBuilder::new(seeds)
            .use_protocol(ProtocolVersion::RESP3)
            .retries(TRIES)
            .min_retry_wait(PAUSES.0)
            .max_retry_wait(PAUSES.1)
            .connection_timeout(context.bound)
            // Sooner than the whole is given up, so that the node's silence is noticed where it is.
            .response_timeout(terms.operation / 10 * 9)
            .overall_response_timeout(Some(terms.operation))
            .build()
            .map_err(|error| unusable(error.to_string()))?;
        let own = Own::start(terms.signals.member().as_str(), context)?;
        let dialling = own
            .handle()
            .spawn(async move { client.get_async_generic_connection::<Node>().await });
        let nodes = dialling
            .await
            .map_err(|error| unusable(error.to_string()))?
            .map_err(|error| match crate::redis_rs::errors::cause(&error) {
                Some(cause) => cause.clone(),
                None => unusable(error.to_string()),
            })?;
        let mut link = Link::Cluster(Cluster { nodes });
        look(&mut link, &name).await?;
        let (signals, operation) = (terms.signals.clone(), terms.operation);
        let line = Line::new(link, name, None, true);
        let connection = Connection::over(line, 0, None, terms);
        let own = Arc::new(Mutex::new(Some(own)));
        let of_retiring = own.clone();
        connection.ends_with(Box::new(move || {
            let own = of_retiring
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            if let Some(own) = own {
                own.end();
            }
        }));
        let steward = Steward {
            line: connection.line().clone(),
            signals,
            ends,
            own,
            operation,
            failover: options.member_failover,
        };
        steward.start(&connection);
        Ok(connection)
    }
}

impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cluster of")?;
        for (place, seed) in self.seeds.iter().enumerate() {
            let separator = if place == 0 { " " } else { ", " };
            write!(f, "{separator}{}", seed.address)?;
        }
        Ok(())
    }
}

/// A handle on all nodes.
#[derive(Clone)]
pub(crate) struct Cluster {
    nodes: ClusterConnection<Node>,
}

impl Cluster {
    pub(crate) async fn command(&mut self, command: &Cmd) -> RedisResult<Value> {
        let answer = self.nodes.req_packed_command(command).await;
        answer.map_err(node::unveil)
    }

    pub(crate) async fn pipeline(
        &mut self,
        pipeline: &Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisResult<Vec<Value>> {
        let answer = self.nodes.req_packed_commands(pipeline, offset, count);
        answer.await.map_err(node::unveil)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        for (table, expected) in [
            ("urls = [\"a:1\"]", "urls: the url has no scheme"),
            ("urls = [\"redis://a/2\"]", "only database 0"),
            ("urls = [\"redis://a\"]\ndb = 1", "only database 0"),
            ("urls = [\"unix:///a\"]", "a host and a port"),
            (
                "urls = [\"redis://:hunter2@a\", \"redis://b\"]",
                "same user and password",
            ),
        ] {
            let error = Nodes::parse(&toml::from_str(table).unwrap())
                .err()
                .expect("refused");
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(expected), "{table}: {error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
        let settings = Settings::cluster(["redis://:hunter2@a", "redis://:hunter2@b:7"]);
        let text = format!("{settings:?}");
        assert!(
            text.contains("the cluster of a:6379, b:7") && !text.contains("hunter"),
            "{text}"
        );
    }
}
