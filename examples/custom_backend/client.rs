//! What applications use: one lease for every operation, and a second attempt only where that cannot do it twice.
//!
//! What must never come in: which member is active. The slot knows.

use failover_core::api::{Outcome, Slot};
use failover_core::{Error, ErrorKind, Fate};
use tokio::time::timeout;

use super::backend::Connection;

/// Operations on whichever member is active. Cheap to clone; it lives across switches.
#[derive(Clone)]
pub(crate) struct Client {
    slot: Slot<Connection>,
}

impl Client {
    pub(crate) fn new(slot: Slot<Connection>) -> Self {
        Self { slot }
    }

    pub(crate) async fn get(&self, key: &str) -> Result<String, Error> {
        self.run(&format!("GET {key}"), true).await
    }

    pub(crate) async fn set(&self, key: &str, value: &str) -> Result<(), Error> {
        let line = format!("SET {key} {value}");
        self.run(&line, false).await.map(drop)
    }

    async fn run(&self, line: &str, reads: bool) -> Result<String, Error> {
        loop {
            let lease = self.slot.lease().await?;
            let (epoch, connection) = (lease.epoch(), lease.connection());
            let answer = match timeout(connection.operation, connection.ask(line)).await {
                Ok(Ok(answer)) => understood(&answer),
                Ok(Err(error)) => Err(error),
                Err(_elapsed) => Err(Error::new(ErrorKind::Timeout, "no answer in time")
                    .with_fate(Fate::MayHaveBeenApplied)),
            };
            lease.finish(match answer.as_ref().map_err(Error::kind) {
                // It answered, whatever it said.
                Ok(_) | Err(ErrorKind::Other) => Outcome::Success,
                // The engine's own doing says nothing about the member.
                Err(ErrorKind::Retired) => Outcome::Neutral,
                Err(_) => Outcome::Failure,
            });
            match answer {
                Err(error) if may_run_again(&error, reads) => {
                    if self.slot.moved_from(epoch).await.is_err() {
                        return Err(error);
                    }
                }
                answer => return answer,
            }
        }
    }
}

/// `+value` is an answer, everything else a refusal.
fn understood(answer: &str) -> Result<String, Error> {
    match answer.strip_prefix('+') {
        Some(value) => Ok(value.to_owned()),
        None => Err(Error::new(
            ErrorKind::Other,
            "the server did not understand",
        )),
    }
}

/// The connection failed, not the operation, and nothing was written that a second attempt could write again.
fn may_run_again(error: &Error, reads: bool) -> bool {
    error.kind() != ErrorKind::Other && (reads || error.fate() == Some(Fate::NotApplied))
}
