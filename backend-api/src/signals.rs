//! What a connection says about itself after it was opened.
//!
//! A backend keeps the [`Signals`] it gets with a dial and speaks through them for as long as the connection
//! lives; member and generation are attached, so that the engine can tell an old voice from a new one. Speaking
//! never blocks and never fails, and repeating oneself costs nothing: what the engine has not yet taken is not
//! sent again, so a thousand errors a second cannot fill its memory.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sync::{Arc, AtomicBool, Mutex, mpsc};
use crate::{Error, Generation, Member, MemberName};

/// One thing that a connection said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Signal<S> {
    /// The connection ended. Said once; nothing later of this connection counts.
    Lost(Error),
    /// An operation failed in a way that makes the connection doubtful: prove it now.
    Suspect,
    /// The member itself says that it cannot serve (read-only, loading, no master): its kind says which.
    Condemned(Error),
    /// The member announced its own shutdown.
    LameDuck,
    /// The member tells of all the members it knows: see [`Signals::discovered`].
    Discovered(Vec<Member<S>>),
    /// Something that people should know and that changes no decision.
    Notice(Notice),
}

/// What a connection wants people to know: it becomes an event of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Notice {
    /// One word for programs, the same for every case of the kind, such as `resubscribe_failed`.
    pub what: &'static str,
    /// What happened, for people. Free of secrets.
    pub text: String,
}

/// How many notices of one connection may wait for the engine: a flood says no more than its first few.
const NOTICES: usize = 16;

/// A [`Signal`] with the connection it came from, as engines receive it.
#[derive(Debug)]
pub struct Heard<S> {
    /// Whose connection spoke.
    pub member: MemberName,
    /// Which connection spoke.
    pub generation: Generation,
    /// What it said. Of [`Signal::Discovered`] only that it said so: the members come with [`take`](Self::take).
    pub signal: Signal<S>,
    pending: Arc<Pending<S>>,
}

impl<S> Heard<S> {
    /// Takes the signal; from here on the same connection can say the same again. Of several lists of members that it
    /// told since the last was taken, the latest.
    pub fn take(mut self) -> (MemberName, Generation, Signal<S>) {
        let said = match self.signal {
            Signal::Suspect => Some(&self.pending.suspect),
            Signal::Condemned(_) => Some(&self.pending.condemned),
            Signal::Notice(_) => {
                self.pending.notices.fetch_sub(1, Ordering::Relaxed);
                None
            }
            Signal::Discovered(ref mut members) => {
                *members = self.pending.swap_told(None).unwrap_or_default();
                None
            }
            Signal::Lost(_) | Signal::LameDuck => None,
        };
        if let Some(said) = said {
            // Read as well as written: what was not sent because this had not happened yet is what the engine sees when
            // it looks next. With a plain store it could look first, on ordinary hardware too.
            said.swap(false, Ordering::AcqRel);
        }
        (self.member, self.generation, self.signal)
    }
}

#[derive(Debug)]
struct Pending<S> {
    lost: AtomicBool,
    lame_duck: AtomicBool,
    suspect: AtomicBool,
    condemned: AtomicBool,
    /// Not one that models look at: no order of threads depends on it.
    notices: AtomicUsize,
    /// The latest list that the engine has yet to take, while one word in the channel says that there is one.
    told: Mutex<Option<Vec<Member<S>>>>,
}

// By hand: a derived one would ask for settings that have a default.
impl<S> Default for Pending<S> {
    fn default() -> Self {
        Self {
            lost: AtomicBool::new(false),
            lame_duck: AtomicBool::new(false),
            suspect: AtomicBool::new(false),
            condemned: AtomicBool::new(false),
            notices: AtomicUsize::new(0),
            told: Mutex::new(None),
        }
    }
}

impl<S> Pending<S> {
    /// Puts one list in the place of another, which is dropped only after the lock.
    fn swap_told(&self, members: Option<Vec<Member<S>>>) -> Option<Vec<Member<S>>> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *told, members)
    }
}

/// The voice of one connection.
#[derive(Debug)]
pub struct Signals<S> {
    member: MemberName,
    generation: Generation,
    sink: mpsc::UnboundedSender<Heard<S>>,
    pending: Arc<Pending<S>>,
}

impl<S> Clone for Signals<S> {
    fn clone(&self) -> Self {
        Self {
            member: self.member.clone(),
            generation: self.generation,
            sink: self.sink.clone(),
            pending: self.pending.clone(),
        }
    }
}

impl<S> Signals<S> {
    pub(crate) fn new(
        member: MemberName,
        generation: Generation,
        sink: mpsc::UnboundedSender<Heard<S>>,
    ) -> Self {
        Self {
            member,
            generation,
            sink,
            pending: Arc::new(Pending::default()),
        }
    }

    /// The member that the connection belongs to.
    pub fn member(&self) -> &MemberName {
        &self.member
    }

    /// The connection's number.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The connection ended. Only the first call counts.
    pub fn lost(&self, reason: Error) {
        if !self.pending.lost.swap(true, Ordering::AcqRel) {
            self.send(Signal::Lost(reason.with_member(&self.member)));
        }
    }

    /// The connection is doubtful: an operation timed out or failed without ending it.
    pub fn suspect(&self) {
        if !self.pending.suspect.swap(true, Ordering::AcqRel) {
            self.send(Signal::Suspect);
        }
    }

    /// The member answered that it cannot serve. Use [`ErrorKind::ReadOnly`](crate::ErrorKind::ReadOnly) for a
    /// replica, which is never promoted, and [`ErrorKind::Unhealthy`](crate::ErrorKind::Unhealthy) otherwise.
    pub fn condemned(&self, reason: Error) {
        if !self.pending.condemned.swap(true, Ordering::AcqRel) {
            self.send(Signal::Condemned(reason.with_member(&self.member)));
        }
    }

    /// The member announced its own shutdown. Only the first call counts.
    pub fn lame_duck(&self) {
        if !self.pending.lame_duck.swap(true, Ordering::AcqRel) {
            self.send(Signal::LameDuck);
        }
    }

    /// All members that this one knows of, itself included, each by the one name that it has wherever it is told
    /// (`host:port`): names are how the engine knows them again. Those that are new join the group; those that the active
    /// does not tell of any more, and no other connection, leave it; see `Failover` for the whole rule. An empty list says
    /// nothing. Whatever comes before the engine has taken the last list replaces it, so a flood costs one list.
    pub fn discovered(&self, members: Vec<Member<S>>) {
        if !members.is_empty() && self.pending.swap_told(Some(members)).is_none() {
            self.send(Signal::Discovered(Vec::new()));
        }
    }

    /// Something that people should know: an event of the group, named by `what`, and a line in the log. Of a connection
    /// that says too many before the engine has taken them, the later ones are dropped.
    pub fn notice(&self, what: &'static str, text: impl Into<String>) {
        if self.pending.notices.fetch_add(1, Ordering::Relaxed) < NOTICES {
            let text = text.into();
            self.send(Signal::Notice(Notice { what, text }));
        } else {
            self.pending.notices.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn send(&self, signal: Signal<S>) {
        // An engine that is gone needs no signal: its connections are being retired.
        let _ = self.sink.send(Heard {
            member: self.member.clone(),
            generation: self.generation,
            signal,
            pending: self.pending.clone(),
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::engine::signal_channel;

    #[test]
    fn repeated_signals_are_one_until_taken() {
        let (sender, mut receiver) = signal_channel::<()>();
        let signals = sender.signals("east".into(), Generation(7));
        for _ in 0..1000 {
            signals.suspect();
        }
        let heard = receiver.try_recv().unwrap();
        assert!(receiver.try_recv().is_err());
        let (member, generation, signal) = heard.take();
        assert_eq!((member.as_str(), generation), ("east", Generation(7)));
        assert!(matches!(signal, Signal::Suspect));
        signals.suspect();
        assert!(receiver.try_recv().is_ok());
    }

    #[test]
    fn a_flood_of_notices_is_bounded_and_ends_with_the_flood() {
        let (sender, mut receiver) = signal_channel::<()>();
        let signals = sender.signals("east".into(), Generation(7));
        let mut taken =
            || std::iter::from_fn(|| receiver.try_recv().ok().map(|heard| heard.take().2)).count();
        for _ in 0..1000 {
            signals.notice("slow_consumer", "a reader is too slow");
        }
        assert_eq!(taken(), NOTICES);
        signals.notice("slow_consumer", "again");
        assert_eq!(taken(), 1);
    }

    #[test]
    fn of_a_flood_of_members_the_latest_list_is_taken() {
        // F27
        let (sender, mut receiver) = signal_channel();
        let signals = sender.signals("east".into(), Generation(7));
        let mut taken = || {
            let all = std::iter::from_fn(|| receiver.try_recv().ok());
            all.map(|heard| match heard.take().2 {
                Signal::Discovered(members) => members.len(),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
        };
        for count in 1..=1000 {
            signals.discovered(vec![Member::new("west", ()); count]);
            signals.discovered(Vec::new());
        }
        assert_eq!(taken(), [1000]);
        signals.discovered(vec![Member::new("west", ())]);
        assert_eq!(taken(), [1]);
        assert!(taken().is_empty());
    }

    #[test]
    fn lost_is_said_once_and_names_its_member() {
        let (sender, mut receiver) = signal_channel::<()>();
        let signals = sender.signals("east".into(), Generation(1));
        for _ in 0..2 {
            signals.lost(Error::new(ErrorKind::Lost, "reset"));
        }
        let (_, _, signal) = receiver.try_recv().unwrap().take();
        let Signal::Lost(reason) = signal else {
            panic!("{signal:?}")
        };
        assert_eq!(reason.to_string(), "east: reset");
        signals.lost(Error::new(ErrorKind::Lost, "again"));
        assert!(receiver.try_recv().is_err());
    }
}
