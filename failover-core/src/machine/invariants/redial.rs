//! The one redial of a lost active holds up a move until it is answered, and no longer.

use super::{Observer, Step, Violation, Work};
use crate::machine::switch::Step as Move;
use crate::machine::{Action, Input};

/// While a lost active still has its chance, nobody else gets the traffic.
pub(super) fn a_redial_is_heard_out(step: &Step<'_>, action: &Action) -> Result<(), Violation> {
    let (Action::Activate(id, _), Some(lost)) = (action, step.before.redial) else {
        return Ok(());
    };
    let about_it = |input: &Input| match input {
        Input::Connected(of, ..)
        | Input::ConnectFailed(of, ..)
        | Input::Done(of, ..)
        | Input::Failed(of, ..)
        | Input::Retired(of, ..)
        | Input::Lost(of, ..)
        | Input::Condemned(of, ..)
        | Input::LameDuck(of, ..)
        | Input::Checked(of, ..) => *of == lost,
        // It may have opened the breaker of the redialled.
        Input::Outcomes { member, .. } => *member == lost,
        Input::Request(..) => true,
        _ => false,
    };
    let timely = step
        .before
        .next_deadline()
        .is_none_or(|at| at > step.after.now);
    if *id != lost && timely && !step.inputs.iter().any(about_it) {
        return Err(format!("{id:?} became active while {lost:?} was redialled"));
    }
    Ok(())
}

/// A refused redial has had its chance: what waited for nothing else goes on in the same step.
pub(super) fn a_refusal_decides_at_once(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let ([Input::ConnectFailed(id, _)], Some(switch)) = (step.inputs, &step.before.switch) else {
        return Ok(());
    };
    let waited = step.before.redial == Some(*id)
        && switch.to != *id
        && matches!(switch.step, Move::Proven | Move::Promoted);
    if waited
        && !observer.spared.contains(&(*id, Work::Connect))
        && step.after.switch.as_ref() == Some(switch)
    {
        return Err(format!(
            "the redial of {id:?} was refused, and the move to {:?} waits on",
            switch.to
        ));
    }
    Ok(())
}
