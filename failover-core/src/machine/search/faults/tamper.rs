//! How each broken machine is broken.

use std::time::Duration;

use super::Fault;
use crate::config::{LameDuckAction, MemberRules, Rules};
use crate::machine::member::{Link, Stage};
use crate::machine::switch::Step as Move;
use crate::machine::timers::Timer;
use crate::machine::{
    Action, Answer, End, Failure, Input, Machine, Op, Reason, Refusal, Request, Time, Verdict,
};

/// Longer than any scenario goes on.
const NEVER: Duration = Duration::from_secs(1_000_000);

impl Fault {
    /// The machine gets other rules, and other weights, than its owner knows.
    pub(in crate::machine::search) fn begin(self, machine: &mut Machine) {
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
                rules.lame_duck.action = LameDuckAction::SwitchToPassive;
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
    pub(in crate::machine::search) fn handle(
        self,
        machine: &mut Machine,
        now: Time,
        inputs: &[Input],
    ) -> Vec<Action> {
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
            (Fault::ShareServer | Fault::MoveToTwin, Input::Connected(id, generation, op, _)) => {
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
                    member.weight =
                        crate::machine::search::weight(equal(member.weight.get()) + more);
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
        !matches!(
            (self, action),
            (Fault::ForgetRetire, Action::Retire(..))
                | (
                    Fault::DropAnswer,
                    Action::Answer(_, Answer::Refused(Refusal::Aborted(_)))
                )
        )
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
