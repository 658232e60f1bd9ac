//! Publishing on whichever connection is active.

use async_nats::message::OutboundMessage;
use async_nats::subject::ToSubject;
use async_nats::{HeaderMap, PublishErrorKind};
use backend_api::{Error, ErrorKind, Fate, Lease, Outcome};
use bytes::Bytes;

use super::FailoverClient;
use crate::connection::Connection;
use crate::outbound::Refused;

impl FailoverClient {
    /// Publishes a message. `Ok` means that it is on its way, not that a server has it: see [`flush`](Self::flush) for that,
    /// and [`Carry`](crate::Carry) for what happens to messages on their way when their connection ends. One task's messages
    /// keep their order, over switches too.
    ///
    /// An error says that the message was not published. Cancel-safe: dropped, it was published or it was not.
    pub async fn publish(&self, subject: impl ToSubject, payload: Bytes) -> Result<(), Error> {
        self.publish_message(OutboundMessage {
            subject: subject.to_subject(),
            reply: None,
            payload,
            headers: None,
        })
        .await
    }

    /// The same with headers.
    pub async fn publish_with_headers(
        &self,
        subject: impl ToSubject,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<(), Error> {
        self.publish_message(OutboundMessage {
            subject: subject.to_subject(),
            reply: None,
            payload,
            headers: Some(headers),
        })
        .await
    }

    /// The same with a subject for answers. An inbox of one connection is of no use here, since it does not follow a switch:
    /// subscribe to the reply subject, or use [`request`](Self::request).
    pub async fn publish_with_reply(
        &self,
        subject: impl ToSubject,
        reply: impl ToSubject,
        payload: Bytes,
    ) -> Result<(), Error> {
        self.publish_message(OutboundMessage {
            subject: subject.to_subject(),
            reply: Some(reply.to_subject()),
            payload,
            headers: None,
        })
        .await
    }

    /// The same with everything.
    pub async fn publish_message(&self, mut message: OutboundMessage) -> Result<(), Error> {
        loop {
            let lease = self.slot.lease().await?;
            let connection = lease.connection();
            let sent = connection
                .outbound()
                .send(connection.client(), message, &self.shared.pending)
                .await;
            match sent {
                Ok(()) => {
                    lease.finish(Outcome::Success);
                    return Ok(());
                }
                Err(Refused::Moving(back)) => {
                    message = back;
                    self.elsewhere(lease, true).await?;
                }
                Err(Refused::Ended(back)) => {
                    message = back;
                    self.elsewhere(lease, false).await?;
                }
                Err(Refused::Full) => {
                    let text = format!(
                        "{} messages wait until the server confirms them, and none was confirmed in time",
                        self.shared.options.carry_limit
                    );
                    let error = not_published(ErrorKind::Timeout, text, &lease);
                    lease.finish(Outcome::Failure);
                    return Err(error);
                }
                Err(Refused::Unfit(error)) => {
                    let kind = match error.kind() {
                        PublishErrorKind::Send => ErrorKind::Lost,
                        _ => ErrorKind::Unsupported,
                    };
                    let ended = kind == ErrorKind::Lost;
                    let error = not_published(kind, error.to_string(), &lease);
                    lease.finish(if ended {
                        Outcome::Failure
                    } else {
                        Outcome::Neutral
                    });
                    return Err(error);
                }
            }
        }
    }

    /// Waits until the traffic has moved away from where an operation could not be done, or `stays` and may be done there
    /// after all.
    #[cold]
    pub(super) async fn elsewhere(
        &self,
        lease: Lease<Connection>,
        stays: bool,
    ) -> Result<(), Error> {
        let (epoch, connection) = (lease.epoch(), lease.connection().clone());
        lease.finish(Outcome::Neutral);
        if stays {
            tokio::select! {
                moved = self.slot.moved_from(epoch) => moved.map(drop),
                () = connection.outbound().opened() => Ok(()),
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
