//! A Redis Cluster: three masters that share the slots, each with a replica where a test wants them.
//!
//! Formed over the wire, with the commands that any tool uses. The nodes are quick: they take one for dead after a second.

use std::thread;
use std::time::Instant;

use super::{POLL, RedisBuilder, RedisServer, START};
use crate::server::ports;

const MASTERS: usize = 3;
const SLOTS: usize = 16384;

/// Three masters, at first, and perhaps their replicas. Dropped, all of them are killed.
#[derive(Debug)]
pub struct RedisCluster {
    /// The first three are the masters at first; the others, if there are any, are their replicas in the same order.
    pub nodes: Vec<RedisServer>,
}

impl RedisCluster {
    /// Three masters without replicas.
    ///
    /// # Panics
    ///
    /// When a node cannot be started, or when they do not become a cluster.
    #[track_caller]
    pub fn start() -> Self {
        Self::with(&RedisServer::builder(), false)
    }

    /// Three masters with a replica each.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[track_caller]
    pub fn with_replicas() -> Self {
        Self::with(&RedisServer::builder(), true)
    }

    /// Nodes of these settings.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[track_caller]
    pub fn with(settings: &RedisBuilder, replicas: bool) -> Self {
        let count = if replicas { 2 * MASTERS } else { MASTERS };
        let this = Self {
            nodes: (0..count).map(|_| node(settings)).collect(),
        };
        this.form();
        this
    }

    #[track_caller]
    fn form(&self) {
        for (place, node) in self.nodes.iter().enumerate() {
            node.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(place + 1).to_string()]);
            if place < MASTERS {
                let (first, last) = (SLOTS * place / MASTERS, SLOTS * (place + 1) / MASTERS - 1);
                node.cli(&[
                    "CLUSTER",
                    "ADDSLOTSRANGE",
                    &first.to_string(),
                    &last.to_string(),
                ]);
            }
        }
        for node in &self.nodes[1..] {
            let bus = node.cli(&["CONFIG", "GET", "cluster-port"]);
            let bus = bus.lines().nth(1).expect("a port of the bus").to_owned();
            self.nodes[0].cli(&[
                "CLUSTER",
                "MEET",
                "127.0.0.1",
                &node.port().to_string(),
                &bus,
            ]);
        }
        let known = format!("cluster_known_nodes:{}", self.nodes.len());
        self.wait("every node knows every other", |node| {
            node.cli(&["CLUSTER", "INFO"]).contains(&known)
        });
        for (place, replica) in self.nodes[MASTERS..].iter().enumerate() {
            let master = self.nodes[place].cli(&["CLUSTER", "MYID"]);
            let deadline = Instant::now() + START;
            // Until the handshake with that very node is over, it is unknown.
            while replica
                .try_cli(&["CLUSTER", "REPLICATE", &master], START)
                .is_err()
            {
                assert!(
                    Instant::now() < deadline,
                    "a replica does not know its master"
                );
                thread::sleep(POLL);
            }
        }
        self.wait_ok();
        for replica in &self.nodes[MASTERS..] {
            replica.wait_synced();
        }
        // A client that asks any node must be told of all of them.
        self.wait("every node tells of all", |node| {
            let slots = node.cli(&["CLUSTER", "SLOTS"]);
            self.nodes
                .iter()
                .all(|other| slots.contains(&other.port().to_string()))
        });
    }

    /// `redis://127.0.0.1:port` of each node.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(RedisServer::url).collect()
    }

    /// Waits until every node that runs says that the cluster is well.
    ///
    /// # Panics
    ///
    /// When that does not happen.
    #[track_caller]
    pub fn wait_ok(&self) {
        self.wait("the cluster is well", |node| {
            node.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
        });
    }

    /// The place of the node that serves this key now, as the running nodes have it.
    ///
    /// # Panics
    ///
    /// When none of them says that it does.
    #[track_caller]
    pub fn owner(&self, key: &str) -> usize {
        let owns = |node: &RedisServer| {
            // A replica answers MOVED as any other node does.
            node.is_running() && node.try_cli(&["EXISTS", key], START).is_ok()
        };
        let found = self.nodes.iter().position(owns);
        found.unwrap_or_else(|| panic!("no node serves {key}"))
    }

    /// Moves the slot of this key, with its keys, to the master at place `to`, as a tool does: step by step, and each step
    /// waits for `between`.
    #[track_caller]
    pub fn move_slot(&self, key: &str, to: usize, between: impl Fn()) {
        let from = self.owner(key);
        let slot = self.nodes[from].cli(&["CLUSTER", "KEYSLOT", key]);
        let id = |place: usize| self.nodes[place].cli(&["CLUSTER", "MYID"]);
        let (source, target) = (id(from), id(to));
        self.nodes[to].cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source]);
        self.nodes[from].cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target]);
        between();
        let port = self.nodes[to].port().to_string();
        loop {
            let keys = self.nodes[from].cli(&["CLUSTER", "GETKEYSINSLOT", &slot, "1"]);
            if keys.is_empty() {
                break;
            }
            self.nodes[from].cli(&["MIGRATE", "127.0.0.1", &port, &keys, "0", "5000"]);
            between();
        }
        for place in [to, from] {
            self.nodes[place].cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &target]);
            between();
        }
    }

    #[track_caller]
    fn wait(&self, what: &str, done: impl Fn(&RedisServer) -> bool) {
        let deadline = Instant::now() + START;
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            while !done(node) {
                assert!(Instant::now() < deadline, "not in time: {what}");
                thread::sleep(POLL * 5);
            }
        }
    }
}

#[track_caller]
fn node(settings: &RedisBuilder) -> RedisServer {
    let bus = ports::free().expect("a free port");
    settings
        .clone()
        .config("cluster-enabled", "yes")
        .config("cluster-node-timeout", "1000")
        .config("cluster-replica-validity-factor", "0")
        .config("cluster-port", &bus.to_string())
        .start()
}
