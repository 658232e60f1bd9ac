//! What connections that ended left behind, in the order in which it was published, on its way to the next active.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::queue::Kept;
use crate::connection::Connection;

/// How much earlier than published a copy may be stamped.
const STAMP: Duration = Duration::from_millis(250);

/// A connection publishes no more than two to the power of this in one go, and is opened no more often than is left of 64.
const TURN: u32 = 44;

/// One for a group.
#[derive(Default)]
pub(crate) struct Pending {
    turns: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Kept>>,
    /// Where something was carried to last.
    carrier: Mutex<Option<Connection>>,
    /// One carries at a time, or the order would be lost.
    turn: tokio::sync::Mutex<()>,
}

impl Pending {
    /// Where the numbers of a connection begin that messages are published on from now on: behind all others. A connection
    /// counts by itself from there, since one counter for all would be written by every thread for every message.
    pub(super) fn turn(&self) -> u64 {
        (self.turns.fetch_add(1, Ordering::Relaxed) + 1) << TURN
    }

    /// Takes over what a connection left behind that has ended.
    pub(crate) fn collect(&self, from: &Connection) {
        // Locked before: whoever comes second finds nothing left over there, and must find it here.
        let mut waiting = self.waiting();
        let left = from.outbound().take();
        waiting.extend(left.into_iter().map(|kept| (kept.order, kept)));
    }

    /// Where something was carried to last, if that is still there.
    pub(crate) fn carrier(&self) -> Option<Connection> {
        let carrier = self.last_carrier().clone();
        carrier.filter(|carrier| !carrier.is_going())
    }

    /// The connection is gone, or its server has all that was carried there.
    pub(crate) fn forget(&self, connection: &Connection) {
        let is_it = |carrier: &mut Connection| carrier.generation() == connection.generation();
        self.last_carrier().take_if(is_it);
    }

    fn last_carrier(&self) -> MutexGuard<'_, Option<Connection>> {
        self.carrier.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn holds_any(&self) -> bool {
        !self.waiting().is_empty()
    }

    /// Publishes all of it on `to`, the oldest first, except what is older than `wait`. What could not be published stays.
    /// Cancel-safe.
    pub(crate) async fn carry_to(
        &self,
        to: &Connection,
        wait: Duration,
    ) -> Result<(), backend_api::Error> {
        if self.waiting().is_empty() {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        *self.last_carrier() = Some(to.clone());
        let now = Instant::now();
        let mut expired = 0_usize;
        loop {
            let next = self
                .waiting()
                .first_key_value()
                .map(|(_, kept)| kept.clone());
            let Some(kept) = next else { break };
            if now.saturating_duration_since(kept.when) > wait.saturating_add(STAMP) {
                expired += 1;
            } else if let Err(error) = to.outbound().send_carried(to.client(), &kept).await {
                if error.kind() == async_nats::PublishErrorKind::Send {
                    return Err(to.interrupted());
                }
                // This server takes smaller messages than the one it was meant for.
                to.signals().notice(
                    "carry_refused",
                    format!("a published message cannot be carried over: {error}"),
                );
            }
            self.waiting().remove(&kept.order);
        }
        if expired > 0 {
            let text = format!(
                "{expired} published messages had waited longer than {wait:?} and were dropped"
            );
            to.signals().notice("carry_expired", text);
        }
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, BTreeMap<u64, Kept>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
