//! Every decision of the engine, as a pure state machine.
//!
//! The driver hands in what happened and when; the machine changes its state and says what to do. No runtime, no
//! clock, no I/O and no randomness of its own ever come in here: that is what lets tables, properties and an exhaustive
//! search prove its rules, and what makes a night's history repeatable from its inputs.
//!
//! Inputs only record (`apply`); decisions are taken afterwards by looking at the whole state, in one place
//! and one order (`settle`): operators first, then the active, then the connections, then what people are told. A rule
//! is therefore not hooked into every event that might concern it, and it cannot miss one.
//!
//! | where | what |
//! |---|---|
//! | `io` | inputs, actions, requests, answers, news |
//! | `member` | the state of one member |
//! | `timers` | everything awaited, as one table |
//! | `apply` | inputs and timers become state |
//! | `settle` | the order of decisions |
//! | `startup`, `choose`, `switch`, `reconsider`, `redial`, `dial`, `warm`, `check`, `close` | the decisions |
//! | `rules` | a room for each rule: breaker, grace, failback, lame duck, membership, discovery, identity, replacement, new rules, stalls |
//! | `view` | what the rest of the program sees |
//!
//! Tried by `tests` (tables, and random histories of groups of all kinds) and by `search` (every order of chosen events
//! that befall a small group, within a budget), all under `invariants`. `search::faults` breaks the machine from outside,
//! in every way that is in its table, and shows that each is found. `play` lets time pass: a group among servers that lie,
//! and promises with bounds. What fails today stands in `expected`.

mod apply;
mod check;
mod choose;
mod close;
mod condition;
mod dial;
#[cfg(test)]
mod expected;
#[cfg(test)]
mod invariants;
mod io;
mod link;
mod member;
#[cfg(test)]
mod play;
mod random;
mod reconsider;
mod redial;
mod request;
mod rules;
#[cfg(test)]
mod search;
mod settle;
mod startup;
mod switch;
#[cfg(test)]
mod tests;
mod time;
mod timers;
mod view;
mod warm;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use backend_api::{Capabilities, Generation};

pub use io::{
    Action, Answer, End, Failure, Identity, Input, Kind, MemberId, NewMember, News, Op, Reason,
    Refusal, Request, RequestId, Verdict,
};
use member::Member;
use random::Random;
pub use rules::discovery::Word;
use switch::Switch;
pub use time::Time;
use timers::{Timer, Timers};
pub use view::{LinkView, MemberView, Membership, View};

use crate::config::Rules;

/// Where a group is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// `told`: under `lazy` startup is complete at once, but the walk by weight goes on.
    Starting {
        told: bool,
    },
    Running,
    Closing,
    Closed,
}

/// The whole state of a group. See the module.
#[derive(Clone)]
pub struct Machine {
    rules: Arc<Rules>,
    capabilities: Capabilities,
    now: Time,
    phase: Phase,
    /// Sorted by id, since ids only rise.
    members: Vec<Member>,
    active: Option<MemberId>,
    /// The connection that carried traffic last, for the next promotion.
    last_active: Option<(MemberId, Generation)>,
    /// When there was an active last; the cause of a failover, for `took`.
    lost_at: Time,
    switch: Option<Switch>,
    /// A lost active that is being redialled, while its [`timers::Timer::Redial`] runs.
    redial: Option<MemberId>,
    /// Planned moves that wait for the running one.
    queue: VecDeque<(RequestId, Request)>,
    closing: Vec<RequestId>,
    /// Connections of nobody that are being retired: answers to dials that were given up, retirements that took long.
    lingering: BTreeSet<Generation>,
    /// Failback waits until released: an operator moved the traffic, or pinned it.
    suspended: Option<rules::failback::Suspension>,
    /// The active that an operator forced although it was unfit, for as long as it is.
    forced: Option<MemberId>,
    /// The standby that is replaced last, once another one stands by.
    rehoming: Option<Generation>,
    /// The member that traffic is about to go back to, while its timer runs.
    returning: Option<MemberId>,
    /// Some are to go, or to take another's place; nobody looks for them otherwise.
    shifting: bool,
    /// Something has changed that a decision may depend on. Never so between two calls.
    unsettled: bool,
    /// How often all members were tried in vain.
    attempts: u32,
    degraded: bool,
    timers: Timers,
    random: Random,
    next_generation: u64,
    next_op: u64,
    actions: Vec<Action>,
}

impl Machine {
    /// A group that has not begun: the first [`handle`](Self::handle) dials. `seed` drives all jitter; zero means none.
    pub fn new(
        rules: Arc<Rules>,
        capabilities: Capabilities,
        members: impl IntoIterator<Item = NewMember>,
        seed: u64,
    ) -> Self {
        let mut random = Random::new(seed);
        let members = members
            .into_iter()
            .map(|new| Member::new(new, random.ticket()))
            .collect();
        let mut machine = Self {
            rules,
            capabilities,
            now: Time::default(),
            phase: Phase::Starting { told: false },
            members,
            active: None,
            last_active: None,
            lost_at: Time::default(),
            switch: None,
            redial: None,
            queue: VecDeque::new(),
            closing: Vec::new(),
            lingering: BTreeSet::new(),
            suspended: None,
            forced: None,
            rehoming: None,
            returning: None,
            shifting: false,
            unsettled: true,
            attempts: 0,
            degraded: false,
            timers: Timers::default(),
            random,
            next_generation: 0,
            next_op: 0,
            actions: Vec::new(),
        };
        machine.begin_startup();
        machine
    }

    /// Takes what happened until `now`, decides, and says what to do. A batch is settled once, so that a thousand
    /// answers at the same time cost one look at the whole.
    pub fn handle(&mut self, now: Time, inputs: impl IntoIterator<Item = Input>) -> Vec<Action> {
        self.now = self.now.max(now);
        for input in inputs {
            self.take(input);
        }
        // Answers come before the deadlines that they meet.
        while let Some(timer) = self.timers.pop_due(self.now) {
            // A check that is due begins; there is nothing to decide about it.
            self.unsettled |= !matches!(timer, Timer::Check(_));
            self.expire(timer);
        }
        if std::mem::take(&mut self.unsettled) {
            self.settle();
        }
        std::mem::take(&mut self.actions)
    }

    /// When the machine wants to be called at the latest.
    pub fn next_deadline(&self) -> Option<Time> {
        self.timers.next()
    }

    /// Who carries traffic.
    pub fn active(&self) -> Option<MemberId> {
        self.active
    }

    /// Startup is over, and nobody has asked for the end.
    pub fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Nothing is left to do, ever.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    fn index(&self, id: MemberId) -> Option<usize> {
        self.members
            .binary_search_by_key(&id, |member| member.id)
            .ok()
    }

    fn member(&self, id: MemberId) -> Option<&Member> {
        self.index(id).map(|index| &self.members[index])
    }

    fn member_mut(&mut self, id: MemberId) -> Option<&mut Member> {
        self.index(id).map(|index| &mut self.members[index])
    }

    fn op(&mut self) -> Op {
        self.next_op += 1;
        Op(self.next_op)
    }

    fn act(&mut self, action: Action) {
        self.actions.push(action);
    }

    fn tell(&mut self, news: News) {
        self.actions.push(Action::Tell(news));
    }

    fn answer(&mut self, request: RequestId, answer: Answer) {
        self.actions.push(Action::Answer(request, answer));
    }

    fn refuse(&mut self, request: RequestId, refusal: Refusal) {
        self.answer(request, Answer::Refused(refusal));
    }
}
