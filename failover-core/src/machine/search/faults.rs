//! Broken machines, to show that the search bites. The machine's own code is not touched: a machine is broken from outside,
//! by other rules than its owner gave it, by what it hears and says, or by what is changed in its state behind its back.
//! The observer is told nothing of that.
//!
//! `tests` runs this table: each fault is found, in the scenario and by the property that stand beside it.

use std::time::Duration;

use crate::config::{MemberRules, Rules};
use crate::machine::member::{Link, Stage};
use crate::machine::switch::Step as Move;
use crate::machine::timers::Timer;
use crate::machine::{
    Action, Answer, End, Failure, Input, Machine, Op, Reason, Refusal, Request, Time, Verdict,
};

/// What is wrong with a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Fault {
    // Connections.
    /// Every proof passes at once, and nobody was asked.
    SkipProof,
    /// The active is retired as soon as its successor is being proven.
    RetireBeforePromote,
    /// Connections that ended are not retired.
    ForgetRetire,
    /// A connection that drains and ends takes the active with it.
    ActOnDrainingLoss,
    /// A member is dialled twice.
    DoubleDial,
    /// A dial has no deadline.
    NoDialDeadline,
    /// A failed member is never dialled again.
    NeverRedial,
    /// There is no delay between dials.
    NoBackoff,
    /// The count of rounds in vain is never set back.
    KeepAttempts,
    /// A drain may take a hundred times as long.
    LongDrains,
    // Health.
    /// A replica is only unhealthy.
    PromoteReadOnly,
    /// A connection that drained and is chosen again is not checked.
    ForgetChecks,
    /// An uncertain check counts as a failed one.
    DistrustUncertain,
    /// The breaker never opens.
    NeverBreak,
    /// An open breaker closes with the next check that passes.
    HoldNoBreaker,
    /// A stall excuses nothing.
    BlameStalls,
    /// There is no grace.
    IgnoreGrace,
    /// The grace is never doubled.
    NeverDouble,
    // Failback.
    /// Traffic goes back at once.
    ReturnUnstable,
    /// Traffic goes back although that is disabled.
    ReturnDisabled,
    /// Traffic goes back to a member of the same weight.
    ReturnToEqual,
    /// A pin is answered, and does nothing.
    IgnorePin,
    /// A release is answered, and does nothing.
    IgnoreRelease,
    /// A move by hand suspends nothing.
    NeverSuspend,
    // Operators.
    /// The caller of a move that is given up is never told.
    DropAnswer,
    /// Every move by hand is a forced one.
    ForceAll,
    /// A move by hand to a member in grace is refused.
    RefuseGrace,
    /// What was forced is forgotten.
    ForgetForce,
    /// When an announcement expires, the operator's mark goes with it.
    ExpireOperator,
    /// An active that should ride out an announcement does not.
    LeaveLameDucks,
    // Moves.
    /// A refusal of the redial is not heard.
    MissRefusal,
    /// Whoever was promoted ahead does not wait for the redial.
    MoveAhead,
    /// What was promoted ahead, in vain, stands by with what was brought over.
    KeepPromoted,
    /// A start waits for nobody.
    StartImpatiently,
    // Membership.
    /// A replacement takes over as soon as it is connected.
    ReplaceUnproven,
    /// A member goes on anybody's word.
    BelieveAnybody,
    /// Nobody looks at which server a connection ended.
    ShareServer,
    /// Where a connection ended is forgotten with it.
    ForgetServer,
}

/// Longer than any scenario goes on.
const NEVER: Duration = Duration::from_secs(1_000_000);

impl Fault {
    /// The machine gets other rules, and other weights, than its owner knows.
    pub(super) fn begin(self, machine: &mut Machine) {
        let mut rules = (*machine.rules).clone();
        self.reshape(&mut rules);
        machine.rules = rules.into();
        for member in &mut machine.members {
            let mut rules = (*member.rules).clone();
            self.retune(&mut rules);
            member.rules = rules.into();
        }
    }

    fn reshape(self, rules: &mut Rules) {
        self.retune(&mut rules.member);
        match self {
            Fault::LongDrains => {
                rules.switch_grace *= 100;
                rules.lame_duck.drain_window *= 100;
            }
            Fault::ReturnUnstable => rules.failback.stable = Duration::ZERO,
            Fault::ReturnDisabled => rules.failback.enabled = true,
            Fault::LeaveLameDucks => {
                rules.lame_duck.action = crate::config::LameDuckAction::SwitchToPassive;
            }
            _ => {}
        }
    }

    fn retune(self, rules: &mut MemberRules) {
        match self {
            Fault::NeverRedial => (rules.reconnect.initial, rules.reconnect.max) = (NEVER, NEVER),
            Fault::NoBackoff => {
                (rules.reconnect.initial, rules.reconnect.max) = (Duration::ZERO, Duration::ZERO);
            }
            Fault::NeverBreak => rules.breaker.min_failures = u32::MAX,
            _ => {}
        }
    }

    /// What the broken machine does with what it hears.
    pub(super) fn handle(self, machine: &mut Machine, now: Time, inputs: &[Input]) -> Vec<Action> {
        let before = machine.clone();
        self.forget(machine);
        let mut actions = Vec::new();
        let heard: Vec<Input> = inputs
            .iter()
            .flat_map(|input| self.hear(&before, input.clone(), &mut actions))
            .collect();
        actions.extend(machine.handle(now, heard));
        if self == Fault::SkipProof {
            skip_proofs(machine, now, &mut actions);
        }
        self.tamper(&before, machine, &mut actions);
        actions.append(&mut machine.actions);
        actions.retain(|action| self.says(action));
        actions
    }

    fn hear(self, machine: &Machine, input: Input, actions: &mut Vec<Action>) -> Vec<Input> {
        let draining = |id| {
            machine
                .member(id)
                .is_some_and(|member| member.stage() == Some(Stage::Draining))
        };
        let active = machine
            .active
            .and_then(|id| Some((id, machine.member(id)?.open()?.generation)));
        match (self, input) {
            (Fault::ActOnDrainingLoss, Input::Lost(id, generation)) if draining(id) => {
                let lost = Input::Lost(id, generation);
                let other = active.map(|(id, generation)| Input::Lost(id, generation));
                std::iter::once(lost).chain(other).collect()
            }
            (Fault::PromoteReadOnly, Input::Checked(id, op, Verdict::Unhealthy { .. })) => {
                vec![Input::Checked(
                    id,
                    op,
                    Verdict::Unhealthy { read_only: false },
                )]
            }
            (Fault::PromoteReadOnly, Input::Failed(id, op, Failure::ReadOnly)) => {
                vec![Input::Failed(id, op, Failure::Unhealthy)]
            }
            (Fault::PromoteReadOnly, Input::Condemned(id, generation, _)) => {
                vec![Input::Condemned(id, generation, Failure::Unhealthy)]
            }
            (Fault::DistrustUncertain, Input::Checked(id, op, Verdict::Inconclusive)) => {
                vec![Input::Checked(
                    id,
                    op,
                    Verdict::Unhealthy { read_only: false },
                )]
            }
            (Fault::BlameStalls, Input::Stalled) => Vec::new(),
            (Fault::MissRefusal, Input::ConnectFailed(id, _)) if machine.redial == Some(id) => {
                Vec::new()
            }
            (Fault::ShareServer, Input::Connected(id, generation, op, _)) => {
                vec![Input::Connected(id, generation, op, None)]
            }
            (Fault::IgnorePin, Input::Request(id, Request::Pin))
            | (Fault::IgnoreRelease, Input::Request(id, Request::Release)) => {
                actions.push(Action::Answer(id, Answer::Done));
                Vec::new()
            }
            (Fault::RefuseGrace, Input::Request(id, Request::SwitchTo { to, .. }))
                if machine.in_grace(to) =>
            {
                actions.push(Action::Answer(
                    id,
                    Answer::Refused(Refusal::NotEligible(to)),
                ));
                Vec::new()
            }
            (Fault::ForceAll, Input::Request(id, Request::SwitchTo { to, end, .. })) => {
                let force = true;
                vec![Input::Request(id, Request::SwitchTo { to, end, force })]
            }
            (Fault::LongDrains, Input::Request(id, Request::SwitchTo { to, end, force })) => {
                let end = longer(end);
                vec![Input::Request(id, Request::SwitchTo { to, end, force })]
            }
            (Fault::BelieveAnybody, Input::Request(id, Request::Untold { member, .. })) => {
                let by = active.map_or(backend_api::Generation(0), |(_, generation)| generation);
                vec![Input::Request(id, Request::Untold { member, by })]
            }
            (_, input) => vec![input],
        }
    }

    /// What the machine has forgotten since it was called last.
    fn forget(self, machine: &mut Machine) {
        // What it has forgotten it does not know from what it is told alone.
        machine.unsettled |= matches!(self, Fault::ReturnToEqual | Fault::ForgetServer);
        match self {
            Fault::NeverSuspend => machine.end_suspension(),
            Fault::ForgetForce => machine.forced = None,
            _ => {}
        }
        let equal = |weight: f64| (weight * 10.0).round() / 10.0;
        for (place, member) in (0_u32..).zip(&mut machine.members) {
            match self {
                Fault::ReturnToEqual => {
                    let more = f64::from(place) / 1000.0;
                    member.weight = super::weight(equal(member.weight.get()) + more);
                }
                Fault::NeverDouble => member.returned = None,
                Fault::ForgetServer if member.open().is_none() => member.server = None,
                _ => {}
            }
        }
    }

    /// What is changed behind the machine's back.
    fn tamper(self, before: &Machine, machine: &mut Machine, actions: &mut Vec<Action>) {
        match self {
            Fault::RetireBeforePromote => {
                let proves = |action: &Action| matches!(action, Action::Prove(id, ..) if machine.switch.as_ref().is_some_and(|switch| switch.to == *id));
                if actions.iter().any(proves)
                    && let Some(active) = machine.active
                {
                    machine.retire(active);
                }
            }
            Fault::DoubleDial => {
                let dialled = actions.iter().find_map(|action| match action {
                    Action::Connect(id, ..) => Some(*id),
                    _ => None,
                });
                if let Some(id) = dialled {
                    machine.dial(id);
                }
            }
            Fault::KeepAttempts => machine.attempts = machine.attempts.max(before.attempts),
            Fault::MoveAhead => {
                let waits = |switch: &crate::machine::switch::Switch| switch.step == Move::Promoted;
                if machine.switch.as_ref().is_some_and(waits) {
                    machine.end_redial();
                    machine.settle_promoted();
                }
            }
            Fault::StartImpatiently => start_impatiently(machine),
            Fault::KeepPromoted => keep_promoted(before, machine, actions),
            _ => self.tamper_members(before, machine, actions),
        }
    }

    fn tamper_members(self, before: &Machine, machine: &mut Machine, actions: &mut Vec<Action>) {
        let ids: Vec<_> = machine.members.iter().map(|member| member.id).collect();
        for id in ids {
            let was = before.member(id);
            match self {
                Fault::NoDialDeadline => machine.timers.clear(Timer::Connect(id)),
                Fault::IgnoreGrace => machine.timers.clear(Timer::Grace(id)),
                Fault::HoldNoBreaker => machine.timers.clear(Timer::Breaker(id)),
                Fault::ExpireOperator => {
                    let expired = before
                        .timers
                        .at(Timer::Mark(id))
                        .is_some_and(|at| at <= machine.now);
                    if expired {
                        machine.clear_mark(id, true);
                    }
                }
                Fault::ForgetChecks => {
                    let drained = was.is_some_and(|was| was.stage() == Some(Stage::Draining));
                    let chosen = machine
                        .member(id)
                        .is_some_and(|is| matches!(is.stage(), Some(Stage::Chosen { .. })));
                    if drained && chosen {
                        actions
                            .retain(|action| !matches!(action, Action::Check(of, ..) if *of == id));
                        machine.stop_checks(id);
                        machine.actions.clear();
                    }
                }
                Fault::ReplaceUnproven => {
                    let replaces = machine.member(id).and_then(|is| is.open().and(is.replaces));
                    if let Some(old) = replaces {
                        machine.take_over(old, id);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the broken machine says this at all.
    fn says(self, action: &Action) -> bool {
        match (self, action) {
            (Fault::ForgetRetire, Action::Retire(..)) => false,
            (Fault::DropAnswer, Action::Answer(_, Answer::Refused(Refusal::Aborted(_)))) => false,
            _ => true,
        }
    }
}

fn longer(end: End) -> End {
    match end {
        End::Steal => End::Steal,
        End::Drain(window) => End::Drain(window * 100),
    }
}

/// Answers proofs before anybody hears of them.
fn skip_proofs(machine: &mut Machine, now: Time, actions: &mut Vec<Action>) {
    let proofs: Vec<Input> = actions
        .extract_if(.., |action| matches!(action, Action::Prove(..)))
        .filter_map(|action| match action {
            Action::Prove(id, _, op) => Some(Input::Done(id, op)),
            _ => None,
        })
        .collect();
    if !proofs.is_empty() {
        actions.extend(machine.handle(now, proofs));
        skip_proofs(machine, now, actions);
    }
}

/// As soon as anybody is connected, whoever is not has failed.
fn start_impatiently(machine: &mut Machine) {
    let starting = matches!(machine.phase, crate::machine::Phase::Starting { .. });
    let any = machine
        .members
        .iter()
        .any(|member| member.stage() == Some(Stage::Ready) && member.is_healthy());
    if starting && any && machine.switch.is_none() {
        for member in &mut machine.members {
            member.tried |= member.open().is_none();
        }
        machine.unsettled = true;
        let now = machine.now;
        let more = machine.handle(now, []);
        machine.actions.extend(more);
    }
}

/// Whoever was promoted, in vain, is neither drained nor ended.
fn keep_promoted(before: &Machine, machine: &mut Machine, actions: &mut Vec<Action>) {
    let promoted = before
        .switch
        .as_ref()
        .filter(|switch| switch.step.has_begun() && switch.reason == Reason::Lost)
        .and_then(|switch| before.member(switch.to));
    let Some((id, open)) = promoted.and_then(|member| Some((member.id, member.open()?.clone())))
    else {
        return;
    };
    let gone = |action: &Action| matches!(action, Action::Drain(of, ..) | Action::Retire(of, _) if *of == id);
    let lost = machine
        .member(id)
        .is_none_or(|member| member.failures > 0 && matches!(member.link, Link::Retiring { .. }));
    if lost || !actions.iter().any(gone) {
        return;
    }
    let task: Option<Op> = machine
        .member(id)
        .and_then(|member| Some(member.open()?.task?.op));
    actions.retain(|action| {
        !gone(action) && !matches!(action, Action::Cancel(op) if Some(*op) == task)
    });
    machine.timers.clear(Timer::Drain(id));
    machine.timers.clear(Timer::Retire(id));
    if let Some(member) = machine.member_mut(id) {
        let stage = Stage::Standby;
        let task = None;
        member.link = Link::Open(crate::machine::member::Open {
            stage,
            task,
            ..open
        });
    }
    machine.start_check(id);
}

/// Every fault, a scenario that finds it, and what its property says.
pub(super) const FAULTS: &[(Fault, &str, &str)] = &[
    (Fault::SkipProof, "start: refused", "became active as"),
    (
        Fault::RetireBeforePromote,
        "two: verdicts",
        "the open active",
    ),
    (Fault::ForgetRetire, "two: lost", "the machine holds"),
    (
        Fault::ActOnDrainingLoss,
        "two, once only: moved by hand",
        "an old connection moved traffic",
    ),
    (Fault::DoubleDial, "two: lost", "was dialled twice"),
    (Fault::NoDialDeadline, "two: lost", "is not set"),
    (Fault::NeverRedial, "two: lost", "never well again"),
    (Fault::NoBackoff, "start: refused", "is dialled again after"),
    (
        Fault::KeepAttempts,
        "one: down again and again",
        "all were down for the",
    ),
    (Fault::LongDrains, "two: moved by hand", "drains for"),
    (Fault::PromoteReadOnly, "two: verdicts", "was said to be"),
    (
        Fault::ForgetChecks,
        "two: moved back in a drain",
        "is not set",
    ),
    (Fault::DistrustUncertain, "two: verdicts", "was said to be"),
    (Fault::NeverBreak, "two: breaker", "did not open"),
    (Fault::HoldNoBreaker, "one: breaker", "closed too soon"),
    (
        Fault::BlameStalls,
        "two: stalled, refused",
        "a stall explains",
    ),
    (Fault::IgnoreGrace, "two: lost", "the grace of"),
    (
        Fault::NeverDouble,
        "two: lost again and again",
        "the grace of",
    ),
    (
        Fault::ReturnUnstable,
        "two: lost, no grace",
        "not yet stable",
    ),
    (
        Fault::ReturnDisabled,
        "two: no failback",
        "though it is disabled",
    ),
    (
        Fault::ReturnToEqual,
        "three of one weight: lost",
        "weighs no more",
    ),
    (Fault::IgnorePin, "two: pinned", "shown as suspended"),
    (Fault::IgnoreRelease, "two: pinned", "shown as suspended"),
    (
        Fault::NeverSuspend,
        "two: moved by hand",
        "shown as suspended",
    ),
    (Fault::DropAnswer, "two: moved by hand", "never well again"),
    (Fault::ForceAll, "two: moved to the marked", "unforced"),
    (
        Fault::RefuseGrace,
        "two: moved by hand, then lost",
        "nothing but grace",
    ),
    (
        Fault::ForgetForce,
        "two: forced to the broken",
        "was forced to",
    ),
    (Fault::ExpireOperator, "two: marked", "the mark of"),
    (
        Fault::LeaveLameDucks,
        "two: passive only",
        "a mark moves traffic",
    ),
    (Fault::MissRefusal, "two: lost", "waits on"),
    (Fault::MoveAhead, "three, ahead: lost", "was redialled"),
    (Fault::KeepPromoted, "three, ahead: lost", "stands by as"),
    (
        Fault::StartImpatiently,
        "start: refused",
        "without waiting for",
    ),
    (Fault::ReplaceUnproven, "two: replaced", "was not proven"),
    (
        Fault::BelieveAnybody,
        "two, one standby: told of each other",
        "on the word of",
    ),
    (
        Fault::ShareServer,
        "three on two servers: lost",
        "never well again",
    ),
    (
        Fault::ForgetServer,
        "three on one server: lost",
        "to share the active's server",
    ),
];
