//! One connection's part in pub/sub: whether it is to be listened to, and how far its server agrees with the registry.
//!
//! Two watched values and what is decided on them. Whoever moves the bytes (the [`keeper`](super::keeper)) reads
//! the one and writes the other. Never to come in: a driver, a socket.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind, Generation, MemberName};
use tokio::sync::watch;

use super::registry::Registry;
use super::topic::Topic;

/// Where a message came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) member: MemberName,
    pub(crate) generation: Generation,
}

/// What the connection is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything in the registry is subscribed to on it.
    Heard,
    /// Nothing is.
    Silent,
}

/// What has been reached.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    /// The role that the rest is about.
    role: Role,
    /// The version of the registry that the server agrees with. None while there is no socket that could.
    version: Option<u64>,
    /// What it refuses.
    refused: Arc<HashMap<Topic, Error>>,
    /// How often it went wrong, and how the last time.
    failures: u64,
    trouble: Option<Error>,
}

pub(crate) struct Feed {
    registry: Arc<Registry>,
    origin: Origin,
    role: watch::Sender<Role>,
    status: watch::Sender<Status>,
    /// How long one exchange with the server may take.
    operation: Duration,
}

impl Feed {
    pub(crate) fn new(registry: Arc<Registry>, origin: Origin, operation: Duration) -> Self {
        let status = Status {
            role: Role::Silent,
            version: Some(0),
            refused: Arc::default(),
            failures: 0,
            trouble: None,
        };
        Self {
            registry,
            origin,
            role: watch::Sender::new(Role::Silent),
            status: watch::Sender::new(status),
            operation,
        }
    }

    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn roles(&self) -> watch::Receiver<Role> {
        self.role.subscribe()
    }

    /// Its connection is the active one, or is just becoming it.
    #[cfg(feature = "redis-rs")]
    pub(crate) fn is_heard(&self) -> bool {
        *self.role.borrow() == Role::Heard
    }

    /// Somebody is listening on it at this moment, as far as anybody can know.
    pub(crate) fn is_live(&self) -> bool {
        let status = self.status.borrow();
        let agrees = status.role == Role::Heard && status.version.is_some();
        agrees && !self.registry.is_empty()
    }

    /// Everything in the registry is confirmed on this connection before traffic moves to it. `Err` where that did not
    /// come about within `bound`; then the connection goes on trying, until it is [ended](Self::end). Cancel-safe: given
    /// up, it is as it was.
    pub(crate) async fn promote(self: &Arc<Self>, bound: Duration) -> Result<(), Error> {
        let mut undo = Undo(Some(self));
        let mut status = self.status.subscribe();
        let failures = status.borrow_and_update().failures;
        self.role.send_replace(Role::Heard);
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
        reached.map_err(|trouble| trouble.unwrap_or_else(|| self.silence(bound)))
    }

    /// Traffic moves here: this is the connection that counts.
    pub(crate) fn lead(self: &Arc<Self>) {
        self.registry.lead(self);
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
                Some(leader) if leader.origin != self.origin => {
                    let target = *self.registry.versions().borrow();
                    let mut status = leader.status.subscribe();
                    tokio::select! {
                        _ = status.wait_for(|status| status.agrees(Role::Heard, target)) => break,
                        _ = leaders.changed() => {}
                    }
                }
                _ => break,
            }
        }
        self.role.send_replace(Role::Silent);
        let mut status = self.status.subscribe();
        let _ = status
            .wait_for(|status| status.agrees(Role::Silent, 0))
            .await;
        self.registry.step_down(self.origin.generation);
    }

    /// The connection ends: nothing comes from it any more.
    pub(crate) fn end(&self) {
        self.role.send_replace(Role::Silent);
        self.settle(Role::Silent, 0, Arc::default());
        self.registry.step_down(self.origin.generation);
    }

    /// Waits until the server has answered for all of `topics`. The first refusal is the answer.
    pub(crate) async fn confirmed(&self, version: u64, topics: &[Topic]) -> Result<(), Error> {
        let mut status = self.status.subscribe();
        let answered = status.wait_for(|status| status.agrees(Role::Heard, version));
        match tokio::time::timeout(self.operation.saturating_mul(2), answered).await {
            Ok(Ok(status)) => match topics.iter().find_map(|topic| status.refused.get(topic)) {
                Some(refusal) => Err(refusal.clone()),
                None => Ok(()),
            },
            _ => {
                let trouble = self.status.borrow().trouble.clone();
                Err(trouble.unwrap_or_else(|| self.silence(self.operation.saturating_mul(2))))
            }
        }
    }

    /// The server agrees with this version of the registry, except for what it refuses.
    pub(crate) fn settle(&self, role: Role, version: u64, refused: Arc<HashMap<Topic, Error>>) {
        self.status.send_modify(|status| {
            status.role = role;
            status.version = Some(version);
            status.refused = refused;
            status.trouble = None;
        });
    }

    /// The socket ended, or could not be opened.
    pub(crate) fn fail(&self, role: Role, trouble: Error) {
        self.status.send_modify(|status| {
            status.role = role;
            status.version = None;
            status.failures += 1;
            status.trouble = Some(trouble);
        });
    }

    fn silence(&self, bound: Duration) -> Error {
        let text = format!("the subscriptions were not confirmed within {bound:?}");
        Error::new(ErrorKind::Timeout, text).with_member(&self.origin.member)
    }
}

impl Status {
    fn agrees(&self, role: Role, version: u64) -> bool {
        self.role == role && self.version.is_some_and(|reached| reached >= version)
    }
}

/// A promotion that is dropped half-way has not happened.
struct Undo<'a>(Option<&'a Arc<Feed>>);

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if let Some(feed) = self.0 {
            feed.role.send_replace(Role::Silent);
        }
    }
}
