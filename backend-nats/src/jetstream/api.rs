//! The few questions to JetStream that binding and publishing need, and what its refusals mean.
//!
//! Never to come in: trying again. Who asks knows for how long that makes sense.

use std::collections::HashMap;

use async_nats::jetstream::response::Response;
use async_nats::{HeaderMap, Message, Request, RequestErrorKind};
use backend_api::{Error, ErrorKind, Fate, Outcome};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::connection::Connection;

/// Why there is no answer to use.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) why: Why,
    pub(super) error: Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Nobody is there to answer: an election, or no such thing. Nothing was done.
    Absent,
    /// It is there and cannot serve at the moment. Nothing was done.
    Busy,
    /// No answer in time: it may have been done.
    Silent,
    /// The connection ended: it may have been done, unless the error says otherwise.
    Ended,
    /// It says no, and will go on to.
    Refused,
}

impl Why {
    /// What the lease of the connection reports: the server that answers is well.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::Absent | Self::Busy => Outcome::Success,
            Self::Refused => Outcome::Neutral,
            Self::Silent | Self::Ended => Outcome::Failure,
        }
    }
}

impl Failed {
    pub(super) fn refused(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self {
            why: Why::Refused,
            error: Error::new(kind, text),
        }
    }

    pub(super) fn ended(connection: &Connection) -> Self {
        Self {
            why: Why::Ended,
            error: connection.interrupted(),
        }
    }
}

/// JetStream's own number for a message whose id is being stored at this moment.
const ID_IN_PROCESS: u64 = 10_158;

/// Asks once, until `deadline` at most.
pub(super) async fn request(
    connection: &Connection,
    subject: &str,
    headers: Option<&HeaderMap>,
    payload: Bytes,
    deadline: Instant,
) -> Result<Message, Failed> {
    if connection.has_ended() {
        let error = connection.interrupted().with_fate(Fate::NotApplied);
        let why = Why::Ended;
        return Err(Failed { why, error });
    }
    let mut request = Request::new().payload(payload).timeout(None);
    if let Some(headers) = headers {
        request = request.headers(headers.clone());
    }
    let begun = Instant::now();
    let asking = connection
        .client()
        .send_request(subject.to_owned(), request);
    match tokio::time::timeout_at(deadline, asking).await {
        Ok(Ok(message)) => Ok(message),
        Ok(Err(error)) => match error.kind() {
            RequestErrorKind::NoResponders => {
                let text = format!(
                    "nobody answers on {subject:?}: it has no leader at the moment, or there is no such thing"
                );
                let error = Error::new(ErrorKind::Unhealthy, text);
                let why = Why::Absent;
                Err(Failed { why, error })
            }
            RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => {
                let text = format!("it cannot be sent to {subject:?}: {error}");
                Err(Failed::refused(ErrorKind::Unsupported, text))
            }
            RequestErrorKind::TimedOut | RequestErrorKind::Other => Err(Failed::ended(connection)),
        },
        Err(_elapsed) => {
            let text = format!(
                "nobody answered on {subject:?} within {:?}",
                begun.elapsed()
            );
            let error = Error::new(ErrorKind::Timeout, text);
            let why = Why::Silent;
            Err(Failed { why, error })
        }
    }
}

/// The same for an answer in JSON.
pub(super) async fn ask<T: DeserializeOwned>(
    connection: &Connection,
    subject: &str,
    headers: Option<&HeaderMap>,
    payload: Bytes,
    deadline: Instant,
) -> Result<T, Failed> {
    let message = request(connection, subject, headers, payload, deadline).await?;
    match serde_json::from_slice::<Response<T>>(&message.payload) {
        Ok(Response::Ok(answer)) => Ok(answer),
        Ok(Response::Err { error }) => Err(explain(&error)),
        // An answerer that is not JetStream.
        Err(_) => Err(Failed::refused(
            ErrorKind::Unsupported,
            format!("no stream takes {subject:?}: something else answers there"),
        )),
    }
}

fn explain(error: &async_nats::jetstream::Error) -> Failed {
    let number = error.error_code().0;
    let text = format!("JetStream says: {error}");
    if (500..600).contains(&error.code()) || number == ID_IN_PROCESS {
        Failed {
            why: Why::Busy,
            error: Error::new(ErrorKind::Unhealthy, text),
        }
    } else {
        Failed::refused(ErrorKind::Unsupported, text)
    }
}

/// The subjects of JetStream's API in one domain.
#[derive(Clone, Debug)]
pub(super) struct Api(String);

impl Api {
    pub(super) fn new(domain: Option<&str>) -> Self {
        Self(match domain {
            Some(domain) => format!("$JS.{domain}.API"),
            None => "$JS.API".to_owned(),
        })
    }

    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        connection: &Connection,
        what: &str,
        body: Option<Value>,
    ) -> Result<T, Failed> {
        let payload = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let deadline = Instant::now() + connection.operation();
        ask(connection, &self.subject(what), None, payload, deadline).await
    }

    pub(super) fn subject(&self, what: &str) -> String {
        format!("{}.{what}", self.0)
    }
}

/// Of a stream.
#[derive(Debug, Deserialize)]
pub(super) struct StreamInfo {
    /// The same on all servers of a cluster, and another for a stream that was made anew.
    pub(super) created: String,
    pub(super) state: StreamState,
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamState {
    pub(super) last_seq: u64,
    /// How many messages each subject has, where that was asked for.
    #[serde(default)]
    pub(super) subjects: Option<HashMap<String, u64>>,
}

/// Of a consumer.
#[derive(Debug, Deserialize)]
pub(super) struct ConsumerInfo {
    pub(super) name: String,
    #[serde(default)]
    pub(super) num_pending: u64,
    pub(super) config: ConsumerConfig,
}

#[derive(Debug, Deserialize)]
pub(super) struct ConsumerConfig {
    #[serde(default)]
    pub(super) deliver_subject: Option<String>,
}

/// The streams that take a subject.
#[derive(Debug, Deserialize)]
pub(super) struct Names {
    #[serde(default)]
    pub(super) streams: Option<Vec<String>>,
}
