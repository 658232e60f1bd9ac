//! What callers and people are owed: answers, deadlines, and a view that tells the truth.

use super::{Observer, Step, Violation};
use crate::machine::member::{Link, Stage, TaskKind};
use crate::machine::switch::Step as Move;
use crate::machine::timers::Timer;
use crate::machine::{Action, LinkView, Machine, Phase};

/// Every call is answered at most once; that it is answered at all is for the search to show.
pub(super) fn answered_once(observer: &Observer, action: &Action) -> Result<(), Violation> {
    match action {
        Action::Answer(id, answer) if !observer.asked.contains_key(id) => {
            Err(format!("{id:?} was answered {answer:?} unasked"))
        }
        Action::Closed if !observer.asked.is_empty() => {
            Err(format!("closed with {:?} unanswered", observer.asked))
        }
        _ => Ok(()),
    }
}

/// A start succeeds or fails once; a closed group only ends orphans and answers.
pub(super) fn told_once(observer: &Observer, action: &Action) -> Result<(), Violation> {
    let wrong = match action {
        Action::Started => observer.started || observer.failed,
        Action::StartFailed => observer.started || observer.failed,
        Action::Retire(..) | Action::Answer(..) => false,
        _ => observer.closed,
    };
    if wrong {
        return Err(format!("{action:?} came too late"));
    }
    Ok(())
}

/// Nothing is awaited without a deadline.
pub(super) fn everything_has_a_deadline(step: &Step<'_>) -> Result<(), Violation> {
    let machine = step.after;
    if matches!(machine.phase, Phase::Closing | Phase::Closed) {
        let bound = machine.timers.is_set(Timer::Close) || machine.phase == Phase::Closed;
        return if bound {
            Ok(())
        } else {
            Err("a close without a deadline".to_owned())
        };
    }
    for member in &machine.members {
        let id = member.id;
        let missing = match &member.link {
            Link::Cold => None,
            Link::Dialling { .. } => Some(Timer::Connect(id)),
            Link::Retiring { .. } => Some(Timer::Retire(id)),
            Link::Open(open) => match open.task.map(|task| task.kind) {
                Some(TaskKind::Drain) => Some(Timer::Drain(id)),
                Some(_) => Some(Timer::Task(id)),
                None if open.stage == Stage::Draining => Some(Timer::Drain(id)),
                None => None,
            },
        };
        if let Some(timer) = missing.filter(|timer| !machine.timers.is_set(*timer)) {
            return Err(format!("{timer:?} is not set"));
        }
        let checks = member.is_checked()
            && member
                .open()
                .is_some_and(|open| open.stage != Stage::Draining);
        let timer = match member.check {
            Some(_) => Timer::CheckBound(id),
            None => Timer::Check(id),
        };
        if checks && !machine.timers.is_set(timer) {
            return Err(format!("{id:?} is open, and {timer:?} is not set"));
        }
    }
    let moves = machine.switch.as_ref().map(|switch| {
        let busy = machine
            .member(switch.to)
            .and_then(|member| member.open())
            .is_some_and(|open| open.task.is_some());
        match switch.step {
            Move::Connecting => machine.timers.is_set(Timer::Target),
            Move::Proving | Move::Promoting => busy,
            Move::Proven | Move::Promoted => machine.redial.is_some(),
        }
    });
    if moves == Some(false) {
        return Err(format!("{:?} waits for nothing", machine.switch));
    }
    if machine.redial.is_some() && !machine.timers.is_set(Timer::Redial) {
        return Err("a redial without a deadline".to_owned());
    }
    if machine.phase == Phase::Running && machine.switch.is_none() && !machine.queue.is_empty() {
        return Err("a queued move that nothing begins".to_owned());
    }
    Ok(())
}

/// Whatever could be decided is decided: asking again at the same time changes nothing.
pub(super) fn nothing_is_left_undone(step: &Step<'_>) -> Result<(), Violation> {
    let after = step.after;
    if after.next_deadline().is_some_and(|at| at <= after.now) {
        return Ok(());
    }
    let mut again: Machine = after.clone();
    // Otherwise it would not even look.
    again.unsettled = true;
    let more = again.handle(after.now, []);
    if more.is_empty() {
        Ok(())
    } else {
        Err(format!("only asking again gave {more:?}"))
    }
}

/// The view says what the machine knows.
pub(super) fn the_view_agrees(step: &Step<'_>) -> Result<(), Violation> {
    let view = step.after.view();
    let active = view
        .members
        .iter()
        .filter(|member| member.link == LinkView::Active)
        .map(|member| member.id);
    if active.eq(view.active) && view.members.len() == step.after.members.len() {
        Ok(())
    } else {
        Err(format!("{view:?}"))
    }
}
