//! The Redis backend keeps the contract where a member is a whole Redis Cluster: all of its nodes killed, frozen, restarted
//! at once.

use failover_core::Error;
use failover_core::api::async_trait;
use failover_core::redis::{FailoverConnection, Redis, Settings};
use failover_testkit::conformance::{Bounds, Harness};
use failover_testkit::server::{RedisCluster, RedisServer};
use tokio::task::block_in_place;

use crate::each;
use crate::operate::Writer;
use crate::redis_contract::keeps_the_contract;

#[derive(Default)]
struct RealCluster {
    writer: Writer,
}

#[async_trait]
impl Harness for RealCluster {
    type Backend = Redis;
    type Member = RedisCluster;

    fn backend(&self) -> Redis {
        crate::backend()
    }

    async fn start(&self) -> RedisCluster {
        block_in_place(RedisCluster::start)
    }

    fn settings(&self, cluster: &RedisCluster) -> Settings {
        Settings::cluster(cluster.urls())
    }

    async fn kill(&self, cluster: &RedisCluster) {
        each(&cluster.nodes, RedisServer::kill);
    }

    async fn restart(&self, cluster: &RedisCluster) {
        each(&cluster.nodes, RedisServer::restart);
        block_in_place(|| cluster.wait_ok());
    }

    async fn freeze(&self, cluster: &RedisCluster) {
        each(&cluster.nodes, RedisServer::freeze);
    }

    async fn thaw(&self, cluster: &RedisCluster) {
        each(&cluster.nodes, RedisServer::thaw);
    }

    /// A connection has a socket to each node: the most that one of them has.
    async fn connections(&self, cluster: &RedisCluster) -> Option<usize> {
        let nodes = cluster.nodes.iter().filter(|node| node.is_running());
        Some(block_in_place(|| {
            nodes.map(|node| node.clients().len()).max().unwrap_or(0)
        }))
    }

    fn bounds(&self) -> Bounds {
        crate::bounds()
    }

    async fn operate(&self, client: &FailoverConnection) -> Result<(), Error> {
        self.writer.operate(client).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_keeps_the_contract() {
    keeps_the_contract(RealCluster::default()).await;
}
