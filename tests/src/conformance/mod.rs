//! The conformance suite: whether a backend keeps the contract that the engine relies on.
//!
//! It lives here and not beside the contract because it needs both sides: it tries a backend directly, from the engine's
//! place, and then runs the real engine over it. What must never come in: a behaviour that only one kind of service has,
//! or one that the contract does not ask for.
//!
//! # For authors of backends
//!
//! A backend is four methods; see [`failover_core::api`]. Whether they do what the engine takes for granted shows when a
//! member is killed, frozen or cut off, and that is what this suite does. Take the test kit as a dev-dependency, tell
//! the suite how members of your kind are started and hurt ([`Harness`]), and run it in one test:
//!
//! ```
//! use failover_core::memory::{Client, Memory, Server, Settings, World};
//! use failover_core::{Error, ErrorKind, api::async_trait};
//! use failover_testkit::conformance::{self, Harness};
//!
//! #[derive(Default)]
//! struct InMemory {
//!     world: World,
//! }
//!
//! #[async_trait]
//! impl Harness for InMemory {
//!     type Backend = Memory;
//!     type Member = Server;
//!
//!     fn backend(&self) -> Memory {
//!         self.world.backend()
//!     }
//!
//!     async fn start(&self) -> Server {
//!         let number = self.world.servers().len();
//!         self.world.server(&format!("server {number}"))
//!     }
//!
//!     fn settings(&self, server: &Server) -> Settings {
//!         Settings::at(server.at())
//!     }
//!
//!     async fn kill(&self, server: &Server) {
//!         server.kill();
//!     }
//!
//!     async fn restart(&self, server: &Server) {
//!         server.start();
//!     }
//!
//!     async fn freeze(&self, server: &Server) {
//!         server.freeze();
//!     }
//!
//!     async fn thaw(&self, server: &Server) {
//!         server.thaw();
//!     }
//!
//!     async fn announce_lame_duck(&self, server: &Server) -> bool {
//!         server.announce_lame_duck();
//!         true
//!     }
//!
//!     async fn connections(&self, server: &Server) -> Option<usize> {
//!         Some(server.open_connections())
//!     }
//!
//!     async fn operate(&self, client: &Client) -> Result<(), Error> {
//!         client.set("key", "value").await?;
//!         match client.get("key").await?.as_deref() {
//!             Some("value") | None => Ok(()), // these servers do not replicate, and the traffic may have moved
//!             other => Err(Error::new(ErrorKind::Other, format!("read back: {other:?}"))),
//!         }
//!     }
//! }
//!
//! // In your tests: #[tokio::test]
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! conformance::run(&InMemory::default()).await.assert();
//! # }
//! ```
//!
//! With `-- --nocapture` the test prints a line for every behaviour:
//!
//! ```text
//! connect: a dead member refuses at once: ok
//! prove: a frozen member does not pass, however often it is asked: failed: a member that answers nothing was proven
//! signals: an announced shutdown is heard in time: not applicable: the backend announces no lame duck
//! ```
//!
//! - **What is not claimed is not tried**: behaviours follow the backend's
//!   [`Capabilities`](failover_core::api::Capabilities). What the harness cannot show, it says: without
//!   [`connections`](Harness::connections) nothing that is left behind is found, so count them if there is any way to.
//! - **Every behaviour has fresh members and a fresh backend.** Starting a member some fifty times must be cheap; give
//!   each a free port.
//! - **Time** is tokio's. With members in the same process the suite runs under a paused clock, in no time; with real
//!   ones use a runtime of several threads, so that a call of the harness that blocks holds up nobody:
//!   `#[tokio::test(flavor = "multi_thread")]`. [`Bounds`] says how long things may take.
//! - **A failed line is a promise broken**, not a style: the lines that begin with `engine` show what it costs. Where a
//!   method fails, the lines that build on it fail too; begin with the first.
//! - **Not tried**: discovery of members, TLS and credentials, and whatever your clients promise about repeating
//!   operations. Those are yours to test.

mod contract;
mod engine;
mod harness;
mod report;
mod stage;
mod suite;

pub use harness::{Bounds, Harness};
pub use report::{Line, Report, Verdict};

/// Tries every behaviour of the contract on the harness's backend, one after another, and reports on each. It never
/// panics: a backend that does is a failed line. Call [`Report::assert`] on what it returns.
pub async fn run<H: Harness>(harness: &H) -> Report {
    let mut suite = suite::Suite::new(harness);
    contract::run(&mut suite).await;
    engine::run(&mut suite).await;
    suite.into_report()
}
