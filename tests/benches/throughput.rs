//! What the failover connection costs: a raw multiplexed connection and a failover connection to the same real server,
//! with the same socket options, alternating in one run, so that a noisy machine is noisy for both.
//!
//! `cargo bench -p failover-testkit --features redis --bench throughput` prints operations per second and the median of
//! the ratios round by round, for 1, 64 and 512 tasks. Each task has its own clone and sends one command after another.

use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::redis::Redis;
use failover_testkit::server::RedisServer;
use redis::AsyncCommands;
use redis::aio::ConnectionLike;

const ROUNDS: usize = 61;
const SLICE: Duration = Duration::from_millis(100);

/// Operations per second of `tasks` tasks over clones of a connection.
async fn rate<C>(connection: &C, tasks: usize, write: bool) -> f64
where
    C: ConnectionLike + Clone + Send + Sync + 'static,
{
    let value = "x".repeat(100);
    let begun = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (mut connection, value) = (connection.clone(), value.clone());
            tokio::spawn(async move {
                let key = format!("key:{}", task % 16);
                let mut done = 0_u64;
                while begun.elapsed() < SLICE {
                    if write {
                        let _: () = connection.set(&key, &value).await.expect("SET");
                    } else {
                        let _: Option<String> = connection.get(&key).await.expect("GET");
                    }
                    done += 1;
                }
                done
            })
        })
        .collect();
    let mut total = 0;
    for task in running {
        total += task.await.expect("a bench task");
    }
    #[allow(clippy::cast_precision_loss)]
    let total = total as f64;
    total / begun.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[tokio::main]
async fn main() {
    let server = RedisServer::start();
    let config = format!("[[member]]\nname = \"only\"\nurl = \"{}\"\n", server.url());
    let group = Failover::<Redis>::open_toml(&config)
        .await
        .expect("the group opens");
    // The same protocol too: RESP3 is what tells of a lost connection.
    let url = format!("{}?protocol=resp3", server.url());
    let client = redis::Client::open(url).expect("a URL");
    let raw = client
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers");
    let ours = group.client();
    println!("tasks  op       raw op/s  failover op/s  median ratio  target");
    for tasks in [1, 64, 512] {
        for (name, write) in [("GET", false), ("SET", true)] {
            let (mut plain, mut over, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                // Who goes first alternates too: the second finds a warmer machine.
                let (a, b) = if round % 2 == 0 {
                    let a = rate(&raw, tasks, write).await;
                    (a, rate(&ours, tasks, write).await)
                } else {
                    let b = rate(&ours, tasks, write).await;
                    (rate(&raw, tasks, write).await, b)
                };
                plain.push(a);
                over.push(b);
                ratios.push(b / a);
            }
            println!(
                "{tasks:>5}  {name:<3}  {:>12.0}  {:>13.0}  {:>12.3}    0.97",
                median(plain),
                median(over),
                median(ratios)
            );
        }
    }
    group.close().await;
}
