//! The breaker: it opens when the outcomes that were seen say so, and stays open for its time.

use backend_api::Generation;

use super::book::Book;
use super::{Observer, Step, Violation};
use crate::machine::{Action, News, Time};

impl Book {
    /// Takes a sample; says whether the failures within the window are too many now.
    pub(super) fn sample(
        &mut self,
        now: Time,
        generation: Generation,
        success: u32,
        failure: u32,
    ) -> bool {
        let rules = self.rules.breaker;
        if self.window_of != Some(generation) {
            self.window.clear();
            self.window_of = Some(generation);
        }
        self.window.retain(|(at, ..)| now.since(*at) < rules.window);
        self.window.push((now, success, failure));
        let sum = |of: fn(&(Time, u32, u32)) -> u32| {
            self.window.iter().map(|sample| f64::from(of(sample))).sum()
        };
        let (success, failure): (f64, f64) = (sum(|sample| sample.1), sum(|sample| sample.2));
        failure > 0.0
            && failure >= f64::from(rules.min_failures)
            && failure / (success + failure) >= rules.failure_rate
    }
}

/// Too many failures open it, in the same step.
pub(super) fn it_opens_when_it_must(observer: &Observer, step: &Step<'_>) -> Result<(), Violation> {
    // In a batch the connection may have ended before its outcomes came.
    let (Some(id), [_]) = (observer.opened, step.inputs) else {
        return Ok(());
    };
    if step
        .actions
        .contains(&Action::Tell(News::Breaker(id, true)))
    {
        return Ok(());
    }
    Err(format!("the breaker of {id:?} did not open"))
}

/// It opens for a reason, and closes after its time, and after the grace, by something that passed.
pub(super) fn an_open_breaker_is_held(
    observer: &Observer,
    step: &Step<'_>,
    action: &Action,
) -> Result<(), Violation> {
    let Action::Tell(News::Breaker(id, open)) = action else {
        return Ok(());
    };
    let Some(book) = observer.books.get(id) else {
        return Err(format!("the breaker of nobody, {id:?}"));
    };
    let now = step.after.now;
    if *open {
        let should = observer.opened == Some(*id);
        // Several samples may come in one batch.
        return if should || step.inputs.len() > 1 {
            Ok(())
        } else {
            Err(format!("the breaker of {id:?} opened for nothing"))
        };
    }
    if book.broken.is_some_and(|until| until > now) || book.in_grace(now) {
        return Err(format!("the breaker of {id:?} closed too soon"));
    }
    Ok(())
}
