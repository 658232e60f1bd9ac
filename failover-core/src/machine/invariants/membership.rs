//! Members that come, go and replace one another: no change of a configuration may cost a group what it has.

use backend_api::Generation;

use super::{Observer, Step, Violation};
use crate::machine::member::Stage;
use crate::machine::{Action, Input, Machine, MemberId, Phase, Request, Word};

/// A member with a connection of use is replaced only by one that is proven and not known to be unfit.
pub(super) fn proven_before_it_replaces(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Replaced(old, new) = action else {
        return Ok(());
    };
    let proven = |id: &MemberId| {
        observer
            .seen
            .values()
            .any(|seen| seen.member == *id && seen.proven.is_some() && !seen.retired)
    };
    // Whatever is heard of the old one in the same step may be what makes it worthless.
    let untouched = step.inputs.iter().all(|input| match input {
        Input::Tick => true,
        Input::Connected(id, ..) => id != old,
        _ => false,
    });
    let of_use = step.before.member(*old).is_some_and(|member| {
        step.before.is_usable(member) || member.stage() == Some(Stage::Active)
    });
    let unfit = step
        .after
        .member(*new)
        .is_some_and(|member| member.is_unhealthy());
    if untouched && of_use && proven(old) && (!proven(new) || unfit) {
        return Err(format!(
            "{old:?} was replaced by {new:?}, which was not proven"
        ));
    }
    Ok(())
}

/// A group that has members that take part keeps one.
pub(super) fn somebody_takes_part(step: &Step<'_>) -> Result<(), Violation> {
    let any = |machine: &Machine| machine.members.iter().any(|member| member.takes_part());
    let open = !matches!(step.after.phase, Phase::Closing | Phase::Closed);
    if open && any(step.before) && !any(step.after) {
        return Err("nobody takes part any more".to_owned());
    }
    Ok(())
}

/// Whoever is yet to take a place carries no traffic and is no standby, and its place is somebody's.
pub(super) fn successors_stand_aside(step: &Step<'_>) -> Result<(), Violation> {
    for member in &step.after.members {
        let Some(old) = member.replaces else {
            continue;
        };
        let aside = !matches!(
            member.stage(),
            Some(Stage::Active | Stage::Standby | Stage::Draining)
        );
        let rivals = step
            .after
            .members
            .iter()
            .filter(|other| other.replaces == Some(old))
            .count();
        if !aside || rivals > 1 || step.after.member(old).is_none() {
            return Err(format!("{:?} is to replace {old:?}: {member:?}", member.id));
        }
    }
    Ok(())
}

/// What a connection tells counts as long as it is open, and only the active's lets anybody go.
pub(super) fn every_word_counts_for_what_it_may(step: &Step<'_>) -> Result<(), Violation> {
    let machine = step.after;
    for member in &machine.members {
        let Some(open) = member.open() else { continue };
        let going = member.leaving.is_some() || member.outgoing.is_some();
        let should = match open.stage {
            Stage::Active => Some(Word::Decides),
            _ if going => None,
            _ => Some(Word::Keeps),
        };
        let older = Generation(open.generation.0 - 1);
        let old = machine.word(member.id, older);
        if machine.word(member.id, open.generation) != should || old.is_some() {
            return Err(format!("the word of {:?} counts wrongly", member.id));
        }
    }
    Ok(())
}

/// Nobody goes because some connection other than the active one does not tell of it.
pub(super) fn only_the_active_is_believed(step: &Step<'_>) -> Result<(), Violation> {
    let [Input::Request(_, Request::Untold { member, by })] = step.inputs else {
        return Ok(());
    };
    let mut members = step.before.members.iter();
    let decides = members.any(|one| one.stage() == Some(Stage::Active) && one.is(*by));
    let goes = |machine: &Machine| {
        let found = machine.members.iter().find(|one| one.id == *member);
        found.is_none_or(|found| found.outgoing.is_some() || found.leaving.is_some())
    };
    // Deadlines that come in the same step may have let it go.
    let timely = step
        .before
        .next_deadline()
        .is_none_or(|at| at > step.after.now);
    if timely && !decides && !goes(step.before) && goes(step.after) {
        return Err(format!("{member:?} goes on the word of {by}"));
    }
    Ok(())
}
