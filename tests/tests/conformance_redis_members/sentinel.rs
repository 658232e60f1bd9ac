//! The Redis backend keeps the contract where a member is the master that sentinels tell of: all of its servers killed,
//! frozen, restarted at once, while the sentinels go on.

use failover_core::Error;
use failover_core::api::async_trait;
use failover_core::redis::{FailoverConnection, Redis, Settings};
use failover_testkit::conformance::{Bounds, Harness};
use failover_testkit::server::{RedisServer, Sentinels};
use tokio::task::block_in_place;

use crate::operate::Writer;
use crate::redis_contract::keeps_the_contract;
use crate::{FAILOVER, each};

#[derive(Default)]
struct RealSentinels {
    writer: Writer,
}

#[async_trait]
impl Harness for RealSentinels {
    type Backend = Redis;
    type Member = Sentinels;

    fn backend(&self) -> Redis {
        crate::backend()
    }

    async fn start(&self) -> Sentinels {
        block_in_place(Sentinels::start)
    }

    fn settings(&self, sentinels: &Sentinels) -> Settings {
        Settings::sentinel(sentinels.name(), sentinels.urls())
    }

    async fn kill(&self, sentinels: &Sentinels) {
        each(&sentinels.servers, RedisServer::kill);
    }

    /// Later than the member may help itself: until then its connection goes on by design, which is no fault of the contract.
    async fn restart(&self, sentinels: &Sentinels) {
        tokio::time::sleep(FAILOVER * 2).await;
        each(&sentinels.servers, RedisServer::restart);
    }

    async fn freeze(&self, sentinels: &Sentinels) {
        each(&sentinels.servers, RedisServer::freeze);
    }

    async fn thaw(&self, sentinels: &Sentinels) {
        each(&sentinels.servers, RedisServer::thaw);
    }

    /// At the servers; the sentinels have a connection of their own to each. The one that a connection has to a sentinel is
    /// left out: it begins and ends with the other.
    async fn connections(&self, sentinels: &Sentinels) -> Option<usize> {
        let servers = sentinels
            .servers
            .iter()
            .filter(|server| server.is_running());
        let own = |server: &RedisServer| {
            let clients = server.clients();
            clients
                .iter()
                .filter(|line| !line.contains(" name=sentinel-"))
                .count()
        };
        Some(block_in_place(|| servers.map(own).sum()))
    }

    fn bounds(&self) -> Bounds {
        crate::bounds()
    }

    async fn operate(&self, client: &FailoverConnection) -> Result<(), Error> {
        self.writer.operate(client).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_behind_sentinels_keeps_the_contract() {
    keeps_the_contract(RealSentinels::default()).await;
}
