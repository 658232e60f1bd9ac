//! Who hears the messages: a subscription with each delivery, a queue group, and a consumer of the stream.

use std::time::Duration;

use failover_core::nats::{Dedupe, Delivery, FailoverClient, PullConsumer, Subscription};
use tokio::task::JoinHandle;

use super::super::Course;
use super::work::{PUBLISHED, PUBLISHERS, STREAMERS, operation};
use super::{ACK_WAIT, READER, STREAM};
use crate::log::Clock;
use crate::record::{self as r, Heard, Kind, Micros, OperationId};

/// A message may come so much later than the last was sent.
const LATE: Duration = Duration::from_secs(2);
/// More than all publishers send in a second.
const RATE: usize = 1300;
const RATE_OF_STREAM: usize = 250;
const QUEUE: &str = "queue";

/// Every delivery that there is, in the words of the backend and of the record.
fn deliveries() -> [(Delivery, r::Delivery, Option<&'static str>); 6] {
    let least = |dedupe, ordered| r::Delivery::AtLeastOnce { dedupe, ordered };
    let (none, header) = (r::Dedupe::None, r::Dedupe::Header);
    let mirrored = r::Delivery::Mirrored { dedupe: header };
    [
        (Delivery::AtMostOnce, r::Delivery::AtMostOnce, None),
        (
            Delivery::at_least_once(Dedupe::None),
            least(none, false),
            None,
        ),
        (
            Delivery::at_least_once(Dedupe::Header),
            least(header, false),
            None,
        ),
        (Delivery::ordered(Dedupe::Header), least(header, true), None),
        (Delivery::mirrored(Dedupe::Header), mirrored, None),
        (
            Delivery::at_least_once(Dedupe::None),
            least(none, false),
            Some(QUEUE),
        ),
    ]
}

pub(super) async fn start(
    client: &FailoverClient,
    course: &Course,
) -> Result<Vec<JoinHandle<Heard>>, String> {
    let mut listeners = Vec::new();
    for (delivery, recorded, queue) in deliveries() {
        let subscription = match queue {
            Some(queue) => {
                client
                    .queue_subscribe_with(PUBLISHED, queue, delivery)
                    .await
            }
            None => client.subscribe_with(PUBLISHED, delivery).await,
        };
        let subscription = subscription.map_err(|error| error.to_string())?;
        let mut heard = empty(recorded, Kind::Publish, course);
        heard.queue = queue;
        listeners.push(tokio::spawn(listen(subscription, heard, course.clone())));
    }
    let reader = client.pull_consumer(STREAM, READER).open().await;
    let reader = reader.map_err(|error| error.to_string())?;
    let heard = empty(r::Delivery::Consumer, Kind::StreamPublish, course);
    listeners.push(tokio::spawn(consume(reader, heard, course.clone())));
    Ok(listeners)
}

/// Subscribed now, and nothing heard yet.
fn empty(delivery: r::Delivery, kind: Kind, course: &Course) -> Heard {
    let (from, rate) = match kind {
        Kind::Publish => (PUBLISHERS, RATE),
        _ => (STREAMERS, RATE_OF_STREAM),
    };
    let now = course.clock.now();
    Heard {
        delivery,
        queue: None,
        kind,
        from,
        steady: false,
        again: match kind {
            Kind::StreamPublish => ACK_WAIT.as_micros() as Micros,
            _ => 0,
        },
        during: now..now,
        messages: Vec::with_capacity(rate * (course.length.as_secs() as usize + 5)),
    }
}

async fn listen(mut subscription: Subscription, mut heard: Heard, course: Course) -> Heard {
    let end = ended(course.clone());
    tokio::pin!(end);
    loop {
        let message = tokio::select! {
            biased;
            () = &mut end => break,
            message = subscription.next() => message,
        };
        let Some(message) = message else { break };
        note(&mut heard, operation(&message.payload), &course);
    }
    heard.during.end = course.clock.now();
    heard
}

async fn consume(mut reader: PullConsumer, mut heard: Heard, course: Course) -> Heard {
    let end = ended(course.clone());
    tokio::pin!(end);
    loop {
        let message = tokio::select! {
            biased;
            () = &mut end => break,
            message = reader.next() => message,
        };
        match message {
            Some(Ok(message)) => {
                // One that is lost comes again, and that is agreed.
                let _ = message.ack().await;
                note(
                    &mut heard,
                    operation(&message.into_message().payload),
                    &course,
                );
            }
            // It was out of reach for longer than its patience, and goes on.
            Some(Err(_)) => {}
            None => break,
        }
    }
    heard.during.end = course.clock.now();
    heard
}

fn note(heard: &mut Heard, id: Option<OperationId>, course: &Course) {
    let at: Micros = Clock::now(course.clock);
    heard.messages.extend(id.map(|id| (at, id)));
    course.logs.heard_one();
}

/// When nothing is sent any more, and what was on its way has come.
async fn ended(mut course: Course) {
    let _ = course.over.wait_for(|over| *over).await;
    tokio::time::sleep(LATE).await;
}
