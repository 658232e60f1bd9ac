//! The backend keeps the contract: this is all that its author writes to know that.

use std::sync::atomic::{AtomicU64, Ordering};

use failover_core::api::async_trait;
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::{self, Harness};

use crate::backend::{Lines, Settings};
use crate::client::Client;
use crate::server::Server;

#[derive(Default)]
struct Servers {
    written: AtomicU64,
}

#[async_trait]
impl Harness for Servers {
    type Backend = Lines;
    type Member = Server;

    fn backend(&self) -> Lines {
        Lines
    }

    async fn start(&self) -> Server {
        Server::start().await.expect("a free port")
    }

    fn settings(&self, server: &Server) -> Settings {
        crate::at(server)
    }

    async fn kill(&self, server: &Server) {
        server.kill().await;
    }

    async fn restart(&self, server: &Server) {
        server.restart().await.expect("the port is free again");
    }

    async fn freeze(&self, server: &Server) {
        server.freeze();
    }

    async fn thaw(&self, server: &Server) {
        server.thaw();
    }

    async fn announce_lame_duck(&self, server: &Server) -> bool {
        server.leave();
        true
    }

    async fn connections(&self, server: &Server) -> Option<usize> {
        Some(server.connections())
    }

    /// A value that was never written before, so that an answer to somebody else's request is another value. It may be
    /// missing: between the two the traffic may move, and these servers tell each other nothing.
    async fn operate(&self, client: &Client) -> Result<(), Error> {
        let number = self.written.fetch_add(1, Ordering::Relaxed).to_string();
        let key = format!("key{number}");
        client.set(&key, &number).await?;
        let read = client.get(&key).await?;
        if read == number || read.is_empty() {
            return Ok(());
        }
        let text = format!("wrote {number} and read {read:?}");
        Err(Error::new(ErrorKind::Other, text))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_keeps_the_contract() {
    let report = conformance::run(&Servers::default()).await;
    report.assert();
    let untried: Vec<_> = report.not_applicable().map(|line| line.behaviour).collect();
    assert_eq!(
        untried,
        [
            "identity: all connections to a member name one server, and those to another member another",
            "promote: ahead of the decision it is a proof",
            "promote: one that was called off is drained and serves later",
        ],
        "its servers have no names and are not promoted ahead, and everything else was tried"
    );
}
