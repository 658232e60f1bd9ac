//! What the group said, each thing with the time at which it was heard.
//!
//! Recorded by a callback and not by a reader of the event stream: a callback hears what happens while the group is being
//! opened as well.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use failover_core::event::{Event, EventKind};

/// Everything that was said, in order. All clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Timeline {
    heard: Arc<Mutex<Vec<(Instant, Event)>>>,
    fault: Arc<OnceLock<Instant>>,
}

impl Timeline {
    /// For [`Builder::on_event`](failover_core::Builder::on_event).
    pub(crate) fn recorder(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let timeline = self.clone();
        move |event| timeline.lock().push((Instant::now(), event.clone()))
    }

    /// What was said from `from` on, and what `pick` makes of it.
    pub(crate) fn since<T>(
        &self,
        from: Instant,
        pick: impl Fn(Instant, &EventKind) -> Option<T>,
    ) -> Vec<T> {
        let heard = self.lock();
        let recent = heard.iter().filter(|(at, _)| *at >= from);
        recent
            .filter_map(|(at, event)| pick(*at, &event.kind))
            .collect()
    }

    /// Attempts to connect that ended from `from` on: refused or timed out ([`EventKind::DialFailed`]), proven
    /// ([`EventKind::Connected`]), or opened and lost before they were proven.
    pub(crate) fn dials(&self, from: Instant) -> usize {
        let (mut known, mut dials) = (HashSet::new(), 0);
        for (at, event) in self.lock().iter() {
            let new = match &event.kind {
                EventKind::DialFailed { .. } => true,
                EventKind::Connected { generation, .. } | EventKind::Lost { generation, .. } => {
                    known.insert(*generation)
                }
                _ => false,
            };
            dials += usize::from(new && *at >= from);
        }
        dials
    }

    /// What the times of [`print`](Self::print) count from.
    pub(crate) fn fault_was(&self, at: Instant) {
        // Once per round, and each has a timeline of its own.
        let _ = self.fault.set(at);
    }

    /// All of it on stderr, with the time since the fault.
    pub(crate) fn print(&self) {
        let heard = self.lock();
        let first = heard.first().map(|(at, _)| *at);
        let Some(zero) = self.fault.get().copied().or(first) else {
            return;
        };
        for (at, event) in heard.iter() {
            let (after, before) = (
                at.saturating_duration_since(zero),
                zero.saturating_duration_since(*at),
            );
            let millis = (after.as_secs_f64() - before.as_secs_f64()) * 1000.0;
            eprintln!("{millis:>10.3} ms  {event}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, Event)>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
