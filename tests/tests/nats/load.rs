//! Numbered messages, and what became of them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use failover_core::nats::Subscription;
use tokio::task::JoinHandle;

use crate::fleet::BOUND;

/// Publishes numbers with a plain client until it is stopped.
pub(crate) struct Publisher {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Publisher {
    /// About `rate` a second, in bursts of a millisecond. Each has its number as its id as well.
    pub(crate) fn start(client: async_nats::Client, subject: &'static str, rate: u64) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let sent = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn({
            let (stop, sent) = (stop.clone(), sent.clone());
            async move {
                let begun = Instant::now();
                let mut number = 0_u64;
                while !stop.load(Ordering::Relaxed) {
                    let due = begun.elapsed().as_micros() as u64 * rate / 1_000_000;
                    // After a stall of this process it goes on, and does not make up for it in one burst.
                    for _ in 0..(due.saturating_sub(number)).min(200) {
                        number += 1;
                        let mut headers = HeaderMap::new();
                        headers.insert(NATS_MESSAGE_ID, number.to_string());
                        let payload = number.to_string().into();
                        client
                            .publish_with_headers(subject, headers, payload)
                            .await
                            .unwrap();
                    }
                    sent.store(number, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                // Everything has reached the server.
                let _ = client.request("nobody.listens", "".into()).await;
            }
        });
        Self { stop, sent, task }
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Waits until so many more are published.
    pub(crate) async fn more(&self, count: u64) {
        let target = self.sent() + count;
        failover_testkit::wait_until(BOUND, "more is published", || self.sent() >= target).await;
    }

    /// How many it were, once the server has them all.
    pub(crate) async fn stop(self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap();
        self.sent.load(Ordering::Relaxed)
    }
}

/// What one reader got.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    seen: HashSet<u64>,
    /// As they came.
    order: Vec<u64>,
    highest: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
}

impl Ledger {
    pub(crate) fn note(&mut self, payload: &[u8]) {
        let number = std::str::from_utf8(payload).unwrap().parse().unwrap();
        self.order.push(number);
        if !self.seen.insert(number) {
            self.duplicated += 1;
        } else if number < self.highest {
            self.reordered += 1;
        }
        self.highest = self.highest.max(number);
    }

    pub(crate) fn has(&self, number: u64) -> bool {
        self.seen.contains(&number)
    }

    /// How many of those above a number came behind a higher one.
    pub(crate) fn reordered_beyond(&self, number: u64) -> usize {
        let beyond: Vec<_> = self.order.iter().filter(|it| **it > number).collect();
        beyond.windows(2).filter(|pair| pair[0] > pair[1]).count()
    }

    pub(crate) fn lost(&self, published: u64) -> Vec<u64> {
        (1..=published)
            .filter(|number| !self.seen.contains(number))
            .collect()
    }
}

/// Reads a subscription in a task of its own.
pub(crate) struct Reader {
    task: JoinHandle<Ledger>,
    stop: tokio::sync::oneshot::Sender<u64>,
}

impl Reader {
    pub(crate) fn start(mut subscription: Subscription) -> Self {
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(async move {
            let mut ledger = Ledger::default();
            let published: u64 = loop {
                tokio::select! {
                    message = subscription.next() => ledger.note(&message.expect("an open group").payload),
                    published = &mut stopped => break published.unwrap(),
                }
            };
            // Nothing is missing because it is slow: the last one comes for sure. What is missing then may be under way on
            // another connection; duplicates come behind it.
            let deadline = tokio::time::Instant::now() + BOUND;
            while !ledger.has(published) {
                let message = tokio::time::timeout_at(deadline, subscription.next()).await;
                let message = message.expect("the last one comes");
                ledger.note(&message.expect("an open group").payload);
            }
            while !ledger.lost(published).is_empty() {
                match tokio::time::timeout(Duration::from_secs(1), subscription.next()).await {
                    Ok(message) if tokio::time::Instant::now() < deadline => {
                        ledger.note(&message.expect("an open group").payload);
                    }
                    _ => break,
                }
            }
            while let Ok(Some(message)) =
                tokio::time::timeout(Duration::from_millis(100), subscription.next()).await
            {
                ledger.note(&message.payload);
            }
            ledger
        });
        Self { task, stop }
    }

    /// Waits until everything came, or nothing comes any more.
    pub(crate) async fn stop(self, published: u64) -> Ledger {
        self.stop.send(published).unwrap();
        self.task.await.unwrap()
    }
}
