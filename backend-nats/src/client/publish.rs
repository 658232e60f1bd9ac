//! Publishing on whichever connection is active.

use async_nats::HeaderMap;
use async_nats::message::OutboundMessage;
use async_nats::subject::ToSubject;
use backend_api::{Error, ErrorKind, Fate, Lease, Outcome};
use bytes::Bytes;

use super::FailoverClient;
use crate::connection::Connection;
use crate::keeping;
use crate::outbound::{Attempt, Parcel, Refused};

/// What came of publishing at once.
enum Sent {
    Done,
    Rest(Box<Rest>),
}

/// What is left to do.
#[allow(clippy::large_enum_variant, reason = "it is in a box as it is")]
enum Rest {
    Message(Parcel),
    Later(Lease<Connection>, Parcel),
    Refused(Lease<Connection>, Refused),
}

impl FailoverClient {
    /// Publishes a message. `Ok` means that it is on its way, not that a server has it: see [`flush`](Self::flush) for that,
    /// and [`Carry`](crate::Carry) for what happens to messages on their way when their connection ends. One task's messages
    /// keep their order, over switches too: after a move away from a server that does not answer, publishing waits until it
    /// does or its connection has ended, at most `timeouts.operation`, and for as long as it takes to carry over what
    /// that still had.
    ///
    /// An error says that the message was not published. Cancel-safe: dropped, it was published or it was not.
    pub async fn publish(&self, subject: impl ToSubject, payload: Bytes) -> Result<(), Error> {
        let sent = self.publish_now(Parcel::new(subject.to_subject(), payload));
        self.rest(sent).await
    }

    /// The same with headers.
    pub async fn publish_with_headers(
        &self,
        subject: impl ToSubject,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<(), Error> {
        let sent = self.publish_now(Parcel::from(OutboundMessage {
            subject: subject.to_subject(),
            reply: None,
            payload,
            headers: Some(headers),
        }));
        self.rest(sent).await
    }

    /// The same with a subject for answers. An inbox of one connection is of no use here, since it does not follow a switch:
    /// subscribe to the reply subject, or use [`request`](Self::request).
    pub async fn publish_with_reply(
        &self,
        subject: impl ToSubject,
        reply: impl ToSubject,
        payload: Bytes,
    ) -> Result<(), Error> {
        let sent = self.publish_now(Parcel::from(OutboundMessage {
            subject: subject.to_subject(),
            reply: Some(reply.to_subject()),
            payload,
            headers: None,
        }));
        self.rest(sent).await
    }

    /// The same with everything.
    pub async fn publish_message(&self, message: OutboundMessage) -> Result<(), Error> {
        let sent = self.publish_now(message.into());
        self.rest(sent).await
    }

    /// Nearly always there is an active and its client takes the message at once. Messages are large, and futures that hold
    /// them are moved about; so that is done without any, and the rest in a box.
    #[inline]
    fn publish_now(&self, message: Parcel) -> Sent {
        let Ok(lease) = self.slot.try_lease() else {
            return Sent::Rest(Box::new(Rest::Message(message)));
        };
        let connection = lease.connection();
        let outbound = connection.outbound();
        match outbound.try_send(connection, message, &self.shared.pending) {
            Attempt::Sent => {
                lease.finish(Outcome::Success);
                Sent::Done
            }
            Attempt::Later(message) => Sent::Rest(Box::new(Rest::Later(lease, *message))),
            Attempt::Refused(refused) => Sent::Rest(Box::new(Rest::Refused(lease, *refused))),
        }
    }

    #[inline]
    async fn rest(&self, sent: Sent) -> Result<(), Error> {
        match sent {
            Sent::Done => Ok(()),
            Sent::Rest(rest) => Box::pin(self.publish_rest(*rest)).await,
        }
    }

    #[cold]
    async fn publish_rest(&self, rest: Rest) -> Result<(), Error> {
        let order = &self.shared.pending;
        let mut back = match rest {
            Rest::Message(message) => Some(message),
            Rest::Refused(lease, refused) => Some(self.judge(lease, refused).await?),
            Rest::Later(lease, message) => {
                let connection = lease.connection().clone();
                let sending = connection
                    .outbound()
                    .send_later(&connection, message, order);
                self.sent(lease, sending.await).await?
            }
        };
        while let Some(message) = back {
            let lease = self.slot.lease().await?;
            let connection = lease.connection().clone();
            let sending = connection.outbound().send(&connection, message, order);
            back = self.sent(lease, sending.await).await?;
        }
        Ok(())
    }

    /// Gives the message back if it is to be published elsewhere.
    async fn sent(
        &self,
        lease: Lease<Connection>,
        sent: Result<(), Refused>,
    ) -> Result<Option<Parcel>, Error> {
        match sent {
            Ok(()) => {
                lease.finish(Outcome::Success);
                Ok(None)
            }
            Err(refused) => self.judge(lease, refused).await.map(Some),
        }
    }

    /// What becomes of a message that was not taken: it is published elsewhere, or that is an error.
    async fn judge(&self, lease: Lease<Connection>, refused: Refused) -> Result<Parcel, Error> {
        match refused {
            Refused::Moving(back) => {
                self.elsewhere(lease, true).await?;
                Ok(back)
            }
            Refused::Behind(back) => {
                keeping::catch_up(lease.connection(), &self.shared);
                self.elsewhere(lease, true).await?;
                Ok(back)
            }
            Refused::Ended(back) => {
                self.elsewhere(lease, false).await?;
                Ok(back)
            }
            Refused::Full => {
                let text = format!(
                    "{} messages wait until the server confirms them, and none was confirmed in time",
                    self.shared.options.carry_limit
                );
                let error = not_published(ErrorKind::Timeout, text, &lease);
                lease.finish(Outcome::Failure);
                Err(error)
            }
            Refused::Unfit(error) => {
                let error = not_published(ErrorKind::Unsupported, error.to_string(), &lease);
                lease.finish(Outcome::Neutral);
                Err(error)
            }
        }
    }

    /// Waits until the traffic has moved away from where an operation could not be done, or `stays` and may be done there
    /// after all.
    #[cold]
    async fn elsewhere(&self, lease: Lease<Connection>, stays: bool) -> Result<(), Error> {
        let (epoch, connection) = (lease.epoch(), lease.connection().clone());
        lease.finish(Outcome::Neutral);
        if stays {
            tokio::select! {
                // First: it is no error that the time ran out at the same moment.
                biased;
                () = connection.outbound().opened() => Ok(()),
                moved = self.slot.moved_from(epoch) => moved.map(drop),
            }
        } else {
            self.slot.moved_from(epoch).await.map(drop)
        }
    }
}

fn not_published(kind: ErrorKind, text: String, lease: &Lease<Connection>) -> Error {
    Error::new(kind, text)
        .with_member(lease.member())
        .with_operation("publish")
        .with_fate(Fate::NotApplied)
}
