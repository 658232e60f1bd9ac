//! The quickstart: a group of three members that loses some of them, with traffic all the time.
//!
//! Run it with `cargo run --release --example quickstart`. No server is needed: the members are embedded ones, which live
//! in this process and can be killed and frozen by a call. Everything else is what a program with real servers does.
//!
//! Read this file from top to bottom; it is meant as a tutorial. What only counts and prints is next door: `readers` is
//! the traffic, `story` makes the table and checks that every step came out as it says.

mod readers;
mod story;

use std::process::ExitCode;
use std::time::Duration;

use failover_core::Failover;
use failover_core::memory::{Memory, Server};

use readers::Readers;
use story::{Outcome, Story};

/// Three places that can stand in for each other. The heaviest that is available carries the traffic, the others are
/// kept connected and proven, ready to take over.
///
/// Everything but the members has a default. The times here are shorter than those, so that you need not wait.
const CONFIG: &str = r#"
    [group]
    name = "quickstart"

    [group.timeouts]
    operation = "100ms"     # a call without an answer for so long makes the engine look at the member
    prove = "100ms"         # how long the member then has to prove that it is alive

    [group.reconnect]
    max = "100ms"           # a member that is down is dialled again with growing pauses, up to this

    [group.unavailable]
    wait = "1s"             # with no member at all, calls wait so long before they fail

    [[member]]
    name = "north"
    weight = 1.0
    at = "server north"     # with Redis: url = "redis://north.example:6379"

    [[member]]
    name = "south"
    weight = 0.5
    at = "server south"

    [[member]]
    name = "west"
    weight = 0.25
    at = "server west"
"#;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(summary) => {
            println!("quickstart: ok, {summary}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("quickstart: failed: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome<String> {
    // Opening a group connects and checks all members in parallel. It returns when the heaviest available one is
    // active: a lighter one is never taken while a heavier one has not answered yet.
    let group = Failover::<Memory>::open_toml(CONFIG).await?;

    // The servers, to hurt them. With a real backend there is no such thing; here each is also told its own name, so
    // that whoever reads the key `name` learns which server answered.
    let world = group.backend().world().clone();
    let servers = ["north", "south", "west"].map(|name| {
        let server = world.server(&format!("server {name}"));
        server.set("name", name);
        server.set_latency(Duration::from_millis(1));
        server
    });
    let [north, south, west] = &servers;

    // A client always works on whichever member is active. It is cheap to clone and lives as long as you like; the
    // readers below hold on to theirs through everything that follows.
    let readers = Readers::start(&group.client(), 4);
    let mut story = Story::begin(&group, readers);
    story
        .step("open the group", "north", &["south", "west"])
        .await?;

    // The active dies. Its connection says so at once; the best standby is proven and takes over. Reads that were under
    // way run again there: repeating a read harms nobody.
    north.kill();
    story.step("kill north", "south", &["west"]).await?;

    // It comes back, is connected and checked, and stands by. Traffic stays where it is: a member that has just failed
    // is not trusted for a while (`failback.grace`).
    north.start();
    story
        .step("start north again", "south", &["north", "west"])
        .await?;

    // We know better and move it back by hand. Draining: new calls go to north, those under way on south may finish.
    group.drain_to("north", Duration::from_millis(200)).await?;
    story
        .step("drain_to(north)", "north", &["south", "west"])
        .await?;

    // The worst kind of failure: the connection stays open, and nothing comes back. The first calls without an answer
    // make the engine ask north for a proof of life, which it does not give.
    north.freeze();
    story.step("freeze north", "south", &["west"]).await?;
    north.thaw();
    story
        .step("thaw north", "south", &["north", "west"])
        .await?;

    // The other planned move: the old connection is ended as soon as the calls on it are done.
    group.switch_to("north").await?;
    story
        .step("switch_to(north)", "north", &["south", "west"])
        .await?;

    // Nobody is left. Calls wait for a member instead of failing at once, and go on when one is back.
    servers.iter().for_each(Server::kill);
    tokio::time::sleep(Duration::from_millis(200)).await;
    south.start();
    story
        .step("all die; 200 ms later: south", "south", &[])
        .await?;
    north.start();
    west.start();
    story
        .step("start the others", "south", &["north", "west"])
        .await?;

    let summary = story.end();
    group.close().await;
    Ok(summary)
}
