//! The engine's side of a slot.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::places::{PLACES, stripe_count};
use super::stripe::{Clock, Common, Past, Stripe, Suspicion};
use super::{Active, Handle, Leases, Shared, Slot, State};
use crate::sync::{Arc, ArcSwapOption, AtomicBool, Mutex, MutexGuard, Weak, mpsc, watch};
use crate::{Epoch, Error, Generation, MemberName};

/// Fills and empties a slot. Dropping it closes the slot: nobody waits for ever on an engine that died.
pub struct SlotOwner<C> {
    shared: Arc<Shared<C>>,
    handles: mpsc::Receiver<std::convert::Infallible>,
    clock: Arc<Clock>,
    epochs: u64,
    leases: Option<Leases>,
    turn: Option<Turn<C>>,
    /// Turns that are over, while leases of theirs are held.
    pub(super) earlier: Vec<Weak<Common>>,
}

/// What the stripes of the active connection are made of. It goes when the connection is not active any more, so that
/// nothing but leases holds the stripes.
struct Turn<C> {
    connection: C,
    common: Arc<Common>,
    stripes: Arc<Mutex<Vec<Weak<Stripe<C>>>>>,
}

impl<C> Turn<C> {
    /// Whether no lease is held. One that is taken at this very moment is as old as one that is taken right after the tick.
    fn is_idle(&self) -> bool {
        let stripes = lock(&self.stripes);
        let count = stripe_count();
        let Some((older, latest)) = stripes
            .len()
            .checked_sub(count)
            .map(|latest| stripes.split_at(latest))
        else {
            return false;
        };
        // The places of the slot are the only ones that hold the latest stripes, and nothing holds an older one.
        let held = |stripe: &Weak<Stripe<C>>| stripe.strong_count() != PLACES / count;
        !latest.iter().any(held) && older.iter().all(|stripe| stripe.strong_count() == 0)
    }
}

fn lock<C>(stripes: &Mutex<Vec<Weak<Stripe<C>>>>) -> MutexGuard<'_, Vec<Weak<Stripe<C>>>> {
    stripes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Clone> SlotOwner<C> {
    /// An empty slot. `wait` is how long operations wait for an active, `reason` what they are told otherwise.
    pub fn new(wait: Duration, reason: Error) -> (Self, Slot<C>) {
        let shared = Arc::new(Shared {
            active: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Absent(reason)),
            wait,
            verdict_within: u64::MAX.into(),
        });
        let (alive, handles) = mpsc::channel(1);
        let slot = Slot {
            handle: Arc::new(Handle {
                shared: shared.clone(),
                _alive: alive,
            }),
        };
        let owner = Self {
            shared,
            handles,
            clock: Arc::default(),
            epochs: 0,
            leases: None,
            turn: None,
            earlier: Vec::new(),
        };
        (owner, slot)
    }

    /// Makes a connection the active one. `suspect` is called when an operation on it fails, once until
    /// [`Tally::listen`]. Returns the leases still held of the connection that was active before.
    pub fn activate(
        &mut self,
        member: &MemberName,
        generation: Generation,
        connection: &C,
        suspect: impl Fn() + Send + Sync + 'static,
    ) -> (Tally<C>, Option<Leases>) {
        self.epochs += 1;
        let epoch = Epoch(self.epochs);
        let (sender, ended) = watch::channel(());
        let (raised, past) = (Arc::new(AtomicBool::new(false)), Arc::new(Past::default()));
        let common = Arc::new(Common {
            member: member.clone(),
            generation,
            epoch,
            suspicion: Suspicion {
                raised: raised.clone(),
                tell: Box::new(suspect),
            },
            clock: self.clock.clone(),
            past: past.clone(),
            _ended: sender,
        });
        let stripes = Arc::new(Mutex::new(Vec::new()));
        self.put(&stripes, connection, &common);
        let before = self.leases.replace(Leases { ended });
        self.end_turn();
        self.turn = Some(Turn {
            connection: connection.clone(),
            common,
            stripes: stripes.clone(),
        });
        self.shared.state.send_replace(State::Active(epoch));
        let tally = Tally {
            epoch,
            past,
            stripes,
            raised,
        };
        (tally, before)
    }

    /// Fresh stripes into the slot.
    fn put(&self, stripes: &Mutex<Vec<Weak<Stripe<C>>>>, connection: &C, common: &Arc<Common>) {
        let fresh: Vec<Arc<Stripe<C>>> = (0..stripe_count())
            .map(|_| Arc::new(Stripe::new(connection.clone(), common.clone())))
            .collect();
        let mut known = lock(stripes);
        known.retain(|stripe| stripe.strong_count() > 0);
        known.extend(fresh.iter().map(Arc::downgrade));
        drop(known);
        let places = std::array::from_fn(|place| fresh[place % fresh.len()].clone());
        self.shared.active.store(Some(Arc::new(Active { places })));
    }

    /// Empties the slot: `reason` names every member's state. Returns the leases still held of the connection that
    /// was active.
    pub fn clear(&mut self, reason: Error) -> Option<Leases> {
        self.end_turn();
        self.shared.active.store(None);
        self.shared.state.send_replace(State::Absent(reason));
        self.leases.take()
    }

    /// Replaces the reason that whoever waits on an empty slot is given.
    pub fn explain(&self, reason: Error) {
        self.shared.state.send_if_modified(|state| {
            if let State::Absent(now) = state {
                *now = reason;
            }
            // Nobody needs to wake up for other words.
            false
        });
    }

    /// Closes the slot for good.
    pub fn close(&mut self) -> Option<Leases> {
        self.end_turn();
        self.shared.active.store(None);
        self.shared.state.send_replace(State::Closed);
        self.leases.take()
    }

    fn end_turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            self.earlier.push(Arc::downgrade(&turn.common));
        }
    }

    /// Advances the coarse clock by which leases measure their age. While no lease is held there is nothing whose age could
    /// matter: then the clock stands still, and the stripes stay.
    pub fn tick(&mut self) {
        self.earlier.retain(|common| common.strong_count() > 0);
        let idle = self.turn.as_ref().is_none_or(Turn::is_idle);
        if idle && self.earlier.is_empty() {
            return;
        }
        self.clock.advance();
        if let Some(turn) = &self.turn {
            self.put(&turn.stripes, &turn.connection, &turn.common);
        }
    }

    /// After how many ticks an operation that is given up counts as timed out.
    pub fn set_overdue(&self, ticks: u32) {
        self.clock.set_limit(ticks);
    }

    /// How long the engine needs to prove a connection that failed an operation, or to end its turn. Without this, what
    /// [`Slot::verdict_within`] says is the whole wait.
    pub fn set_verdict_within(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.shared.verdict_within.store(nanos, Ordering::Relaxed);
    }

    /// Resolves when no slot of the group is left. Cancel-safe.
    pub async fn abandoned(&mut self) {
        while self.handles.recv().await.is_some() {}
    }
}

impl<C> Drop for SlotOwner<C> {
    fn drop(&mut self) {
        self.shared.active.store(None);
        self.shared.state.send_replace(State::Closed);
    }
}

impl<C> std::fmt::Debug for SlotOwner<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlotOwner")
            .field("epochs", &self.epochs)
            .finish_non_exhaustive()
    }
}

/// The outcomes counted for one turn as active, also those that arrive after it ended.
pub struct Tally<C> {
    epoch: Epoch,
    past: Arc<Past>,
    stripes: Arc<Mutex<Vec<Weak<Stripe<C>>>>>,
    raised: Arc<AtomicBool>,
}

impl<C> Tally<C> {
    /// The turn.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Successes and failures so far.
    pub fn totals(&self) -> (u64, u64) {
        // What is alive first: a stripe that goes meanwhile is held here, and counted when this lets go of it.
        let alive: Vec<Arc<Stripe<C>>> = lock(&self.stripes)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        let mut totals = self.past.totals();
        for stripe in &alive {
            totals.0 += stripe.success.load(Ordering::Relaxed);
            totals.1 += stripe.failure.load(Ordering::Relaxed);
        }
        totals
    }

    /// The engine has looked: from here on the next failure tells it again.
    pub fn listen(&self) {
        // Read as well as written: a failure that was not told because this had not happened yet happened before what
        // the engine does next. With a plain store the engine could look first, on ordinary hardware too.
        self.raised.swap(false, Ordering::AcqRel);
    }
}

impl<C> std::fmt::Debug for Tally<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tally")
            .field("epoch", &self.epoch)
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}
