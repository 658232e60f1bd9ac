//! Who publishes: a plain client at a pace, whatever becomes of the group; and the group itself, where that is asked for.
//!
//! The plain client is async-nats as anybody would use it, pinned to one node. Nothing here knows who listens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, HeaderMap, RequestErrorKind};
use bytes::{BufMut as _, Bytes, BytesMut};
use failover_core::nats::FailoverClient;
use tokio::runtime::Handle;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::{JoinHandle, spawn_blocking};

/// The length of a payload; the number stands at its beginning.
const PAYLOAD: usize = 128;
/// The runtime's clock has ticks of a millisecond: a burst with each would put up to two of them into every silence that is
/// measured. So the publisher keeps its pace on a thread of its own.
const PACE: Duration = Duration::from_micros(200);
/// A stalled process makes up for no more than this: a larger burst would be no load but a fault.
const CATCH_UP: Duration = Duration::from_millis(5);
/// After an outage: the drill is not about how a plain client comes back.
const AGAIN: Duration = Duration::from_millis(10);
/// Nobody listens here.
const NOISE: &str = "drill.noise";
const NOBODY: &str = "drill.nobody";
const FLUSH: Duration = Duration::from_secs(10);

/// A plain client on one node, and on no other.
pub(super) async fn connect(url: &str) -> Result<Client, String> {
    let options = ConnectOptions::new()
        .ignore_discovered_servers()
        .reconnect_delay_callback(|_attempt| AGAIN);
    let client = options.connect(url).await;
    client.map_err(|error| format!("the publisher cannot connect: {error}"))
}

/// A message that has this number.
fn payload(number: u64) -> Bytes {
    let mut payload = BytesMut::zeroed(PAYLOAD);
    (&mut payload[..8]).put_u64(number);
    payload.freeze()
}

/// The number of a message; none of one that only greets.
pub(super) fn number(payload: &[u8]) -> Option<u64> {
    if payload.len() != PAYLOAD {
        return None;
    }
    payload[..8].try_into().ok().map(u64::from_be_bytes)
}

/// A numbered stream that goes on until it is stopped.
pub(super) struct Publisher {
    client: Client,
    stop: oneshot::Sender<()>,
    /// When each number was published.
    task: JoinHandle<Result<Vec<Instant>, String>>,
}

impl Publisher {
    pub(super) fn start(client: Client, subject: String, rate: u32, ids: bool) -> Self {
        let (stop, stopped) = oneshot::channel();
        let (runtime, publishing) = (
            Handle::current(),
            publish(client.clone(), subject, rate, ids, stopped),
        );
        let task = spawn_blocking(move || runtime.block_on(publishing));
        Self { client, stop, task }
    }

    /// No further message; when each was published, once the publisher's server has handled all of them.
    pub(super) async fn stop(self) -> Result<Vec<Instant>, String> {
        drop(self.stop);
        let ended = self.task.await;
        let published = ended.map_err(|error| format!("the publisher broke down: {error}"))??;
        // A request that nobody answers is answered by the server, behind everything else.
        let asked = self.client.request(NOBODY, Bytes::new());
        match tokio::time::timeout(FLUSH, asked).await {
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => Ok(published),
            Ok(Err(error)) => Err(format!("the publisher cannot flush: {error}")),
            Ok(Ok(_)) => Err("somebody answers for nobody".to_owned()),
            Err(_elapsed) => Err(format!("the publisher cannot flush within {FLUSH:?}")),
        }
    }
}

/// To be run on a thread that may sleep.
async fn publish(
    client: Client,
    subject: String,
    rate: u32,
    ids: bool,
    mut stopped: oneshot::Receiver<()>,
) -> Result<Vec<Instant>, String> {
    let mut published = Vec::new();
    let (mut owed, mut last) = (0.0, Instant::now());
    loop {
        thread::sleep(PACE);
        if stopped.try_recv() != Err(TryRecvError::Empty) {
            return Ok(published);
        }
        let now = Instant::now();
        owed += f64::from(rate) * (now - last).min(CATCH_UP).as_secs_f64();
        last = now;
        while owed >= 1.0 {
            owed -= 1.0;
            let number = published.len() as u64;
            published.push(Instant::now());
            let sent = async {
                if ids {
                    let mut headers = HeaderMap::new();
                    headers.insert(async_nats::header::NATS_MESSAGE_ID, number.to_string());
                    client
                        .publish_with_headers(subject.clone(), headers, payload(number))
                        .await
                } else {
                    client.publish(subject.clone(), payload(number)).await
                }
            };
            tokio::select! {
                _ = &mut stopped => {
                    // Given up before the client took it.
                    published.pop();
                    return Ok(published);
                }
                sent = sent => sent.map_err(|error| format!("the publisher failed: {error}"))?,
            }
        }
    }
}

/// The group publishes without pause, for as long as this lives.
pub(super) struct Noise {
    sum: Arc<Sum>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Sum {
    published: AtomicU64,
    errors: AtomicU64,
    first: Mutex<Option<String>>,
}

impl Noise {
    pub(super) fn start(client: FailoverClient) -> Self {
        let sum = Arc::<Sum>::default();
        let task = tokio::spawn(shout(client, sum.clone()));
        Self { sum, task }
    }

    /// How many were published, how many failed, and what the first failure was.
    pub(super) fn stop(self) -> (u64, u64, Option<String>) {
        let first = self
            .sum
            .first
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.sum.published), of(&self.sum.errors), first.clone())
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn shout(client: FailoverClient, sum: Arc<Sum>) {
    let payload = payload(0);
    loop {
        match client.publish(NOISE, payload.clone()).await {
            Ok(()) => sum.published.fetch_add(1, Ordering::Relaxed),
            Err(error) => {
                let mut first = sum.first.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert_with(|| error.to_string());
                sum.errors.fetch_add(1, Ordering::Relaxed)
            }
        };
        // Others want to run as well.
        tokio::task::consume_budget().await;
    }
}
