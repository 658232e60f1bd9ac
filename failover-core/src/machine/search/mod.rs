//! The search: every order of what can happen to a small group, breadth first over numbered states, so that the first
//! violation found has the shortest history.
//!
//! Each scenario is a small group with a small alphabet of events and a budget of faults and calls. No jitter, few distinct
//! durations and the budget keep states few enough to meet again. A scenario is *complete* when nothing new was left to
//! find: then no order of these events, within that budget, breaks an invariant. Otherwise it is *bounded*, and the claim
//! goes as deep as the printed depth. The run prints which is which.
//!
//! The table tests say what should happen; this says what must never. What groups of other sizes and rules, jitter and more
//! faults do, random histories look at, under the same invariants (`tests::property`).
//!
//! | where | what |
//! |---|---|
//! | `world`, `flight`, `event` | the machine and what surrounds it, and what can happen |
//! | `scenario` | the groups, their alphabets and budgets |
//! | `canonical`, `canon` | the number of a state; `sampling` tries whether equal numbers have equal futures |
//! | `recovery` | what must come of every state once nothing fails any more |
//! | `faults` | broken machines, each of which must be found |

mod canon;
mod canonical;
mod event;
pub(super) mod faults;
mod flight;
mod recovery;
#[cfg(test)]
mod sampling;
mod scenario;
#[cfg(test)]
mod tests;
mod world;

use std::collections::HashSet;

pub(super) use canon::Canon;
use canonical::fingerprint;
pub(super) use event::{Alphabet, Call, Event, weight};
pub(super) use flight::Servers;
pub(super) use world::World;

/// Whether the large sizes are asked for, with `tests/nightly`. Known when it is built: nothing here reads the world.
pub(super) fn nightly() -> bool {
    option_env!("FAILOVER_NIGHTLY").is_some()
}

/// How far to look.
#[derive(Clone, Copy)]
struct Limits {
    /// Distinct states.
    states: usize,
    /// Every nth new state must recover once faults stop.
    recover_every: usize,
}

/// What was found.
struct Report {
    states: usize,
    transitions: usize,
    /// So many events at most led to a state; all that take fewer were found.
    depth: usize,
    /// Nothing new was left to find.
    complete: bool,
    recovered: usize,
    violation: Option<String>,
}

/// Where a state came from; index 0 is the beginning.
#[derive(Clone, Copy)]
struct Origin {
    parent: u32,
    event: Event,
}

fn search(start: &World, alphabet: &Alphabet, limits: Limits) -> Report {
    let mut report = Report {
        states: 1,
        transitions: 0,
        depth: 0,
        complete: false,
        recovered: 0,
        violation: None,
    };
    let mut seen = HashSet::new();
    seen.insert(fingerprint(start));
    let mut origins = vec![Origin {
        parent: 0,
        event: Event::Wait,
    }];
    let mut level = vec![(0_u32, start.clone())];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (index, world) in level {
            for event in world.enabled(alphabet) {
                let mut then = world.clone();
                let mut outcome = then.happen(event).map(|_| ());
                report.transitions += 1;
                let new = outcome.is_ok() && seen.insert(fingerprint(&then));
                if new && origins.len() % limits.recover_every == 0 {
                    outcome = then.clone().recovers();
                    report.recovered += 1;
                }
                let origin = Origin {
                    parent: index,
                    event,
                };
                if let Err(broken) = outcome {
                    origins.push(origin);
                    report.states = seen.len();
                    report.violation = Some(history(start, &origins, &broken));
                    return report;
                }
                if new {
                    next.push((u32::try_from(origins.len()).unwrap_or(u32::MAX), then));
                    origins.push(origin);
                }
                if seen.len() >= limits.states {
                    report.states = seen.len();
                    return report;
                }
            }
        }
        report.depth += usize::from(!next.is_empty());
        level = next;
    }
    report.states = seen.len();
    report.complete = true;
    report
}

/// The events that led to the last origin, told line by line.
fn history(start: &World, origins: &[Origin], broken: &str) -> String {
    use std::fmt::Write as _;
    let mut events = Vec::new();
    let mut at = origins.len() - 1;
    while at != 0 {
        events.push(origins[at].event);
        at = origins[at].parent as usize;
    }
    events.reverse();
    let mut text = format!("{broken}\n");
    let mut world = start.clone();
    for event in events {
        let told = match event {
            Event::Well(index) => format!("well: {:?}", world.flight[index]),
            Event::Badly(index, trouble) => format!("{trouble:?}: {:?}", world.flight[index]),
            Event::Twice(index) => format!("twice: {:?}", world.flight[index]),
            Event::Both(index, ..) => format!("{event:?}: {:?}", world.flight[index]),
            other => format!("{other:?}"),
        };
        let actions = world.happen(event);
        let _ = writeln!(
            text,
            "{:>9} us  {told}\n              => {actions:?}\n              {}",
            world.now().0,
            world.portrait()
        );
    }
    text
}
