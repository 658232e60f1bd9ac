//! What a play consists of: a group, its servers, an application, and what happens when. Plain data.

use super::host::{Ask, Host, State, Way};
use crate::config::Rules;

/// Something that the environment does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    /// The server dies: its connections end, and dials are refused.
    Kill(usize),
    Start(usize),
    /// The server is frozen, or the way to it cut.
    Freeze(usize),
    Thaw(usize),
    /// All its connections end, and it takes new ones.
    Reset(usize),
    /// Its present connections are half open from here on.
    Sever(usize),
    /// How it takes a kind of request from here on.
    Take(usize, Ask, Way),
    Is(usize, State),
    /// Its connections end with this operation.
    Endures(usize, Option<u32>),
    /// Half of the dials meet a silent address.
    TwoAddresses(usize),
    /// Its checks fail while it has traffic.
    Strain(usize),
    /// It announces its end.
    LameDuck(usize),
    /// A member's name leads to this server from here on.
    Leads(u32, usize),
    /// An operator calls.
    Call(Call),
    /// This process does not run for so long.
    Stop(u64),
}

/// What an operator calls in plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    SwitchTo(u32),
    DrainTo(u32, u64),
    Disable(u32),
    Rehome,
}

/// The application: workers that operate on the active, each one operation at a time.
#[derive(Clone, Debug)]
pub(super) struct App {
    pub(super) workers: u32,
    /// From the start of one operation to the start of the next of the same worker, at least.
    pub(super) pace: u64,
    /// Every nth operation of a worker is a read, the others are writes; zero: all are writes.
    pub(super) reads: u32,
    /// Whatever the server, this client's operations are taken so.
    pub(super) poison: Option<Way>,
    /// Every nth operation of the first worker is taken so.
    pub(super) odd: Option<(u32, Way)>,
    /// An operation whose connection ended runs again on the next active, until the wait for an active has passed.
    pub(super) replay: bool,
}

impl App {
    pub(super) fn every(pace: u64) -> Self {
        Self {
            workers: 1,
            pace,
            reads: 0,
            poison: None,
            odd: None,
            replay: false,
        }
    }
}

/// One history to be: everything that varies within a play is fixed here.
#[derive(Clone, Debug)]
pub(super) struct Case {
    /// What distinguishes it within its play.
    pub(super) name: String,
    pub(super) weights: Vec<f64>,
    pub(super) hosts: Vec<Host>,
    /// Which server each member's name leads to at first.
    pub(super) names: Vec<usize>,
    pub(super) rules: Rules,
    pub(super) app: App,
    /// When, and what. In any order.
    pub(super) script: Vec<(u64, Change)>,
    pub(super) length: u64,
    /// The machine's seed; zero: no jitter.
    pub(super) seed: u64,
    /// After a stop of this process the engine runs before it has read what arrived meanwhile.
    pub(super) engine_first: bool,
    /// The backend promotes ahead.
    pub(super) ahead: bool,
}

impl Case {
    /// Members of these weights, each on a server of its own, with default rules; one write every 500 ms.
    pub(super) fn of(weights: &[f64]) -> Self {
        Self {
            name: String::new(),
            weights: weights.to_vec(),
            hosts: vec![Host::new(); weights.len()],
            names: (0..weights.len()).collect(),
            rules: Rules::default(),
            app: App::every(500),
            script: Vec::new(),
            length: 20_000,
            seed: 0,
            engine_first: true,
            ahead: false,
        }
    }

    pub(super) fn named(mut self, name: String) -> Self {
        self.name = name;
        self
    }

    pub(super) fn at(mut self, at: u64, change: Change) -> Self {
        self.script.push((at, change));
        self
    }

    pub(super) fn long(mut self, length: u64) -> Self {
        self.length = length;
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A kind of history, and the cases that are tried of it.
pub(super) struct Play {
    /// By this name the table of expected failures calls it.
    pub(super) name: &'static str,
    /// The cases, in the size for every run or for the night.
    pub(super) cases: fn(nightly: bool) -> Vec<Case>,
    /// At most so many operations of a thousand may fail, where that is promised.
    pub(super) failing: Option<u64>,
}
