//! Reads wait after a switch until the new active has what the old one acknowledged.
//!
//! One *episode* per switch: a task asks both servers, round by round, how far they are, until the old one has finished and the
//! new one has everything. A read waits for a round that began after it did: whatever was acknowledged before the read was
//! asked for is then in what the old server answers. So it holds during the drain too, in which the old active still
//! acknowledges writes. Without an episode a read looks at one number.
//!
//! Never to come in: a decision about who is active. A switch goes on whatever this finds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use backend_api::{Error, ErrorKind, Fate, Generation, MemberName};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{Noted, Standing, ask};
use crate::probe::Ask;

/// Between two rounds while reads are likely to wait, and once they no longer do.
const SOON: Duration = Duration::from_millis(5);
const LATER: Duration = Duration::from_millis(50);

/// An event, and its text.
pub(crate) type Notice = (&'static str, String);

/// The connection that is about to be active.
pub(crate) struct New<L> {
    pub(crate) member: MemberName,
    pub(crate) generation: Generation,
    /// How its server is asked.
    pub(crate) link: L,
    /// How long one round may take.
    pub(crate) operation: Duration,
}

/// The connection that was active.
pub(crate) struct Old<L> {
    pub(crate) member: MemberName,
    pub(crate) generation: Generation,
    /// `None` where it has ended: it can say no more.
    pub(crate) link: Option<L>,
    /// What its server last said that it had acknowledged.
    pub(crate) acknowledged: Arc<Noted>,
}

/// What a group knows of it. There is none where the option is off.
pub(crate) struct Guard {
    wait: Duration,
    /// The generation whose reads wait; 0 is nobody's.
    watched: AtomicU64,
    episode: Mutex<Option<Arc<Episode>>>,
}

/// One switch, until the new active has everything.
struct Episode {
    to: Generation,
    from: Generation,
    member: MemberName,
    source: MemberName,
    /// When reads stop waiting.
    ends: Instant,
    /// How long one round may take.
    round: Duration,
    /// Rounds that have begun.
    begun: AtomicU64,
    /// No operation is left on the old connection.
    drained: AtomicBool,
    found: watch::Sender<Found>,
}

/// What the last round found.
#[derive(Clone, Copy)]
enum Found {
    Nothing,
    Round(u64, Standing),
    /// Nobody need wait any more.
    Over,
}

impl Guard {
    pub(crate) fn new(wait: Duration) -> Arc<Self> {
        Arc::new(Self {
            wait,
            watched: AtomicU64::new(0),
            episode: Mutex::default(),
        })
    }

    /// Reads on this connection are to wait.
    pub(crate) fn watches(&self, generation: Generation) -> bool {
        self.watched.load(Ordering::Acquire) == generation.0
    }

    /// Traffic is about to move: from here on reads on `to` wait. Asks nobody yet: that does the future, which is for a task of
    /// the new connection, and which says how it ended where people should know. `None` where nothing can be compared.
    pub(crate) fn begin<L: Ask>(
        self: &Arc<Self>,
        to: New<L>,
        from: Old<L>,
    ) -> Option<impl Future<Output = Option<Notice>> + use<L>> {
        // What it acknowledged before it was lost is known from its checks; without those there is nothing to compare.
        if from.link.is_none() && from.acknowledged.get().is_none() {
            return None;
        }
        let generation = to.generation;
        let episode = Arc::new(Episode {
            to: generation,
            from: from.generation,
            member: to.member,
            source: from.member,
            ends: Instant::now() + self.wait,
            round: to.operation,
            begun: AtomicU64::new(0),
            drained: AtomicBool::new(false),
            found: watch::Sender::new(Found::Nothing),
        });
        let rounds = Rounds {
            guard: self.clone(),
            episode: episode.clone(),
            old: from.link,
            acknowledged: from.acknowledged,
            new: to.link,
        };
        self.set(Some(episode));
        self.watched.store(generation.0, Ordering::Release);
        Some(rounds.run())
    }

    /// The operations on this connection have ended.
    pub(crate) fn drained(&self, from: Generation) {
        if let Some(episode) = self.current()
            && episode.from == from
        {
            episode.drained.store(true, Ordering::Release);
        }
    }

    /// Waits until a read on this connection sees what was acknowledged before. Cancel-safe.
    pub(crate) async fn pass(&self, generation: Generation) -> Result<(), Error> {
        let Some(episode) = self.current().filter(|episode| episode.to == generation) else {
            return Ok(());
        };
        let after = episode.begun.load(Ordering::Acquire);
        // Late comers get the answer of one round, and no wait beyond it.
        let limit = episode.ends.max(Instant::now() + episode.round);
        let mut found = episode.found.subscribe();
        loop {
            let state = *found.borrow_and_update();
            match state {
                Found::Over => return Ok(()),
                Found::Round(round, standing) if round > after => match standing {
                    Standing::Complete | Standing::Unrelated => return Ok(()),
                    Standing::Lost(bytes) => return Err(episode.lost(bytes)),
                    Standing::Behind(bytes) if Instant::now() >= episode.ends => {
                        return Err(episode.behind(bytes, self.wait));
                    }
                    Standing::Behind(_) => {}
                },
                Found::Nothing | Found::Round(..) => {}
            }
            match timeout_at(limit, found.changed()).await {
                Ok(Ok(())) => {}
                // The new active is gone: whoever comes next has an episode of its own.
                Ok(Err(_)) => return Ok(()),
                Err(_elapsed) => {
                    return Err(match *found.borrow() {
                        Found::Round(_, Standing::Behind(bytes)) => {
                            episode.behind(bytes, self.wait)
                        }
                        _ => episode.unknown(self.wait),
                    });
                }
            }
        }
    }

    fn current(&self) -> Option<Arc<Episode>> {
        let episode = self.episode.lock().unwrap_or_else(PoisonError::into_inner);
        episode.clone()
    }

    fn set(&self, episode: Option<Arc<Episode>>) {
        *self.episode.lock().unwrap_or_else(PoisonError::into_inner) = episode;
    }

    /// The episode is over, unless another one has begun.
    fn end(&self, episode: &Arc<Episode>) {
        episode.found.send_replace(Found::Over);
        let mut current = self.episode.lock().unwrap_or_else(PoisonError::into_inner);
        if current
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, episode))
        {
            *current = None;
            self.watched.store(0, Ordering::Release);
        }
    }
}

impl Episode {
    fn refuse(&self, text: String) -> Error {
        Error::new(ErrorKind::Unhealthy, text)
            .with_member(&self.member)
            .with_fate(Fate::NotApplied)
    }

    fn behind(&self, bytes: u64, wait: Duration) -> Error {
        self.refuse(format!(
            "it lacks {bytes} bytes of what {} acknowledged, and did not catch up within {wait:?} \
             (wait_for_replication): try again, or read elsewhere",
            self.source
        ))
    }

    fn lost(&self, bytes: u64) -> Error {
        self.refuse(format!(
            "it lacks {bytes} bytes of what {} acknowledged and never gets them: it was promoted without them; reads \
             are served again when wait_for_replication has passed since the switch",
            self.source
        ))
    }

    fn unknown(&self, wait: Duration) -> Error {
        self.refuse(format!(
            "whether it has what {} acknowledged could not be found out within {wait:?} (wait_for_replication)",
            self.source
        ))
    }
}

/// The task of one episode. It holds sockets, not connections: it runs in a task of one of them.
struct Rounds<L> {
    guard: Arc<Guard>,
    episode: Arc<Episode>,
    /// `None` once it can say no more.
    old: Option<L>,
    acknowledged: Arc<Noted>,
    new: L,
}

/// However it ends: also when the connection is retired under it.
impl<L> Drop for Rounds<L> {
    fn drop(&mut self) {
        self.guard.end(&self.episode);
    }
}

impl<L: Ask> Rounds<L> {
    /// What people should know of how it ended.
    async fn run(mut self) -> Option<Notice> {
        let episode = self.episode.clone();
        loop {
            let round = episode.begun.fetch_add(1, Ordering::AcqRel) + 1;
            let drained = episode.drained.load(Ordering::Acquire);
            self.ask_old().await;
            let finished = drained || self.old.is_none();
            let late = Instant::now() >= episode.ends;
            match self.compare().await {
                Some(Standing::Complete | Standing::Unrelated) if finished => return None,
                Some(Standing::Lost(bytes)) if late => {
                    let (to, from) = (&episode.member, &episode.source);
                    let text = format!(
                        "{to} was promoted without {bytes} bytes of what {from} had acknowledged; it is read from now on"
                    );
                    return Some(("writes_lost", text));
                }
                Some(standing) => {
                    episode.found.send_replace(Found::Round(round, standing));
                }
                None => {}
            }
            if !self.guard.watches(episode.to) {
                return None;
            }
            sleep(if late { LATER } else { SOON }).await;
        }
    }

    /// A server that is gone, silent, or not to be asked is not asked again: what it last said counts.
    async fn ask_old(&mut self) {
        let Some(old) = &self.old else {
            return;
        };
        match timeout(self.episode.round / 2, ask(old)).await {
            Ok(Ok(Some(said))) => self.acknowledged.note(said),
            _ => self.old = None,
        }
    }

    async fn compare(&mut self) -> Option<Standing> {
        let Some(old) = self.acknowledged.get() else {
            return Some(Standing::Unrelated);
        };
        match timeout(self.episode.round / 2, ask(&self.new)).await {
            Ok(Ok(Some(new))) => Some(new.standing(&old)),
            // It may not be asked: as for servers that have nothing to do with each other.
            Ok(Ok(None)) => Some(Standing::Unrelated),
            _ => None,
        }
    }
}
