//! Whether one connection is to be listened to, and how far its server agrees with what the application wants to hear.
//!
//! Two watched values. Whoever moves the bytes (the [`keeper`](super::keeper)) reads the one and writes the other; what a
//! move does with them is the [`feed`](super::feed)'s. Never to come in: a driver, a socket.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, ErrorKind, Generation, MemberName};
use tokio::sync::watch;

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
    pub(super) role: Role,
    /// The version of the registry that the server agrees with. None while there is no socket that could.
    pub(super) version: Option<u64>,
    /// What it refuses.
    refused: Arc<HashMap<Topic, Error>>,
    /// How often it went wrong, and how the last time.
    pub(super) failures: u64,
    pub(super) trouble: Option<Error>,
}

pub(crate) struct Agreement {
    origin: Origin,
    role: watch::Sender<Role>,
    status: watch::Sender<Status>,
    /// How long one exchange with the server may take.
    operation: Duration,
}

impl Agreement {
    pub(crate) fn new(origin: Origin, operation: Duration) -> Self {
        let status = Status {
            role: Role::Silent,
            version: Some(0),
            refused: Arc::default(),
            failures: 0,
            trouble: None,
        };
        Self {
            origin,
            role: watch::Sender::new(Role::Silent),
            status: watch::Sender::new(status),
            operation,
        }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.origin
    }

    pub(crate) fn roles(&self) -> watch::Receiver<Role> {
        self.role.subscribe()
    }

    pub(super) fn take_role(&self, role: Role) {
        self.role.send_replace(role);
    }

    pub(super) fn statuses(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
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

    pub(super) fn silence(&self, bound: Duration) -> Error {
        let text = format!("the subscriptions were not confirmed within {bound:?}");
        Error::new(ErrorKind::Timeout, text).with_member(&self.origin.member)
    }
}

impl Status {
    pub(super) fn agrees(&self, role: Role, version: u64) -> bool {
        self.role == role && self.version.is_some_and(|reached| reached >= version)
    }
}
