//! Who publishes and who asks, through the group: numbered messages that nobody acknowledges, requests to a service that
//! answers with the question, and messages for a stream.
//!
//! Each message carries the name of its operation. Some are larger than the limits that a fault sets.

use std::ops::Range;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use bytes::{BufMut as _, Bytes, BytesMut};
use failover_core::nats::{FailoverClient, Publication};
use failover_core::{Error, Fate};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::super::Course;
use super::ECHO;
use crate::log::{Answer, Log};
use crate::record::{Kind, OperationId};

pub(super) const PUBLISHERS: Range<u16> = 0..12;
const ASKERS: Range<u16> = 12..28;
pub(super) const STREAMERS: Range<u16> = 28..40;
pub(super) const WORKERS: u16 = 40;
pub(super) const PUBLISHED: &str = "chaos.published";
pub(super) const STREAMED: &str = "chaos.streamed";
/// How long a message for the stream is tried.
pub(super) const WITHIN: Duration = Duration::from_secs(2);
/// Some 1,200 messages, 530 requests and 200 messages for the stream a second.
const PACE: [Duration; 3] = [
    Duration::from_millis(10),
    Duration::from_millis(30),
    Duration::from_millis(60),
];
/// The length of a payload, and of one in [`RARELY`].
const USUAL: usize = 64;
const LARGE: usize = 4096;
const RARELY: u32 = 100;

/// A message that names its operation.
fn payload(id: OperationId) -> Bytes {
    let large = id.number % RARELY == RARELY - 1;
    let mut payload = BytesMut::with_capacity(LARGE);
    payload.put_u16(id.worker);
    payload.put_u32(id.number);
    payload.resize(if large { LARGE } else { USUAL }, b'.');
    payload.freeze()
}

/// The operation of a message.
pub(super) fn operation(payload: &[u8]) -> Option<OperationId> {
    let (worker, rest) = payload.split_first_chunk()?;
    let (number, _) = rest.split_first_chunk()?;
    Some(OperationId {
        worker: u16::from_be_bytes(*worker),
        number: u32::from_be_bytes(*number),
    })
}

fn message_id(id: OperationId) -> String {
    format!("{}-{}", id.worker, id.number)
}

/// What a worker does.
fn kind(worker: u16) -> (Kind, Duration) {
    let [publishes, asks, streams] = PACE;
    match worker {
        _ if PUBLISHERS.contains(&worker) => (Kind::Publish, publishes),
        _ if ASKERS.contains(&worker) => (Kind::Request, asks),
        _ => (Kind::StreamPublish, streams),
    }
}

pub(super) fn start(client: &FailoverClient, course: &Course) -> JoinSet<Log> {
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        let (kind, pace) = kind(worker);
        let most = course.length.div_duration_f64(pace) as usize + 100;
        let log = course.logs.log(worker, most);
        let (client, course) = (client.clone(), course.clone());
        workers.spawn(async move {
            let give_up = course.give_up;
            let work = async move |log: &mut Log| work(client, log, course, kind, pace).await;
            log.keep(work, give_up).await
        });
    }
    workers
}

async fn work(client: FailoverClient, log: &mut Log, course: Course, kind: Kind, pace: Duration) {
    let worker = log.next().worker;
    let publisher = client.publisher().within(WITHIN);
    // Not all at the same time.
    tokio::time::sleep(pace.mul_f64(f64::from(worker) / f64::from(WORKERS))).await;
    let mut ticks = tokio::time::interval(pace);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !*course.over.borrow() {
        ticks.tick().await;
        let id = log.begin(kind);
        let sent = payload(id);
        let answer = match kind {
            Kind::Publish => {
                let mut headers = HeaderMap::new();
                headers.insert(NATS_MESSAGE_ID, message_id(id));
                let published = client.publish_with_headers(PUBLISHED, headers, sent).await;
                match published {
                    Ok(()) => Answer::Right,
                    // An error says that the message was not published.
                    Err(error) => failed(&error, Some(Fate::NotApplied)),
                }
            }
            Kind::Request => match client.request(ECHO, sent.clone()).await {
                Ok(answer) if answer.payload == sent => Answer::Right,
                Ok(answer) => {
                    let other = operation(&answer.payload);
                    Answer::Wrong(format!("the answer to {other:?}"))
                }
                Err(error) => failed(&error, None),
            },
            _ => {
                let message = Publication::new(STREAMED, sent).id(message_id(id));
                match publisher.publish(message).await {
                    Ok(_confirmed) => Answer::Right,
                    Err(error) => failed(&error, None),
                }
            }
        };
        log.end(answer);
    }
}

fn failed(error: &Error, without: Option<Fate>) -> Answer {
    Answer::Failed(error.fate().or(without), error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_its_operation() {
        for number in [0, RARELY - 1, 70_000] {
            let id = OperationId { worker: 39, number };
            assert_eq!(operation(&payload(id)), Some(id));
        }
        assert_eq!(operation(b"hello"), None);
    }

    #[test]
    fn everybody_has_something_to_do() {
        let kinds: Vec<_> = (0..WORKERS).map(|worker| kind(worker).0).collect();
        for (kind, count) in [
            (Kind::Publish, 12),
            (Kind::Request, 16),
            (Kind::StreamPublish, 12),
        ] {
            assert_eq!(kinds.iter().filter(|it| **it == kind).count(), count);
        }
    }
}
