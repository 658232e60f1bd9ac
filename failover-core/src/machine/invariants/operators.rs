//! Moves by hand: what an operator may ask for, and what comes of it.

use super::book::{Known, Marked};
use super::{Observer, Step, Violation};
use crate::machine::member::{Member, Stage};
use crate::machine::{Action, Answer, Reason, Refusal, Request};

impl Observer {
    /// A forced active that is fit needs no force any more.
    pub(super) fn settle_force(&mut self, step: &Step<'_>) {
        let fit = self.forced.is_some_and(|id| {
            step.after
                .member(id)
                .is_none_or(|member| self.is_fit(step.after.now, member))
        });
        if fit {
            self.forced = None;
        }
    }
}

/// Without force nobody is moved to a member that is unhealthy, broken, marked or about to go.
pub(super) fn nobody_is_moved_to_the_unfit_unforced(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let Some(switch) = step
        .begun()
        .filter(|switch| switch.reason == Reason::Manual)
    else {
        return Ok(());
    };
    let asked = switch.caller.and_then(|id| observer.asked.get(&id));
    let forced = matches!(asked, Some(Request::SwitchTo { force: true, .. }));
    let Some(book) = observer.books.get(&switch.to) else {
        return Err(format!("a move to nobody, {:?}", switch.to));
    };
    let unfit = book.health.is_unhealthy() || book.broken.is_some() || book.mark.is_some();
    if unfit && !forced {
        return Err(format!(
            "a move by hand to the unfit {:?}, unforced",
            switch.to
        ));
    }
    Ok(())
}

/// Grace holds back what the machine does by itself. Operators know better.
pub(super) fn grace_is_no_reason_to_refuse(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Answer(id, Answer::Refused(Refusal::NotEligible(to))) = action else {
        return Ok(());
    };
    let Some(Request::SwitchTo { .. }) = observer.asked.get(id) else {
        return Ok(());
    };
    let good = |member: &Member| {
        let armed = matches!(member.stage(), Some(Stage::Ready | Stage::Standby));
        armed && member.stays() && member.replaces.is_none()
    };
    let was = step.before.member(*to).is_some_and(good);
    let is = step.after.member(*to).is_some_and(good);
    let fit = observer.books.get(to).is_some_and(|book| {
        let marked = matches!(book.mark, Some(Marked::Operator | Marked::Announced { .. }));
        !matches!(book.health, Known::Unhealthy { .. }) && !marked && book.broken.is_none()
    });
    if was && is && fit && step.inputs.len() == 1 {
        return Err(format!(
            "a move by hand to {to:?} was refused, and nothing but grace holds it back"
        ));
    }
    Ok(())
}

/// Whom an operator forced the traffic to, it is not taken from for what was known then.
pub(super) fn force_is_kept(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    let (Some(switch), Some(active)) = (step.begun(), step.after.active) else {
        return Ok(());
    };
    let doubts = matches!(
        switch.reason,
        Reason::Health | Reason::Breaker | Reason::LameDuck
    );
    if doubts && observer.forced == Some(active) {
        return Err(format!(
            "traffic was forced to {active:?}, and leaves it: {switch:?}"
        ));
    }
    Ok(())
}
