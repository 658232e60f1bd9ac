//! Marks: who said that a member is about to go, how long that counts, and what may follow from it.

use super::book::Marked;
use super::{Observer, Step, Violation};
use crate::config::LameDuckAction;
use crate::machine::{Action, Input, News, Reason, Request};

/// Traffic is moved for a mark only from a marked active, and only if the rules want it moved.
pub(super) fn moves_only_where_the_rules_say(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let (Some(switch), Some(active)) = (step.begun(), step.after.active) else {
        return Ok(());
    };
    let moves = matches!(
        observer.rules.lame_duck.action,
        LameDuckAction::SwitchToPassive | LameDuckAction::DrainToPassive
    );
    let marked = |id| {
        observer
            .books
            .get(&id)
            .is_some_and(|book| book.mark.is_some())
    };
    if switch.reason == Reason::LameDuck && !(moves && marked(active)) {
        return Err(format!(
            "a mark moves traffic from {active:?} to {:?} under {:?}",
            switch.to, observer.rules.lame_duck.action
        ));
    }
    Ok(())
}

/// An operator's mark is the operator's to clear. An announcement ends with its time, or when the member shows on a later
/// connection that it is back.
pub(super) fn marks_are_kept(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Tell(News::LameDuck(id, false)) = action else {
        return Ok(());
    };
    let cleared = step
        .inputs
        .iter()
        .any(|input| matches!(input, Input::Request(_, Request::ClearMark(of)) if of == id));
    let member = step.after.member(*id);
    let mark = observer.books.get(id).and_then(|book| book.mark);
    let ends = match mark {
        Some(Marked::Operator) => false,
        Some(Marked::Announced { on, until }) => {
            let mut seen = observer.seen.iter();
            let later = seen.any(|(generation, seen)| seen.member == *id && *generation > on);
            let shown =
                observer.passed.contains(id) || member.is_some_and(|member| !member.is_checked());
            until <= step.after.now || (later && shown)
        }
        None => true,
    };
    // In a batch an older one was cleared first, and the books have the new one already.
    let renewed = observer.announced.contains(id) && step.inputs.len() > 1;
    if cleared || ends || renewed {
        return Ok(());
    }
    Err(format!("the mark of {id:?} is cleared: {mark:?}"))
}

/// As long as an operator says so, people see the mark.
pub(super) fn an_operators_mark_stays(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    for member in &step.after.members {
        let book = observer.books.get(&member.id);
        let said = book.is_some_and(|book| book.mark == Some(Marked::Operator));
        if said && member.mark != Some(crate::machine::member::Mark::Operator) {
            return Err(format!("the operator's mark of {:?} is gone", member.id));
        }
    }
    Ok(())
}
