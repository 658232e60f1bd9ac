//! Members in memory, for the suite: shared by the tests of the embedded backend and of the suite itself.

use failover_core::api::{Capabilities, async_trait};
use failover_core::memory::{Client, Memory, Server, Settings, World};
use failover_core::{Error, ErrorKind};
use failover_testkit::conformance::Harness;

pub(crate) struct InMemory {
    pub(crate) world: World,
    pub(crate) capabilities: Capabilities,
}

impl Default for InMemory {
    fn default() -> Self {
        Self {
            world: World::new(),
            capabilities: Capabilities::new()
                .announcing_lame_duck()
                .serving_again_after_drain()
                .promoting_ahead(),
        }
    }
}

/// Writes something and reads it back. It may be missing: between the two the traffic may move, and these servers do not
/// replicate.
pub(crate) async fn operate(client: &Client) -> Result<(), Error> {
    client.set("key", "value").await?;
    match client.get("key").await?.as_deref() {
        None | Some("value") => Ok(()),
        other => Err(Error::new(
            ErrorKind::Other,
            format!("read back: {other:?}"),
        )),
    }
}

#[async_trait]
impl Harness for InMemory {
    type Backend = Memory;
    type Member = Server;

    fn backend(&self) -> Memory {
        self.world.backend().with_capabilities(self.capabilities)
    }

    async fn start(&self) -> Server {
        let number = self.world.servers().len();
        self.world.server(&format!("server {number}"))
    }

    fn settings(&self, server: &Server) -> Settings {
        Settings::at(server.at())
    }

    async fn kill(&self, server: &Server) {
        server.kill();
    }

    async fn restart(&self, server: &Server) {
        server.start();
    }

    async fn freeze(&self, server: &Server) {
        server.freeze();
    }

    async fn thaw(&self, server: &Server) {
        server.thaw();
    }

    async fn announce_lame_duck(&self, server: &Server) -> bool {
        server.announce_lame_duck();
        true
    }

    async fn connections(&self, server: &Server) -> Option<usize> {
        Some(server.open_connections())
    }

    async fn operate(&self, client: &Client) -> Result<(), Error> {
        operate(client).await
    }
}
