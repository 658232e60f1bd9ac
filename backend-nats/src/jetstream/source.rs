//! Reading a stream over switches: bind, read until the connection or the consumer is gone, bind again.
//!
//! Nothing runs beside the reader: no task, so that a reader that is held and not read costs nothing, and one that is
//! dropped leaves nothing. An error is news, not an end: the next call goes on. Only the group's end is an end.

use std::time::Duration;

use backend_api::{Epoch, Error, ErrorKind, Outcome};
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;

use super::OnOtherCluster;
use super::api::{Failed, Why};
use super::bind::{Bound, NotBound, Position, bind};
use super::message::{JetStreamMessage, MessageInfo};
use super::pace::Pace;
use super::place::Cluster;
use super::pull::Heard;
use super::reading::{Reading, What};
use crate::FailoverClient;

/// See the [module](self).
pub(super) struct Source {
    client: FailoverClient,
    reading: Reading,
    position: Option<Position>,
    bound: Option<Bound>,
    pace: Pace,
    /// Where it was refused to go on, so that it is said once.
    refused: Option<Epoch>,
    /// What was told will hardly have changed at once.
    rest: bool,
}

pub(super) type Messages = BoxStream<'static, Result<(JetStreamMessage, bool), Error>>;

/// How long to wait after a refusal that will hardly change.
const REFUSED: Duration = Duration::from_secs(1);
/// How often the active is looked for where operations do not wait for one.
const ABSENT: Duration = Duration::from_millis(50);

impl Source {
    /// Fails where the stream or its consumer cannot be bound now.
    pub(super) async fn open(client: FailoverClient, reading: Reading) -> Result<Self, Error> {
        let operation = reading.operation();
        reading
            .check()
            .map_err(|error| error.with_operation(operation))?;
        let mut source = Self {
            client,
            reading,
            position: None,
            bound: None,
            pace: Pace::default(),
            refused: None,
            rest: false,
        };
        match source.bind(true).await {
            Ok(()) => Ok(source),
            Err(error) => Err(error.with_operation(operation)),
        }
    }

    /// Whether everything that was there at the beginning was read.
    pub(super) fn is_current(&self) -> bool {
        self.position.as_ref().is_some_and(|it| it.current)
    }

    /// The next message, or what keeps it from coming; `None` once the group is closed.
    pub(super) async fn next(&mut self) -> Option<Result<JetStreamMessage, Error>> {
        loop {
            let Some(bound) = &mut self.bound else {
                match self.bind(false).await {
                    Ok(()) => continue,
                    Err(error) if error.kind() == ErrorKind::Closed => return None,
                    Err(error) => return Some(self.tell(error)),
                }
            };
            match bound.pull.next(self.client.slot()).await {
                Heard::Message(message) => {
                    let info = message.reply.as_deref().and_then(MessageInfo::parse);
                    let Some(info) = info else {
                        continue;
                    };
                    let expected = bound.consumer_sequence + 1;
                    if self.ordered() && info.consumer_sequence != expected {
                        self.incomplete().await;
                    } else if let Some(cluster) = self.accept(&info) {
                        return Some(Ok(JetStreamMessage::new(
                            message,
                            info,
                            self.client.clone(),
                            cluster,
                            self.reading.on_other_cluster,
                        )));
                    }
                }
                Heard::Idle(last) => {
                    let missing = last.is_some_and(|last| last > bound.consumer_sequence);
                    if self.ordered() && missing {
                        self.incomplete().await;
                    } else {
                        self.pace.heard();
                    }
                }
                Heard::Left => self.bound = None,
                Heard::Broken(failed) => {
                    self.bound = None;
                    if let Some(error) = self.failed(failed).await {
                        return Some(self.tell(error));
                    }
                }
            }
        }
    }

    /// Whether it is the one to come next, and where it is from.
    fn accept(&mut self, info: &MessageInfo) -> Option<Cluster> {
        self.pace.heard();
        let (position, bound) = (self.position.as_mut()?, self.bound.as_mut()?);
        if matches!(self.reading.what, What::Ordered { .. }) {
            bound.consumer_sequence = info.consumer_sequence;
            position.current |= info.pending == 0;
            if position
                .last
                .is_some_and(|last| info.stream_sequence <= last)
            {
                return None;
            }
            position.last = Some(info.stream_sequence);
        }
        Some(position.cluster.clone())
    }

    fn ordered(&self) -> bool {
        matches!(self.reading.what, What::Ordered { .. })
    }

    /// Something was sent and did not come: again, from where it was.
    async fn incomplete(&mut self) {
        self.bound = None;
        self.pace.failed(self.reading.patience);
        self.rest(self.pace.pause()).await;
    }

    /// Waits before the next attempt; an error where that has gone on for too long.
    async fn failed(&mut self, failed: Failed) -> Option<Error> {
        let Failed { why, error } = failed;
        if why == Why::Refused {
            self.rest = true;
            return Some(error);
        }
        let long = self.pace.failed(self.reading.patience);
        if why != Why::Ended {
            self.rest(self.pace.pause()).await;
        }
        long.then_some(error)
    }

    /// Ends early with the group.
    async fn rest(&self, time: Duration) {
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.client.slot().closed() => {}
        }
    }

    fn tell<T>(&self, error: Error) -> Result<T, Error> {
        Err(error.with_operation(self.reading.operation()))
    }

    /// Until it is bound. Errors are told; they are no end. With `first`, the first refusal and the lack of an active are.
    async fn bind(&mut self, first: bool) -> Result<(), Error> {
        if std::mem::take(&mut self.rest) {
            self.rest(REFUSED).await;
        }
        loop {
            let lease = match self.client.slot().lease().await {
                Ok(lease) => lease,
                Err(error) if first || error.kind() == ErrorKind::Closed => return Err(error),
                Err(_) => {
                    self.rest(ABSENT).await;
                    continue;
                }
            };
            let (epoch, member) = (lease.epoch(), lease.member().clone());
            if self.refused == Some(epoch) {
                lease.finish(Outcome::Neutral);
                self.client.slot().left(epoch).await;
                continue;
            }
            let trust = self.reading.on_other_cluster == OnOtherCluster::SamePositions;
            let here = Cluster::of(lease.connection());
            let same = |it: &Position| trust || it.cluster == here;
            let answer = if self.position.as_ref().is_none_or(same) {
                let earlier = self.position.as_ref();
                bind(&self.reading, lease.connection(), epoch, earlier, trust).await
            } else {
                Err(NotBound::Elsewhere(format!(
                    "{} was read in",
                    self.reading.name()
                )))
            };
            match answer {
                Ok((bound, position)) => {
                    lease.finish(Outcome::Success);
                    (self.bound, self.position) = (Some(bound), Some(position));
                    return Ok(());
                }
                Err(NotBound::Elsewhere(what)) => {
                    lease.finish(Outcome::Neutral);
                    if self.reading.on_other_cluster == OnOtherCluster::StartOver {
                        self.position = None;
                        continue;
                    }
                    self.refused = Some(epoch);
                    if let Some(earlier) = &self.position {
                        let cure = "its positions do not hold here. This reader goes on once the traffic is back; begin \
                                    anew with another one, or choose another OnOtherCluster: StartOver or SamePositions";
                        let error = earlier.cluster.moved(&here, &what, cure, None);
                        return Err(error.with_member(&member));
                    }
                }
                Err(NotBound::Failed(failed)) => {
                    lease.finish(failed.why.outcome());
                    let ended = failed.why == Why::Ended;
                    let lost = failed.error.kind() == ErrorKind::Moved;
                    if ended {
                        self.gone(epoch).await;
                    }
                    if let Some(error) = self.failed(failed).await {
                        if lost && self.reading.on_other_cluster == OnOtherCluster::StartOver {
                            self.position = None;
                            continue;
                        }
                        return Err(error.with_member(&member));
                    }
                }
            }
        }
    }

    /// The connection has ended; the engine knows, or will in a moment.
    async fn gone(&self, epoch: Epoch) {
        let _ = tokio::time::timeout(REFUSED, self.client.slot().left(epoch)).await;
    }
}

impl Reading {
    fn operation(&self) -> &'static str {
        match self.what {
            What::Durable(_) => "pull_consumer",
            What::Ordered { .. } => "ordered_consumer",
        }
    }

    fn name(&self) -> String {
        match &self.what {
            What::Durable(name) => format!("consumer {name:?} of stream {:?}", self.stream),
            What::Ordered { .. } => format!("stream {:?}", self.stream),
        }
    }
}

impl Source {
    /// As a stream of `(message, is everything that was there at the beginning read)`. Where a call is dropped, what was
    /// under way stays in the stream, and the next call goes on with it. Its end may be asked for again.
    pub(super) fn messages(self) -> Messages {
        futures_util::stream::unfold(self, async |mut source: Self| {
            let next = source.next().await?;
            let current = source.is_current();
            Some((next.map(|message| (message, current)), source))
        })
        .fuse()
        .boxed()
    }
}
