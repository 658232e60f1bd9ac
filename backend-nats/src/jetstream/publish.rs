//! Publishing into a stream over switches: the same message with the same id, until the stream has confirmed it.
//!
//! Within its window of duplicates (two minutes unless the stream says otherwise) a stream stores an id once. So sending
//! again after a connection was lost neither loses nor doubles, in the same cluster.
//!
//! Never to come in: messages without an id.

use std::time::Duration;

use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::publish::PublishAck;
use async_nats::subject::ToSubject;
use async_nats::{HeaderMap, Subject};
use backend_api::{Error, ErrorKind, Fate};
use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;

use super::OnOtherCluster;
use super::api::{self, Api, Failed, Names, Why};
use super::pace::{PATIENCE, Pace};
use super::place::Cluster;
use crate::FailoverClient;
use crate::connection::Connection;

/// A message for a stream.
#[derive(Clone, Debug)]
#[must_use]
pub struct Publication {
    subject: Subject,
    payload: Bytes,
    headers: HeaderMap,
}

impl Publication {
    /// Without an id of its own: one is drawn when it is published. A caller that may come again with the same message,
    /// after a restart say, gives it an [`id`](Self::id).
    #[expect(
        clippy::needless_pass_by_value,
        reason = "as async-nats takes subjects"
    )]
    pub fn new(subject: impl ToSubject, payload: impl Into<Bytes>) -> Self {
        Self {
            subject: subject.to_subject(),
            payload: payload.into(),
            headers: HeaderMap::new(),
        }
    }

    /// What the stream knows the message by (`Nats-Msg-Id`).
    pub fn id(mut self, id: impl AsRef<str>) -> Self {
        self.headers.insert(NATS_MESSAGE_ID, id.as_ref());
        self
    }

    /// With headers, in place of all earlier ones except the id. Conditions of JetStream (`Nats-Expected-Stream`, ...) are
    /// headers too.
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        let id = self.headers.get(NATS_MESSAGE_ID).cloned();
        self.headers = headers;
        if let Some(id) = id {
            self.headers.insert(NATS_MESSAGE_ID, id);
        }
        self
    }
}

/// Publishes into streams over switches. Cheap to clone.
///
/// ```no_run
/// # async fn shown(client: backend_nats::FailoverClient) -> Result<(), backend_api::Error> {
/// use backend_nats::Publication;
///
/// let publisher = client.publisher();
/// let order = Publication::new("orders.new", "17 pears").id("order-4711");
/// let confirmed = publisher.publish(order).await?;
/// println!("number {} of {}", confirmed.sequence, confirmed.stream);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Publisher {
    client: FailoverClient,
    within: Duration,
    on_other_cluster: OnOtherCluster,
    domain: Option<String>,
}

impl FailoverClient {
    /// Publishes into streams, over switches.
    pub fn publisher(&self) -> Publisher {
        Publisher {
            client: self.clone(),
            within: PATIENCE,
            on_other_cluster: OnOtherCluster::default(),
            domain: None,
        }
    }

    /// Publishes one message under an id with the defaults of [`Publisher`].
    pub async fn jetstream_publish(
        &self,
        subject: impl ToSubject,
        id: impl AsRef<str>,
        payload: impl Into<Bytes>,
    ) -> Result<PublishAck, Error> {
        let publication = Publication::new(subject, payload).id(id);
        self.publisher().publish(publication).await
    }
}

impl Publisher {
    /// How long a message is tried in all; one attempt gets `timeouts.operation`. It must be shorter than the duplicate
    /// window of the stream. Default: 15 s, which outlasts an election.
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// What to do when an attempt whose fate is not known was made in another cluster. Default: refuse.
    pub fn on_other_cluster(mut self, on_other_cluster: OnOtherCluster) -> Self {
        self.on_other_cluster = on_other_cluster;
        self
    }

    /// The JetStream domain that is asked whether a stream exists. Default: that of the server.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// Publishes, and waits until the stream has the message. Where the connection ends, or no confirmation comes, the same
    /// message goes again to whichever connection is active, under the same id; `duplicate` says that an earlier attempt
    /// had arrived. An election, when nobody answers for a moment, is waited for.
    ///
    /// Errors say what is known of the message: [`Fate::MayHaveBeenApplied`] after an attempt without an answer, and then
    /// publishing it again under the same id is safe within the duplicate window; else [`Fate::NotApplied`].
    /// A subject that no stream takes is [`ErrorKind::Unsupported`]; no leader in time [`ErrorKind::Unhealthy`]; no answer
    /// in time [`ErrorKind::Timeout`]; another cluster [`ErrorKind::Moved`]; no active for as long as operations wait for
    /// one (`unavailable.wait`) [`ErrorKind::NoActive`].
    ///
    /// Cancel-safe in that a dropped call sends nothing more; whether the message was stored is not known then.
    pub async fn publish(&self, publication: Publication) -> Result<PublishAck, Error> {
        let mut attempts = Attempts {
            publication,
            deadline: deadline(self.within),
            uncertain: None,
            pace: Pace::default(),
            exists: false,
        };
        loop {
            let answer = tokio::time::timeout_at(attempts.deadline, self.client.slot().lease());
            let lease = match answer.await {
                Ok(lease) => lease.map_err(|error| attempts.failed(error))?,
                Err(_elapsed) => {
                    let text = format!("no active within {:?}", self.within);
                    return Err(attempts.failed(Error::new(ErrorKind::NoActive, text)));
                }
            };
            let answer = self.attempt(&mut attempts, lease.connection()).await;
            let (member, epoch) = (lease.member().clone(), lease.epoch());
            let Failed { why, error } = match answer {
                Ok(acknowledged) => {
                    lease.finish(backend_api::Outcome::Success);
                    return Ok(acknowledged);
                }
                Err(failed) => failed,
            };
            lease.finish(why.outcome());
            let error = attempts.failed(error.with_member(&member));
            if why == Why::Refused || Instant::now() >= attempts.deadline {
                return Err(error);
            }
            if why == Why::Ended {
                let moved = self.client.slot().moved_from(epoch);
                match tokio::time::timeout_at(attempts.deadline, moved).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(_)) | Err(_) => return Err(error),
                }
            } else {
                attempts.pace.failed(self.within);
                let next = Instant::now() + attempts.pace.pause();
                tokio::time::sleep_until(next.min(attempts.deadline)).await;
            }
        }
    }

    async fn attempt(
        &self,
        attempts: &mut Attempts,
        connection: &Connection,
    ) -> Result<PublishAck, Failed> {
        let here = Cluster::of(connection);
        if let Some(there) = &attempts.uncertain
            && *there != here
        {
            match self.on_other_cluster {
                OnOtherCluster::Refuse => {
                    let cure = "look there whether it has arrived, or allow OnOtherCluster::StartOver, which may \
                                store it twice";
                    let error = there.moved(
                        &here,
                        "it was published, unconfirmed, in",
                        cure,
                        Some(Fate::MayHaveBeenApplied),
                    );
                    let why = Why::Refused;
                    return Err(Failed { why, error });
                }
                OnOtherCluster::StartOver | OnOtherCluster::SamePositions => {}
            }
        }
        attempts.name(connection);
        let deadline = attempts
            .deadline
            .min(Instant::now() + connection.operation());
        let answer = api::ask(
            connection,
            &attempts.publication.subject,
            Some(&attempts.publication.headers),
            attempts.publication.payload.clone(),
            deadline,
        )
        .await;
        match answer {
            Ok(acknowledged) => Ok(acknowledged),
            Err(failed) => {
                let sent = failed.error.fate() != Some(Fate::NotApplied);
                if sent && matches!(failed.why, Why::Silent | Why::Ended) {
                    attempts.uncertain = Some(here);
                }
                if failed.why == Why::Absent && !attempts.exists {
                    attempts.exists = self.exists(connection, &attempts.publication).await?;
                }
                Err(failed)
            }
        }
    }

    /// Nobody listens: an election, or a subject that no stream takes. The cluster knows; where even that has no leader,
    /// it is an election.
    async fn exists(
        &self,
        connection: &Connection,
        publication: &Publication,
    ) -> Result<bool, Failed> {
        let api = Api::new(self.domain.as_deref());
        let subject = publication.subject.as_str();
        let body = json!({ "subject": subject });
        match api.ask(connection, "STREAM.NAMES", Some(body)).await {
            Ok(Names { streams }) if streams.as_ref().is_none_or(Vec::is_empty) => {
                Err(Failed::refused(
                    ErrorKind::Unsupported,
                    format!("no stream takes {subject:?}: create one that does"),
                ))
            }
            Ok(_) => Ok(true),
            Err(failed) if failed.why == Why::Refused => Err(failed),
            Err(_) => Ok(false),
        }
    }
}

/// What no clock reaches is far away.
fn deadline(within: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    let now = Instant::now();
    now.checked_add(within).unwrap_or_else(|| now + FAR)
}

/// One message on its way.
struct Attempts {
    publication: Publication,
    deadline: Instant,
    /// Where an attempt was made of which nobody knows what became.
    uncertain: Option<Cluster>,
    pace: Pace,
    /// The stream is known to be there.
    exists: bool,
}

impl Attempts {
    /// An id, once for all attempts.
    fn name(&mut self, connection: &Connection) {
        if self.publication.headers.get(NATS_MESSAGE_ID).is_none() {
            let inbox = connection.client().new_inbox();
            let unique = inbox.rsplit('.').next().unwrap_or(&inbox);
            self.publication.headers.insert(NATS_MESSAGE_ID, unique);
        }
    }

    fn failed(&self, error: Error) -> Error {
        let fate = match self.uncertain {
            Some(_) => Fate::MayHaveBeenApplied,
            None => Fate::NotApplied,
        };
        error.with_operation("publish").with_fate(fate)
    }
}
