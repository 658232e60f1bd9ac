//! Everything that is true of one server at one moment.
//!
//! It sits as one value inside one watch channel: a fault, the connections it ends and the requests it meets are seen
//! together or not at all, and whoever waits for a fault to clear can miss no change. Counters are plain numbers
//! here for the same reason. Nothing in it waits.

use std::collections::BTreeMap;
use std::sync::Arc;

use backend_api::{Error, ErrorKind, Signals};
use tokio::sync::oneshot;

use super::Settings;
use super::command::Store;
use super::faults::Faults;
use super::line::Line;

/// What happened so far. See the methods of [`Server`](super::Server) of the same names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) dials: u64,
    pub(super) connections_ever: u64,
    pub(super) retired: u64,
    pub(super) retired_again: u64,
    pub(super) proofs: u64,
    pub(super) checks: u64,
    pub(super) operations: u64,
    pub(super) armed: u64,
    pub(super) promoted: u64,
    pub(super) drained: u64,
}

type Request = Box<dyn FnOnce(&mut State) + Send + Sync>;

pub(super) struct State {
    pub(super) up: bool,
    /// Counts deaths, so that a dial under way notices one even if the server is up again by then.
    pub(super) deaths: u64,
    pub(super) faults: Faults,
    pub(super) store: Store,
    pub(super) tally: Tally,
    lines: BTreeMap<u64, Arc<Line>>,
    /// What a frozen server was sent.
    inbox: Vec<Request>,
}

/// What became of a request.
pub(super) enum Delivery<T> {
    Answered(T),
    /// The answer comes with the thaw. Or never.
    Queued(oneshot::Receiver<T>),
    /// There will be no answer.
    Vanished,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            up: true,
            deaths: 0,
            faults: Faults::default(),
            store: Store::default(),
            tally: Tally::default(),
            lines: BTreeMap::new(),
            inbox: Vec::new(),
        }
    }

    /// Whether a dial gets anywhere at all: what name service and operating system answer, not the server.
    pub(super) fn admit(&self, at: &str) -> Result<(), Error> {
        let refused = |why: &str| Err(Error::new(ErrorKind::Refused, format!("{at} {why}")));
        if self.faults.unresolvable {
            refused("does not resolve")
        } else if !self.up {
            refused("is down")
        } else if self.faults.refuse_dials {
            refused("refuses connections")
        } else {
            Ok(())
        }
    }

    /// The end of a handshake; the first thing a lame duck says is that it is one.
    pub(super) fn open(&mut self, signals: Signals<Settings>) -> Arc<Line> {
        self.tally.connections_ever += 1;
        let line = Arc::new(Line::new(self.tally.connections_ever, signals));
        self.lines.insert(line.number, line.clone());
        if self.faults.lame_duck {
            line.signals.lame_duck();
        }
        line
    }

    /// The engine's end of a connection.
    pub(super) fn retire(&mut self, line: &Line) {
        if line.retire() {
            self.lines.remove(&line.number);
            self.tally.retired += 1;
        } else {
            self.tally.retired_again += 1;
        }
    }

    pub(super) fn open_connections(&self) -> usize {
        self.lines.len()
    }

    /// Those that still hear the server.
    pub(super) fn audience(&self) -> impl Iterator<Item = &Arc<Line>> {
        self.lines.values().filter(|line| !line.is_severed())
    }

    /// The server's end of all connections, and of what was sent over them and is not yet done. Severed ones do not
    /// hear even of that.
    pub(super) fn lose_all(&mut self, reason: &str) {
        self.inbox.clear();
        self.audience().for_each(|line| line.lose(reason));
        self.lines.retain(|_, line| line.is_severed());
    }

    /// A request arrives.
    pub(super) fn deliver<T: Send + 'static>(
        &mut self,
        line: &Line,
        work: impl FnOnce(&mut State) -> T + Send + Sync + 'static,
    ) -> Delivery<T> {
        // On another thread the connection may have ended since its requests were last polled.
        if line.is_severed() || line.end().is_some() {
            return Delivery::Vanished;
        }
        if self.faults.frozen {
            let (answer, answered) = oneshot::channel();
            self.inbox.push(Box::new(move |state| {
                let done = work(state);
                if !state.faults.swallow_answers {
                    // Nobody may be waiting any more; the work is done all the same.
                    let _ = answer.send(done);
                }
            }));
            return Delivery::Queued(answered);
        }
        let done = work(self);
        if self.faults.swallow_answers {
            Delivery::Vanished
        } else {
            Delivery::Answered(done)
        }
    }

    /// Does what was sent meanwhile, in the order in which it came, and says what could not be said.
    pub(super) fn thaw(&mut self) {
        self.faults.frozen = false;
        for request in std::mem::take(&mut self.inbox) {
            request(self);
        }
        self.announce();
    }

    /// Says that it is a lame duck, if it is one and can speak.
    pub(super) fn announce(&self) {
        if self.faults.lame_duck && !self.faults.frozen {
            self.audience().for_each(|line| line.signals.lame_duck());
        }
    }
}
