//! The task that keeps one server in agreement with the registry, over a socket of its own.
//!
//! Level-triggered: it compares what the server has confirmed with what is wanted, sends the difference, and looks again.
//! Whatever raced a switch is therefore on the new side exactly once, or gone. The socket is opened when there is
//! something to subscribe to, lives inside this task and ends with it; every step is bounded. Which driver the
//! connection belongs to is not known here: see [`listen`](super::listen).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use backend_api::{Error, ErrorKind, Signals};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, sleep, sleep_until, timeout};

use super::agreement::Role;
use super::feed::Feed;
use super::listen::Listen;
use super::notices;
use super::socket::{self, Socket};
use super::topic::{Kind, Published, Topic};
use super::trouble::Trouble;
use super::wire::{Broken, End, OnMessage, Refused};
use crate::failures::{Cause, Member};
use crate::settings::Settings;

/// The first pause before something that failed is tried again; it doubles up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// How many subscriptions one exchange asks for: each has the time of an operation.
const AT_ONCE: usize = 256;

pub(crate) struct Keeper<L> {
    pub(crate) feed: Arc<Feed>,
    pub(crate) connector: Arc<L>,
    pub(crate) signals: Signals<Settings>,
    /// How long opening the socket may take.
    pub(crate) open: Duration,
    /// How long one exchange may take.
    pub(crate) operation: Duration,
    pub(crate) heartbeat: Duration,
}

/// A subscription that the server refused, and when it is asked again.
struct Refusal {
    error: Error,
    due: Instant,
    pause: Duration,
}

/// How it went so far.
struct Course {
    /// Until the next attempt.
    pause: Duration,
    /// What went wrong last. It is said at the next attempt and not at once: where the whole member is gone, this task is
    /// too by then.
    untold: Option<(&'static str, Error)>,
    /// It was said, so its end is said too.
    told: bool,
}

impl Course {
    fn new() -> Self {
        Self {
            pause: FIRST_PAUSE,
            untold: None,
            told: false,
        }
    }
}

/// What the server is known to have.
#[derive(Default)]
struct Known {
    confirmed: HashSet<Topic>,
    refused: HashMap<Topic, Refusal>,
}

impl<L: Listen> Keeper<L> {
    /// Runs until the connection ends it.
    pub(crate) async fn run(self) {
        let registry = self.feed.registry().clone();
        let (mut roles, mut versions) = (self.feed.agreement().roles(), registry.versions());
        let mut course = Course::new();
        loop {
            let role = *roles.borrow_and_update();
            let version = *versions.borrow_and_update();
            if role == Role::Silent || registry.is_empty() {
                self.feed.agreement().settle(role, version, Arc::default());
                course = Course::new();
                let changed = tokio::select! {
                    changed = roles.changed() => changed,
                    changed = versions.changed() => changed,
                };
                if changed.is_err() {
                    return;
                }
                continue;
            }
            if let Some((what, error)) = course.untold.take() {
                course.told = true;
                self.signals.notice(what, text(&error));
            }
            let revision = self.connector.revision();
            let Err((what, trouble)) = self.session(&mut roles, &mut versions, &mut course).await
            else {
                continue;
            };
            let error = trouble.error;
            self.feed.agreement().fail(role, error.clone());
            if trouble.member == Member::Suspect {
                self.signals.suspect();
            }
            course.untold = Some((what, error));
            if *roles.borrow() == Role::Heard {
                tokio::select! {
                    () = sleep(course.pause) => {}
                    () = self.connector.newer(revision) => {}
                    _ = roles.changed() => {}
                }
                course.pause = (course.pause * 2).min(LAST_PAUSE);
            }
        }
    }

    /// One socket, from its opening until it is not needed any more. It is closed when this returns, or is dropped.
    async fn session(
        &self,
        roles: &mut watch::Receiver<Role>,
        versions: &mut watch::Receiver<u64>,
        course: &mut Course,
    ) -> Result<(), (&'static str, Trouble)> {
        let heard = Arc::<AtomicU64>::default();
        let now = self.connector.revision();
        let opening = async {
            let server = self.connector.server()?;
            socket::open(&server, self.operation, self.listener(heard.clone())).await
        };
        let opened = timeout(self.open, opening).await.unwrap_or_else(|_late| {
            let address = self.connector.address();
            let text = format!(
                "{address} did not open another connection within {:?}",
                self.open
            );
            Err(Error::new(ErrorKind::Timeout, text))
        });
        let (socket, moving) =
            opened.map_err(|error| (notices::RESUBSCRIBE_FAILED, Trouble::of_opening(error)))?;
        let converse = self.converse(socket, roles, versions, course, &heard);
        tokio::select! {
            biased;
            end = moving => Err((notices::PUBSUB_LOST, self.ended(end))),
            // The member has another master, or is looking for one.
            () = self.connector.left(now) => Err((notices::PUBSUB_LOST, self.ended(End::Closed))),
            end = converse => end.map_err(|trouble| (notices::PUBSUB_LOST, trouble)),
        }
    }

    fn listener(&self, heard: Arc<AtomicU64>) -> OnMessage {
        let (feed, signals) = (self.feed.clone(), self.signals.clone());
        Arc::new(move |published: Published| {
            heard.fetch_add(1, Ordering::Relaxed);
            if feed
                .registry()
                .deliver(feed.agreement().origin(), published)
            {
                signals.notice(
                    notices::SLOW_SUBSCRIBER,
                    "a stream of messages is full (pubsub_buffer): what comes now is dropped until it is read",
                );
            }
        })
    }

    /// Brings the server into agreement, and again whenever something changes. `Ok` once it is left.
    async fn converse(
        &self,
        mut socket: Socket,
        roles: &mut watch::Receiver<Role>,
        versions: &mut watch::Receiver<u64>,
        course: &mut Course,
        heard: &AtomicU64,
    ) -> Result<(), Trouble> {
        let mut known = Known::default();
        let mut beat = tokio::time::interval_at(Instant::now() + self.heartbeat, self.heartbeat);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let role = *roles.borrow_and_update();
            // Before the difference is taken, which is then at least as new.
            let version = *versions.borrow_and_update();
            self.agree(&mut socket, role, &mut known).await?;
            if role == Role::Silent {
                return Ok(());
            }
            let refused = known
                .refused
                .iter()
                .map(|(topic, refusal)| (topic.clone(), refusal.error.clone()));
            self.feed
                .agreement()
                .settle(role, version, Arc::new(refused.collect()));
            if course.told {
                let text = "the subscriptions that were lost are confirmed again";
                self.signals.notice(notices::RESUBSCRIBED, text);
            }
            *course = Course::new();
            let again = known.refused.values().map(|refusal| refusal.due).min();
            tokio::select! {
                changed = roles.changed() => if changed.is_err() { return Ok(()) },
                changed = versions.changed() => if changed.is_err() { return Ok(()) },
                _ = beat.tick() => self.ping(&mut socket, heard).await?,
                () = sleep_until(again.unwrap_or_else(Instant::now)), if again.is_some() => {}
            }
        }
    }

    async fn agree(
        &self,
        socket: &mut Socket,
        role: Role,
        known: &mut Known,
    ) -> Result<(), Trouble> {
        let registry = self.feed.registry();
        let difference = registry.difference(role == Role::Heard, &known.confirmed);
        for some in difference.remove.chunks(AT_ONCE) {
            // A server that refuses to forget is told by the end of its socket.
            let answers = socket.ask(leave_word, some).await;
            let answers = answers.map_err(|broken| self.broken(broken))?;
            for (topic, answer) in some.iter().zip(answers) {
                answer.map_err(|refused| self.refusal(topic, &refused))?;
                known.confirmed.remove(topic);
            }
        }
        let wanted: HashSet<&Topic> = difference.add.iter().collect();
        known.refused.retain(|topic, _| wanted.contains(topic));
        let now = Instant::now();
        let due = |topic: &Topic| match known.refused.get(topic) {
            Some(refusal) => refusal.due <= now,
            None => true,
        };
        let add: Vec<Topic> = difference.add.into_iter().filter(due).collect();
        for some in add.chunks(AT_ONCE) {
            let answers = socket.ask(join_word, some).await;
            let answers = answers.map_err(|broken| self.broken(broken))?;
            self.take(some, answers, known);
        }
        Ok(())
    }

    fn take(&self, topics: &[Topic], answers: Vec<Result<(), Refused>>, known: &mut Known) {
        let registry = self.feed.registry();
        let (mut joined, mut refused, mut allowed) = (Vec::new(), None, 0);
        for (topic, answer) in topics.iter().zip(answers) {
            let before = known.refused.remove(topic);
            if let Err(answer) = answer {
                let error = self.refusal(topic, &answer).error;
                // Whoever subscribes for the first time is answered, and needs no event.
                if before.is_none() && registry.is_established(topic) {
                    refused.get_or_insert((0, error.clone())).0 += 1;
                }
                let pause = before.map_or(FIRST_PAUSE, |before| (before.pause * 2).min(LAST_PAUSE));
                let due = Instant::now() + pause;
                let refusal = Refusal { error, due, pause };
                known.refused.insert(topic.clone(), refusal);
            } else {
                allowed += usize::from(before.is_some());
                known.confirmed.insert(topic.clone());
                joined.push(topic.clone());
            }
        }
        registry.establish(&joined);
        if let Some((count, error)) = refused {
            let text = format!(
                "{count} subscriptions are refused and tried again: {}",
                text(&error)
            );
            self.signals.notice(notices::RESUBSCRIBE_FAILED, text);
        }
        if allowed > 0 {
            let text = format!("{allowed} subscriptions that were refused are confirmed now");
            self.signals.notice(notices::RESUBSCRIBED, text);
        }
    }

    /// Whether anybody is there. Messages that come in are an answer too: behind many of them the real one may be late.
    async fn ping(&self, socket: &mut Socket, heard: &AtomicU64) -> Result<(), Trouble> {
        let before = heard.load(Ordering::Relaxed);
        match socket.ping().await {
            Err(Broken::Late) if heard.load(Ordering::Relaxed) != before => Ok(()),
            answer => answer.map_err(|broken| self.broken(broken)),
        }
    }

    fn broken(&self, broken: Broken) -> Trouble {
        match broken {
            Broken::Late => {
                let address = self.connector.address();
                let text = format!("{address} is silent on its pub/sub connection");
                Trouble::of(&Cause::Late, text)
            }
            Broken::Ended => self.ended(End::Closed),
        }
    }

    fn ended(&self, end: End) -> Trouble {
        let address = self.connector.address();
        match end {
            End::Closed => {
                let text = format!("the pub/sub connection to {address} ended");
                Trouble::of(&Cause::Ended, text)
            }
            End::Unusable(why) => {
                let text = format!("{address} {why} on its pub/sub connection, which is closed");
                Trouble::of(&Cause::Unreadable, text)
            }
        }
    }

    /// The server's own words do not quote what it was sent beyond the name of a command.
    fn refusal(&self, topic: &Topic, refused: &Refused) -> Trouble {
        let details = refused
            .details
            .as_deref()
            .and_then(|text| text.lines().next())
            .unwrap_or_default();
        let text = format!(
            "{} refuses {}: {} {details}",
            self.connector.address(),
            join_word(topic.kind),
            refused.code
        );
        let Trouble { error, member } = Trouble::of(&Cause::Answered(refused.code.clone()), text);
        let error = error
            .with_member(&self.feed.agreement().origin().member)
            .with_operation(join_word(topic.kind));
        Trouble { error, member }
    }
}

fn text(error: &Error) -> String {
    error.message().to_owned()
}

fn join_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Channel => "SUBSCRIBE",
        Kind::Pattern => "PSUBSCRIBE",
        Kind::Shard => "SSUBSCRIBE",
    }
}

fn leave_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Channel => "UNSUBSCRIBE",
        Kind::Pattern => "PUNSUBSCRIBE",
        Kind::Shard => "SUNSUBSCRIBE",
    }
}

#[cfg(test)]
mod tests;
