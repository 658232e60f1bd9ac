//! WATCH: a dedicated socket that a handle and its clones keep until EXEC, UNWATCH, or the end of the active it is on.
//!
//! A pin is one of three: open; over, because EXEC or UNWATCH ended it on any of the clones; or lost. Each handle that holds
//! a lost pin says so exactly once, with an error of kind `Moved`, before it works without one: a transaction never goes on
//! half, and never on another member. Commands on a pin run one at a time.

use std::sync::atomic::{AtomicBool, Ordering};

use backend_api::{Epoch, Error, ErrorKind, Fate};
use tokio::sync::{Mutex, MutexGuard};

use crate::redis_rs::dedicated::Dedicated;

/// A watched socket, shared by the handle that sent WATCH and the clones made of it since.
pub(super) struct Pin {
    epoch: Epoch,
    socket: Mutex<Option<Dedicated>>,
    lost: AtomicBool,
}

impl Pin {
    pub(super) fn new(socket: Dedicated, epoch: Epoch) -> Self {
        Self {
            epoch,
            socket: Mutex::new(Some(socket)),
            lost: AtomicBool::new(false),
        }
    }

    /// The turn as active of the member that it is on.
    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The socket, for one command. `Ok(None)`: the pin is over.
    pub(super) async fn take(&self) -> Result<Option<InUse<'_>>, Error> {
        let mut place = self.socket.lock().await;
        match place.take() {
            Some(socket) => {
                // Until the command is done: a future dropped in between leaves a socket in an unknown state.
                self.lost.store(true, Ordering::Release);
                Ok(Some(InUse {
                    pin: self,
                    place,
                    socket: Some(socket),
                }))
            }
            None if self.lost.load(Ordering::Acquire) => Err(moved()),
            None => Ok(None),
        }
    }
}

/// The socket of a pin while a command is on it. Dropped without a word, the pin is lost and the socket closed.
pub(super) struct InUse<'p> {
    pin: &'p Pin,
    place: MutexGuard<'p, Option<Dedicated>>,
    socket: Option<Dedicated>,
}

impl InUse<'_> {
    pub(super) fn socket(&mut self) -> &mut Dedicated {
        self.socket
            .as_mut()
            .expect("held until given back or ended")
    }

    /// The command is done, the pin goes on.
    pub(super) fn give_back(mut self) {
        *self.place = self.socket.take();
        self.pin.lost.store(false, Ordering::Release);
    }

    /// Nothing is watched any more.
    pub(super) fn end(mut self) -> Dedicated {
        self.pin.lost.store(false, Ordering::Release);
        self.socket.take().expect("held until given back or ended")
    }
}

/// What a transaction is told that cannot go on.
pub(super) fn moved() -> Error {
    Error::new(
        ErrorKind::Moved,
        "the active changed under WATCH: start the transaction again",
    )
    .with_fate(Fate::NotApplied)
}
