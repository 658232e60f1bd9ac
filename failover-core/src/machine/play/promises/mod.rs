//! What a group promises over time, as pure checkers of a record: liveness, with bounds in virtual time.
//!
//! A checker knows nothing of the machine. It is given what was seen, and names the moment at which a promise was broken.
//! Every bound stands in this file. `forged` shows that each checker accepts and rejects.

mod budget;
mod failing;
#[cfg(test)]
mod forged;
mod limits;
mod losses;
mod need;
mod patience;

use super::record::Record;

/// A connection is not given up before it was silent for so long, and is left soon after.
const SILENCE: u64 = 1000;

/// At least so many round trips of the member.
const SILENT_ROUNDS: u64 = 12;

/// Whoever is fit while nobody else serves is active after this, and one dial.
const NEED: u64 = 1000;

/// For so long after the need began.
const FIRST: u64 = 10_000;

/// A connected member that becomes fit in need is noticed after this.
const NOTICED: u64 = 100;

/// An active on which no operation succeeds is left after this.
const FAILING: u64 = 3500;

/// If operations are tried at least so often.
const TRIED: u64 = 500;

/// A move that nothing holds up begins after this.
const AT_ONCE: u64 = 10;

/// Dials of one member in any second.
const DIALS: usize = 20;

/// Moves that cost.
const MOVES: i64 = 4;

/// What a step of the engine may cost beyond its round trips: one tick of the driver.
const TICK: u64 = 150;

/// Round trips of a dial, a check, a proof and a promotion.
const ROUNDS: u64 = 6;

/// A promise. Its name is what the table of expected failures calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::machine) enum Promise {
    /// A member that is fit and reachable while nobody else can serve is active within 1 s plus one dial, in the first ten
    /// seconds of need.
    Need,
    /// A connected member that becomes fit in need is active within 100 ms and its round trips.
    Noticed,
    /// Where nobody is fit, whoever serves at all is active: rather a doubtful active than none.
    LastResort,
    /// A heavier member that is connected and fit has the traffic again after grace, `failback.stable` and a third of it.
    Failback,
    /// An active that has to be left is left at once for a healthy standby that only grace holds back.
    GraceYields,
    /// A sole survivor whose connection carried operations for a second is redialled at once, and refused redials stay at
    /// `reconnect.initial` for the first second.
    Survivor,
    /// That all members are down is told only when each was tried.
    AllDown,
    /// An active on which no operation succeeds, with one tried every 500 ms, is left within 3.5 s if another member is fit
    /// and the budget permits.
    Failing,
    /// The second loss of an active within `failback.stable` moves the traffic, if another member is fit.
    SecondLoss,
    /// No connection is given up, and no member left, before it was silent for a second, unless it ended or its server
    /// said that it cannot serve.
    Patience,
    /// A silent active is left after a second and a quarter, if another member is fit and connected.
    Silence,
    /// The active is not given up for silence while nothing was heard of anybody else either: then our own network is the
    /// likelier cause.
    OwnNetwork,
    /// A drain ends within its window and one more.
    DrainEnds,
    /// Nothing is cut before the window has passed, extended by how late this process was.
    Window,
    /// Every call is answered within its wait.
    Answered,
    /// No move by hand is refused to a member that nothing holds back.
    Accepted,
    /// Moves that cost never exceed the budget.
    Budget,
    /// No member is dialled more than twenty times a second.
    Dials,
    /// No more operations fail than the play allows.
    Share,
}

impl Promise {
    pub(in crate::machine) const ALL: [Promise; 19] = [
        Promise::Need,
        Promise::Noticed,
        Promise::LastResort,
        Promise::Failback,
        Promise::GraceYields,
        Promise::Survivor,
        Promise::AllDown,
        Promise::Failing,
        Promise::SecondLoss,
        Promise::Patience,
        Promise::Silence,
        Promise::OwnNetwork,
        Promise::DrainEnds,
        Promise::Window,
        Promise::Answered,
        Promise::Accepted,
        Promise::Budget,
        Promise::Dials,
        Promise::Share,
    ];

    /// By this name the table of expected failures calls it.
    pub(in crate::machine) fn name(self) -> &'static str {
        match self {
            Promise::Need => "need",
            Promise::Noticed => "noticed",
            Promise::LastResort => "last resort",
            Promise::Failback => "failback",
            Promise::GraceYields => "grace yields",
            Promise::Survivor => "survivor",
            Promise::AllDown => "all down",
            Promise::Failing => "failing",
            Promise::SecondLoss => "second loss",
            Promise::Patience => "patience",
            Promise::Silence => "silence",
            Promise::OwnNetwork => "own network",
            Promise::DrainEnds => "drain ends",
            Promise::Window => "window",
            Promise::Answered => "answered",
            Promise::Accepted => "accepted",
            Promise::Budget => "budget",
            Promise::Dials => "dials",
            Promise::Share => "share",
        }
    }
}

/// A promise that was broken: when that was certain, and how.
#[derive(Clone, Debug)]
pub(in crate::machine) struct Breach {
    pub(in crate::machine) promise: Promise,
    pub(in crate::machine) at: u64,
    pub(in crate::machine) text: String,
}

/// The first breach of each promise.
pub(super) fn check(record: &Record, failing: Option<u64>) -> Vec<Breach> {
    let all = Promise::ALL.into_iter();
    all.filter_map(|promise| first(promise, record, failing))
        .collect()
}

/// The first breach of one promise.
pub(super) fn first(promise: Promise, record: &Record, failing: Option<u64>) -> Option<Breach> {
    let (at, text) = match promise {
        Promise::Need => need::need(record),
        Promise::Noticed => need::noticed(record),
        Promise::LastResort => need::last_resort(record),
        Promise::Failback => need::failback(record),
        Promise::GraceYields => need::grace_yields(record),
        Promise::Survivor => losses::survivor(record),
        Promise::AllDown => losses::all_down(record),
        Promise::Failing => failing::failing(record),
        Promise::SecondLoss => losses::second_loss(record),
        Promise::Patience => patience::patience(record),
        Promise::Silence => patience::silence(record),
        Promise::OwnNetwork => patience::own_network(record),
        Promise::DrainEnds => limits::drain_ends(record),
        Promise::Window => limits::window(record),
        Promise::Answered => limits::answered(record),
        Promise::Accepted => limits::accepted(record),
        Promise::Budget => budget::budget(record),
        Promise::Dials => limits::dials(record),
        Promise::Share => limits::share(record, failing?),
    }?;
    Some(Breach { promise, at, text })
}

/// A broken promise: the moment, and the words.
type Found = Option<(u64, String)>;

/// In whole milliseconds.
fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
