//! The engine's side of a slot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::{mpsc, watch};

use super::stripe::{Clock, Common, Counts, Stripe, Suspicion, stripe_count};
use super::{Active, Handle, Leases, Shared, Slot, State};
use crate::{Epoch, Error, Generation, MemberName};

/// Fills and empties a slot. Dropping it closes the slot: nobody waits for ever on an engine that died.
pub struct SlotOwner<C> {
    shared: Arc<Shared<C>>,
    handles: mpsc::Receiver<std::convert::Infallible>,
    clock: Arc<Clock>,
    epochs: u64,
    leases: Option<Leases>,
}

impl<C: Clone> SlotOwner<C> {
    /// An empty slot. `wait` is how long operations wait for an active, `reason` what they are told otherwise.
    pub fn new(wait: Duration, reason: Error) -> (Self, Slot<C>) {
        let shared = Arc::new(Shared {
            active: ArcSwapOption::empty(),
            state: watch::Sender::new(State::Absent(reason)),
            wait,
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
    ) -> (Tally, Option<Leases>) {
        self.epochs += 1;
        let epoch = Epoch(self.epochs);
        let (sender, ended) = watch::channel(());
        let raised = Arc::new(AtomicBool::new(false));
        let common = Arc::new(Common {
            member: member.clone(),
            generation,
            epoch,
            suspicion: Suspicion {
                raised: raised.clone(),
                tell: Box::new(suspect),
            },
            _ended: sender,
        });
        let counts: Box<[Arc<Counts>]> = (0..stripe_count()).map(|_| Arc::default()).collect();
        let stripes = counts
            .iter()
            .map(|counts| {
                Arc::new(Stripe {
                    connection: connection.clone(),
                    common: common.clone(),
                    clock: self.clock.clone(),
                    counts: counts.clone(),
                })
            })
            .collect();
        drop(common);
        self.shared.active.store(Some(Arc::new(Active {
            stripes,
            clock: self.clock.clone(),
        })));
        let before = self.leases.replace(Leases { ended });
        self.shared.state.send_replace(State::Active(epoch));
        let tally = Tally {
            epoch,
            counts,
            raised,
        };
        (tally, before)
    }

    /// Empties the slot: `reason` names every member's state. Returns the leases still held of the connection that
    /// was active.
    pub fn clear(&mut self, reason: Error) -> Option<Leases> {
        self.shared.active.store(None);
        self.shared.state.send_replace(State::Absent(reason));
        self.leases.take()
    }

    /// Closes the slot for good.
    pub fn close(&mut self) -> Option<Leases> {
        self.shared.active.store(None);
        self.shared.state.send_replace(State::Closed);
        self.leases.take()
    }

    /// Advances the coarse clock by which leases measure their age.
    pub fn tick(&self) {
        self.clock.advance();
    }

    /// After how many ticks an operation that is given up counts as timed out.
    pub fn set_overdue(&self, ticks: u32) {
        self.clock.set_limit(ticks);
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
pub struct Tally {
    epoch: Epoch,
    counts: Box<[Arc<Counts>]>,
    raised: Arc<AtomicBool>,
}

impl Tally {
    /// The turn.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Successes and failures so far.
    pub fn totals(&self) -> (u64, u64) {
        self.counts
            .iter()
            .fold((0, 0), |(success, failure), counts| {
                (
                    success + counts.success.load(Ordering::Relaxed),
                    failure + counts.failure.load(Ordering::Relaxed),
                )
            })
    }

    /// The engine has looked: from here on the next failure tells it again.
    pub fn listen(&self) {
        self.raised.store(false, Ordering::Release);
    }
}

impl std::fmt::Debug for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tally")
            .field("epoch", &self.epoch)
            .field("totals", &self.totals())
            .finish_non_exhaustive()
    }
}
