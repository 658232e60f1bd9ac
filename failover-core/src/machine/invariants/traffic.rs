//! Who may carry traffic, and what may move it.

use backend_api::Generation;

use super::{Job, Observer, Step, Violation};
use crate::machine::member::{Member, Stage};
use crate::machine::timers::Timer;
use crate::machine::{Action, Failure, Input, Machine, MemberId, News, Phase, Reason};

/// Only a connection that was proven since the move to it was called for, and whose promotion is done, becomes active.
pub(super) fn only_proven_and_promoted_become_active(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Activate(id, generation) = action else {
        return Ok(());
    };
    let since = step.before.switch.as_ref().map(|switch| switch.since);
    match observer.seen.get(generation) {
        Some(seen)
            if seen.member == *id
                && seen.proven.is_some_and(|at| Some(at) >= since)
                && seen.promoted
                && !seen.retired =>
        {
            Ok(())
        }
        seen => Err(format!("{id:?} {generation} became active as {seen:?}")),
    }
}

/// While a lost active still has its chance, nobody else gets the traffic.
pub(super) fn a_redial_is_heard_out(step: &Step<'_>, action: &Action) -> Result<(), Violation> {
    let (Action::Activate(id, _), Some(lost)) = (action, step.before.redial) else {
        return Ok(());
    };
    let about_it = |input: &Input| match input {
        Input::Connected(of, ..)
        | Input::ConnectFailed(of, ..)
        | Input::Done(of, ..)
        | Input::Failed(of, ..)
        | Input::Retired(of, ..)
        | Input::Lost(of, ..)
        | Input::Condemned(of, ..)
        | Input::LameDuck(of, ..)
        | Input::Checked(of, ..) => *of == lost,
        Input::Request(..) => true,
        _ => false,
    };
    let timely = step
        .before
        .next_deadline()
        .is_none_or(|at| at > step.after.now);
    if *id != lost && timely && !step.inputs.iter().any(about_it) {
        return Err(format!("{id:?} became active while {lost:?} was redialled"));
    }
    Ok(())
}

/// What was brought to a connection that did not become active after all is taken away before it stands by.
pub(super) fn nobody_stands_by_laden(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    for member in &step.after.members {
        let Some(open) = member.open() else { continue };
        let stands_by = matches!(open.stage, Stage::Ready | Stage::Standby);
        let laden = |seen: &super::Seen| seen.laden;
        if stands_by && observer.seen.get(&open.generation).is_some_and(laden) {
            return Err(format!("{:?} stands by as {open:?}", member.id));
        }
    }
    Ok(())
}

/// At most one is active, and inside and outside agree who.
pub(super) fn at_most_one_active(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    let machine = step.after;
    let active: Vec<(MemberId, Generation)> = machine
        .members
        .iter()
        .filter_map(|member| Some((member.id, member.open()?)))
        .filter(|(_, open)| open.stage == Stage::Active)
        .map(|(id, open)| (id, open.generation))
        .collect();
    let known: Vec<_> = observer.active.into_iter().collect();
    if active == known && machine.active == known.first().map(|(id, _)| *id) {
        Ok(())
    } else {
        Err(format!(
            "told {known:?}, staged {active:?}, noted {:?}",
            machine.active
        ))
    }
}

/// An open active is neither stopped, retired nor drained before its replacement is active, unless its connection
/// ended, failed its proof, or the group closes.
pub(super) fn an_open_active_stays(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Some((id, generation)) = observer.active else {
        return Ok(());
    };
    let touched = match action {
        Action::Deactivate => true,
        Action::Retire(_, ended) => *ended == generation,
        Action::Drain(_, drained, _) => *drained == generation,
        _ => false,
    };
    let is_its_proof = |op| {
        observer
            .jobs
            .get(op)
            .is_some_and(|(job, _, of)| *job == Job::Prove && *of == generation)
    };
    let ended = step.inputs.iter().any(|input| match input {
        Input::Lost(lost, of) => *lost == id && *of == generation,
        Input::Failed(_, op, Failure::Dead) => is_its_proof(op),
        _ => false,
    });
    // The deadline of its proof: the cancellation has been seen, so the job is gone from the books.
    let overdue = step.actions.iter().any(|action| {
        matches!(action, Action::Cancel(op) if step.before.member(id).is_some_and(|member| {
            member.open().is_some_and(|open| open.task.is_some_and(|task| task.op == *op))
        }))
    });
    let closing = matches!(step.after.phase, Phase::Closing | Phase::Closed);
    if !touched || ended || overdue || closing {
        return Ok(());
    }
    Err(format!(
        "the open active {id:?} {generation} met {action:?}"
    ))
}

/// Nothing heard of an old connection, or of one that drains, moves traffic.
pub(super) fn old_connections_move_nothing(_: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    let before = step.before;
    let is_old = |id: &MemberId, generation: &Generation| {
        before
            .member(*id)
            .is_none_or(|member| !member.is(*generation) || member.stage() == Some(Stage::Draining))
    };
    let only_old = !step.inputs.is_empty()
        && step.inputs.iter().all(|input| match input {
            Input::Lost(id, generation)
            | Input::Suspect(id, generation)
            | Input::Condemned(id, generation, _)
            | Input::LameDuck(id, generation) => is_old(id, generation),
            Input::Outcomes {
                member, generation, ..
            } => is_old(member, generation),
            _ => false,
        });
    let timely = before.next_deadline().is_none_or(|at| at > step.after.now);
    let moved = before.active != step.after.active || before.switch != step.after.switch;
    if only_old && timely && moved {
        return Err("something heard of an old connection moved traffic".to_owned());
    }
    Ok(())
}

/// A member that is held back is not chosen while a fit one is at hand, an operator's choice aside.
pub(super) fn the_fit_come_first(step: &Step<'_>) -> Result<(), Violation> {
    let (before, after) = (step.before, step.after);
    let Some(switch) = &after.switch else {
        return Ok(());
    };
    let same = before
        .switch
        .as_ref()
        .is_some_and(|old| old.to == switch.to && old.since == switch.since);
    if same || switch.caller.is_some() || switch.reason == Reason::Manual {
        return Ok(());
    }
    let Some(target) = after.member(switch.to) else {
        return Err(format!("{:?} is the target, and unknown", switch.to));
    };
    let fit = |member: &Member| member.is_healthy() && !is_held_back(after, member);
    let doubtful = target.is_unhealthy() || is_held_back(after, target);
    let fitter = after
        .members
        .iter()
        .find(|member| member.id != target.id && after.is_usable(member) && fit(member));
    match fitter {
        Some(fitter) if doubtful => Err(format!(
            "{:?} was chosen though held back, with {:?} at hand",
            target.id, fitter.id
        )),
        _ => Ok(()),
    }
}

/// Traffic that has to leave an active does not stay on its server while another one would do.
pub(super) fn other_servers_come_first(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let (before, after) = (step.before, step.after);
    let Some(switch) = after.switch.as_ref().filter(|_| before.switch.is_none()) else {
        return Ok(());
    };
    let forced_out = matches!(
        switch.reason,
        Reason::Health | Reason::Breaker | Reason::LameDuck | Reason::Removed
    );
    if !forced_out || !observer.is_twin(after, switch.to) {
        return Ok(());
    }
    let apart = after.members.iter().find(|member| {
        Some(member.id) != after.active
            && after.is_fit(member)
            && !observer.is_twin(after, member.id)
    });
    match apart {
        Some(apart) => Err(format!(
            "traffic goes to {:?}, on the same server, with {:?} at hand",
            switch.to, apart.id
        )),
        None => Ok(()),
    }
}

/// As the rules say it, not as the machine computes it.
fn is_held_back(machine: &Machine, member: &Member) -> bool {
    member.mark.is_some()
        || member.broken
        || member.outgoing.is_some()
        || machine.timers.is_set(Timer::Grace(member.id))
}

/// A read-only replica never becomes active, and an unhealthy member not while there is an active to stay with.
pub(super) fn no_replica_carries_traffic(step: &Step<'_>) -> Result<(), Violation> {
    for action in step.actions {
        let Action::Tell(News::Switched { to, reason, .. }) = action else {
            continue;
        };
        // What was known before the step; the step itself may tell more.
        let Some(target) = step.before.member(*to) else {
            continue;
        };
        if target.is_read_only() {
            return Err(format!("the replica {to:?} became active"));
        }
        let planned = step.before.active.is_some() && *reason != Reason::Manual;
        if planned && target.is_unhealthy() {
            return Err(format!("traffic left an active for the unhealthy {to:?}"));
        }
    }
    Ok(())
}

/// Failback goes only to a strictly higher weight, out of grace, and not while it is suspended.
pub(super) fn failback_goes_up(step: &Step<'_>) -> Result<(), Violation> {
    let before = step.before;
    for action in step.actions {
        let Action::Tell(News::Switched {
            from: Some(from),
            to,
            reason: Reason::Failback,
            ..
        }) = action
        else {
            continue;
        };
        let weight = |id| before.member(id).map(|member| member.weight);
        if weight(*to) <= weight(*from)
            || before.timers.is_set(Timer::Grace(*to))
            || before.suspended.is_some()
        {
            return Err(format!("traffic failed back from {from:?} to {to:?}"));
        }
    }
    Ok(())
}
