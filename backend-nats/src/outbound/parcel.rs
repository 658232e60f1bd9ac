//! A message on its way into the client's channel. Nearly all are a subject and a payload, and small where they are kept; what
//! else a message may have stands apart.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use async_nats::client::traits::Publisher as _;
use async_nats::message::OutboundMessage;
use async_nats::subject::ToSubject;
use async_nats::{Client, HeaderMap, PublishError, Subject};
use bytes::Bytes;

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    subject: Subject,
    payload: Bytes,
    more: Option<Box<More>>,
}

#[derive(Clone, Debug)]
struct More {
    reply: Option<Subject>,
    headers: Option<HeaderMap>,
}

impl Parcel {
    #[inline]
    pub(crate) fn new(subject: Subject, payload: Bytes) -> Self {
        Self {
            subject,
            payload,
            more: None,
        }
    }

    /// Hands it to the client, if that takes it at once. This is then the copy.
    #[inline]
    pub(super) fn hand_over(&self, client: &Client) -> Poll<Result<(), PublishError>> {
        match self.more {
            None => at_once(pin!(
                client.publish(Lent(&self.subject), self.payload.clone())
            )),
            Some(_) => at_once(pin!(client.publish_message(self.clone().into()))),
        }
    }

    /// Hands it to the client, as soon as that takes it. Cancel-safe: dropped, it was taken or it was not.
    pub(super) async fn deliver(self, client: &Client) -> Result<(), PublishError> {
        client.publish_message(self.into()).await
    }
}

/// A subject of which the client makes its own copy: it would make one of an owned one as well.
struct Lent<'a>(&'a Subject);

impl ToSubject for Lent<'_> {
    #[inline]
    fn to_subject(&self) -> Subject {
        self.0.clone()
    }
}

impl From<OutboundMessage> for Parcel {
    fn from(message: OutboundMessage) -> Self {
        let OutboundMessage {
            subject,
            payload,
            reply,
            headers,
        } = message;
        let more = (reply.is_some() || headers.is_some()).then(|| More { reply, headers });
        Self {
            subject,
            payload,
            more: more.map(Box::new),
        }
    }
}

impl From<Parcel> for OutboundMessage {
    fn from(parcel: Parcel) -> Self {
        let (reply, headers) = match parcel.more {
            Some(more) => (more.reply, more.headers),
            None => (None, None),
        };
        Self {
            subject: parcel.subject,
            payload: parcel.payload,
            reply,
            headers,
        }
    }
}

/// A future that is ready, or that nobody will wake. Where it stands: it is larger than a message.
#[inline]
fn at_once<T>(future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}
