//! Two Redis databases with weights: commands, a pipeline and a subscription go on while the heavier database is killed,
//! comes back and takes its traffic again by itself, and while it is drained for maintenance.
//!
//! Run it with `cargo run --release --example redis_multi_db --features redis`, or `cargo redis-multi-db`. It starts two
//! real redis-servers on free ports of this machine and ends them again; `tests/servers` fetches the program.
//!
//! Read this file from top to bottom; it is meant as a tutorial. What only counts and prints is next door: `story` reads
//! all the time, says what happened, and checks that it was what it should be. `docs/coming-from.md` says where the
//! options of lettuce, Jedis and redis-py have their place.

mod story;

use std::process::ExitCode;
use std::time::Duration;

use failover_core::Failover;
use failover_core::redis::Redis;
use failover_testkit::server::RedisServer;
use redis::AsyncCommands;
use tokio::task::block_in_place;

use story::{Outcome, Story, publish};

/// Everything but the members has a default. The times here are shorter than those, so that you need not wait.
fn config(east: &RedisServer, west: &RedisServer) -> String {
    let (east, west) = (east.url(), west.url());
    format!(
        r#"
        [group]
        name = "sessions"

        [group.failback]
        grace = "1s"            # whoever failed is not chosen again for so long; usually a minute
        stable = "500ms"        # and must have been healthy for so long before traffic goes back; usually 10 s
        jitter = "0s"           # a fleet would spread its failbacks over this; usually 10 s

        [group.reconnect]
        max = "200ms"           # the longest pause between two dials; usually 10 s

        [backend]
        replay = "reads"        # what an ended connection interrupted runs again if it only reads

        [[member]]
        name = "east"
        weight = 1.0            # the heaviest healthy member is active
        url = "{east}"          # with real servers: redis://east.example:6379/0

        [[member]]
        name = "west"
        weight = 0.5
        url = "{west}"
        "#
    )
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(summary) => {
            println!("redis_multi_db: ok, {summary}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("redis_multi_db: failed: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome<String> {
    // Starting and ending servers blocks; other tasks of this program go on meanwhile. Each server is told its name, so
    // that whoever reads the key `name` learns which of them answered. Replicating is the servers' business (Active-Active
    // databases do, and replicas); these two know nothing of each other.
    let [east, west] = block_in_place(|| ["east", "west"].map(started));

    // Opening connects to all members in parallel and returns when the heaviest available one is active.
    let group = Failover::<Redis>::open_toml(&config(&east, &west)).await?;

    // A client is a redis-rs connection to whichever member is active. It is cheap to clone and lives as long as you like:
    // the story reads through one of its own from here to the end.
    let mut redis = group.client();
    let mut story = Story::begin(&group, redis.clone());
    story.step("open the group", "east", &["west"]).await?;

    // Commands and pipelines are those of redis-rs.
    redis.set::<_, _, ()>("greeting", "hello").await?;
    let greeting: String = redis.get("greeting").await?;
    let mut pipeline = redis::pipe();
    pipeline.atomic().incr("visits", 1).incr("visits", 1);
    let visits: (i64, i64) = pipeline.query_async(&mut redis).await?;
    story.say(&format!("greeting: {greeting}, visits: {visits:?}"));

    // So does pub/sub, but for the stream: it outlives every connection, and ends with the group.
    let mut news = redis.subscribe(["news"]).await?;
    publish(&redis, 0..1).await?;
    story.hear(&mut news, 0..1).await?;

    // The active dies. Its socket says so at once, west is proven and takes over; what was being read is read there.
    block_in_place(|| east.kill());
    story.step("kill east", "west", &[]).await?;
    // The subscription has moved along. (What a killed server had not yet sent is gone: Redis keeps no messages.)
    publish(&redis, 1..2).await?;
    story.hear(&mut news, 1..2).await?;

    // It is back. It is connected, checked, and stands by until its grace is over; then the traffic returns by itself, as
    // a planned move: new commands go to east, those under way on west finish there.
    block_in_place(|| east.restart());
    story.step("start east again", "east", &["west"]).await?;

    // Maintenance of east, while a message is published every millisecond. Nothing fails, nothing is lost or comes twice.
    let publishing = tokio::spawn(publish(&redis, 2..302));
    tokio::time::sleep(Duration::from_millis(100)).await;
    group.drain_to("west", Duration::from_secs(1)).await?;
    story.step("drain_to(west)", "west", &["east"]).await?;
    publishing.await??;
    story.hear(&mut news, 2..302).await?;

    // A move by hand holds until it is released. East is heavier, and healthy all along.
    group.release().await?;
    story.step("release", "east", &["west"]).await?;

    let summary = story.end(&news)?;
    group.close().await;
    Ok(summary)
}

/// A server that knows its name, also after it was killed and started again.
fn started(name: &str) -> RedisServer {
    let server = RedisServer::start();
    server.cli(&["SET", "name", name]);
    server.cli(&["SAVE"]);
    server
}
