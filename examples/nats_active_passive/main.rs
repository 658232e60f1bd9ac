//! NATS, active and passive: a group over the three nodes of one cluster, which are switched, drained, sent away and
//! killed, while a stream of orders flows through it. Not one is lost, and none comes twice.
//!
//! Run it with `cargo run --release --example nats_active_passive --features nats`. It starts three real nats-servers on
//! free ports of this machine and ends them again; `tests/servers` fetches the program.
//!
//! Read this file from top to bottom; it is meant as a tutorial. What only counts and prints is next door: `orders` is
//! the traffic, `story` says what happened and checks that it was what it should be.

mod orders;
mod story;

use std::process::ExitCode;
use std::time::Duration;

use failover_core::Failover;
use failover_core::nats::{Dedupe, Delivery, Nats};
use failover_testkit::server::NatsCluster;
use tokio::task::block_in_place;

use orders::Orders;
use story::{Outcome, Story};

/// A client of NATS is connected to one node. When that node goes, a plain client connects to another one, subscribes
/// again, and has missed what was published meanwhile. A group is connected to all three: one is active, the others stand
/// by, warm and proven.
fn config(cluster: &NatsCluster) -> String {
    let [n0, n1, n2] = [0, 1, 2].map(|node: usize| cluster[node].url());
    format!(
        r#"
        [group]
        name = "orders"

        [backend]
        # What was published on a connection that ends, and was not confirmed by its server, is published again on the
        # next one. The default, "unsent", repeats only what certainly never left.
        carry = "unconfirmed"

        [[member]]
        name = "n0"
        weight = 1.0            # the heaviest healthy member is active
        url = "{n0}"            # with real servers: nats://n0.example:4222

        [[member]]
        name = "n1"
        weight = 0.5
        url = "{n1}"

        [[member]]
        name = "n2"
        weight = 0.25
        url = "{n2}"
        "#
    )
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(summary) => {
            println!("nats_active_passive: ok, {summary}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("nats_active_passive: failed: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome<String> {
    // Starting and ending servers blocks; other tasks of this program go on meanwhile.
    let cluster = block_in_place(|| NatsCluster::start(3));

    // Opening connects to all members in parallel and returns when the heaviest available one is active.
    let group = Failover::<Nats>::open_toml(&config(&cluster)).await?;

    // One client for the whole life of the program, whichever node is active. What a move may do to a subscription is
    // chosen where one subscribes. Without a word (`subscribe`) it is at least once: planned moves lose nothing, a killed
    // node takes with it what it had not delivered. Mirrored, the subscription is on all three nodes all the time, and
    // each message is delivered when it arrives for the first time, known by its header `Nats-Msg-Id`.
    let client = group.client();
    let once = Delivery::mirrored(Dedupe::Header);
    let subscription = client.subscribe_with("orders", once).await?;
    let orders = Orders::start(client, "orders", subscription);
    let mut story = Story::begin(&group, orders);
    story.step("open the group", "n0", &["n1", "n2"]).await?;

    // A planned move. New messages go out through n1; the connection to n0 ends once nothing is under way on it, and
    // becomes a standby.
    group.switch_to("n1").await?;
    story.step("switch_to(n1)", "n1", &["n0", "n2"]).await?;

    // The same, and the old connection may take up to half a second to finish.
    group.drain_to("n2", Duration::from_millis(500)).await?;
    story.step("drain_to(n2)", "n2", &["n0", "n1"]).await?;

    // An operator takes n2 out of service. It says so to its clients ("lame duck") and gives them time to leave; the
    // group does not need it.
    block_in_place(|| cluster[2].lame_duck());
    story.step("lame duck: n2", "n0", &["n1"]).await?;

    // It is back. The group leaves it alone for two minutes, since others can stand in; the operator knows better.
    block_in_place(|| cluster[2].restart());
    group.clear_lame_duck("n2").await?;
    story.step("start n2 again", "n0", &["n1", "n2"]).await?;

    // No warning at all. The socket says that the server is gone, and the best standby takes over.
    block_in_place(|| cluster[0].kill());
    story.step("kill n0", "n1", &["n2"]).await?;

    let summary = story.end().await?;
    group.close().await;
    Ok(summary)
}
