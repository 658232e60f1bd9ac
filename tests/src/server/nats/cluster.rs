//! Several nats-servers with routes between them.
//!
//! Each pair of nodes is dialled by the younger one, for as long as it runs, so that whoever is restarted finds all others
//! again. Nodes that start together dial each other.
//!
//! Never to come in: what a single node can do by itself; nodes are [`NatsServer`]s.

use std::io;
use std::ops::Index;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::Value;

use super::builder::NatsBuilder;
use super::config::{Routes, Seat};
use super::{LOOK, NatsServer, POLL, START, StartError, free_port, wire};

/// A cluster of nats-servers. Dropped, all of them are killed, apart from nodes of which somebody holds a clone.
///
/// ```
/// use failover_testkit::server::NatsCluster;
///
/// let cluster = NatsCluster::start(3);
/// assert!(cluster[0].info().contains(&cluster[2].address()));
/// cluster[2].kill();
/// ```
#[derive(Debug)]
pub struct NatsCluster {
    nodes: Vec<Arc<NatsServer>>,
    settings: NatsBuilder,
    name: String,
    /// How many nodes there ever were: no name is given twice.
    named: usize,
}

impl NatsCluster {
    /// A cluster of so many plain nodes. Others: [`NatsBuilder::start_cluster`].
    ///
    /// # Panics
    ///
    /// When one of them cannot be started; a program that is missing is one reason, and the text says how to get it.
    #[track_caller]
    pub fn start(nodes: usize) -> Self {
        NatsServer::builder().start_cluster(nodes)
    }

    pub(super) fn open(settings: &NatsBuilder, nodes: usize) -> Result<Self, StartError> {
        if settings.port.is_some() {
            return Err(StartError::new(
                "the nodes of a cluster choose their ports",
                "",
            ));
        }
        let mut tries = 10;
        loop {
            tries -= 1;
            match Self::try_open(settings, nodes) {
                Err(error) if error.port_taken() && tries > 0 => {}
                opened => return opened,
            }
        }
    }

    fn try_open(settings: &NatsBuilder, nodes: usize) -> Result<Self, StartError> {
        let ports: Vec<_> = (0..nodes).map(|_| free_port()).collect::<Result<_, _>>()?;
        let mut cluster = Self {
            nodes: Vec::new(),
            settings: settings.clone(),
            // Nodes dial a dead one's port for ever. If it belongs to somebody else's cluster by then, the names differ, and
            // the two do not become one.
            name: format!(
                "test-{}-{}",
                std::process::id(),
                ports.first().unwrap_or(&0)
            ),
            named: 0,
        };
        for port in &ports {
            let others = ports
                .iter()
                .filter(|other| *other != port)
                .copied()
                .collect();
            cluster.sit(*port, others)?.spawn()?;
        }
        for node in &cluster.nodes {
            node.await_ready()?;
        }
        cluster.try_wait_formed()?;
        Ok(cluster)
    }

    /// One more node, not started yet.
    fn sit(&mut self, port: u16, to: Vec<u16>) -> Result<&Arc<NatsServer>, StartError> {
        let seat = Seat {
            name: format!("n{}", self.named),
            client: free_port()?,
            monitor: free_port()?,
            cluster: Some(Routes {
                cluster: self.name.clone(),
                port,
                to,
            }),
        };
        self.named += 1;
        self.nodes
            .push(Arc::new(NatsServer::sit(self.settings.clone(), seat)?));
        Ok(self.nodes.last().expect("just added"))
    }

    /// All nodes, killed ones included, in the order in which they were added.
    pub fn nodes(&self) -> &[Arc<NatsServer>] {
        &self.nodes
    }

    /// The addresses of all nodes.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.url()).collect()
    }

    /// Starts one more node with the settings of the cluster, and waits until it has joined.
    ///
    /// # Panics
    ///
    /// When it cannot be started or does not join, with what it printed.
    #[track_caller]
    pub fn add_node(&mut self) -> Arc<NatsServer> {
        let mut tries = 10;
        loop {
            tries -= 1;
            let to = self
                .nodes
                .iter()
                .filter_map(|node| route_port(node))
                .collect();
            let started = free_port().and_then(|port| self.sit(port, to)?.launch());
            match started.and_then(|()| self.try_wait_formed()) {
                Ok(()) => return Arc::clone(self.nodes.last().expect("just added")),
                Err(error) if error.port_taken() && tries > 0 => drop(self.nodes.pop()),
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Kills the node and takes it out of the list; those behind it move up. The others have noticed when this returns.
    ///
    /// # Panics
    ///
    /// When there is no such node, or when the others do not notice.
    #[track_caller]
    pub fn remove(&mut self, index: usize) {
        self.nodes.remove(index).kill();
        self.wait_formed();
    }

    /// Waits until every node that runs and is not frozen is connected to every other one, and none still to a dead one;
    /// with JetStream also until it serves on all of them, which takes most of them.
    ///
    /// # Panics
    ///
    /// When that does not happen within seconds, with the last words of the node that is not ready.
    #[track_caller]
    pub fn wait_formed(&self) {
        self.try_wait_formed()
            .unwrap_or_else(|error| panic!("{error}"));
    }

    fn try_wait_formed(&self) -> Result<(), StartError> {
        let deadline = Instant::now() + START;
        let running: Vec<_> = self.nodes.iter().filter(|node| node.is_running()).collect();
        let ids: Vec<_> = running
            .iter()
            .map(|node| (node.server_id(), node.is_frozen()))
            .collect();
        for node in running.iter().filter(|node| !node.is_frozen()) {
            while !self.has_joined(node, &ids).unwrap_or(false) {
                node.still_starting(deadline, "join its cluster")?;
                thread::sleep(POLL);
            }
        }
        Ok(())
    }

    /// Whether `node` sees the others as they are: ids of all that run, and whether they are frozen.
    fn has_joined(&self, node: &NatsServer, ids: &[(String, bool)]) -> io::Result<bool> {
        let routes = wire::json(&wire::get(node.seat.monitor, "/routez", LOOK)?)?;
        let routes = routes["routes"].as_array().map_or(&[][..], Vec::as_slice);
        let to = |id: &str| {
            routes
                .iter()
                .filter(|route| route["remote_id"] == id)
                .count()
        };
        let others = ids
            .iter()
            .filter(|(id, frozen)| *id != node.server_id() && !frozen);
        let wanted = self.settings.flavour.routes_per_peer();
        let whole = others.clone().all(|(id, _)| to(id) >= wanted);
        let stale = |route: &Value| !ids.iter().any(|(id, _)| route["remote_id"] == id.as_str());
        if !whole || routes.iter().any(stale) {
            return Ok(false);
        }
        // A node alone tells of nobody, not even itself.
        let told_of = others.clone().count() > 0 && self.settings.client_advertise.is_none();
        if self.settings.routes_advertise && told_of {
            let told = wire::json(&node.try_info()?)?;
            let told = told["connect_urls"].as_array().map_or(0, Vec::len);
            if told < others.count() + 1 {
                return Ok(false);
            }
        }
        // An error until then: 503.
        if self.settings.jetstream {
            wire::get(node.seat.monitor, "/healthz", LOOK)?;
        }
        Ok(true)
    }
}

impl Index<usize> for NatsCluster {
    type Output = NatsServer;

    /// The node at this place of [`nodes`](Self::nodes).
    fn index(&self, index: usize) -> &NatsServer {
        &self.nodes[index]
    }
}

fn route_port(node: &NatsServer) -> Option<u16> {
    node.seat.cluster.as_ref().map(|routes| routes.port)
}
