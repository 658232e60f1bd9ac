//! The shared socket that a connection has at present, and whether a member that is several servers is finding another.
//!
//! A plain member has one socket, and its end is the end of the connection. Where the member follows its master
//! (see [`place`](crate::place)), the socket may be replaced within the connection: the *revision* counts them. An end is
//! always that of a certain revision, so that nobody takes one socket's end for another's.
//!
//! Nothing here decides when to leave a socket. Never to come in: a task, a dial.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(any(feature = "sentinel", feature = "cluster"))]
use std::time::Duration;

use backend_api::{Error, ErrorKind};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::address::Address;
use crate::redis_rs::connect::Connector;
use crate::redis_rs::link::Link;
use crate::subscriptions::{Listen, Server};

/// A master that was just found to be well is not doubted again for this long: what fails meanwhile is the breaker's.
#[cfg(any(feature = "sentinel", feature = "cluster"))]
const CLEARED: Duration = Duration::from_secs(1);

pub(crate) struct Line {
    /// The number of the present socket.
    revision: AtomicU64,
    /// How many sockets have ended: those with a smaller number.
    ended: AtomicU64,
    retired: AtomicBool,
    now: Mutex<Now>,
    phase: watch::Sender<Phase>,
    follows: bool,
    cleared: Mutex<Option<Instant>>,
}

/// The socket of one revision.
#[derive(Clone)]
pub(crate) struct Now {
    pub(crate) revision: u64,
    pub(crate) link: Link,
    /// Where it leads.
    pub(crate) address: Address,
    /// How more sockets to the same server are opened; none where a member has no one server.
    pub(crate) connector: Option<Arc<Connector>>,
}

/// How it stands with the socket of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    pub(crate) revision: u64,
    pub(crate) mood: Mood,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Something failed on it, and it is being looked at. Commands go on.
    Doubted,
    /// It is gone. Where the member follows, another is being looked for.
    Gone,
}

impl Line {
    pub(crate) fn new(
        link: Link,
        address: Address,
        connector: Option<Arc<Connector>>,
        follows: bool,
    ) -> Self {
        let phase = Phase {
            revision: 0,
            mood: Mood::Well,
        };
        Self {
            revision: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            retired: AtomicBool::new(false),
            now: Mutex::new(Now {
                revision: 0,
                link,
                address,
                connector,
            }),
            phase: watch::Sender::new(phase),
            follows,
            cleared: Mutex::default(),
        }
    }

    /// Whether the end of a socket may be followed by another one.
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    pub(crate) fn now(&self) -> Now {
        locked(&self.now).clone()
    }

    /// What commands are sent on.
    pub(crate) fn link(&self) -> Link {
        locked(&self.now).link.clone()
    }

    pub(crate) fn address(&self) -> Address {
        locked(&self.now).address.clone()
    }

    /// The number of the present socket.
    pub(crate) fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// The socket of this revision is gone.
    pub(crate) fn is_over(&self, revision: u64) -> bool {
        self.ended.load(Ordering::Acquire) > revision
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_over(self.revision())
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// The socket of this revision is gone. `false` where that was known, or where it was replaced before.
    pub(crate) fn end(&self, revision: u64) -> bool {
        let now = locked(&self.now);
        if now.revision != revision || self.has_ended() {
            return false;
        }
        self.ended.store(revision + 1, Ordering::Release);
        self.phase.send_replace(Phase {
            revision,
            mood: Mood::Gone,
        });
        true
    }

    /// The engine ends the connection. What had ended by itself was lost: that is what its operations are told.
    pub(crate) fn retire(&self) {
        let revision = self.revision();
        if !self.has_ended() || self.follows {
            self.retired.store(true, Ordering::Release);
        }
        self.end(revision);
    }

    /// The next socket. Returns its revision.
    #[cfg(feature = "sentinel")]
    pub(crate) fn replace(&self, link: Link, connector: Arc<Connector>) -> u64 {
        let mut now = locked(&self.now);
        let revision = now.revision + 1;
        *now = Now {
            revision,
            link,
            address: connector.target.address.clone(),
            connector: Some(connector),
        };
        self.revision.store(revision, Ordering::Release);
        self.phase.send_replace(Phase {
            revision,
            mood: Mood::Well,
        });
        revision
    }

    /// The present link is well again after it was not: whatever waits for a newer one goes on with it.
    #[cfg(feature = "cluster")]
    pub(crate) fn resume(&self) {
        let mut now = locked(&self.now);
        if self.has_ended() {
            return;
        }
        now.revision += 1;
        let revision = now.revision;
        self.revision.store(revision, Ordering::Release);
        self.phase.send_replace(Phase {
            revision,
            mood: Mood::Well,
        });
    }

    /// An answer was late on the present socket: it is to be looked at. `false` where it was just found well, so that the
    /// failure says something about the member.
    pub(crate) fn doubt_lateness(&self) -> bool {
        let cleared = *locked(&self.cleared);
        if cleared.is_some_and(|until| Instant::now() < until) && !self.has_ended() {
            return false;
        }
        self.doubt();
        true
    }

    /// Something is certainly wrong: it is to be looked at.
    pub(crate) fn doubt(&self) {
        self.phase.send_if_modified(|phase| {
            let well = phase.mood == Mood::Well;
            if well {
                phase.mood = Mood::Doubted;
            }
            well
        });
    }

    /// The present socket was looked at and is well.
    #[cfg(any(feature = "sentinel", feature = "cluster"))]
    pub(crate) fn clear(&self) {
        *locked(&self.cleared) = Some(Instant::now() + CLEARED);
        self.phase.send_if_modified(|phase| {
            let doubted = phase.mood == Mood::Doubted;
            if doubted {
                phase.mood = Mood::Well;
            }
            doubted
        });
    }

    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    pub(crate) fn phases(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Resolves once the socket of this revision is gone.
    pub(crate) async fn left(&self, revision: u64) {
        self.until(|phase| phase.revision > revision || phase.mood == Mood::Gone)
            .await;
    }

    /// Resolves once a newer socket than that of this revision is there. Never, where nothing follows.
    pub(crate) async fn newer(&self, revision: u64) {
        self.until(|phase| phase.revision > revision && phase.mood != Mood::Gone)
            .await;
    }

    async fn until(&self, condition: impl Fn(&Phase) -> bool) {
        // The sender is part of `self`, so it does not close meanwhile.
        let _ = self.phases().wait_for(condition).await;
    }
}

/// The subscriptions of a connection are listened to at whichever server it leads to.
impl Listen for Line {
    fn address(&self) -> Address {
        self.address()
    }

    fn server(&self) -> Result<Server, Error> {
        let now = self.now();
        match now.connector {
            Some(connector) => Ok(connector.server()),
            None => {
                let address = now.address;
                let text =
                    format!("{address} is a cluster, on which subscriptions are not offered");
                Err(Error::new(ErrorKind::Unsupported, text))
            }
        }
    }

    fn revision(&self) -> u64 {
        self.revision()
    }

    async fn left(&self, revision: u64) {
        match self.follows() {
            true => self.left(revision).await,
            // Its end is the end of the connection.
            false => std::future::pending().await,
        }
    }

    async fn newer(&self, revision: u64) {
        self.newer(revision).await;
    }
}

/// A poisoned lock holds nothing half-done here: the values are replaced as a whole.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
