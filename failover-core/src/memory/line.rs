//! One connection as both ends know it: whether it lives, and whom it tells when it does not.
//!
//! A server keeps its lines, and a client's connection keeps its line and its server; so that nothing keeps itself
//! alive, a line never holds its server.

use std::sync::atomic::{AtomicBool, Ordering};

use backend_api::{Error, ErrorKind, Signals};
use tokio::sync::watch;

use super::Settings;

#[derive(Clone, Debug)]
pub(super) enum Life {
    Open,
    Lost(Error),
    Retired,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) signals: Signals<Settings>,
    life: watch::Sender<Life>,
    /// Nothing passes any more, in neither direction, and neither end knows.
    severed: AtomicBool,
}

impl Line {
    pub(super) fn new(number: u64, signals: Signals<Settings>) -> Self {
        Self {
            number,
            signals,
            life: watch::Sender::new(Life::Open),
            severed: AtomicBool::new(false),
        }
    }

    /// The server's end: the connection is gone, and the engine hears of it.
    pub(super) fn lose(&self, reason: &str) {
        let reason = self.name(Error::new(ErrorKind::Lost, reason));
        self.life.send_replace(Life::Lost(reason.clone()));
        self.signals.lost(reason);
    }

    /// The engine's end. False if that was done before.
    pub(super) fn retire(&self) -> bool {
        !matches!(self.life.send_replace(Life::Retired), Life::Retired)
    }

    pub(super) fn sever(&self) {
        self.severed.store(true, Ordering::Release);
    }

    pub(super) fn is_severed(&self) -> bool {
        self.severed.load(Ordering::Acquire)
    }

    /// Why nothing can be sent over it any more, if so.
    pub(super) fn end(&self) -> Option<Error> {
        match &*self.life.borrow() {
            Life::Open => None,
            Life::Lost(reason) => Some(reason.clone()),
            Life::Retired => {
                Some(self.name(Error::new(ErrorKind::Retired, "the connection was retired")))
            }
        }
    }

    /// Waits for the end. Cancel-safe.
    pub(super) async fn ended(&self) -> Error {
        let mut lives = self.life.subscribe();
        loop {
            // Seen before looked at, so that an end between the look and the wait is not missed.
            lives.borrow_and_update();
            if let Some(end) = self.end() {
                return end;
            }
            if lives.changed().await.is_err() {
                // Impossible while `self` holds the sender; waiting is the answer that harms nobody.
                std::future::pending::<()>().await;
            }
        }
    }

    pub(super) fn name(&self, error: Error) -> Error {
        error.with_member(self.signals.member())
    }
}
