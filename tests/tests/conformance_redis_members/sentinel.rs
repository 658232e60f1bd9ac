//! The Redis backend keeps the contract where a member is the master that sentinels tell of: all of its servers killed,
//! frozen, restarted at once, while the sentinels go on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use failover_core::api::async_trait;
use failover_core::redis::{FailoverConnection, Redis, Settings};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::{self, Bounds, Harness};
use failover_testkit::server::{RedisServer, Sentinels};
use redis::{AsyncCommands, RedisError};
use tokio::task::block_in_place;

/// How long a member may be down before it is lost.
const FAILOVER: Duration = Duration::from_millis(100);

#[derive(Default)]
struct RealSentinels {
    written: AtomicU64,
}

fn cause(error: &RedisError) -> Error {
    FailoverConnection::cause(error)
        .cloned()
        .unwrap_or_else(|| Error::new(ErrorKind::Other, error.to_string()))
}

/// Of all servers, one after the other, on a thread that may block.
fn each(sentinels: &Sentinels, what: fn(&RedisServer)) {
    block_in_place(|| sentinels.servers.iter().for_each(what));
}

#[async_trait]
impl Harness for RealSentinels {
    type Backend = Redis;
    type Member = Sentinels;

    fn backend(&self) -> Redis {
        Redis::builder()
            .member_failover(FAILOVER)
            .build()
            .expect("usable options")
    }

    async fn start(&self) -> Sentinels {
        block_in_place(Sentinels::start)
    }

    fn settings(&self, sentinels: &Sentinels) -> Settings {
        Settings::sentinel(sentinels.name(), sentinels.urls())
    }

    async fn kill(&self, sentinels: &Sentinels) {
        each(sentinels, RedisServer::kill);
    }

    /// Later than the member may help itself: until then its connection goes on by design, which is no fault of the contract.
    async fn restart(&self, sentinels: &Sentinels) {
        tokio::time::sleep(FAILOVER * 2).await;
        each(sentinels, RedisServer::restart);
    }

    async fn freeze(&self, sentinels: &Sentinels) {
        each(sentinels, RedisServer::freeze);
    }

    async fn thaw(&self, sentinels: &Sentinels) {
        each(sentinels, RedisServer::thaw);
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
async fn a_master_behind_sentinels_keeps_the_contract() {
    let report = conformance::run(&RealSentinels::default()).await;
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
        "a master announces no shutdown and has no name, Redis is not promoted ahead, and everything else is tried"
    );
}
