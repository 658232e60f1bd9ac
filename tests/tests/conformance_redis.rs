//! The Redis backend keeps the contract on real servers: killed with SIGKILL, frozen with SIGSTOP, and their connections
//! counted where they end.

#![cfg(feature = "redis")]

#[path = "redis_contract/operate.rs"]
mod operate;
mod redis_contract;

use failover_core::Error;
use failover_core::api::async_trait;
use failover_core::redis::{FailoverConnection, Redis, Settings};
use failover_testkit::conformance::Harness;
use failover_testkit::server::RedisServer;
use operate::Writer;
use redis_contract::keeps_the_contract;
use tokio::task::block_in_place;

#[derive(Default)]
struct RealRedis {
    writer: Writer,
    /// The newest server instead of the system's.
    newest: bool,
}

/// The servers' calls block for as long as a server takes: the other threads of the runtime go on meanwhile.
#[async_trait]
impl Harness for RealRedis {
    type Backend = Redis;
    type Member = RedisServer;

    fn backend(&self) -> Redis {
        Redis::new()
    }

    async fn start(&self) -> RedisServer {
        block_in_place(|| {
            if self.newest {
                RedisServer::builder().newest().start()
            } else {
                RedisServer::start()
            }
        })
    }

    fn settings(&self, server: &RedisServer) -> Settings {
        Settings::new(server.url())
    }

    async fn kill(&self, server: &RedisServer) {
        block_in_place(|| server.kill());
    }

    async fn restart(&self, server: &RedisServer) {
        block_in_place(|| server.restart());
    }

    async fn freeze(&self, server: &RedisServer) {
        block_in_place(|| server.freeze());
    }

    async fn thaw(&self, server: &RedisServer) {
        block_in_place(|| server.thaw());
    }

    async fn connections(&self, server: &RedisServer) -> Option<usize> {
        Some(block_in_place(|| server.clients().len()))
    }

    async fn operate(&self, client: &FailoverConnection) -> Result<(), Error> {
        self.writer.operate(client).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_keeps_the_contract() {
    keeps_the_contract(RealRedis::default()).await;
}

/// The same with the newest server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_of_the_newest_server_keeps_the_contract() {
    let newest = RealRedis {
        newest: true,
        ..RealRedis::default()
    };
    keeps_the_contract(newest).await;
}
