//! One connection's part in pub/sub: what promoting it, leaving it and its end do to its [`agreement`](super::agreement) with
//! the registry. Never to come in: a driver, a socket.

use std::sync::Arc;
use std::time::Duration;

use backend_api::Error;

use super::agreement::{Agreement, Origin, Role, Status};
use super::registry::Registry;

pub(crate) struct Feed {
    registry: Arc<Registry>,
    agreement: Arc<Agreement>,
}

impl Feed {
    pub(crate) fn new(registry: Arc<Registry>, origin: Origin, operation: Duration) -> Self {
        Self {
            registry,
            agreement: Arc::new(Agreement::new(origin, operation)),
        }
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub(crate) fn agreement(&self) -> &Arc<Agreement> {
        &self.agreement
    }

    /// Its connection is the active one, or is just becoming it.
    #[cfg(feature = "redis-rs")]
    pub(crate) fn is_heard(&self) -> bool {
        *self.agreement.roles().borrow() == Role::Heard
    }

    /// Somebody is listening on it at this moment, as far as anybody can know.
    pub(crate) fn is_live(&self) -> bool {
        let status = self.agreement.statuses();
        let status = status.borrow();
        let agrees = status.role == Role::Heard && status.version.is_some();
        agrees && !self.registry.is_empty()
    }

    /// Everything in the registry is confirmed on this connection before traffic moves to it. `Err` where that did not
    /// come about within `bound`; then the connection goes on trying, until it is [ended](Self::end). Cancel-safe: given
    /// up, it is as it was.
    pub(crate) async fn promote(&self, bound: Duration) -> Result<(), Error> {
        let mut undo = Undo(Some(&self.agreement));
        let mut status = self.agreement.statuses();
        let failures = status.borrow_and_update().failures;
        self.agreement.take_role(Role::Heard);
        // Seen after the role was set: what is added from here on, the connection finds by itself.
        let target = *self.registry.versions().borrow();
        let answered =
            |status: &Status| status.agrees(Role::Heard, target) || status.failures > failures;
        let reached = if self.registry.is_empty() {
            Ok(())
        } else {
            match tokio::time::timeout(bound, status.wait_for(answered)).await {
                Ok(Ok(status)) if status.agrees(Role::Heard, target) => Ok(()),
                Ok(Ok(status)) => Err(status.trouble.clone()),
                Ok(Err(_gone)) => Err(None),
                Err(_elapsed) => Err(None),
            }
        };
        undo.0 = None;
        reached.map_err(|trouble| trouble.unwrap_or_else(|| self.agreement.silence(bound)))
    }

    /// Traffic moves here: this is the connection that counts.
    pub(crate) fn lead(&self) {
        self.registry.lead(&self.agreement);
    }

    /// Leaves the server once the one that came after has everything: what the old one sent until then has been passed
    /// on when this returns. Cancel-safe; whoever bounds it drops it.
    pub(crate) async fn leave(&self) {
        let mut leaders = self.registry.leaders();
        loop {
            let leader = leaders
                .borrow_and_update()
                .as_ref()
                .and_then(std::sync::Weak::upgrade);
            match leader {
                Some(leader) if leader.origin() != self.agreement.origin() => {
                    let target = *self.registry.versions().borrow();
                    let mut status = leader.statuses();
                    tokio::select! {
                        _ = status.wait_for(|status| status.agrees(Role::Heard, target)) => break,
                        _ = leaders.changed() => {}
                    }
                }
                _ => break,
            }
        }
        self.agreement.take_role(Role::Silent);
        let mut status = self.agreement.statuses();
        let _ = status
            .wait_for(|status| status.agrees(Role::Silent, 0))
            .await;
        self.registry.step_down(self.agreement.origin().generation);
    }

    /// The connection ends: nothing comes from it any more.
    pub(crate) fn end(&self) {
        self.agreement.take_role(Role::Silent);
        self.agreement.settle(Role::Silent, 0, Arc::default());
        self.registry.step_down(self.agreement.origin().generation);
    }
}

/// A promotion that is dropped half-way has not happened.
struct Undo<'a>(Option<&'a Agreement>);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Some(agreement) = self.0 {
            agreement.take_role(Role::Silent);
        }
    }
}
