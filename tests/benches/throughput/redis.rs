//! redis-rs: a raw multiplexed connection and a failover connection.

use ::redis::AsyncCommands;
use ::redis::aio::ConnectionLike;
use failover_core::Failover;
use failover_core::redis::Redis;
use failover_testkit::server::RedisServer;

use serde_json::Value;

use crate::{Load, PIPELINE, Plan, compare};

#[derive(Clone)]
struct Through<C>(C);

impl<C: ConnectionLike + Clone + Send + Sync + 'static> Load for Through<C> {
    async fn set(&mut self, key: &str, value: &str) {
        let () = self.0.set(key, value).await.expect("SET");
    }

    async fn get(&mut self, key: &str) {
        let _: Option<String> = self.0.get(key).await.expect("GET");
    }

    async fn gets(&mut self, key: &str) {
        let mut pipeline = ::redis::pipe();
        for _ in 0..PIPELINE {
            pipeline.get(key);
        }
        let _: Vec<Option<String>> = pipeline.query_async(&mut self.0).await.expect("GETs");
    }
}

pub(crate) async fn run(plan: Plan) -> Value {
    let server = RedisServer::start();
    let config = format!("[[member]]\nname = \"only\"\nurl = \"{}\"\n", server.url());
    let group = Failover::<Redis>::open_toml(&config)
        .await
        .expect("the group opens");
    // The same protocol too: RESP3 is what tells of a lost connection.
    let url = format!("{}?protocol=resp3", server.url());
    let client = ::redis::Client::open(url).expect("a URL");
    let raw = client
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers");
    let compared = compare("redis-rs", Through(raw), Through(group.client()), plan).await;
    group.close().await;
    compared
}
