//! Health: what people see of a member is what its checks, its proofs and itself said, and traffic leaves an active that is
//! not fit as soon as somebody is.

use super::book::{Known, Marked};
use super::{Observer, Step, Violation};
use crate::config::LameDuckAction;
use crate::machine::member::{Member, Stage};
use crate::machine::{Machine, MemberId, Phase, Reason};

/// A verdict is what was said last: an uncertain check changes nothing, and neither does one that a stall explains.
pub(super) fn verdicts_are_what_was_said(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    for view in step.after.member_views() {
        let known = observer.health(view.id);
        let shown = match (view.healthy, view.read_only) {
            (None, _) => known == Known::Unknown,
            (Some(true), _) => known.is_healthy(),
            (Some(false), read_only) => known == Known::Unhealthy { read_only },
        };
        if !shown {
            return Err(format!(
                "{:?} is shown as healthy: {:?}, replica: {}, and was said to be {known:?}",
                view.id, view.healthy, view.read_only
            ));
        }
    }
    Ok(())
}

/// Traffic is moved away for health or by the breaker only where something was said against the active.
pub(super) fn only_the_unfit_are_left(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let (Some(switch), Some(active)) = (step.begun(), step.after.active) else {
        return Ok(());
    };
    let Some(book) = observer.books.get(&active) else {
        return Ok(());
    };
    let justified = match switch.reason {
        Reason::Health => book.health.is_unhealthy(),
        Reason::Breaker => book.broken.is_some(),
        _ => true,
    };
    if justified {
        return Ok(());
    }
    Err(format!("{active:?} is left without cause: {switch:?}"))
}

/// With somebody fit at hand, traffic does not stay where it should not be.
pub(super) fn an_unfit_active_is_left(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let after = step.after;
    let Some(active) = after.active.and_then(|id| after.member(id)) else {
        return Ok(());
    };
    if after.phase != Phase::Running || after.switch.is_some() {
        return Ok(());
    }
    let Some(why) = why_leave(observer, active) else {
        return Ok(());
    };
    match fit_standby(observer, after, active.id) {
        Some(to) => Err(format!(
            "{:?} is {why} and goes on being active, with {to:?} at hand",
            active.id
        )),
        None => Ok(()),
    }
}

fn why_leave(observer: &Observer, active: &Member) -> Option<&'static str> {
    let book = observer.books.get(&active.id)?;
    let moves = matches!(
        observer.rules.lame_duck.action,
        LameDuckAction::SwitchToPassive | LameDuckAction::DrainToPassive
    );
    if active.outgoing.is_some() {
        return Some("to go");
    }
    if observer.forced == Some(active.id) {
        return None;
    }
    match book.mark {
        Some(Marked::Announced { .. } | Marked::Operator) if moves => return Some("marked"),
        _ => {}
    }
    if book.health.is_unhealthy() {
        return Some("unhealthy");
    }
    book.broken.map(|_| "broken")
}

fn fit_standby(observer: &Observer, after: &Machine, active: MemberId) -> Option<MemberId> {
    let open = |member: &&Member| {
        member.id != active
            && member.takes_part()
            && matches!(
                member.stage(),
                Some(Stage::Ready | Stage::Standby | Stage::Draining)
            )
    };
    let mut members = after.members.iter().filter(open);
    members
        .find(|member| observer.is_fit(after.now, member))
        .map(|member| member.id)
}
