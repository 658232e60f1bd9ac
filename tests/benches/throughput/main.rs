//! What the failover client costs: a raw client and ours to the same real server, with the same socket options,
//! alternating in one run, so that a noisy machine is noisy for both. Each driver is compared with itself.
//!
//! `cargo bench -p failover-testkit --features redis,fred --bench throughput` prints operations per second and the median
//! of the ratios round by round, for 1, 10, 64 and 512 tasks; with `-- --json` one JSON object, by driver, load and tasks.
//! `-- --rounds N --slice MS` changes how often and how long. Each task has its own clone and sends one command, or one
//! pipeline, after another. A driver whose feature is off is left out.

#[cfg(feature = "fred")]
mod fred;
#[cfg(feature = "redis")]
mod redis;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

const TASKS: [usize; 4] = [1, 10, 64, 512];

/// Commands in a pipeline: GETs of 100 bytes.
pub(crate) const PIPELINE: usize = 16;

/// A client under load.
trait Load: Clone + Send + Sync + 'static {
    fn set(&mut self, key: &str, value: &str) -> impl Future<Output = ()> + Send;
    fn get(&mut self, key: &str) -> impl Future<Output = ()> + Send;
    /// [`PIPELINE`] reads of a key, in one pipeline.
    fn gets(&mut self, key: &str) -> impl Future<Output = ()> + Send;
}

/// What each task does.
#[derive(Clone, Copy)]
enum Work {
    Get,
    Set,
    Pipeline,
}

/// The loads: their names, what they do, and the size of the values.
const LOADS: [(&str, Work, usize); 5] = [
    ("get_100", Work::Get, 100),
    ("set_100", Work::Set, 100),
    ("get_10240", Work::Get, 10_240),
    ("set_10240", Work::Set, 10_240),
    ("pipeline_16", Work::Pipeline, 100),
];

/// How long and how often.
#[derive(Clone, Copy)]
struct Plan {
    rounds: usize,
    slice: Duration,
    json: bool,
}

impl Plan {
    fn read() -> Self {
        let arguments: Vec<String> = std::env::args().collect();
        let number = |name: &str, otherwise: u64| {
            let at = arguments.iter().position(|argument| argument == name);
            at.map_or(otherwise, |at| {
                let number = arguments.get(at + 1).and_then(|number| number.parse().ok());
                number.unwrap_or_else(|| panic!("{name} needs a number"))
            })
        };
        Self {
            rounds: usize::try_from(number("--rounds", 61)).expect("a number of rounds"),
            slice: Duration::from_millis(number("--slice", 100)),
            json: arguments.iter().any(|argument| argument == "--json"),
        }
    }
}

/// Operations per second of `tasks` tasks over clones of a client; a pipeline counts as one.
async fn rate(client: &impl Load, tasks: usize, work: Work, size: usize, slice: Duration) -> f64 {
    let value: std::sync::Arc<str> = "x".repeat(size).into();
    let begun = Instant::now();
    let running: Vec<_> = (0..tasks)
        .map(|task| {
            let (mut client, value) = (client.clone(), value.clone());
            tokio::spawn(async move {
                let key = format!("key:{size}:{}", task % 16);
                let mut done = 0_u64;
                while begun.elapsed() < slice {
                    match work {
                        Work::Set => client.set(&key, &value).await,
                        Work::Get => client.get(&key).await,
                        Work::Pipeline => client.gets(&key).await,
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

/// All rounds of one driver: by load and by tasks.
async fn compare(driver: &str, raw: impl Load, ours: impl Load, plan: Plan) -> Value {
    if !plan.json {
        println!("\n{driver}");
        println!("tasks  load             raw op/s  failover op/s  median ratio");
    }
    let mut all = json!({});
    // What is read is there.
    for (_, _, size) in LOADS {
        let mut writer = raw.clone();
        for task in 0..16 {
            let value = "x".repeat(size);
            writer.set(&format!("key:{size}:{task}"), &value).await;
        }
    }
    for tasks in TASKS {
        for (name, work, size) in LOADS {
            let (mut plain, mut over, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            for round in 0..plan.rounds {
                // Who goes first alternates too: the second finds a warmer machine.
                let (a, b) = if round % 2 == 0 {
                    let a = rate(&raw, tasks, work, size, plan.slice).await;
                    (a, rate(&ours, tasks, work, size, plan.slice).await)
                } else {
                    let b = rate(&ours, tasks, work, size, plan.slice).await;
                    (rate(&raw, tasks, work, size, plan.slice).await, b)
                };
                plain.push(a);
                over.push(b);
                ratios.push(b / a);
            }
            let (plain, over, ratio) = (median(plain), median(over), median(ratios));
            if !plan.json {
                println!("{tasks:>5}  {name:<12}  {plain:>12.0}  {over:>13.0}  {ratio:>12.3}");
            }
            all[name][tasks.to_string()] =
                json!({ "raw_per_s": plain, "failover_per_s": over, "ratio": ratio });
        }
    }
    all
}

/// What the failover client costs of the throughput, in percent, where it costs least and where most.
fn costs(all: &Value) -> (f64, f64) {
    let drivers = all
        .as_object()
        .into_iter()
        .flat_map(|drivers| drivers.values());
    let loads = drivers.flat_map(|loads| {
        loads
            .as_object()
            .into_iter()
            .flat_map(|loads| loads.values())
    });
    let tasks = loads.flat_map(|tasks| {
        tasks
            .as_object()
            .into_iter()
            .flat_map(|tasks| tasks.values())
    });
    let ratios = tasks.filter_map(|figures| figures["ratio"].as_f64());
    ratios.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), ratio| {
            let cost = (1.0 - ratio) * 100.0;
            (cost.min(least), cost.max(most))
        },
    )
}

#[tokio::main]
async fn main() {
    let plan = Plan::read();
    let mut all = json!({});
    #[cfg(feature = "redis")]
    {
        all["redis"] = redis::run(plan).await;
    }
    #[cfg(feature = "fred")]
    {
        all["fred"] = fred::run(plan).await;
    }
    let (least, most) = costs(&all);
    if plan.json {
        all["least_cost_percent"] = json!(least);
        all["most_cost_percent"] = json!(most);
        println!("{all}");
    } else {
        println!("\nbetween {least:.1} and {most:.1} % of the throughput of a raw client");
    }
}
