//! What the failover client costs: a raw client and ours to the same real server, with the same socket options,
//! alternating in one run, so that a noisy machine is noisy for both. Each driver is compared with itself.
//!
//! `cargo bench -p failover-testkit --features redis,fred --bench throughput` prints operations per second and the median
//! of the ratios round by round, for 1, 64 and 512 tasks. Each task has its own clone and sends one command after
//! another. A driver whose feature is off is left out.

#[cfg(feature = "fred")]
mod fred;
#[cfg(feature = "redis")]
mod redis;

use std::time::{Duration, Instant};

const ROUNDS: usize = 61;
const SLICE: Duration = Duration::from_millis(100);

/// A client under load.
trait Load: Clone + Send + Sync + 'static {
    fn set(&mut self, key: &str, value: &str) -> impl Future<Output = ()> + Send;
    fn get(&mut self, key: &str) -> impl Future<Output = ()> + Send;
}

/// Operations per second of `tasks` tasks over clones of a client.
async fn rate(client: &impl Load, tasks: usize, write: bool) -> f64 {
    let value = "x".repeat(100);
    let begun = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (mut client, value) = (client.clone(), value.clone());
            tokio::spawn(async move {
                let key = format!("key:{}", task % 16);
                let mut done = 0_u64;
                while begun.elapsed() < SLICE {
                    if write {
                        client.set(&key, &value).await;
                    } else {
                        client.get(&key).await;
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

/// All rounds of one driver.
async fn compare(driver: &str, raw: impl Load, ours: impl Load) {
    println!("\n{driver}");
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
}

#[tokio::main]
async fn main() {
    #[cfg(feature = "redis")]
    redis::run().await;
    #[cfg(feature = "fred")]
    fred::run().await;
}
