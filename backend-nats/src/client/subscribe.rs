//! Subscribing on whichever connection is active, and on every later one.

use std::sync::Arc;
use std::time::Duration;

use async_nats::subject::{SubjectError, ToSubject};
use async_nats::{Subject, SubscribeError, SubscribeErrorKind};
use backend_api::{Error, ErrorKind, Outcome};
use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::{FailoverClient, Shared};
use crate::connection::Connection;
use crate::subscription::{Delivery, Entry, Subscription, leave};

impl FailoverClient {
    /// Subscribes, [at least once](Delivery::default). When it returns, the active's server knows of it; the others of a
    /// cluster hear of it a moment later. Dropped before that, there is no subscription.
    pub async fn subscribe(&self, subject: impl ToSubject) -> Result<Subscription, Error> {
        self.subscribe_with(subject, Delivery::default()).await
    }

    /// Subscribes with a choice of what a switch may do. Standbys that a mirrored one is on as well are waited for half a second
    /// at most: one that stands still gets it as soon as it goes on, or is connected anew.
    pub async fn subscribe_with(
        &self,
        subject: impl ToSubject,
        delivery: Delivery,
    ) -> Result<Subscription, Error> {
        self.subscription(subject.to_subject(), None, delivery)
            .await
    }

    /// Subscribes as one of a group of which each message reaches one, [at least once](Delivery::default): that loses and
    /// doubles nothing on planned moves.
    pub async fn queue_subscribe(
        &self,
        subject: impl ToSubject,
        queue: impl Into<String>,
    ) -> Result<Subscription, Error> {
        self.queue_subscribe_with(subject, queue, Delivery::default())
            .await
    }

    /// The same with a choice of what a switch may do.
    pub async fn queue_subscribe_with(
        &self,
        subject: impl ToSubject,
        queue: impl Into<String>,
        delivery: Delivery,
    ) -> Result<Subscription, Error> {
        self.subscription(subject.to_subject(), Some(queue.into()), delivery)
            .await
    }

    async fn subscription(
        &self,
        subject: Subject,
        queue: Option<String>,
        delivery: Delivery,
    ) -> Result<Subscription, Error> {
        delivery.check(queue.is_some())?;
        check(&subject, queue.as_deref())?;
        // Its own guard: dropped on the way, the entry is gone.
        let entry = self.shared.registry.add(subject, queue, delivery);
        let subscription = Subscription::new(entry.clone(), self.shared.clone(), self.slot.clone());
        loop {
            let lease = self.slot.lease().await?;
            let answer = attach(&self.shared, &entry, lease.connection()).await;
            let (member, epoch) = (lease.member().clone(), lease.epoch());
            let Err(error) = answer else {
                lease.finish(Outcome::Success);
                return Ok(subscription);
            };
            match error.kind() {
                ErrorKind::Lost | ErrorKind::Retired | ErrorKind::Timeout => {
                    lease.finish(Outcome::Failure);
                }
                _ => {
                    lease.finish(Outcome::Neutral);
                    return Err(error.with_member(&member).with_operation("subscribe"));
                }
            }
            // The next active gets it with its promotion; this waits for that.
            if self.slot.moved_from(epoch).await.is_err() {
                return Err(error.with_member(&member).with_operation("subscribe"));
            }
        }
    }
}

/// What the client refuses, in its own words, before anybody waits for an active: an entry that no connection takes would
/// fail every promotion.
fn check(subject: &Subject, queue: Option<&str>) -> Result<(), Error> {
    let blank = |queue: &str| queue.is_empty() || queue.contains([' ', '\t', '\r', '\n']);
    let refused = if !subject.is_valid() {
        let why = SubjectError::InvalidFormat;
        SubscribeError::with_source(SubscribeErrorKind::InvalidSubject, why)
    } else if queue.is_some_and(blank) {
        SubscribeError::new(SubscribeErrorKind::InvalidQueueName)
    } else {
        return Ok(());
    };
    let text = format!("{:?} cannot be subscribed to: {refused}", subject.as_str());
    Err(Error::new(ErrorKind::Unsupported, text).with_operation("subscribe"))
}

/// How long the answers of standbys are waited for, beside that of the active.
const BESIDE: Duration = Duration::from_millis(500);

/// Brings an entry to where it should be now. Only the active's word counts: a standby that is silent has the subscription
/// before it in its socket, or with its next connection.
async fn attach(
    shared: &Arc<Shared>,
    entry: &Arc<Entry>,
    active: &Connection,
) -> Result<(), Error> {
    let mut sides = shared.registry.wanted(entry);
    // The last one counts. None of the others takes anything with it when it goes down.
    let counts = sides.pop().unwrap_or_else(|| active.clone());
    if entry.delivery() == Delivery::AtMostOnce {
        // On one only.
        return bring(shared, entry, &counts).await;
    }
    let beside = sides.into_iter().map(|side| {
        // It is brought there all the same where nobody waits for it any more.
        let (done, told) = oneshot::channel::<()>();
        let (shared, entry) = (shared.clone(), entry.clone());
        side.clone().spawn(async move {
            if bring(&shared, &entry, &side).await.is_err() && !side.has_ended() {
                side.signals().suspect();
            }
            drop(done);
        });
        told
    });
    let beside = join_all(beside);
    let (brought, _) = tokio::join!(
        bring(shared, entry, &counts),
        tokio::time::timeout(BESIDE, beside)
    );
    brought
}

/// Brings an entry to one connection.
async fn bring(shared: &Shared, entry: &Arc<Entry>, side: &Connection) -> Result<(), Error> {
    entry.attach(side).await?;
    side.round_trip_within(side.operation()).await?;
    let wanted = shared.registry.wants(side.generation(), entry);
    if !wanted && entry.delivery() != Delivery::AtMostOnce {
        // It was left by all meanwhile.
        leave(side, std::slice::from_ref(entry)).await?;
    }
    Ok(())
}
