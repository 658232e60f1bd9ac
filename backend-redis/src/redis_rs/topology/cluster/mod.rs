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

use std::sync::{Arc, Mutex, PoisonError};

use backend_api::{Error, ErrorKind};
use redis::ProtocolVersion;
use redis::cluster::ClusterClientBuilder;
use redis::cluster_async::ClusterConnection;
use tokio::sync::Notify;

use crate::address::Address;
use crate::options::Options;
use crate::place::cluster::Seeds;
use crate::redis_rs::commands::Commands;
use crate::redis_rs::connection::{Connection, Terms};
use crate::redis_rs::line::Line;
use crate::redis_rs::link::{Link, Looking, Many};
use node::Node;
use own::{Context, Own};
use steward::{Steward, look};

/// How often redis-rs tries a command again, redirections included. The time of an operation bounds them all.
const TRIES: u32 = 16;
/// Milliseconds between two tries, at first and at most.
const PAUSES: (u64, u64) = (10, 100);

/// Connects to the nodes that the seeds tell of. No deadline of its own.
pub(crate) async fn connect(
    place: Seeds,
    options: &Options,
    commands: Arc<Commands>,
    terms: Terms,
) -> Result<Connection, Error> {
    let name = Address::Several(place.to_string());
    let ends = Arc::<Notify>::default();
    let context = Arc::new(Context {
        server: place.seeds[0].clone(),
        tls: place.tls,
        options: options.clone(),
        commands,
        ends: ends.clone(),
        operation: terms.operation,
        bound: terms.dial.min(terms.operation * 2),
    });
    let seeds = place.seeds.iter().map(|seed| {
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
    let mut nodes = dialling
        .await
        .map_err(|error| unusable(error.to_string()))?
        .map_err(|error| match crate::redis_rs::errors::cause(&error) {
            Some(cause) => cause.clone(),
            None => unusable(error.to_string()),
        })?;
    look(&mut nodes, &name).await?;
    let (signals, operation) = (terms.signals.clone(), terms.operation);
    let line = Line::new(Link::Many(nodes.share()), name, None, true);
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
        nodes,
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

impl Many for ClusterConnection<Node> {
    fn share(&self) -> Box<dyn Many> {
        Box::new(self.clone())
    }

    fn look<'a>(&'a mut self, name: &'a Address) -> Looking<'a> {
        Box::pin(look(self, name))
    }
}
