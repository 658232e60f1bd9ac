//! Connections: how they are opened, and that each of them ends.

use backend_api::Generation;

use super::{Observer, Step, Violation, Work};
use crate::config::Standby;
use crate::machine::member::{Link, Member, Stage};
use crate::machine::{Action, Machine, MemberId, Phase};

/// A member is dialled only while it has neither a connection nor a dial.
pub(super) fn one_dial_per_member(observer: &Observer, action: &Action) -> Result<(), Violation> {
    let Action::Connect(id, ..) = action else {
        return Ok(());
    };
    let dialling = observer
        .jobs
        .values()
        .any(|job| job.work == Work::Connect && job.member == *id);
    if dialling || observer.open().any(|(member, _)| member == *id) {
        return Err(format!("{id:?} was dialled twice"));
    }
    Ok(())
}

/// A redial or a move asked for this dial: it is not the loop's.
pub(super) fn is_asked_for(after: &Machine, id: MemberId) -> bool {
    after.redial == Some(id) || after.switch.as_ref().is_some_and(|switch| switch.to == id)
}

/// A whole outage with `standby = N` has one dialling loop; what was already being dialled may end.
pub(super) fn one_loop_in_an_outage(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let (Action::Connect(id, ..), Standby::Count(_)) = (action, observer.rules.standby) else {
        return Ok(());
    };
    let after = step.after;
    let outage = step.before.phase == Phase::Running && after.active.is_none();
    let wanted = is_asked_for(after, *id);
    let others = observer.jobs.values().any(|job| job.work == Work::Connect);
    if outage && !wanted && others {
        return Err(format!("{id:?} was dialled beside another dial"));
    }
    Ok(())
}

/// With enough standbys nobody is dialled whose last connection ended at the active's own server, but for a move, for
/// failback, or because it was itself a standby just now.
pub(super) fn nobody_is_dialled_to_share(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let (Action::Connect(id, ..), Standby::Count(count)) = (action, observer.rules.standby) else {
        return Ok(());
    };
    let machine = step.after;
    let steady = machine.phase == Phase::Running
        && step.before.active.is_some()
        && step.before.active == machine.active
        && machine.switch == step.before.switch
        && machine.switch.is_none();
    let weight = |id| machine.member(id).map(|member| member.weight);
    let returns = observer.rules.failback.enabled && weight(*id) > machine.active.and_then(weight);
    let enough = |machine: &Machine| {
        let armed = |member: &&Member| {
            member.stage() == Some(Stage::Standby) && member.stays() && !member.is_unhealthy()
        };
        machine.members.iter().filter(armed).count() >= (count as usize).max(1)
    };
    let replaces = machine
        .member(*id)
        .is_some_and(|member| member.replaces.is_some());
    if steady
        && observer.is_twin(machine, *id)
        && !returns
        && !replaces
        && enough(step.before)
        && enough(machine)
    {
        return Err(format!("{id:?} was dialled to share the active's server"));
    }
    Ok(())
}

/// A connection is ended once, and nothing that was never opened is.
pub(super) fn retired_once(observer: &Observer, action: &Action) -> Result<(), Violation> {
    let Action::Retire(id, generation) = action else {
        return Ok(());
    };
    match observer.seen.get(generation) {
        Some(seen) if seen.member == *id && !seen.retired => Ok(()),
        seen => Err(format!("{id:?} {generation} was retired as {seen:?}")),
    }
}

/// What was opened and not ended is exactly what the machine holds.
pub(super) fn nothing_is_forgotten(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    let mut held: Vec<(MemberId, Generation)> = Vec::new();
    for member in &step.after.members {
        if let Link::Open(open) = &member.link {
            held.push((member.id, open.generation));
        }
    }
    let mut open: Vec<(MemberId, Generation)> = observer.open().collect();
    open.sort();
    if held == open {
        Ok(())
    } else {
        Err(format!("open are {open:?}, the machine holds {held:?}"))
    }
}
