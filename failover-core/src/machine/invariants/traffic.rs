//! Who may carry traffic, and what may move it.

use backend_api::Generation;

use super::book::Known;
use super::{Observer, Step, Violation, Work};
use crate::machine::member::Stage;
use crate::machine::{Action, Failure, Input, MemberId, Phase, Reason, Request};

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
            .is_some_and(|job| job.work == Work::Prove && job.generation == generation)
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
pub(super) fn the_fit_come_first(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    let after = step.after;
    let Some(switch) = step.begun() else {
        return Ok(());
    };
    if switch.caller.is_some() || switch.reason == Reason::Manual {
        return Ok(());
    }
    let Some(target) = after.member(switch.to) else {
        return Err(format!("{:?} is the target, and unknown", switch.to));
    };
    let doubtful = observer.health(target.id).is_unhealthy()
        || target.outgoing.is_some()
        || observer
            .books
            .get(&target.id)
            .is_some_and(|book| book.is_held_back(after.now));
    let fitter = after.members.iter().find(|member| {
        member.id != target.id && after.is_usable(member) && observer.is_fit(after.now, member)
    });
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

/// A read-only replica never becomes active, and an unhealthy member not while there is an active to stay with, unless
/// somebody forced it.
pub(super) fn no_replica_carries_traffic(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Activate(to, _) = action else {
        return Ok(());
    };
    // What was known before the step; the step itself may tell more.
    let known = observer.books.get(to).map(|book| book.health_before);
    if known == Some(Known::Unhealthy { read_only: true }) {
        return Err(format!("the replica {to:?} became active"));
    }
    let switch = step.before.switch.as_ref();
    let forced = switch
        .and_then(|switch| observer.asked.get(&switch.caller?))
        .is_some_and(|request| matches!(request, Request::SwitchTo { force: true, .. }));
    if step.before.active.is_some() && !forced && known.is_some_and(Known::is_unhealthy) {
        return Err(format!("traffic left an active for the unhealthy {to:?}"));
    }
    Ok(())
}
