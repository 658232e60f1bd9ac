//! fred: a raw client and [`FredClient::run`].

use std::time::Duration;

use ::fred::clients::Client;
use ::fred::interfaces::{ClientLike, KeysInterface};
use ::fred::types::RespVersion;
use ::fred::types::config::{
    Config, ConnectionConfig, PerformanceConfig, Server, ServerConfig, TcpConfig,
};
use failover_core::Failover;
use failover_core::redis::{Fred, FredClient};
use failover_testkit::server::RedisServer;

use serde_json::Value;

use crate::{Load, PIPELINE, Plan, compare};

async fn gets(client: &Client, key: &str) -> Result<(), ::fred::error::Error> {
    let pipeline = client.pipeline();
    for _ in 0..PIPELINE {
        let () = pipeline.get(key).await?;
    }
    let _: Vec<Option<String>> = pipeline.all().await?;
    Ok(())
}

#[derive(Clone)]
struct Raw(Client);

impl Load for Raw {
    async fn set(&mut self, key: &str, value: &str) {
        let set = self.0.set(key, value, None, None, false);
        let () = set.await.expect("SET");
    }

    async fn get(&mut self, key: &str) {
        let _: Option<String> = self.0.get(key).await.expect("GET");
    }

    async fn gets(&mut self, key: &str) {
        gets(&self.0, key).await.expect("GETs");
    }
}

#[derive(Clone)]
struct Ours(FredClient);

impl Load for Ours {
    async fn set(&mut self, key: &str, value: &str) {
        let set = self
            .0
            .run(|client| async move { client.set(key, value, None, None, false).await });
        let () = set.await.expect("SET");
    }

    async fn get(&mut self, key: &str) {
        let get = self.0.run(|client| async move { client.get(key).await });
        let _: Option<String> = get.await.expect("GET");
    }

    async fn gets(&mut self, key: &str) {
        let reads = self.0.run(|client| async move { gets(&client, key).await });
        reads.await.expect("GETs");
    }
}

pub(crate) async fn run(plan: Plan) -> Value {
    let server = RedisServer::start();
    let config = format!("[[member]]\nname = \"only\"\nurl = \"{}\"\n", server.url());
    let group = Failover::<Fred>::open_toml(&config)
        .await
        .expect("the group opens");
    // The same terms: protocol, bounds and socket options.
    let raw = Client::new(
        Config {
            fail_fast: true,
            version: RespVersion::RESP3,
            server: ServerConfig::Centralized {
                server: Server::new("127.0.0.1", server.port()),
            },
            ..Config::default()
        },
        Some(PerformanceConfig {
            default_command_timeout: Duration::from_millis(500),
            ..PerformanceConfig::default()
        }),
        Some(ConnectionConfig {
            max_command_buffer_len: 1 << 16,
            tcp: TcpConfig {
                nodelay: Some(false),
                ..TcpConfig::default()
            },
            ..ConnectionConfig::default()
        }),
        None,
    );
    let task = raw.init().await.expect("the server answers");
    let compared = compare("fred", Raw(raw.clone()), Ours(group.client()), plan).await;
    group.close().await;
    raw.quit().await.expect("QUIT");
    let _ = task.await;
    compared
}
