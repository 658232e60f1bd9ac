//! The teller of table tests: a machine, and a world of members that answer as they are told to, in virtual time.
//!
//! Time is in milliseconds. An answer that takes no time still comes as an input of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Capabilities, Generation, Weight};

use crate::config::{MemberRules, Rules};
use crate::machine::invariants::{Observer, Step};
use crate::machine::{
    Action, Answer, End, Failure, Identity, Input, LinkView, Machine, MemberId, MemberView,
    NewMember, News, Op, Reason, Request, RequestId, Time, Verdict,
};

/// How a member answers, and after how long.
#[derive(Clone, Copy)]
pub(super) enum Reply {
    Well(u64),
    Badly(u64, Failure),
    /// To a check only.
    Unsure(u64),
    Never,
}

pub(super) const WELL: Reply = Reply::Well(0);
pub(super) const REFUSED: Reply = Reply::Badly(0, Failure::Dead);
pub(super) const UNHEALTHY: Reply = Reply::Badly(0, Failure::Unhealthy);
pub(super) const READ_ONLY: Reply = Reply::Badly(0, Failure::ReadOnly);

/// A member's manners.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) dial: Reply,
    pub(super) prove: Reply,
    pub(super) arm: Reply,
    pub(super) promote: Reply,
    pub(super) drain: Reply,
    pub(super) check: Reply,
    pub(super) retire: Reply,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            dial: WELL,
            prove: WELL,
            arm: WELL,
            promote: WELL,
            drain: WELL,
            check: WELL,
            retire: WELL,
        }
    }
}

pub(super) struct Story {
    pub(super) machine: Machine,
    rules: Rules,
    observer: Observer,
    manners: Vec<Manner>,
    /// At which server the connections of each member end.
    servers: Vec<Option<Identity>>,
    /// Answers on their way, in the order in which they arrive.
    due: BTreeMap<(u64, u64), (Option<Op>, Input)>,
    sent: u64,
    now: u64,
    requests: u64,
    /// Everything that the machine did, and when.
    pub(super) log: Vec<(u64, Action)>,
}

impl Story {
    /// A group of members of these weights, not begun.
    pub(super) fn of(weights: &[f64]) -> Self {
        Self::with(weights, |_| {})
    }

    /// The same with other rules than the default ones.
    pub(super) fn with(weights: &[f64], change: impl FnOnce(&mut Rules)) -> Self {
        Self::seeded(weights, 0, change)
    }

    /// The same with jitter.
    pub(super) fn seeded(weights: &[f64], seed: u64, change: impl FnOnce(&mut Rules)) -> Self {
        let mut rules = Rules::default();
        change(&mut rules);
        let members: Vec<NewMember> = weights
            .iter()
            .zip(0..)
            .map(|(weight, id)| NewMember {
                id: MemberId(id),
                weight: Weight::new(*weight).unwrap_or_default(),
                enabled: true,
                rules: Arc::new(rules.member.clone()),
            })
            .collect();
        let observer = Observer::new(Arc::new(rules.clone()), &members);
        Self {
            machine: Machine::new(
                Arc::new(rules.clone()),
                Capabilities::new().serving_again_after_drain(),
                members,
                seed,
            ),
            rules,
            observer,
            manners: vec![Manner::default(); weights.len() + 5],
            servers: vec![None; weights.len() + 5],
            due: BTreeMap::new(),
            sent: 0,
            now: 0,
            requests: 0,
            log: Vec::new(),
        }
    }

    /// A group that has started, all members well, everything armed.
    pub(super) fn started(weights: &[f64], change: impl FnOnce(&mut Rules)) -> Self {
        let mut story = Self::with(weights, change);
        story.run(0);
        assert_eq!(story.active(), Some(0));
        story.log.clear();
        story
    }

    /// The same with a backend that can promote before it is decided.
    pub(super) fn promoting_ahead(weights: &[f64]) -> Self {
        let mut story = Self::started(weights, |_| {});
        story.machine.capabilities = story.machine.capabilities.promoting_ahead();
        story
    }

    /// From here on the connections of the members, in their order, end at these servers.
    pub(super) fn on(mut self, servers: &[u64]) -> Self {
        for (known, server) in self.servers.iter_mut().zip(servers) {
            *known = Some(Identity(*server));
        }
        self
    }

    pub(super) fn manner(&mut self, id: u32) -> &mut Manner {
        &mut self.manners[id as usize]
    }

    /// Lets so many milliseconds pass.
    pub(super) fn run(&mut self, millis: u64) {
        let until = (self.now + millis) * 1000;
        let mut turns = 0;
        self.feed(self.now * 1000, None);
        loop {
            let answer = self.due.keys().next().map(|(at, _)| *at);
            let deadline = self.machine.next_deadline().map(|at| at.0);
            let next = [answer, deadline].into_iter().flatten().min();
            let Some(at) = next.filter(|at| *at <= until) else {
                break;
            };
            let input = match self.due.first_entry() {
                Some(entry) if answer == Some(at) => Some(entry.remove().1),
                _ => None,
            };
            self.feed(at, input);
            turns += 1;
            assert!(turns < 100_000, "a storm: {:?}", self.machine.view());
        }
        self.now += millis;
        self.feed(until, None);
    }

    fn feed(&mut self, at: u64, inputs: impl IntoIterator<Item = Input>) {
        let inputs: Vec<Input> = inputs.into_iter().collect();
        let before = self.machine.clone();
        let actions = self.machine.handle(Time(at), inputs.iter().cloned());
        let checked = self.observer.check(&Step {
            before: &before,
            inputs: &inputs,
            actions: &actions,
            after: &self.machine,
        });
        assert!(
            checked.is_ok(),
            "{checked:?} at {at} us, {inputs:?} => {actions:?}"
        );
        for action in actions {
            self.answer_to(at, &action);
            self.log.push((at / 1000, action));
        }
    }

    fn answer_to(&mut self, at: u64, action: &Action) {
        let manner = |id: &MemberId| self.manners[id.0 as usize];
        let (reply, op, well): (Reply, Option<Op>, Input) = match action {
            Action::Connect(id, generation, op, _) => (
                manner(id).dial,
                Some(*op),
                Input::Connected(*id, *generation, *op, self.servers[id.0 as usize]),
            ),
            Action::Prove(id, _, op) => (manner(id).prove, Some(*op), Input::Done(*id, *op)),
            Action::Arm(id, _, op) => (manner(id).arm, Some(*op), Input::Done(*id, *op)),
            Action::Promote(id, _, op, _) => (manner(id).promote, Some(*op), Input::Done(*id, *op)),
            Action::Drain(id, _, op) => (manner(id).drain, Some(*op), Input::Done(*id, *op)),
            Action::Check(id, _, op) => (
                manner(id).check,
                Some(*op),
                Input::Checked(*id, *op, Verdict::Healthy),
            ),
            Action::Retire(id, generation) => {
                (manner(id).retire, None, Input::Retired(*id, *generation))
            }
            Action::Cancel(op) => {
                self.due.retain(|_, (awaited, _)| *awaited != Some(*op));
                return;
            }
            _ => return,
        };
        let (after, input) = match (reply, well) {
            (Reply::Never, _) => return,
            (Reply::Well(after), well) => (after, well),
            (Reply::Unsure(after), Input::Checked(id, op, _)) => {
                (after, Input::Checked(id, op, Verdict::Inconclusive))
            }
            (Reply::Badly(after, failure), Input::Checked(id, op, _)) => {
                let read_only = failure == Failure::ReadOnly;
                (
                    after,
                    Input::Checked(id, op, Verdict::Unhealthy { read_only }),
                )
            }
            (Reply::Badly(after, _), Input::Connected(id, _, op, _)) => {
                (after, Input::ConnectFailed(id, op))
            }
            (Reply::Badly(after, failure), Input::Done(id, op)) => {
                (after, Input::Failed(id, op, failure))
            }
            (_, well) => (0, well),
        };
        self.sent += 1;
        self.due.insert((at + after * 1000, self.sent), (op, input));
    }

    /// Something is heard now; what follows without time passing follows.
    pub(super) fn hear(&mut self, input: Input) {
        self.feed(self.now * 1000, Some(input));
        self.run(0);
    }

    /// Several things are heard at once.
    pub(super) fn generation(&self, id: u32) -> Generation {
        self.member(id).generation.unwrap_or(Generation(u64::MAX))
    }

    pub(super) fn lost(&mut self, id: u32) {
        self.hear(Input::Lost(MemberId(id), self.generation(id)));
    }

    pub(super) fn lame_duck(&mut self, id: u32) {
        self.hear(Input::LameDuck(MemberId(id), self.generation(id)));
    }

    pub(super) fn suspect(&mut self, id: u32) {
        self.hear(Input::Suspect(MemberId(id), self.generation(id)));
    }

    pub(super) fn outcomes(&mut self, id: u32, success: u32, failure: u32) {
        self.hear(Input::Outcomes {
            member: MemberId(id),
            generation: self.generation(id),
            success,
            failure,
        });
    }

    /// The member dies: its connection ends and it answers no more.
    pub(super) fn kill(&mut self, id: u32) {
        *self.manner(id) = Manner {
            dial: REFUSED,
            prove: REFUSED,
            check: UNHEALTHY,
            ..Manner::default()
        };
        self.lost(id);
    }

    pub(super) fn revive(&mut self, id: u32) {
        *self.manner(id) = Manner::default();
    }

    /// A control operation is called; what happens without time passing has happened.
    pub(super) fn call(&mut self, request: Request) -> RequestId {
        self.requests += 1;
        let id = RequestId(self.requests);
        self.hear(Input::Request(id, request));
        id
    }

    /// Several are called at once; none of them is waited for.
    pub(super) fn call_together(&mut self, requests: impl IntoIterator<Item = Request>) {
        let first = self.requests + 1;
        let inputs: Vec<Input> = requests
            .into_iter()
            .zip(first..)
            .map(|(request, id)| Input::Request(RequestId(id), request))
            .collect();
        self.requests += inputs.len() as u64;
        self.feed(self.now * 1000, inputs);
        self.run(0);
    }

    pub(super) fn switch_to(&mut self, to: u32) -> RequestId {
        self.call(Request::SwitchTo {
            to: MemberId(to),
            end: End::Steal,
            force: false,
        })
    }

    pub(super) fn drain_to(&mut self, to: u32, window: u64) -> RequestId {
        self.call(Request::SwitchTo {
            to: MemberId(to),
            end: End::Drain(Duration::from_millis(window)),
            force: false,
        })
    }

    pub(super) fn answer(&self, id: RequestId) -> Option<Answer> {
        self.log.iter().find_map(|(_, action)| match action {
            Action::Answer(to, answer) if *to == id => Some(*answer),
            _ => None,
        })
    }

    pub(super) fn newcomer(&self, id: u32, weight: f64) -> NewMember {
        NewMember {
            id: MemberId(id),
            weight: Weight::new(weight).unwrap_or_default(),
            enabled: true,
            rules: Arc::new(MemberRules {
                ..self.rules.member.clone()
            }),
        }
    }

    pub(super) fn active(&self) -> Option<u32> {
        self.machine.view().active.map(|id| id.0)
    }

    pub(super) fn member(&self, id: u32) -> MemberView {
        let view = self.machine.view();
        let found = view.members.into_iter().find(|member| member.id.0 == id);
        found.unwrap_or_else(|| panic!("member {id} is gone"))
    }

    pub(super) fn link(&self, id: u32) -> LinkView {
        self.member(id).link
    }

    /// Every move of traffic: when, from, to, why.
    pub(super) fn moves(&self) -> Vec<(u64, Option<u32>, u32, Reason)> {
        self.log
            .iter()
            .filter_map(|(at, action)| match action {
                Action::Tell(News::Switched {
                    from, to, reason, ..
                }) => Some((*at, from.map(|id| id.0), to.0, *reason)),
                _ => None,
            })
            .collect()
    }

    pub(super) fn count(&self, select: impl Fn(&Action) -> bool) -> usize {
        self.log.iter().filter(|(_, action)| select(action)).count()
    }

    pub(super) fn told(&self, news: News) -> usize {
        self.count(|action| *action == Action::Tell(news))
    }

    pub(super) fn dials(&self, id: u32) -> usize {
        self.count(|action| matches!(action, Action::Connect(to, ..) if to.0 == id))
    }
}
