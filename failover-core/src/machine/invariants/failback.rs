//! Failback: only up, only to whoever has been healthy for long enough, and never against an operator.

use super::book::Known;
use super::{Observer, Step, Violation};
use crate::machine::{Action, News, Reason};

/// A move by failback begins only where the rules want one: to a strictly higher weight, out of grace, after
/// `failback.stable` of unbroken health.
pub(super) fn goes_up_when_it_may(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    let after = step.after;
    let Some(switch) = step
        .begun()
        .filter(|switch| switch.reason == Reason::Failback)
    else {
        return Ok(());
    };
    let wrong = |why: &str| Err(format!("failback to {:?} {why}", switch.to));
    if !observer.rules.failback.enabled {
        return wrong("though it is disabled");
    }
    if let Some(who) = observer.suspended {
        return wrong(&format!("though it is suspended: {who:?}"));
    }
    let active = after.active.and_then(|id| observer.books.get(&id));
    let (Some(book), Some(active)) = (observer.books.get(&switch.to), active) else {
        return wrong("from or to nobody");
    };
    if book.weight <= active.weight {
        return wrong("which weighs no more than the active");
    }
    if book.is_held_back(after.now) {
        return wrong("which is held back");
    }
    match book.health {
        Known::Healthy { since } if after.now.since(since) >= observer.rules.failback.stable => {
            Ok(())
        }
        health => wrong(&format!("which is not yet stable: {health:?}")),
    }
}

/// Not even at its end does a failback win over a pin that was there before.
pub(super) fn nothing_returns_against_an_operator(
    observer: &Observer,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Tell(News::Switched {
        to,
        reason: Reason::Failback,
        ..
    }) = action
    else {
        return Ok(());
    };
    match observer.suspended_before {
        Some(who) => Err(format!(
            "traffic failed back to {to:?} though suspended: {who:?}"
        )),
        None => Ok(()),
    }
}

/// A pin, a release, a move by hand and the failure of its target: people see what follows from them.
pub(super) fn is_suspended_as_operators_said(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let shown = step.after.view().failback_suspended;
    if shown == observer.suspended.is_some() {
        return Ok(());
    }
    Err(format!(
        "failback is shown as suspended: {shown}, and operators said {:?}",
        observer.suspended
    ))
}
