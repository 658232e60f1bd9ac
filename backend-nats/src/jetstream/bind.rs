//! Binding a reader to the stream and its consumer on one connection.
//!
//! Never to come in: choosing the connection, and what follows from a failure.

use backend_api::{Epoch, ErrorKind};
use serde_json::json;

use super::api::{Api, ConsumerInfo, Failed, StreamInfo, Why};
use super::place::Cluster;
use super::pull::Pull;
use super::reading::{Begin, Reading, What};
use crate::connection::Connection;

/// What a reader carries from one connection to the next, all of it from one cluster.
#[derive(Clone, Debug)]
pub(super) struct Position {
    pub(super) cluster: Cluster,
    /// When the stream was created: another of the same name is another stream.
    pub(super) created: String,
    /// The last message of the stream that was read or is not to be read; not for durable consumers.
    pub(super) last: Option<u64>,
    /// Whether everything that was there at the beginning was read.
    pub(super) current: bool,
}

/// A consumer on a connection.
pub(super) struct Bound {
    pub(super) pull: Pull,
    /// The number of the last message of this consumer.
    pub(super) consumer_sequence: u64,
}

pub(super) enum NotBound {
    Failed(Failed),
    /// The position is of another stream. What it was and what it is now.
    Elsewhere(String),
}

impl From<Failed> for NotBound {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// The server forgets a consumer that nobody has asked for so long.
const FORGET: std::time::Duration = std::time::Duration::from_secs(30);

/// With `earlier`, the reading goes on there; `trust` says that it holds although the stream seems to be another one.
pub(super) async fn bind(
    reading: &Reading,
    connection: &Connection,
    epoch: Epoch,
    earlier: Option<&Position>,
    trust: bool,
) -> Result<(Bound, Position), NotBound> {
    let api = reading.api();
    let stream = format!("STREAM.INFO.{}", reading.stream);
    let stream: StreamInfo = api.ask(connection, &stream, None).await?;
    if let Some(earlier) = earlier
        && !trust
    {
        check(reading, &stream, earlier)?;
    }
    let mut position = Position {
        cluster: Cluster::of(connection),
        created: stream.created,
        last: earlier.and_then(|earlier| earlier.last),
        current: earlier.is_some_and(|earlier| earlier.current),
    };
    let name = match &reading.what {
        What::Durable(name) => durable(reading, &api, connection, name).await?,
        What::Ordered { filter, begin } => {
            if *begin == Begin::New && position.last.is_none() {
                position.last = Some(stream.state.last_seq);
            }
            let consumer = ordered(reading, &api, connection, filter, *begin, position.last);
            let consumer: ConsumerInfo = consumer.await?;
            if consumer.num_pending == 0
                && position.last.is_none()
                && !matches!(begin, Begin::At(_))
            {
                is_empty(reading, &api, connection, filter).await?;
                // Nothing was there. What came since the stream was asked would be pending.
                position.last = Some(stream.state.last_seq);
            }
            position.current |= consumer.num_pending == 0;
            consumer.name
        }
    };
    let bound = Bound {
        pull: Pull::open(connection, epoch, reading, &name).await?,
        consumer_sequence: 0,
    };
    Ok((bound, position))
}

fn check(reading: &Reading, stream: &StreamInfo, earlier: &Position) -> Result<(), NotBound> {
    if stream.created != earlier.created {
        return Err(NotBound::Elsewhere(format!(
            "the stream {:?}, created at {}, in",
            reading.stream, earlier.created
        )));
    }
    let last = stream.state.last_seq;
    match earlier.last {
        // A new leader may need a moment to have what its predecessor had. If it stays so, what was stored is gone.
        Some(read) if read > last => {
            let text = format!(
                "the stream {:?} ends at {last}, and was read to {read}: it lost what it had stored; read it anew",
                reading.stream
            );
            let error = backend_api::Error::new(ErrorKind::Moved, text);
            let why = Why::Busy;
            Err(NotBound::Failed(Failed { why, error }))
        }
        _ => Ok(()),
    }
}

/// Asks the stream's leader whether there is really nothing to read. A consumer says so as well when its server is behind, and
/// what that gets a moment later would be taken for read.
async fn is_empty(
    reading: &Reading,
    api: &Api,
    connection: &Connection,
    filter: &str,
) -> Result<(), Failed> {
    let filter = if filter.is_empty() { ">" } else { filter };
    let subject = format!("STREAM.INFO.{}", reading.stream);
    let body = json!({ "subjects_filter": filter });
    let stream: StreamInfo = api.ask(connection, &subject, Some(body)).await?;
    if stream
        .state
        .subjects
        .is_none_or(|subjects| subjects.is_empty())
    {
        return Ok(());
    }
    let text = format!(
        "the consumer's server does not have yet what the stream {:?} has",
        reading.stream
    );
    let error = backend_api::Error::new(ErrorKind::Unhealthy, text);
    let why = Why::Busy;
    Err(Failed { why, error })
}

async fn durable(
    reading: &Reading,
    api: &Api,
    connection: &Connection,
    name: &str,
) -> Result<String, Failed> {
    let consumer = format!("CONSUMER.INFO.{}.{name}", reading.stream);
    let consumer: ConsumerInfo = api.ask(connection, &consumer, None).await?;
    if consumer.config.deliver_subject.is_some() {
        return Err(Failed::refused(
            ErrorKind::Unsupported,
            format!(
                "{name:?} is a push consumer: create a pull consumer, which has no deliver_subject"
            ),
        ));
    }
    Ok(consumer.name)
}

async fn ordered(
    reading: &Reading,
    api: &Api,
    connection: &Connection,
    filter: &str,
    begin: Begin,
    last: Option<u64>,
) -> Result<ConsumerInfo, Failed> {
    let nanos = u64::try_from(FORGET.as_nanos()).unwrap_or(u64::MAX);
    let mut config = json!({
        "ack_policy": "none",
        "max_deliver": 1,
        "mem_storage": true,
        "num_replicas": 1,
        "inactive_threshold": nanos,
        "replay_policy": "instant",
    });
    if !filter.is_empty() {
        config["filter_subject"] = filter.into();
    }
    let at = match (last, begin) {
        (Some(last), _) => Some(last + 1),
        (None, Begin::At(at)) => Some(at.max(1)),
        (None, _) => None,
    };
    match (at, begin) {
        (Some(at), _) => {
            config["deliver_policy"] = "by_start_sequence".into();
            config["opt_start_seq"] = at.into();
        }
        (None, Begin::LastPerSubject) => config["deliver_policy"] = "last_per_subject".into(),
        (None, _) => config["deliver_policy"] = "all".into(),
    }
    let body = json!({ "stream_name": reading.stream, "config": config });
    let create = format!("CONSUMER.CREATE.{}", reading.stream);
    api.ask(connection, &create, Some(body)).await
}
