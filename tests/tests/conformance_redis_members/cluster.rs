//! The Redis backend keeps the contract where a member is a whole Redis Cluster: all of its nodes killed, frozen, restarted
//! at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use failover_core::api::async_trait;
use failover_core::redis::{FailoverConnection, Redis, Settings};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::{self, Bounds, Harness};
use failover_testkit::server::{RedisCluster, RedisServer};
use redis::{AsyncCommands, RedisError};
use tokio::task::block_in_place;

/// How long a member may be down before it is lost.
const FAILOVER: Duration = Duration::from_millis(100);

#[derive(Default)]
struct RealCluster {
    written: AtomicU64,
}

fn cause(error: &RedisError) -> Error {
    FailoverConnection::cause(error)
        .cloned()
        .unwrap_or_else(|| Error::new(ErrorKind::Other, error.to_string()))
}

/// Of all nodes, one after the other, on a thread that may block.
fn each(cluster: &RedisCluster, what: fn(&RedisServer)) {
    block_in_place(|| cluster.nodes.iter().for_each(what));
}

#[async_trait]
impl Harness for RealCluster {
    type Backend = Redis;
    type Member = RedisCluster;

    fn backend(&self) -> Redis {
        Redis::builder()
            .member_failover(FAILOVER)
            .build()
            .expect("usable options")
    }

    async fn start(&self) -> RedisCluster {
        block_in_place(RedisCluster::start)
    }

    fn settings(&self, cluster: &RedisCluster) -> Settings {
        Settings::cluster(cluster.urls())
    }

    async fn kill(&self, cluster: &RedisCluster) {
        each(cluster, RedisServer::kill);
    }

    async fn restart(&self, cluster: &RedisCluster) {
        each(cluster, RedisServer::restart);
        block_in_place(|| cluster.wait_ok());
    }

    async fn freeze(&self, cluster: &RedisCluster) {
        each(cluster, RedisServer::freeze);
    }

    async fn thaw(&self, cluster: &RedisCluster) {
        each(cluster, RedisServer::thaw);
    }

    /// A connection has a socket to each node: the most that one of them has.
    async fn connections(&self, cluster: &RedisCluster) -> Option<usize> {
        let nodes = cluster.nodes.iter().filter(|node| node.is_running());
        Some(block_in_place(|| {
            nodes.map(|node| node.clients().len()).max().unwrap_or(0)
        }))
    }

    /// A member that may help itself is given the time for it.
    fn bounds(&self) -> Bounds {
        let mut bounds = Bounds::default();
        bounds.lost += FAILOVER;
        bounds.quiet += FAILOVER * 2;
        bounds
    }

    async fn operate(&self, client: &FailoverConnection) -> Result<(), Error> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let key = format!("key {number}");
        let mut client = client.clone();
        let () = client.set(&key, number).await.map_err(|e| cause(&e))?;
        let read: Option<u64> = client.get(&key).await.map_err(|e| cause(&e))?;
        if read.is_none_or(|read| read == number) {
            return Ok(());
        }
        let text = format!("wrote {number} and read {read:?}");
        Err(Error::new(ErrorKind::Other, text))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_keeps_the_contract() {
    let report = conformance::run(&RealCluster::default()).await;
    report.assert();
    let untried: Vec<_> = report.not_applicable().map(|line| line.behaviour).collect();
    assert_eq!(
        untried,
        [
            "identity: all connections to a member name one server, and those to another member another",
            "signals: an announced shutdown is heard in time",
            "promote: ahead of the decision it is a proof",
            "promote: one that was called off is drained and serves later",
            "engine: an announced shutdown moves the traffic before the end",
        ],
        "a cluster announces no shutdown and has no name, Redis is not promoted ahead, and everything else is tried"
    );
}
