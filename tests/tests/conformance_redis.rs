//! The Redis backend keeps the contract on real servers: killed with SIGKILL, frozen with SIGSTOP, and their connections
//! counted where they end.

#![cfg(feature = "redis")]

use std::sync::atomic::{AtomicU64, Ordering};

use failover_core::api::async_trait;
use failover_core::redis::{FailoverConnection, Redis, Settings};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::{self, Harness};
use failover_testkit::server::RedisServer;
use redis::{AsyncCommands, RedisError};
use tokio::task::block_in_place;

#[derive(Default)]
struct RealRedis {
    written: AtomicU64,
    /// The newest server instead of the system's.
    newest: bool,
}

/// An operation fails with the contract's error inside the driver's.
fn cause(error: &RedisError) -> Error {
    FailoverConnection::cause(error)
        .cloned()
        .unwrap_or_else(|| Error::new(ErrorKind::Other, error.to_string()))
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

    /// A value that was never written before, so that an answer to somebody else's request is another value. It may be
    /// missing: between the two the traffic may move, and these servers do not replicate.
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

async fn keeps_the_contract(harness: RealRedis) {
    let report = conformance::run(&harness).await;
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
        "a Redis server announces no shutdown and has no name, Redis is not promoted ahead, and everything else is tried"
    );
}
