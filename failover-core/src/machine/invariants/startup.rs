//! Startup: the walk by weight waits for whoever may still come.

use std::time::Duration;

use super::{Observer, Step, Violation};
use crate::config::MemberRules;
use crate::machine::{Phase, Reason};

/// Every step that a member takes to its first traffic is bounded.
pub(super) fn longest(rules: &MemberRules) -> Duration {
    rules.timeouts.connect + 2 * rules.timeouts.prove + 2 * rules.health.bound()
}

/// A lighter member gets the traffic only once every heavier one has failed, is held back, or has had its time.
pub(super) fn the_heaviest_are_waited_for(
    observer: &Observer,
    step: &Step<'_>,
) -> Result<(), Violation> {
    let after = step.after;
    let Some(switch) = step.begun() else {
        return Ok(());
    };
    let starting = matches!(step.before.phase, Phase::Starting { .. })
        && switch.reason == Reason::Startup
        && after.now < observer.startup;
    if !starting || observer.rules.pool.name() != "weighted" {
        return Ok(());
    }
    let weight = observer.books.get(&switch.to).map(|book| book.weight);
    let heavier = after.members.iter().find(|member| {
        let hopeful = observer.books.get(&member.id).is_some_and(|book| {
            Some(book.weight) > weight
                && !book.failed
                && !book.health.is_unhealthy()
                && !book.is_held_back(after.now)
        });
        hopeful && member.takes_part() && member.outgoing.is_none()
    });
    match heavier {
        Some(member) => Err(format!(
            "{:?} got the first traffic without waiting for {:?}",
            switch.to, member.id
        )),
        None => Ok(()),
    }
}
