//! What the application wants to hear. The one truth about subscriptions: what servers know follows from it.
//!
//! It belongs to the backend and its clients alike, and outlives every connection. No switch changes it, so none can lose
//! an entry. It passes messages on to the readers, without ever waiting for one. Never to come in: a driver, a socket, a
//! slot.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use backend_api::{Error, ErrorKind, Generation};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use super::agreement::{Agreement, Origin};
use super::topic::{Delivery, Message, Published, Topic};

pub(crate) struct Registry {
    wants: Mutex<Wants>,
    /// Goes up with every change to the set of topics, and not with every reader.
    version: watch::Sender<u64>,
    /// The one that was promoted last and is still there.
    leader: watch::Sender<Option<Weak<Agreement>>>,
    buffer: usize,
}

#[derive(Default)]
struct Wants {
    last_reader: u64,
    readers: HashMap<u64, Reader>,
    topics: HashMap<Topic, Wanted>,
    /// The connections that were promoted and have not ended or been left, the latest last.
    line: Vec<(Origin, Weak<Agreement>)>,
}

struct Reader {
    messages: mpsc::Sender<Message>,
    missed: Arc<AtomicU64>,
    delivery: Delivery,
    /// It was full, and has not caught up since: said once.
    slow: bool,
}

#[derive(Default)]
struct Wanted {
    readers: Vec<u64>,
    /// A server has confirmed it before: from here on a refusal is news.
    established: bool,
}

/// The reader's end of what [`Registry::enter`] made.
pub(crate) struct Entered {
    pub(crate) id: u64,
    pub(crate) messages: mpsc::Receiver<Message>,
    pub(crate) missed: Arc<AtomicU64>,
}

/// What a server has to be told.
pub(crate) struct Difference {
    pub(crate) add: Vec<Topic>,
    pub(crate) remove: Vec<Topic>,
}

impl Registry {
    pub(crate) fn new(buffer: usize) -> Self {
        Self {
            wants: Mutex::default(),
            version: watch::Sender::new(1),
            leader: watch::Sender::new(None),
            buffer,
        }
    }

    /// A new reader that hears nothing yet.
    pub(crate) fn enter(&self, delivery: Delivery) -> Entered {
        let (sender, messages) = mpsc::channel(self.buffer);
        let missed = Arc::<AtomicU64>::default();
        let mut wants = self.lock();
        wants.last_reader += 1;
        let id = wants.last_reader;
        let reader = Reader {
            messages: sender,
            missed: missed.clone(),
            delivery,
            slow: false,
        };
        wants.readers.insert(id, reader);
        Entered {
            id,
            messages,
            missed,
        }
    }

    /// The reader is gone, and with it whatever only it wanted.
    pub(crate) fn leave(&self, id: u64) {
        let mut wants = self.lock();
        wants.readers.remove(&id);
        let before = wants.topics.len();
        wants.topics.retain(|_topic, wanted| {
            wanted.readers.retain(|reader| *reader != id);
            !wanted.readers.is_empty()
        });
        if wants.topics.len() != before {
            self.bump();
        }
    }

    /// The reader wants these too. Says which it had not wanted before, and the version that holds them.
    pub(crate) fn add(&self, id: u64, topics: &[Topic]) -> Result<(u64, Vec<Topic>), Error> {
        let mut wants = self.lock();
        if !wants.readers.contains_key(&id) {
            return Err(Error::new(
                ErrorKind::Closed,
                "the stream of these subscriptions was dropped",
            ));
        }
        let (mut fresh, mut news) = (Vec::new(), false);
        for topic in topics {
            let wanted = match wants.topics.entry(topic.clone()) {
                Entry::Occupied(there) => there.into_mut(),
                Entry::Vacant(place) => {
                    news = true;
                    place.insert(Wanted::default())
                }
            };
            if !wanted.readers.contains(&id) {
                wanted.readers.push(id);
                fresh.push(topic.clone());
            }
        }
        if news {
            self.bump();
        }
        Ok((*self.version.borrow(), fresh))
    }

    /// The reader does not want these any more.
    pub(crate) fn remove(&self, id: u64, topics: &[Topic]) {
        let mut wants = self.lock();
        let mut news = false;
        for topic in topics {
            if let Some(wanted) = wants.topics.get_mut(topic) {
                wanted.readers.retain(|reader| *reader != id);
                if wanted.readers.is_empty() {
                    wants.topics.remove(topic);
                    news = true;
                }
            }
        }
        if news {
            self.bump();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().topics.is_empty()
    }

    /// Marks the version as seen in whatever the receiver does next.
    pub(crate) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// How a server that has confirmed `known` differs from what is wanted, or from nothing where it is to be left.
    pub(crate) fn difference(&self, stays: bool, known: &HashSet<Topic>) -> Difference {
        if !stays {
            let (add, remove) = (Vec::new(), known.iter().cloned().collect());
            return Difference { add, remove };
        }
        let wants = self.lock();
        let add = wants.topics.keys().filter(|topic| !known.contains(*topic));
        let remove = known
            .iter()
            .filter(|topic| !wants.topics.contains_key(*topic));
        Difference {
            add: add.cloned().collect(),
            remove: remove.cloned().collect(),
        }
    }

    /// A server has confirmed these.
    pub(crate) fn establish(&self, topics: &[Topic]) {
        let mut wants = self.lock();
        for topic in topics {
            if let Some(wanted) = wants.topics.get_mut(topic) {
                wanted.established = true;
            }
        }
    }

    /// Whether some server has confirmed it before.
    pub(crate) fn is_established(&self, topic: &Topic) -> bool {
        let wants = self.lock();
        wants
            .topics
            .get(topic)
            .is_some_and(|wanted| wanted.established)
    }

    /// Gives a message to everybody who wants it, and says whether somebody began to miss messages. Never waits.
    pub(crate) fn deliver(&self, from: &Origin, published: Published) -> bool {
        let mut wants = self.lock();
        let Wants {
            readers,
            topics,
            line,
            ..
        } = &mut *wants;
        let Some(wanted) = topics.get(&published.topic) else {
            return false;
        };
        let leads = line.last().map(|(leader, _)| leader);
        let (strict, lax) = (counts_strictly(leads, from), counts(line, from));
        let message = Message::new(published, from.member.clone());
        let mut slow = false;
        for id in &wanted.readers {
            let Some(reader) = readers.get_mut(id) else {
                continue;
            };
            let counts = match reader.delivery {
                Delivery::AtLeastOnce => lax,
                Delivery::AtMostOnce => strict,
            };
            if counts {
                slow |= reader.give(message.clone());
            }
        }
        slow
    }

    /// Whoever is promoted last is what readers that want one source at a time hear.
    pub(crate) fn lead(&self, leader: &Arc<Agreement>) {
        let mut wants = self.lock();
        let origin = leader.origin();
        wants.line.retain(|(known, _)| known != origin);
        wants.line.push((origin.clone(), Arc::downgrade(leader)));
        self.tell_leader(&wants);
    }

    /// This one ended, or was left.
    pub(crate) fn step_down(&self, generation: Generation) {
        let mut wants = self.lock();
        let before = wants.line.len();
        wants
            .line
            .retain(|(known, _)| known.generation != generation);
        if wants.line.len() != before {
            self.tell_leader(&wants);
        }
    }

    /// The one that was promoted last, whenever that changes.
    pub(crate) fn leaders(&self) -> watch::Receiver<Option<Weak<Agreement>>> {
        self.leader.subscribe()
    }

    fn tell_leader(&self, wants: &Wants) {
        let leader = wants.line.last().map(|(_origin, leader)| leader.clone());
        self.leader.send_replace(leader);
    }

    /// Under the lock, so that a version names one state.
    fn bump(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    /// Nothing is left half-done by a panic here.
    fn lock(&self) -> MutexGuard<'_, Wants> {
        self.wants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn counts_strictly(leads: Option<&Origin>, from: &Origin) -> bool {
    leads.is_none_or(|leader| leader == from)
}

/// Everybody who is listened to counts, except where the same server is listened to through a newer connection: there
/// every message comes on both.
fn counts(line: &[(Origin, Weak<Agreement>)], from: &Origin) -> bool {
    let after = line
        .iter()
        .position(|(known, _)| known == from)
        .map_or(&[][..], |place| &line[place + 1..]);
    !after.iter().any(|(newer, _)| newer.member == from.member)
}

impl Reader {
    /// Whether it began to miss messages with this one.
    fn give(&mut self, message: Message) -> bool {
        match self.messages.try_send(message) {
            Ok(()) => {
                // Half empty again: the next time that it is full is another story.
                self.slow &= self.messages.capacity() < self.messages.max_capacity() / 2;
                false
            }
            Err(TrySendError::Full(_message)) => {
                self.missed.fetch_add(1, Ordering::Relaxed);
                !std::mem::replace(&mut self.slow, true)
            }
            Err(TrySendError::Closed(_message)) => false,
        }
    }
}
