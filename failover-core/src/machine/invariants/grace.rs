//! Grace: how long a member that traffic had to leave is passed over, doubled for one that failed soon after traffic came
//! back.

use super::{Observer, Step, Violation};
use crate::machine::Phase;
use crate::machine::timers::Timer;

/// It lasts exactly as long as the moves that were seen make it.
pub(super) fn lasts_as_long_as_it_should(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let after = step.after;
    if matches!(after.phase, Phase::Closing | Phase::Closed) {
        return Ok(());
    }
    for member in &after.members {
        let ends = after.timers.at(Timer::Grace(member.id));
        let book = observer.books.get(&member.id);
        let should = book
            .and_then(|book| book.grace)
            .filter(|at| *at > after.now);
        if ends != should {
            return Err(format!(
                "the grace of {:?} ends at {ends:?} and not at {should:?}",
                member.id
            ));
        }
    }
    Ok(())
}
