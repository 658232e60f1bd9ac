//! The traffic: one task publishes numbered orders through the group, another receives them, and both are counted.
//!
//! Nothing here knows of failover: that is the point. Only the header is needed, by which a message is known that arrived
//! before.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use failover_core::Error;
use failover_core::nats::{FailoverClient, Subscription};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};

/// An order each so often.
const EVERY: Duration = Duration::from_millis(1);
/// How long the last orders may take to arrive.
const LATE: Duration = Duration::from_secs(2);

/// What was received.
#[derive(Debug, Default)]
struct Received {
    orders: HashSet<u64>,
    twice: u64,
    silence: Duration,
    last: Option<Instant>,
}

/// How it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tally {
    pub(crate) published: u64,
    pub(crate) received: u64,
    pub(crate) twice: u64,
    /// The longest time without an order since the last look.
    pub(crate) silence: Duration,
}

/// Orders that flow until the [end](Self::end).
pub(crate) struct Orders {
    published: Arc<AtomicU64>,
    received: Arc<Mutex<Received>>,
    stop: oneshot::Sender<()>,
    publisher: JoinHandle<Result<(), Error>>,
    receiver: AbortHandle,
}

impl Orders {
    pub(crate) fn start(
        client: FailoverClient,
        subject: &'static str,
        subscription: Subscription,
    ) -> Self {
        let (published, received) = (Arc::default(), Arc::default());
        let (stop, stopped) = oneshot::channel();
        let publishing = publish(client, subject, Arc::clone(&published), stopped);
        let receiving = receive(subscription, Arc::clone(&received));
        Self {
            published,
            received,
            stop,
            publisher: tokio::spawn(publishing),
            receiver: tokio::spawn(receiving).abort_handle(),
        }
    }

    /// How it stands now. The count of silence begins again.
    pub(crate) fn tally(&self) -> Tally {
        let published = self.published.load(Ordering::Relaxed);
        let mut received = lock(&self.received);
        Tally {
            published,
            received: received.orders.len() as u64,
            twice: received.twice,
            silence: std::mem::take(&mut received.silence),
        }
    }

    /// No further order. How it stands when the last has come, or has had its time.
    pub(crate) async fn end(self) -> Result<Tally, Box<dyn std::error::Error>> {
        let Self {
            published,
            received,
            stop,
            publisher,
            receiver,
        } = self;
        drop(stop);
        publisher.await??;
        let stopped = Instant::now();
        let published = published.load(Ordering::Relaxed);
        let here = || lock(&received).orders.len() as u64;
        while here() < published && stopped.elapsed() < LATE {
            tokio::time::sleep(EVERY).await;
        }
        receiver.abort();
        let received = lock(&received);
        Ok(Tally {
            published,
            received: received.orders.len() as u64,
            twice: received.twice,
            silence: received.silence,
        })
    }
}

async fn publish(
    client: FailoverClient,
    subject: &'static str,
    published: Arc<AtomicU64>,
    mut stopped: oneshot::Receiver<()>,
) -> Result<(), Error> {
    let mut ticks = tokio::time::interval(EVERY);
    for number in 0_u64.. {
        tokio::select! {
            _ = &mut stopped => break,
            _ = ticks.tick() => {}
        }
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, number.to_string());
        let order = number.to_string().into();
        client.publish_with_headers(subject, headers, order).await?;
        published.store(number + 1, Ordering::Relaxed);
    }
    client.flush().await
}

async fn receive(mut subscription: Subscription, received: Arc<Mutex<Received>>) {
    while let Some(order) = subscription.next().await {
        let number = std::str::from_utf8(&order.payload).ok();
        let Some(number) = number.and_then(|number| number.parse().ok()) else {
            continue;
        };
        let now = Instant::now();
        let mut received = lock(&received);
        let silence = received.last.map_or(Duration::ZERO, |last| now - last);
        received.silence = received.silence.max(silence);
        received.last = Some(now);
        if !received.orders.insert(number) {
            received.twice += 1;
        }
    }
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}
