//! The Redis backend keeps the contract where a member is several servers. Such members take seconds to start, so this takes
//! minutes, nearly all of which is waiting; both kinds run side by side.

#![cfg(any(feature = "redis-cluster", feature = "redis-sentinel"))]

#[cfg(feature = "redis-cluster")]
mod cluster;
#[path = "../redis_contract/operate.rs"]
mod operate;
#[path = "../redis_contract/mod.rs"]
mod redis_contract;
#[cfg(feature = "redis-sentinel")]
mod sentinel;

use std::time::Duration;

use failover_core::redis::Redis;
use failover_testkit::conformance::Bounds;
use failover_testkit::server::RedisServer;
use tokio::task::block_in_place;

/// How long a member may be down before it is lost.
const FAILOVER: Duration = Duration::from_millis(100);

fn backend() -> Redis {
    Redis::builder()
        .member_failover(FAILOVER)
        .build()
        .expect("usable options")
}

/// A member that may help itself is given the time for it.
fn bounds() -> Bounds {
    let mut bounds = Bounds::default();
    bounds.lost += FAILOVER;
    bounds.quiet += FAILOVER * 2;
    bounds
}

/// Of all servers of a member, one after the other, on a thread that may block.
fn each(servers: &[RedisServer], what: fn(&RedisServer)) {
    block_in_place(|| servers.iter().for_each(what));
}
