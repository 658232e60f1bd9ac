//! Outages: members that refuse are left alone for a while, and people are told how long it has been going on.

use super::{Observer, Step, Violation};
use crate::config::{Reconnect, Standby};
use crate::machine::{Action, News};

/// The delay after so many dials in vain: doubled each time, and capped.
fn delay(reconnect: Reconnect, refused: u32) -> std::time::Duration {
    let doublings = refused.saturating_sub(1).min(20);
    let delay = reconnect.initial.saturating_mul(1 << doublings);
    delay.min(reconnect.max)
}

/// A member that refused is not dialled again before its delay is over, unless a move or a redial wants it now. With
/// jitter a delay may be as short as nothing.
pub(super) fn refused_members_are_left_alone(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Connect(id, ..) = action else {
        return Ok(());
    };
    let after = step.after;
    // The loop of an outage goes by rounds, not by members.
    let loops = observer.rules.standby == Standby::All
        || (step.before.active.is_some() && after.active.is_some());
    let wanted = after.redial == Some(*id)
        || after.switch.as_ref().is_some_and(|switch| switch.to == *id)
        || step.before.redial == Some(*id);
    let Some(book) = observer.books.get(id) else {
        return Err(format!("{id:?} is dialled, and is nobody"));
    };
    if !loops
        || wanted
        || book.refused == 0
        || after.random != crate::machine::random::Random::new(0)
    {
        return Ok(());
    }
    let rest = delay(book.rules.reconnect, book.refused);
    if after.now.since(book.refused_at) < rest {
        return Err(format!(
            "{id:?} refused {} times and is dialled again after {:?}",
            book.refused,
            after.now.since(book.refused_at)
        ));
    }
    Ok(())
}

/// The one loop of a group that is known to be down rests after each dial.
pub(super) fn the_one_loop_rests(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let (Action::Connect(id, ..), Standby::Count(_)) = (action, observer.rules.standby) else {
        return Ok(());
    };
    let after = step.after;
    let wanted = super::links::is_asked_for(after, *id);
    let outage = after.active.is_none() && step.before.active.is_none();
    let soon = observer.rest.is_some_and(|until| after.now < until);
    if outage && soon && !wanted && after.random == crate::machine::random::Random::new(0) {
        return Err(format!("{id:?} is dialled in an outage without a rest"));
    }
    Ok(())
}

/// Each outage counts its own rounds.
pub(super) fn rounds_are_counted_from_the_last_active(
    observer: &Observer,
    action: &Action,
) -> Result<(), Violation> {
    match action {
        Action::Tell(News::AllDown(times)) if *times != observer.rounds + 1 => Err(format!(
            "all were down for the {times}th time, and it was {} before",
            observer.rounds
        )),
        _ => Ok(()),
    }
}
