//! A backend of one's own: a service that speaks in lines over TCP, under the failover engine.
//!
//! Run it with `cargo run --example custom_backend`. Two servers are started in this process, and one is killed; nothing
//! need be installed. What is worth copying:
//!
//! - `backend`: how a member is connected, proven and retired. It is all that the engine asks for.
//! - `client`: what applications use, and when an operation may run twice.
//! - `conformance`: the test that shows that the backend keeps the contract: `cargo test --example custom_backend`.
//!
//! `server` is only there to have something to talk to.

mod backend;
mod client;
#[cfg(test)]
mod conformance;
mod server;

use std::error::Error;
use std::time::Instant;

use failover_core::Failover;
use failover_core::config::{GroupConfig, NewMember};

use backend::{Lines, Settings};
use server::Server;

fn at(server: &Server) -> Settings {
    Settings {
        address: server.address(),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (east, west) = (Server::start().await?, Server::start().await?);
    // From a file it is `Failover::<Lines>::open_file`, once `Lines` implements `FromOptions`; then `address` stands in the
    // member's table, beside its name and weight.
    let config = GroupConfig::builder()
        .name("words")
        .member(NewMember::new("east", at(&east)).weight(1.0))
        .member(NewMember::new("west", at(&west)).weight(0.5))
        .build()?;
    let group = Failover::builder()
        .on_event(|event| println!("  {event}"))
        .open(Lines, config)
        .await?;
    let client = group.client();

    client.set("greeting", "hello").await?;
    println!("east says: {}", client.get("greeting").await?);

    // Nobody tells the client: the connection says that it ended, and the next operation runs on the other member.
    east.kill().await;
    let killed = Instant::now();
    client.set("greeting", "hello again").await?;
    let took = killed.elapsed();
    println!("west says: {}", client.get("greeting").await?);

    east.restart().await?;
    group.close().await;
    println!("custom_backend: ok, the first operation after the kill took {took:.1?}");
    Ok(())
}
