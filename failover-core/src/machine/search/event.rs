//! What can happen to a group, as small values: the search enumerates them, and random histories draw them.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Generation, Weight};

use crate::config::Standby;
use crate::machine::{End, Failure, Input, Machine, MemberId, NewMember, Request, Verdict};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Event {
    /// The nth thing in flight ends well.
    Well(usize),
    /// It does not.
    Badly(usize, Trouble),
    /// Everything in flight ends well, in one batch.
    Burst,
    /// Every connection ends, in one batch.
    Crash,
    /// Time passes until the next deadline.
    Wait,
    /// Something is heard of a connection.
    Trouble(MemberId, Generation, Trouble),
    /// The driver was late.
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
        match self {
            Trouble::Dead | Trouble::Inconclusive => Input::Lost(member, generation),
            Trouble::Unhealthy | Trouble::ReadOnly => {
                Input::Condemned(member, generation, self.failure())
            }
            Trouble::LameDuck => Input::LameDuck(member, generation),
            Trouble::Suspect => Input::Suspect(member, generation),
            Trouble::Failing => Input::Outcomes {
                member,
                generation,
                success: 0,
                failure: 100,
            },
        }
    }
}

/// What an operator may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Call {
    Switch(u32),
    Drain(u32),
    Force(u32),
    Passive,
    Close,
    Add,
    Remove(u32),
    Disable(u32),
    Enable(u32),
    /// Gives it the highest weight.
    Prefer(u32),
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
    /// From all standbys to one, and back.
    Recount,
}

impl Call {
    /// Everything that may be called on a group of `members`.
    pub(in crate::machine) fn all(members: u32) -> Vec<Call> {
        let mut calls = vec![
            Call::Passive,
            Call::Close,
            Call::Add,
            Call::Pin,
            Call::Release,
            Call::Rehome,
        ];
        for id in 0..members {
            calls.extend([
                Call::Switch(id),
                Call::Drain(id),
                Call::Force(id),
                Call::Remove(id),
                Call::Disable(id),
                Call::Enable(id),
                Call::Prefer(id),
                Call::Mark(id),
                Call::Clear(id),
            ]);
        }
        calls
    }

    /// What a new configuration may call.
    pub(in crate::machine) fn reload(members: u32) -> Vec<Call> {
        let mut calls = vec![Call::Add, Call::Recount];
        for id in 0..members {
            calls.extend([
                Call::Replace(id),
                Call::KeepAsIs(id),
                Call::PhaseOut(id),
                Call::PhaseDown(id),
                Call::Enable(id),
                Call::Retune(id),
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

    pub(super) fn request(self, machine: &Machine) -> Request {
        let window = End::Drain(Duration::from_secs(2));
        match self {
            Call::Switch(to) => switch(to, End::Steal, false),
            Call::Drain(to) => switch(to, window, false),
            Call::Force(to) => switch(to, End::Steal, true),
            Call::Passive => Request::SwitchToPassive { end: window },
            Call::Close => Request::Close,
            Call::Add => Request::Add(newcomer(machine)),
            Call::Remove(id) => Request::Remove(MemberId(id)),
            Call::Disable(id) => Request::Disable(MemberId(id)),
            Call::Enable(id) => Request::Enable(MemberId(id)),
            Call::Prefer(id) => Request::SetWeight(MemberId(id), weight(10.0)),
            Call::Pin => Request::Pin,
            Call::Release => Request::Release,
            Call::Mark(id) => Request::Mark(MemberId(id)),
            Call::Clear(id) => Request::ClearMark(MemberId(id)),
            Call::Rehome => Request::Rehome,
            Call::Replace(old) => Request::Replace {
                old: MemberId(old),
                new: newcomer(machine),
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
            Call::Retune(id) => {
                let (id, usual) = (MemberId(id), machine.rules.member.clone());
                let mut rules = usual.clone();
                if machine
                    .member(id)
                    .is_some_and(|member| *member.rules == usual)
                {
                    rules.health.interval /= 2;
                }
                Request::SetRules(id, Arc::new(rules))
            }
            Call::Recount => {
                let mut rules = (*machine.rules).clone();
                rules.standby = match rules.standby {
                    Standby::All => Standby::Count(1),
                    Standby::Count(_) => Standby::All,
                };
                Request::SetGroupRules(Arc::new(rules))
            }
        }
    }
}

/// The next number; one of a member that is gone may come again here, which the machine does not mind.
fn newcomer(machine: &Machine) -> NewMember {
    NewMember {
        id: MemberId(machine.members.last().map_or(0, |last| last.id.0 + 1)),
        weight: weight(0.1),
        enabled: true,
        rules: Arc::new(machine.rules.member.clone()),
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
