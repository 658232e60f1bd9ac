//! Asking a pull consumer for messages on one connection.
//!
//! One inbox, and requests that are renewed when half of what was asked for has come. Between requests nothing runs: a
//! reader that does not read leaves a subscription behind and, after the request has expired, nothing at the server.

use std::pin::Pin;
use std::time::Duration;

use async_nats::{Message, StatusCode, Subject, Subscriber};
use backend_api::{Epoch, Error, ErrorKind, Slot};
use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;
use tokio::task::unconstrained;
use tokio::time::Instant;

use super::api::{Failed, Why};
use super::reading::Reading;
use crate::connection::Connection;
use crate::subscription::no_more;

/// See the [module](self).
pub(super) struct Pull {
    connection: Connection,
    epoch: Epoch,
    subscriber: Subscriber,
    inbox: Subject,
    /// Where the consumer is asked.
    subject: String,
    batch: usize,
    expires: Duration,
    heartbeat: Duration,
    /// What was asked for and has not come.
    outstanding: usize,
    last_heard: Instant,
    stage: Stage,
}

enum Stage {
    Live,
    /// The traffic has moved: nothing more is asked for, and until then what was asked for may come.
    Ending(Instant),
    /// It is unsubscribed: what is under way is read, until the server has answered behind its end or takes too long.
    Leaving(Pin<Box<dyn Future<Output = ()> + Send + Sync>>),
    /// What is here is the rest.
    Left,
}

/// What came.
pub(super) enum Heard {
    Message(Message),
    /// The consumer works and has nothing, and this is the number of the last message that it sent, where it says so.
    Idle(Option<u64>),
    /// Nothing more comes from here, which is as it should be: the traffic has moved.
    Left,
    /// Nothing more comes from here.
    Broken(Failed),
}

enum Waited {
    /// `None`: the subscription has ended.
    Message(Option<Message>),
    /// The traffic has moved, or that was a while ago.
    Moved,
    /// Nothing more is under way.
    Over,
    /// Longer than a consumer that works is silent.
    Silent,
}

/// How long what was asked for may come after a planned move. A leader on another server hears of an UNSUB a moment later,
/// and what it sends until then comes again after `ack_wait` only: where messages flow, none is left to that.
const LAST: Duration = Duration::from_millis(100);

impl Pull {
    pub(super) async fn open(
        connection: &Connection,
        epoch: Epoch,
        reading: &Reading,
        consumer: &str,
    ) -> Result<Self, Failed> {
        let client = connection.client();
        let inbox = Subject::from(client.new_inbox());
        let subscribed = client.subscribe(inbox.clone()).await;
        let subscriber = subscribed.map_err(|_| Failed::ended(connection))?;
        let what = format!("CONSUMER.MSG.NEXT.{}.{consumer}", reading.stream);
        Ok(Self {
            connection: connection.clone(),
            epoch,
            subscriber,
            inbox,
            subject: reading.api().subject(&what),
            batch: reading.batch,
            expires: reading.expires(),
            heartbeat: reading.heartbeat,
            outstanding: 0,
            last_heard: Instant::now(),
            stage: Stage::Live,
        })
    }

    /// The next thing to know. Whoever drops the future before it is ready gets the same from the next call.
    pub(super) async fn next(&mut self, slot: &Slot<Connection>) -> Heard {
        loop {
            match self.stage {
                Stage::Live if slot.epoch() != Some(self.epoch) => {
                    self.stage = Stage::Ending(Instant::now() + LAST);
                }
                Stage::Live if self.outstanding <= self.batch / 2 => self.ask().await,
                Stage::Ending(_) if self.outstanding == 0 => self.stage = Stage::Left,
                Stage::Ending(until) if Instant::now() >= until => self.leave().await,
                _ => {}
            }
            // What is here already is read before anything else is looked at: a reader may have been away for long.
            let next = self.subscriber.next();
            let here = match self.stage {
                // Without the runtime's budget, which can make it look as if nothing were here.
                Stage::Left => unconstrained(next).now_or_never(),
                _ => next.now_or_never(),
            };
            let waited = match here {
                Some(message) => Waited::Message(message),
                None => self.wait(slot).await,
            };
            let message = match waited {
                Waited::Message(Some(message)) => message,
                Waited::Message(None) if matches!(self.stage, Stage::Live) => {
                    return Heard::Broken(Failed::ended(&self.connection));
                }
                Waited::Message(None) => return Heard::Left,
                Waited::Over if matches!(self.stage, Stage::Left) => return Heard::Left,
                Waited::Over => {
                    self.stage = Stage::Left;
                    continue;
                }
                Waited::Silent => return Heard::Broken(self.silent()),
                Waited::Moved => continue,
            };
            self.last_heard = Instant::now();
            if let Some(heard) = self.hear(message) {
                return heard;
            }
        }
    }

    async fn wait(&mut self, slot: &Slot<Connection>) -> Waited {
        let message = self.subscriber.next();
        match &mut self.stage {
            Stage::Live => tokio::select! {
                biased;
                message = message => Waited::Message(message),
                () = slot.left(self.epoch) => Waited::Moved,
                () = tokio::time::sleep_until(self.last_heard + self.heartbeat.mul_f32(2.5)) => Waited::Silent,
            },
            Stage::Ending(until) => tokio::select! {
                biased;
                message = message => Waited::Message(message),
                () = tokio::time::sleep_until(*until) => Waited::Moved,
            },
            Stage::Leaving(over) => tokio::select! {
                biased;
                message = message => Waited::Message(message),
                () = over => Waited::Over,
            },
            Stage::Left => Waited::Over,
        }
    }

    fn silent(&self) -> Failed {
        let text = format!(
            "the consumer sent nothing for {:?}, not even a heartbeat",
            self.last_heard.elapsed()
        );
        Failed {
            why: Why::Silent,
            error: Error::new(ErrorKind::Timeout, text),
        }
    }

    /// Asks for as much as is missing.
    async fn ask(&mut self) {
        let missing = self.batch - self.outstanding;
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let request = json!({
            "batch": missing,
            "expires": nanos(self.expires),
            "idle_heartbeat": nanos(self.heartbeat),
        });
        let client = self.connection.client();
        let payload = request.to_string().into();
        // It fails with the connection only, and then the subscription ends as well.
        let _ = client
            .publish_with_reply(self.subject.clone(), self.inbox.clone(), payload)
            .await;
        if self.outstanding == 0 {
            self.last_heard = Instant::now();
        }
        self.outstanding += missing;
    }

    /// Unsubscribes, and reads on: what the server sent before it answers the next request is handed on. That is waited for as
    /// long as an operation may take.
    async fn leave(&mut self) {
        let connection = self.connection.clone();
        let time = connection.operation();
        let told = tokio::time::timeout(time, no_more(&mut self.subscriber)).await;
        self.stage = Stage::Leaving(Box::pin(async move {
            if told.is_ok() {
                // It fails with the connection, which has sent the last then, or it comes too late.
                let _ = connection.round_trip_within(time).await;
            }
        }));
    }

    fn hear(&mut self, message: Message) -> Option<Heard> {
        let Some(status) = message.status.filter(|status| *status != StatusCode::OK) else {
            self.outstanding = self.outstanding.saturating_sub(1);
            return Some(Heard::Message(message));
        };
        let number = |name: &str| {
            let headers = message.headers.as_ref()?;
            headers.get(name)?.as_str().parse::<u64>().ok()
        };
        let words = message.description.as_deref().unwrap_or_default();
        let broken = |why, kind, text: String| {
            let error = Error::new(kind, text);
            Some(Heard::Broken(Failed { why, error }))
        };
        match status.as_u16() {
            100 => Some(Heard::Idle(number("Nats-Last-Consumer"))),
            503 => broken(
                Why::Absent,
                ErrorKind::Unhealthy,
                "the consumer has no leader at the moment, or is gone".to_owned(),
            ),
            409 if words.contains("Exceeded") || words.contains("push") => broken(
                Why::Refused,
                ErrorKind::Unsupported,
                format!("the consumer does not allow such requests: {words}"),
            ),
            404 | 408 => self.over(number("Nats-Pending-Messages")),
            409 if words.contains("Batch Completed") => self.over(number("Nats-Pending-Messages")),
            // A leader that steps down, a server that ends, a consumer that was deleted: looked at anew.
            409 => broken(Why::Busy, ErrorKind::Unhealthy, words.to_owned()),
            code => broken(
                Why::Refused,
                ErrorKind::Protocol,
                format!("the consumer answered {code} {words}"),
            ),
        }
    }

    /// A request is over, with so much left of it.
    fn over(&mut self, pending: Option<u64>) -> Option<Heard> {
        let pending = pending.map_or(self.outstanding, |pending| {
            usize::try_from(pending).unwrap_or(usize::MAX)
        });
        self.outstanding = self.outstanding.saturating_sub(pending);
        None
    }
}
