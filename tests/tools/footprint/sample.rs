//! The course of one measurement, inside the process that is measured.

use std::time::{Duration, Instant};

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::process;
use crate::subject::Subject;

/// The memory counts once it has stayed within this part of itself for a second: what is done once after opening is over.
const STILL: u64 = 200;
/// No longer than this is waited for that.
const SETTLE: Duration = Duration::from_secs(20);

/// What is to be measured.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) subject: Subject,
    pub(crate) groups: u32,
    /// All are opened at once, and not one after the other.
    pub(crate) parallel: bool,
    /// For how many seconds the idle process is looked at. Zero: only the opening is measured.
    pub(crate) idle_s: u32,
    pub(crate) urls: [String; 2],
}

/// What was measured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// From the first dial until all are open.
    pub(crate) open_ms: f64,
    pub(crate) sockets: u64,
    pub(crate) idle: Option<Idle>,
}

/// The process when nobody uses what it holds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Idle {
    /// What the process has grown by since before the first dial.
    pub(crate) memory_kib: u64,
    pub(crate) threads: u64,
    /// Of one core.
    pub(crate) cpu_percent: f64,
    /// Commands that the two servers were sent.
    pub(crate) commands_per_s: f64,
}

impl Order {
    pub(crate) fn text(&self) -> String {
        let how = if self.parallel {
            "at once"
        } else {
            "one after the other"
        };
        format!("{} x {}, {how}", self.groups, self.subject.name())
    }

    /// The command line of the process that measures it.
    pub(crate) fn args(&self) -> Vec<String> {
        let mut args = vec![
            format!("--sample={}", self.subject.name()),
            format!("--groups={}", self.groups),
            format!("--idle={}", self.idle_s),
        ];
        args.extend(self.parallel.then(|| "--parallel".to_owned()));
        args.extend(self.urls.clone());
        args
    }
}

pub(crate) async fn take(order: &Order) -> Result<Sample, String> {
    let before = process::memory_kib()?;
    let opening = order
        .subject
        .open(order.groups, order.parallel, &order.urls);
    let (held, took) = opening.await?;
    let connections = held.warm().await?;
    let sockets = process::sockets()?;
    if sockets < connections {
        return Err(format!("{connections} connections on {sockets} sockets"));
    }
    let idle = match order.idle_s {
        0 => None,
        seconds => Some(look(order, seconds, before).await?),
    };
    drop(held);
    Ok(Sample {
        open_ms: took.as_secs_f64() * 1e3,
        sockets,
        idle,
    })
}

async fn look(order: &Order, seconds: u32, before: u64) -> Result<Idle, String> {
    let settled = settle().await?;
    let threads = process::threads()?;
    let mut servers = Vec::new();
    for url in &order.urls {
        servers.push(visit(url).await?);
    }
    let commands = commands(&mut servers).await?;
    let (began, cpu) = (Instant::now(), process::cpu()?);
    sleep(Duration::from_secs(seconds.into())).await;
    let (took, used) = (began.elapsed().as_secs_f64(), process::cpu()? - cpu);
    let sent = self::commands(&mut servers).await?.saturating_sub(commands);
    #[allow(clippy::cast_precision_loss)]
    let commands_per_s = sent as f64 / took;
    Ok(Idle {
        memory_kib: settled.saturating_sub(before),
        threads,
        cpu_percent: used.as_secs_f64() / took * 100.0,
        commands_per_s,
    })
}

/// Waits until the memory stays what it is.
async fn settle() -> Result<u64, String> {
    let deadline = Instant::now() + SETTLE;
    let mut before = process::memory_kib()?;
    loop {
        sleep(Duration::from_secs(1)).await;
        let now = process::memory_kib()?;
        if now.abs_diff(before) <= now / STILL || Instant::now() > deadline {
            return Ok(now);
        }
        before = now;
    }
}

async fn visit(url: &str) -> Result<MultiplexedConnection, String> {
    let client = redis::Client::open(url).map_err(|error| error.to_string())?;
    // A server that a busy machine makes slow is asked all the same.
    let patient = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    let opened = client
        .get_multiplexed_async_connection_with_config(&patient)
        .await;
    opened.map_err(|error| error.to_string())
}

/// How many commands the servers have been sent.
async fn commands(servers: &mut [MultiplexedConnection]) -> Result<u64, String> {
    let mut sum = 0;
    for server in servers {
        let mut ask = redis::cmd("INFO");
        let info: String = ask
            .arg("stats")
            .query_async(server)
            .await
            .map_err(|error| error.to_string())?;
        sum += info
            .lines()
            .find_map(|line| line.strip_prefix("total_commands_processed:"))
            .and_then(|number| number.trim().parse::<u64>().ok())
            .ok_or("a server does not tell how many commands it was sent")?;
    }
    Ok(sum)
}
