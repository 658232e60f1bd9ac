//! What was published before, for a group: the [`Order`] of its connections, and what ended ones left behind, on its way to
//! the next active.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::order::Order;
use crate::connection::Connection;

/// How much earlier than published a copy may be stamped.
const STAMP: Duration = Duration::from_millis(250);

/// One for a group.
#[derive(Default)]
pub(crate) struct Pending {
    order: Mutex<Order<Connection>>,
    /// One takes over what a connection left behind: whoever comes second finds it here, and not on its way.
    collecting: Mutex<()>,
    /// One carries at a time, or the order would be lost.
    turn: tokio::sync::Mutex<()>,
}

impl Pending {
    /// Begins a turn: where the numbers of its messages begin. `None` while anything older is on its way.
    pub(super) fn begin(&self, connection: &Connection) -> Option<u64> {
        let generation = connection.generation();
        self.order().begin(generation, || connection.clone())
    }

    /// Until when a connection has published: for [`settled`](Self::settled).
    pub(crate) fn stamp(&self, connection: &Connection) -> Option<u64> {
        self.order().stamp(connection.generation())
    }

    /// Its server has everything up to the stamp.
    pub(crate) fn settled(&self, connection: &Connection, stamp: Option<u64>) {
        self.order().settled(connection.generation(), stamp);
    }

    /// Takes over what a connection left behind that is [going](Connection::is_going), once it has gone.
    ///
    /// One that does not go in time may still send what it has. Then that is not published again, in whatever order: it is
    /// dropped, and told.
    pub(crate) async fn collect(&self, from: &Connection) {
        let gone = from.gone().await;
        from.outbound().close();
        from.outbound().turn_over().await;
        let _collecting = self
            .collecting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut left = from.outbound().take();
        if !gone && !left.is_empty() {
            let text = format!(
                "{} published messages were dropped: their connection does not end, and whether they leave it is not known",
                left.len()
            );
            from.signals().notice("carry_late", text);
            left.clear();
        }
        self.order().collected(from.generation(), left);
    }

    /// Whether nothing older is on its way when this connection publishes.
    pub(crate) fn is_clear_for(&self, connection: &Connection) -> bool {
        self.order().is_clear_for(connection.generation())
    }

    /// The connections that are to be waited for before this one publishes.
    pub(crate) fn owing_besides(&self, connection: &Connection) -> Vec<Connection> {
        self.order().owing_besides(connection.generation())
    }

    /// Publishes all that waits on `to`, the oldest first, except what is older than `wait`. What could not be published stays.
    /// Only where no other connection is [owing](Self::owing_besides): what that has may be older. Cancel-safe.
    pub(crate) async fn carry_to(
        &self,
        to: &Connection,
        wait: Duration,
    ) -> Result<(), backend_api::Error> {
        if !self.order().has_waiting() {
            return Ok(());
        }
        let _turn = self.turn.lock().await;
        // Before anything is handed over: nobody else publishes until that is there.
        self.order().owe(to.generation(), to.clone());
        let now = Instant::now();
        let mut expired = Expired { count: 0, wait, to };
        loop {
            let next = self.order().oldest();
            let Some(kept) = next else { break };
            if now.saturating_duration_since(kept.when) > wait.saturating_add(STAMP) {
                expired.count += 1;
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
            self.order().done(&kept);
        }
        Ok(())
    }

    fn order(&self) -> MutexGuard<'_, Order<Connection>> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was dropped because it had waited for too long. Told also where the carrying is given up half-way.
struct Expired<'a> {
    count: usize,
    wait: Duration,
    to: &'a Connection,
}

impl Drop for Expired<'_> {
    fn drop(&mut self) {
        let Self { count, wait, to } = self;
        if *count > 0 {
            let text = format!(
                "{count} published messages had waited longer than {wait:?} and were dropped"
            );
            to.signals().notice("carry_expired", text);
        }
    }
}
