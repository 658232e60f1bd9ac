//! The Redis backend keeps the contract through fred as well, on the same real servers and under the same faults.

#![cfg(feature = "fred")]

mod redis_contract;

use std::sync::atomic::{AtomicU64, Ordering};

use failover_core::api::async_trait;
use failover_core::redis::{Fred, FredClient, Settings};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::Harness;
use failover_testkit::server::RedisServer;
use fred::interfaces::KeysInterface;
use redis_contract::keeps_the_contract;
use tokio::task::block_in_place;

#[derive(Default)]
struct ThroughFred {
    written: AtomicU64,
    /// The newest server instead of the system's.
    newest: bool,
}

/// The servers' calls block for as long as a server takes: the other threads of the runtime go on meanwhile.
#[async_trait]
impl Harness for ThroughFred {
    type Backend = Fred;
    type Member = RedisServer;

    fn backend(&self) -> Fred {
        Fred::new()
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

    /// A value that was never written before, so that an answer to somebody else's request is another value. It may be
    /// missing: between the two the traffic may move, and these servers do not replicate.
    async fn operate(&self, client: &FredClient) -> Result<(), Error> {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let key = format!("key {number}");
        let key = &key;
        let () = client
            .run(|client| async move { client.set(key, number, None, None, false).await })
            .await?;
        let read: Option<u64> = client
            .run_idempotent(|client| async move { client.get(key).await })
            .await?;
        if read.is_none_or(|read| read == number) {
            return Ok(());
        }
        let text = format!("wrote {number} and read {read:?}");
        Err(Error::new(ErrorKind::Other, text))
    }
}

// P164
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fred_keeps_the_contract() {
    keeps_the_contract(ThroughFred::default()).await;
}

/// The same with the newest server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fred_of_the_newest_server_keeps_the_contract() {
    let newest = ThroughFred {
        newest: true,
        ..ThroughFred::default()
    };
    keeps_the_contract(newest).await;
}
