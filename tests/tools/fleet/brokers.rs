//! The brokers, as far as somebody who dials them can tell.
//!
//! Together they accept `accept_rate` connections a second, each its equal share, one after another at equal distances:
//! that is what TLS handshakes and authentication on a bounded number of cores look like from outside. A dial that
//! finds its broker busy waits in the listen backlog, first come, first served. The backlog holds one second's worth
//! of accepts; whoever finds it full is refused at once, and so is whoever dials a broker that is down or is about to
//! go (a lame duck closes its listener first). A dial ends when the connection has been *accepted*, so waiting counts
//! against the connect timeout of whoever waits. Somebody who gave up is still accepted, for nothing: the kernel does
//! not take a caller out of the queue. A backlog that is shorter than the connect timeout (1 s of 2 s here) keeps that
//! from happening; with a longer one both fleets would have the brokers accept the dead.
//!
//! A broker that goes down resets what it has, the backlog included.
//!
//! Nothing about who dials, and no rule of retrying, must ever come in: both fleets meet the same brokers.

/// Microseconds of simulated time.
pub(crate) type Micros = u64;

pub(crate) const SECOND: Micros = 1_000_000;

/// From a request to its answer, a refusal included.
pub(crate) const ROUND_TRIP: Micros = 500;

/// How many brokers there are: as many as it takes that an active, a standby and a third differ.
pub(crate) const BROKERS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    /// It serves whom it has, and refuses the rest.
    Leaving,
    Down,
}

#[derive(Clone, Debug)]
struct Broker {
    state: State,
    /// When it will have accepted all who wait.
    free_at: Micros,
}

/// All of them.
#[derive(Clone, Debug)]
pub(crate) struct Brokers {
    all: Vec<Broker>,
    accept_every: Micros,
    backlog: Micros,
    /// Whether accepting takes any time: not while the fleet is set up.
    limited: bool,
}

impl Brokers {
    /// All up, and without a limit until [`limit`](Self::limit).
    pub(crate) fn new(accept_rate: u32) -> Self {
        let broker = Broker {
            state: State::Up,
            free_at: 0,
        };
        Self {
            all: vec![broker; BROKERS],
            // Rounded up: together they never accept more than they are said to.
            accept_every: (BROKERS as u64 * SECOND).div_ceil(u64::from(accept_rate)),
            backlog: SECOND,
            limited: false,
        }
    }

    pub(crate) fn limit(&mut self) {
        self.limited = true;
    }

    /// When this dial will have been accepted; `None`: it is refused.
    pub(crate) fn dial(&mut self, broker: usize, now: Micros) -> Option<Micros> {
        let accept_every = self.accept_every;
        let broker = &mut self.all[broker];
        if broker.state != State::Up {
            return None;
        }
        if !self.limited {
            return Some(now + ROUND_TRIP);
        }
        let begins = broker.free_at.max(now);
        // Whoever finds nobody before it is always accepted, however slow the broker is.
        if begins > now && begins - now + accept_every > self.backlog {
            return None;
        }
        broker.free_at = begins + accept_every;
        Some(broker.free_at + ROUND_TRIP)
    }

    pub(crate) fn leave(&mut self, broker: usize) {
        self.all[broker].state = State::Leaving;
    }

    pub(crate) fn down(&mut self, broker: usize) {
        self.all[broker].state = State::Down;
        self.all[broker].free_at = 0;
    }

    pub(crate) fn up(&mut self, broker: usize) {
        self.all[broker].state = State::Up;
    }
}
