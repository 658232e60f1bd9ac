//! The load: the group listens to a numbered stream that a plain client publishes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::nats::{Dedupe, Nats as Backend, Subscription};
use tokio::task::JoinHandle;

use super::Nats;
use super::publish::{Noise, Publisher, connect, number};
use super::record::Record;
use crate::args::Args;
use crate::load::Load;

/// A greeting is repeated so often until one arrives.
const GREET: Duration = Duration::from_millis(2);
/// How long the first greeting may take.
const FIRST: Duration = Duration::from_secs(10);
/// How long after the end a message may still arrive; what has not come then is lost.
const LATE: Duration = Duration::from_secs(2);
/// After the last number is here: what comes twice comes within this.
const TWICE: Duration = Duration::from_millis(100);

/// A message that arrived: its number, and when.
pub(super) type Arrival = (u64, Instant);

/// See the [module](self).
pub(crate) struct Stream {
    heard: Arc<Heard>,
    listener: JoinHandle<()>,
    publisher: Publisher,
    noise: Option<Noise>,
}

#[derive(Default)]
struct Heard {
    arrivals: Mutex<Vec<Arrival>>,
    greetings: AtomicU64,
}

impl Heard {
    fn arrivals(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Load<Nats> for Stream {
    type Record = Record;

    async fn start(
        service: &Arc<Nats>,
        group: &Failover<Backend>,
        args: &Args,
    ) -> Result<Self, String> {
        // Each round its own: what is late from the last one is none of this one's.
        static ROUND: AtomicU64 = AtomicU64::new(0);
        let subject = format!("drill.{}", ROUND.fetch_add(1, Ordering::Relaxed));
        let (options, client) = (args.stream, group.client());
        let delivery = options.delivery();
        let subscription = if options.queue {
            let queue = "drill";
            client
                .queue_subscribe_with(subject.clone(), queue, delivery)
                .await
        } else {
            client.subscribe_with(subject.clone(), delivery).await
        };
        let subscription = subscription.map_err(|error| error.to_string())?;
        let heard = Arc::<Heard>::default();
        let listener = tokio::spawn(listen(subscription, heard.clone()));
        let plain = connect(&service.publisher_url()).await?;
        // The publisher's node hears of the subscription a moment after the group's own.
        let begun = Instant::now();
        while heard.greetings.load(Ordering::Relaxed) == 0 {
            if begun.elapsed() > FIRST {
                return Err(format!("no message arrives within {FIRST:?}"));
            }
            let greeted = plain.publish(subject.clone(), "hello".into()).await;
            greeted.map_err(|error| format!("the publisher failed: {error}"))?;
            tokio::time::sleep(GREET).await;
        }
        let ids = options.dedupe == Dedupe::Header;
        Ok(Self {
            heard,
            listener,
            publisher: Publisher::start(plain, subject, options.rate, ids),
            noise: options.publish.then(|| Noise::start(client)),
        })
    }

    /// A message does not say which member delivered it.
    fn served(&self, since: Instant, _but: Option<usize>) -> bool {
        let arrivals = self.heard.arrivals();
        arrivals.last().is_some_and(|(_, at)| *at > since)
    }

    async fn stop(self) -> Result<Record, String> {
        let noise = self.noise.map(Noise::stop).unwrap_or_default();
        let published = self.publisher.stop().await?;
        let end = Instant::now();
        while end.elapsed() < LATE
            && distinct(&self.heard.arrivals(), published.len()) < published.len()
        {
            tokio::time::sleep(GREET).await;
        }
        tokio::time::sleep(TWICE).await;
        self.listener.abort();
        let arrivals = std::mem::take(&mut *self.heard.arrivals());
        Ok(Record::new(published, &arrivals, noise))
    }
}

async fn listen(mut subscription: Subscription, heard: Arc<Heard>) {
    while let Some(message) = subscription.next().await {
        match number(&message.payload) {
            Some(number) => heard.arrivals().push((number, Instant::now())),
            None => {
                heard.greetings.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn distinct(arrivals: &[Arrival], published: usize) -> usize {
    let mut seen = vec![false; published];
    let new = |(number, _): &&Arrival| {
        let seen = usize::try_from(*number)
            .ok()
            .and_then(|number| seen.get_mut(number));
        seen.is_some_and(|seen| !std::mem::replace(seen, true))
    };
    arrivals.iter().filter(new).count()
}
