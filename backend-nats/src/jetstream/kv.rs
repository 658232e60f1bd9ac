//! Watching the keys of a bucket, over switches: an ordered consumer of the bucket's stream, read as entries.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use async_nats::header::NATS_MARKER_REASON;
use async_nats::jetstream::kv::{Entry, Operation};
use backend_api::{Error, ErrorKind};
use futures_util::{Stream, StreamExt as _};

use super::OnOtherCluster;
use super::message::JetStreamMessage;
use super::reading::{Begin, Reading, What};
use super::source::{Messages, Source};
use crate::FailoverClient;

/// The entries of a bucket as they change, over switches; it ends with the group.
///
/// After a switch it goes on at the revision behind the last one that was read: none is missed that the bucket still has
/// (a bucket keeps the last `history` of each key), and none comes twice. A switch in the midst of the initial values of a
/// bucket with a history can bring older revisions of keys that had not come yet.
///
/// Errors are news, not an end, as with [`PullConsumer`](crate::PullConsumer).
pub struct KvWatch {
    messages: Messages,
    bucket: String,
    prefix: String,
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WatchFrom {
    /// With the last value of each key, and then what changes. Entries have `seen_current` from the last of the initial
    /// values on; a bucket without values has none that says so.
    #[default]
    Current,
    /// With what changes from now on.
    Now,
    /// With this revision of the bucket.
    Revision(u64),
}

/// How a bucket is watched.
#[derive(Clone, Debug)]
#[must_use]
pub struct KvWatchBuilder {
    client: FailoverClient,
    bucket: String,
    keys: String,
    from: WatchFrom,
    reading: Reading,
}

impl FailoverClient {
    /// Watches a bucket, which must be there, over switches.
    ///
    /// ```no_run
    /// # async fn shown(client: backend_nats::FailoverClient) -> Result<(), backend_api::Error> {
    /// let mut settings = client.kv_watch("settings").keys("mail.>").open().await?;
    /// while let Some(entry) = settings.next().await {
    ///     let entry = entry?;
    ///     println!("{} = {:?} ({:?})", entry.key, entry.value, entry.operation);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn kv_watch(&self, bucket: impl Into<String>) -> KvWatchBuilder {
        let bucket = bucket.into();
        let what = What::Ordered {
            filter: String::new(),
            begin: Begin::LastPerSubject,
        };
        KvWatchBuilder {
            client: self.clone(),
            reading: Reading::new(format!("KV_{bucket}"), what),
            bucket,
            keys: ">".to_owned(),
            from: WatchFrom::default(),
        }
    }
}

impl KvWatchBuilder {
    /// One key, or a pattern of keys (`mail.*`, `mail.>`). Default: all.
    pub fn keys(mut self, keys: impl Into<String>) -> Self {
        self.keys = keys.into();
        self
    }

    /// Where it begins. Default: with the current values.
    pub fn from(mut self, from: WatchFrom) -> Self {
        self.from = from;
        self
    }

    /// See [`PullConsumerBuilder::heartbeat`](crate::PullConsumerBuilder::heartbeat).
    pub fn heartbeat(mut self, heartbeat: Duration) -> Self {
        self.reading.heartbeat = heartbeat;
        self
    }

    /// See [`PullConsumerBuilder::patience`](crate::PullConsumerBuilder::patience).
    pub fn patience(mut self, patience: Duration) -> Self {
        self.reading.patience = patience;
        self
    }

    /// What to do when the traffic has moved to another cluster. Default: refuse. With
    /// [`StartOver`](OnOtherCluster::StartOver), what [`from`](Self::from) says comes anew there, and `seen_current` is
    /// false again until then.
    pub fn on_other_cluster(mut self, on_other_cluster: OnOtherCluster) -> Self {
        self.reading.on_other_cluster = on_other_cluster;
        self
    }

    /// The JetStream domain. Default: that of the server.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.reading.domain = Some(domain.into());
        self
    }

    /// Begins. Fails like [`PullConsumerBuilder::open`](crate::PullConsumerBuilder::open). Cancel-safe.
    pub async fn open(self) -> Result<KvWatch, Error> {
        let prefix = format!("$KV.{}.", self.bucket);
        let mut reading = self.reading;
        reading.what = What::Ordered {
            filter: format!("{prefix}{}", self.keys),
            begin: match self.from {
                WatchFrom::Current => Begin::LastPerSubject,
                WatchFrom::Now => Begin::New,
                WatchFrom::Revision(at) => Begin::At(at),
            },
        };
        let source = Source::open(self.client, reading).await?;
        Ok(KvWatch {
            messages: source.messages(),
            bucket: self.bucket,
            prefix,
        })
    }
}

impl KvWatch {
    /// The next entry; `None` once the group is closed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<Entry, Error>> {
        futures_util::StreamExt::next(self).await
    }

    fn entry(&self, message: &JetStreamMessage, seen_current: bool) -> Result<Entry, Error> {
        let Some(key) = message.subject.strip_prefix(&self.prefix) else {
            let text = format!(
                "the bucket sent {:?}, which is no key",
                message.subject.as_str()
            );
            return Err(Error::new(ErrorKind::Protocol, text).with_operation("kv_watch"));
        };
        let info = message.info();
        Ok(Entry {
            bucket: self.bucket.clone(),
            key: key.to_owned(),
            value: message.payload.clone(),
            revision: info.stream_sequence,
            delta: info.pending,
            created: info.published,
            operation: operation(message),
            seen_current,
        })
    }
}

/// Who deletes says so in a header; so does the server where it removes a value itself.
fn operation(message: &JetStreamMessage) -> Operation {
    let Some(headers) = &message.headers else {
        return Operation::Put;
    };
    let said = headers.get("KV-Operation").map(|value| value.as_str());
    let reason = headers.get(NATS_MARKER_REASON).map(|value| value.as_str());
    match (said, reason) {
        (Some("DEL"), _) | (None, Some("Remove")) => Operation::Delete,
        (Some("PURGE"), _) | (None, Some("MaxAge" | "Purge")) => Operation::Purge,
        _ => Operation::Put,
    }
}

impl Stream for KvWatch {
    type Item = Result<Entry, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.messages.poll_next_unpin(cx);
        polled.map(|next| {
            next.map(|next| next.and_then(|(message, current)| self.entry(&message, current)))
        })
    }
}

impl std::fmt::Debug for KvWatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KvWatch")
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}
