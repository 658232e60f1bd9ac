//! Whether the servers of a cluster know of a subscription: asked of those that the group is connected to.
//!
//! A server tells the others of what it is subscribed to on the same way, and in the same order, as it sends them messages.
//! So what is published behind a subscription, and has arrived at a connection elsewhere, says that the server there knows
//! of it. Servers to which the group has no connection are given time instead ([`Options::overlap`](crate::Options)), and so
//! are all where it may not publish to its own inbox.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_nats::Subject;
use futures_util::StreamExt as _;
use tokio::sync::watch;

use crate::connection::Connection;

/// The ear of one connection.
pub(crate) struct Echo {
    subject: Subject,
    heard: watch::Sender<u64>,
    next: AtomicU64,
    /// Its server forbids to publish what the others would hear.
    forbidden: AtomicBool,
}

impl Echo {
    pub(crate) fn new(subject: impl Into<Subject>) -> Self {
        Self {
            subject: subject.into(),
            heard: watch::Sender::new(0),
            next: AtomicU64::new(0),
            forbidden: AtomicBool::new(false),
        }
    }

    fn is_forbidden(&self) -> bool {
        self.forbidden.load(Ordering::Relaxed)
    }

    fn forbid(&self) {
        self.forbidden.store(true, Ordering::Relaxed);
    }
}

/// Listens. A connection that may not subscribe here hears nothing, and time has to do.
pub(crate) async fn listen(connection: Connection) {
    let echo = connection.echo();
    let Ok(mut messages) = connection.client().subscribe(echo.subject.clone()).await else {
        return;
    };
    while let Some(message) = messages.next().await {
        let text = std::str::from_utf8(&message.payload).ok();
        let number = text.and_then(|text| text.parse().ok()).unwrap_or(0);
        echo.heard.send_if_modified(|heard| {
            let later = number > *heard;
            *heard = number.max(*heard);
            later
        });
    }
}

/// Resolves when `to` has heard what is published on `from` now, or that is forbidden, or one of them has ended. Cancel-safe.
pub(crate) async fn arrives(from: &Connection, to: &Connection) {
    let echo = to.echo();
    if from.echo().is_forbidden() {
        return;
    }
    let number = echo.next.fetch_add(1, Ordering::Relaxed) + 1;
    let mut heard = echo.heard.subscribe();
    let forbidden = from.state().forbids(echo.subject.as_str());
    let payload = number.to_string().into();
    if from
        .client()
        .publish(echo.subject.clone(), payload)
        .await
        .is_err()
    {
        return;
    }
    tokio::select! {
        _ = heard.wait_for(|heard| *heard >= number) => {}
        _ = forbidden => from.echo().forbid(),
        () = to.state().gone() => {}
        () = from.state().gone() => {}
    }
}
