//! The Redis backend keeps the contract where a member is a whole Redis Cluster: all of its nodes killed, frozen, restarted
//! at once.

#![cfg(feature = "redis-cluster")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use failover_core::api::async_trait;
use failover_core::redis::{FailoverConnection, Redis, Settings};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::{self, Harness};
use failover_testkit::server::{RedisCluster, RedisServer};
use redis::{AsyncCommands, RedisError};
use tokio::task::block_in_place;

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

    /// The suite kills members as a whole, and waits no longer for that to be noticed than for any other member.
    fn backend(&self) -> Redis {
        let bound = Duration::from_millis(100);
        Redis::builder()
            .member_failover(bound)
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
    println!("{report:#?}");
    report.assert();
}
