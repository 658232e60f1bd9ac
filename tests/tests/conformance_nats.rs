//! The NATS backend keeps the contract on real servers: killed with SIGKILL, frozen with SIGSTOP, told to go with SIGUSR2,
//! and their connections counted where they end.

#![cfg(feature = "nats")]

use std::sync::atomic::{AtomicU64, Ordering};

use failover_core::api::async_trait;
use failover_core::nats::{FailoverClient, Nats, Settings};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::{self, Harness};
use failover_testkit::server::NatsServer;
use tokio::task::block_in_place;

#[derive(Default)]
struct RealNats {
    asked: AtomicU64,
}

/// The servers' calls block for as long as a server takes: the other threads of the runtime go on meanwhile.
#[async_trait]
impl Harness for RealNats {
    type Backend = Nats;
    type Member = NatsServer;

    fn backend(&self) -> Nats {
        Nats::new()
    }

    async fn start(&self) -> NatsServer {
        // The suite watches a lame duck that still serves: the eviction comes later.
        block_in_place(|| {
            NatsServer::builder()
                .lame_duck_grace_period(std::time::Duration::from_secs(5))
                .start()
        })
    }

    fn settings(&self, server: &NatsServer) -> Settings {
        Settings::new(server.url())
    }

    async fn kill(&self, server: &NatsServer) {
        block_in_place(|| server.kill());
    }

    async fn restart(&self, server: &NatsServer) {
        block_in_place(|| server.restart());
    }

    async fn freeze(&self, server: &NatsServer) {
        block_in_place(|| server.freeze());
    }

    async fn thaw(&self, server: &NatsServer) {
        block_in_place(|| server.thaw());
    }

    async fn announce_lame_duck(&self, server: &NatsServer) -> bool {
        block_in_place(|| server.lame_duck());
        true
    }

    async fn connections(&self, server: &NatsServer) -> Option<usize> {
        Some(block_in_place(|| server.connections()))
    }

    /// A message to itself that was never sent before, and what comes of it. It may come to nothing where the traffic moves
    /// between the two; what must not come is another.
    async fn operate(&self, client: &FailoverClient) -> Result<(), Error> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed).to_string();
        let mut own = client.subscribe(format!("echo.{number}")).await?;
        own.unsubscribe_after(1);
        client
            .publish(format!("echo.{number}"), number.clone().into())
            .await?;
        client.flush().await?;
        match tokio::time::timeout(std::time::Duration::from_millis(100), own.next()).await {
            Ok(Some(message)) if message.payload != number.as_bytes() => {
                let text = format!("published {number} and received {:?}", message.payload);
                Err(Error::new(ErrorKind::Other, text))
            }
            _ => Ok(()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_keeps_the_contract() {
    let report = conformance::run(&RealNats::default()).await;
    report.assert();
    let untried: Vec<_> = report.not_applicable().map(|line| line.behaviour).collect();
    assert!(untried.is_empty(), "everything is tried: {untried:?}");
}
