//! Requests on whichever connection is active.

use std::time::Duration;

use async_nats::subject::ToSubject;
use async_nats::{HeaderMap, Message, Request, RequestError, RequestErrorKind, Subject};
use backend_api::{Error, ErrorKind, Fate, Lease, Outcome};
use bytes::Bytes;

use super::FailoverClient;
use crate::connection::Connection;

/// How a request is asked.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Ask {
    timeout: Option<Duration>,
    headers: Option<HeaderMap>,
    idempotent: bool,
}

impl Ask {
    /// As `timeouts.operation` bounds it, and once.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the answer may take. Default: `timeouts.operation`.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// With headers.
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers = Some(headers);
        self
    }

    /// Whether it may be asked again on the next active when its connection ends under it. Default: no, since the answerer
    /// may have acted on it.
    pub fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }
}

impl FailoverClient {
    /// Asks, and waits for the first answer, `timeouts.operation` long.
    ///
    /// A drain lets it finish. Where its connection ends first it fails at once, and says that it may have been applied.
    /// A subject that nobody listens to is an error of kind [`ErrorKind::Unhealthy`], at once. Cancel-safe.
    pub async fn request(&self, subject: impl ToSubject, payload: Bytes) -> Result<Message, Error> {
        self.request_with(subject, payload, Ask::new()).await
    }

    /// The same with a time of its own, with headers, or asked again where its connection ends: see [`Ask`].
    pub async fn request_with(
        &self,
        subject: impl ToSubject,
        payload: Bytes,
        ask: Ask,
    ) -> Result<Message, Error> {
        let subject = subject.to_subject();
        loop {
            let lease = self.slot.lease().await?;
            let answer = asked(&lease, &subject, &payload, &ask).await;
            match answer {
                Ok(message) => {
                    lease.connection().outbound().answered();
                    lease.finish(Outcome::Success);
                    return Ok(message);
                }
                Err((error, outcome)) => {
                    let ended = matches!(error.kind(), ErrorKind::Lost | ErrorKind::Retired);
                    // What was never sent may be asked again by anybody.
                    let again = ended && (ask.idempotent || error.fate() == Some(Fate::NotApplied));
                    let error = error.with_member(lease.member()).with_operation("request");
                    let epoch = lease.epoch();
                    lease.finish(outcome);
                    if !again || self.slot.moved_from(epoch).await.is_err() {
                        return Err(error);
                    }
                }
            }
        }
    }
}

async fn asked(
    lease: &Lease<Connection>,
    subject: &Subject,
    payload: &Bytes,
    ask: &Ask,
) -> Result<Message, (Error, Outcome)> {
    let connection = lease.connection();
    if connection.has_ended() {
        return Err((
            connection.interrupted().with_fate(Fate::NotApplied),
            Outcome::Neutral,
        ));
    }
    let timeout = ask.timeout.unwrap_or(connection.operation());
    let mut request = Request::new().payload(payload.clone()).timeout(None);
    if let Some(headers) = &ask.headers {
        request = request.headers(headers.clone());
    }
    let asking = connection.client().send_request(subject.clone(), request);
    match tokio::time::timeout(timeout, asking).await {
        Ok(Ok(message)) => Ok(message),
        Ok(Err(error)) => Err(explain(connection, subject, &error)),
        // That nobody answered in time says something about the answerer first; that the connection is proven is cheap.
        Err(_elapsed) => Err((
            Error::new(
                ErrorKind::Timeout,
                format!(
                    "nobody answered on {:?} within {timeout:?}",
                    subject.as_str()
                ),
            )
            .with_fate(Fate::MayHaveBeenApplied),
            Outcome::Failure,
        )),
    }
}

fn explain(connection: &Connection, subject: &Subject, error: &RequestError) -> (Error, Outcome) {
    let subject = subject.as_str();
    match error.kind() {
        RequestErrorKind::NoResponders => (
            Error::new(
                ErrorKind::Unhealthy,
                format!("nobody listens on {subject:?}"),
            )
            .with_fate(Fate::NotApplied),
            // The server answered.
            Outcome::Success,
        ),
        RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => (
            Error::new(
                ErrorKind::Unsupported,
                format!("it cannot be sent to {subject:?}: {error}"),
            )
            .with_fate(Fate::NotApplied),
            Outcome::Neutral,
        ),
        RequestErrorKind::TimedOut | RequestErrorKind::Other => (
            connection.interrupted().with_fate(Fate::MayHaveBeenApplied),
            Outcome::Failure,
        ),
    }
}
