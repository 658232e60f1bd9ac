//! Drains: an old connection may go on for as long as it was promised, and no longer.

use super::{Observer, Step, Violation};
use crate::machine::member::Stage;
use crate::machine::{Action, News};

/// The window that people are told is the one that the move was called with, or that the rules give it.
pub(super) fn windows_are_as_asked(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Tell(News::DrainStarted(id, window)) = action else {
        return Ok(());
    };
    let should = observer.window(step, *id);
    if *window == should {
        return Ok(());
    }
    Err(format!("{id:?} drains for {window:?} and not {should:?}"))
}

/// When its window is over it drains no more.
pub(super) fn ends_in_its_window(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    let after = step.after;
    for member in &after.members {
        let Some(open) = member.open().filter(|open| open.stage == Stage::Draining) else {
            continue;
        };
        let until = observer.drains.get(&open.generation);
        if until.is_none_or(|until| *until <= after.now) {
            return Err(format!("{:?} drains past its window", member.id));
        }
    }
    Ok(())
}
