//! Stalls: what failed while the process itself was late says nothing about a member, once.

use super::{Observer, Step, Violation, Work};
use crate::machine::{Action, Input, MemberId, News};

/// A dial, a proof or a check that a stall explains condemns nobody. Of checks see [`super::health`].
pub(super) fn what_a_stall_explains_counts_for_nothing(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let (Some((id, work)), [_]) = (observer.spared.first(), step.inputs) else {
        return condemned_by_time(observer, step);
    };
    let told = |about: MemberId| about == *id;
    let blamed = step.actions.iter().any(|action| match action {
        Action::Tell(News::DialFailed(about)) => *work == Work::Connect && told(*about),
        Action::Tell(News::Lost(about, _)) => *work == Work::Prove && told(*about),
        Action::Tell(News::ReplacementFailed(about)) => told(*about),
        _ => false,
    });
    if blamed {
        return Err(format!(
            "{id:?} was blamed for {work:?}, which a stall explains"
        ));
    }
    Ok(())
}

/// The same where nothing was answered at all.
fn condemned_by_time(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    if !matches!(step.inputs, [Input::Tick]) {
        return Ok(());
    }
    let spared = |id: MemberId, work: Work| {
        let jobs = observer.cancelled.iter();
        let mut jobs = jobs.filter(|job| job.member == id && job.work == work);
        jobs.any(|job| job.discounted)
    };
    for action in step.actions {
        let wrong = match action {
            Action::Tell(News::DialFailed(id)) => spared(*id, Work::Connect),
            Action::Tell(News::Lost(id, _)) => spared(*id, Work::Prove),
            _ => false,
        };
        if wrong {
            return Err(format!("{action:?}, which a stall explains"));
        }
    }
    Ok(())
}
