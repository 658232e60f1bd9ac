//! What can happen to a group, as small values: the search enumerates them, and random histories draw them.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Generation, Weight};

use crate::config::{LameDuckAction, MemberRules, Rules, Standby};
use crate::machine::invariants::Observer;
use crate::machine::{End, Failure, Input, Machine, MemberId, NewMember, Request, Verdict};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Event {
    /// The nth thing in flight ends well.
    Well(usize),
    /// It does not.
    Badly(usize, Trouble),
    /// It is answered twice, in one batch.
    Twice(usize),
    /// Everything in flight ends well, in one batch.
    Burst,
    /// Everything in flight ends, in one batch, every other thing badly: the even ones, or the odd ones.
    Mixed { even: bool },
    /// The nth thing in flight ends well, and something is heard of a connection, in one batch.
    Both(usize, MemberId, Generation, Trouble),
    /// Every connection ends, in one batch.
    Crash,
    /// Time passes until the next deadline.
    Wait,
    /// Nothing is under way, and a second passes, or what is left until the next deadline.
    Rest,
    /// Time passes until half way to the next deadline.
    Midway,
    /// The driver is late: time passes until 1.5 s past the next deadline.
    Past,
    /// The process stood still for 3 s, and knows it.
    Jump,
    /// Something is heard of a connection.
    Trouble(MemberId, Generation, Trouble),
    /// Something is heard of a connection that the member had before.
    Old(MemberId, Trouble),
    /// The driver was late, and nothing was due.
    Stalled,
    /// An operator calls.
    Call(Call),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Trouble {
    Dead,
    Unhealthy,
    ReadOnly,
    Inconclusive,
    LameDuck,
    Suspect,
    /// Many operations fail.
    Failing,
    /// Some fail and some do not: not enough at once, and too much twice in a window.
    Wavering,
    /// Many succeed.
    Fine,
}

impl Trouble {
    pub(super) fn failure(self) -> Failure {
        match self {
            Trouble::Unhealthy => Failure::Unhealthy,
            Trouble::ReadOnly => Failure::ReadOnly,
            _ => Failure::Dead,
        }
    }

    pub(super) fn verdict(self) -> Verdict {
        match self {
            Trouble::Inconclusive => Verdict::Inconclusive,
            Trouble::ReadOnly => Verdict::Unhealthy { read_only: true },
            _ => Verdict::Unhealthy { read_only: false },
        }
    }

    pub(super) fn input(self, member: MemberId, generation: Generation) -> Input {
        let outcomes = |success, failure| Input::Outcomes {
            member,
            generation,
            success,
            failure,
        };
        match self {
            Trouble::Dead | Trouble::Inconclusive => Input::Lost(member, generation),
            Trouble::Unhealthy | Trouble::ReadOnly => {
                Input::Condemned(member, generation, self.failure())
            }
            Trouble::LameDuck => Input::LameDuck(member, generation),
            Trouble::Suspect => Input::Suspect(member, generation),
            Trouble::Failing => outcomes(0, 100),
            Trouble::Wavering => outcomes(6, 6),
            Trouble::Fine => outcomes(100, 0),
        }
    }
}

/// What can happen in a scenario, beside answers that come well and deadlines that come when nothing else does.
#[derive(Clone, Debug, Default)]
pub(in crate::machine) struct Alphabet {
    /// How things in flight may end otherwise.
    pub(in crate::machine) answers: &'static [Trouble],
    /// What may be heard of the active, of a draining connection, and of any other.
    pub(in crate::machine) active: &'static [Trouble],
    pub(in crate::machine) draining: &'static [Trouble],
    pub(in crate::machine) others: &'static [Trouble],
    pub(in crate::machine) odd: &'static [Odd],
    pub(in crate::machine) calls: Vec<Call>,
}

/// What seldom happens, and what only a late driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Odd {
    /// Nothing in flight is answered until the next deadline.
    Silence,
    /// [`Event::Burst`], which is no fault.
    Burst,
    /// [`Event::Rest`], which is none either.
    Rest,
    Twice,
    Mixed,
    Both,
    Crash,
    Midway,
    Past,
    Jump,
    Stalled,
    Old,
}

impl Alphabet {
    /// Everything, for random histories.
    pub(in crate::machine) fn all(calls: Vec<Call>) -> Self {
        use Trouble::{
            Dead, Failing, Fine, Inconclusive, LameDuck, ReadOnly, Suspect, Unhealthy, Wavering,
        };
        const HEARD: &[Trouble] = &[
            Dead, Unhealthy, ReadOnly, LameDuck, Suspect, Failing, Wavering, Fine,
        ];
        Self {
            answers: &[Dead, Unhealthy, ReadOnly, Inconclusive],
            active: HEARD,
            draining: HEARD,
            others: HEARD,
            odd: &[
                Odd::Silence,
                Odd::Burst,
                Odd::Rest,
                Odd::Twice,
                Odd::Mixed,
                Odd::Both,
                Odd::Crash,
                Odd::Midway,
                Odd::Past,
                Odd::Jump,
                Odd::Stalled,
                Odd::Old,
            ],
            calls,
        }
    }

    pub(super) fn has(&self, odd: Odd) -> bool {
        self.odd.contains(&odd)
    }
}

/// What an operator may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Call {
    Switch(u32),
    Drain(u32),
    Force(u32),
    /// Forced, and with a window for the old connection.
    ForceDrain(u32),
    Passive,
    /// The same without a window.
    PassiveSteal,
    Close,
    Add,
    AddDisabled,
    Remove(u32),
    Disable(u32),
    Enable(u32),
    /// Gives it the highest weight.
    Prefer(u32),
    /// Gives it the lowest.
    Demote(u32),
    Pin,
    Release,
    Mark(u32),
    Clear(u32),
    Rehome,
    /// Other settings for it, as a new configuration says; the next three and the last two too.
    Replace(u32),
    KeepAsIs(u32),
    PhaseOut(u32),
    PhaseDown(u32),
    /// The first is not told of any more, says the second.
    Untold(u32, u32),
    /// Halves or doubles its interval of checks.
    Retune(u32),
    /// Makes its breaker and its backoff twice as patient, and back.
    Calm(u32),
    /// Turns its checks on or off, which is not for this call to do.
    Uncheck(u32),
    /// From all standbys to one, and back.
    Recount,
    /// No failback, and back.
    Stay,
    /// Twice the grace, no redial, and an active that rides out an announcement, and back.
    Reshape,
}

impl Call {
    /// Everything that may be called on a group of `members`.
    pub(in crate::machine) fn all(members: u32) -> Vec<Call> {
        let mut calls = vec![
            Call::Passive,
            Call::PassiveSteal,
            Call::Close,
            Call::Add,
            Call::AddDisabled,
            Call::Pin,
            Call::Release,
            Call::Rehome,
        ];
        for id in 0..members {
            calls.extend([
                Call::Switch(id),
                Call::Drain(id),
                Call::Force(id),
                Call::ForceDrain(id),
                Call::Remove(id),
                Call::Disable(id),
                Call::Enable(id),
                Call::Prefer(id),
                Call::Demote(id),
                Call::Mark(id),
                Call::Clear(id),
            ]);
        }
        calls
    }

    /// What a new configuration may call.
    pub(in crate::machine) fn reload(members: u32) -> Vec<Call> {
        let mut calls = vec![Call::Add, Call::Recount, Call::Stay, Call::Reshape];
        for id in 0..members {
            calls.extend([
                Call::Replace(id),
                Call::KeepAsIs(id),
                Call::PhaseOut(id),
                Call::PhaseDown(id),
                Call::Enable(id),
                Call::Retune(id),
                Call::Calm(id),
                Call::Uncheck(id),
            ]);
        }
        calls
    }

    /// What members may tell of one another.
    pub(in crate::machine) fn told(members: u32) -> Vec<Call> {
        let pairs = (0..members).flat_map(|id| (0..members).map(move |by| Call::Untold(id, by)));
        let mut calls = vec![Call::Add];
        calls.extend(pairs);
        calls.extend((0..members).map(Call::Enable));
        calls
    }

    /// The call as it comes to a group that has this machine. What its rules are the owner knows, who is watched by the
    /// observer.
    pub(super) fn request(self, machine: &Machine, observer: &Observer) -> Request {
        let window = End::Drain(Duration::from_secs(2));
        match self {
            Call::Switch(to) => switch(to, End::Steal, false),
            Call::Drain(to) => switch(to, window, false),
            Call::Force(to) => switch(to, End::Steal, true),
            Call::ForceDrain(to) => switch(to, window, true),
            Call::Passive => Request::SwitchToPassive { end: window },
            Call::PassiveSteal => Request::SwitchToPassive { end: End::Steal },
            Call::Close => Request::Close,
            Call::Add => Request::Add(newcomer(machine, observer, true)),
            Call::AddDisabled => Request::Add(newcomer(machine, observer, false)),
            Call::Remove(id) => Request::Remove(MemberId(id)),
            Call::Disable(id) => Request::Disable(MemberId(id)),
            Call::Enable(id) => Request::Enable(MemberId(id)),
            Call::Prefer(id) => Request::SetWeight(MemberId(id), weight(10.0)),
            Call::Demote(id) => Request::SetWeight(MemberId(id), weight(0.05)),
            Call::Pin => Request::Pin,
            Call::Release => Request::Release,
            Call::Mark(id) => Request::Mark(MemberId(id)),
            Call::Clear(id) => Request::ClearMark(MemberId(id)),
            Call::Rehome => Request::Rehome,
            Call::Replace(old) => Request::Replace {
                old: MemberId(old),
                new: newcomer(machine, observer, true),
            },
            Call::KeepAsIs(id) => Request::KeepAsIs(MemberId(id)),
            Call::PhaseOut(id) => phase_out(id, true),
            Call::PhaseDown(id) => phase_out(id, false),
            Call::Untold(id, by) => {
                let by = machine.member(MemberId(by));
                Request::Untold {
                    member: MemberId(id),
                    by: by
                        .and_then(|by| by.open())
                        .map_or(Generation(0), |open| open.generation),
                }
            }
            Call::Retune(id) => retuned(observer, id, |rules| rules.health.interval /= 2),
            Call::Calm(id) => retuned(observer, id, |rules| {
                rules.breaker.min_failures *= 2;
                rules.breaker.window *= 2;
                rules.reconnect.max *= 2;
            }),
            Call::Uncheck(id) => retuned(observer, id, |rules| {
                rules.health.checks = match rules.health.checks {
                    Some(_) => None,
                    None => Some(Vec::new()),
                };
            }),
            Call::Recount => reshaped(observer, |rules| {
                rules.standby = match rules.standby {
                    Standby::All => Standby::Count(1),
                    Standby::Count(_) => Standby::All,
                };
            }),
            Call::Stay => reshaped(observer, |rules| {
                rules.failback.enabled = !rules.failback.enabled;
            }),
            Call::Reshape => reshaped(observer, |rules| {
                if rules.lame_duck.action == LameDuckAction::PassiveOnly {
                    rules.lame_duck.action = LameDuckAction::SwitchToPassive;
                    rules.failback.grace /= 2;
                    rules.loss_redial = Duration::from_secs(1);
                } else {
                    rules.lame_duck.action = LameDuckAction::PassiveOnly;
                    rules.failback.grace *= 2;
                    rules.loss_redial = Duration::ZERO;
                }
            }),
        }
    }
}

/// The usual rules of a member changed, or the usual ones if they are not in force.
fn retuned(observer: &Observer, id: u32, change: impl FnOnce(&mut MemberRules)) -> Request {
    let (id, mut rules) = (MemberId(id), observer.rules().member.clone());
    if observer.member_rules(id).is_some_and(|now| **now == rules) {
        change(&mut rules);
    }
    Request::SetRules(id, Arc::new(rules))
}

fn reshaped(observer: &Observer, change: impl FnOnce(&mut Rules)) -> Request {
    let mut rules = (**observer.rules()).clone();
    change(&mut rules);
    Request::SetGroupRules(Arc::new(rules))
}

/// The next number; one of a member that is gone may come again here, which the machine does not mind.
fn newcomer(machine: &Machine, observer: &Observer, enabled: bool) -> NewMember {
    NewMember {
        id: MemberId(machine.members.last().map_or(0, |last| last.id.0 + 1)),
        weight: weight(0.1),
        enabled,
        rules: Arc::new(observer.rules().member.clone()),
    }
}

fn phase_out(id: u32, remove: bool) -> Request {
    Request::PhaseOut {
        member: MemberId(id),
        remove,
    }
}

fn switch(to: u32, end: End, force: bool) -> Request {
    Request::SwitchTo {
        to: MemberId(to),
        end,
        force,
    }
}

/// A weight that is known to be good.
pub(in crate::machine) fn weight(value: f64) -> Weight {
    Weight::new(value).unwrap_or_default()
}
