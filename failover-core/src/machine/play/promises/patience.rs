//! Silence, not lateness: when a connection may be given up, and when it has to be.

use super::super::record::{Entry, Record};
use super::budget::Budget;
use super::{Found, ROUNDS, SILENCE, SILENT_ROUNDS, TICK, millis};
use crate::machine::{LinkView, News, Reason};

/// How long a member of such a round trip has to be silent.
fn needed(round: u64) -> u64 {
    SILENCE.max(SILENT_ROUNDS * round)
}

/// What is counted from the first operation that waits may begin a moment before the last byte of another one.
fn nearly(round: u64) -> u64 {
    needed(round) * 9 / 10
}

/// A quarter of a second for the decision itself, beside a tick.
const DECIDED: u64 = 250;

pub(super) fn patience(record: &Record) -> Found {
    for (at, entry) in &record.log {
        match entry {
            Entry::GaveUp {
                member,
                silent,
                refused: false,
                proven: true,
                round,
                ..
            } => {
                // After a loss nobody waits for a slow successor.
                if record.before(*at).is_none_or(|fact| fact.active.is_none()) {
                    continue;
                }
                let running = running(record, *at, *silent);
                if running < nearly(*round) {
                    let text = format!("m{member} is given up after {running} ms of silence");
                    return Some((*at, text));
                }
            }
            Entry::Told(News::Switched {
                from: Some(from),
                to,
                reason: Reason::Lost | Reason::Health | Reason::Breaker,
                ..
            }) if from != to => {
                // One that serves and is heard is not left at all.
                let Some(fact) = record.before(*at) else {
                    continue;
                };
                let known = &fact.members[from.0 as usize];
                let silent = fact.silent_since.map_or(0, |since| at - since);
                let recent = 2 * millis(record.rules.member.health.interval);
                let said = fact.refused.is_some_and(|when| when + recent >= *at);
                let open = fact.active == Some(from.0) && fact.serving && known.fit && !said;
                let running = running(record, *at, silent);
                if open && running < nearly(known.round) {
                    let text = format!(
                        "m{} serves, and is left after {running} ms of silence",
                        from.0
                    );
                    return Some((*at, text));
                }
            }
            _ => {}
        }
    }
    None
}

/// How much of a silence that lasts until `at` this process could hear. A tick that is late counts as one tick.
fn running(record: &Record, at: u64, silent: u64) -> u64 {
    let from = at - silent;
    let stopped: u64 = record
        .stops
        .iter()
        .filter(|(stop, end)| *end > from && *stop < at)
        .map(|(stop, end)| (*end).min(at) - (*stop).max(from))
        .map(|long| long.saturating_sub(TICK))
        .sum();
    silent - stopped
}

pub(super) fn silence(record: &Record) -> Found {
    // Since when somebody else stands by this active.
    let mut ready: Option<u64> = None;
    let mut last = None;
    let budget = Budget::of(record);
    for (from, until, fact) in record.spans() {
        let other = fact.members.iter().enumerate().any(|(id, known)| {
            let stands = known.link == LinkView::Standby && known.connected;
            Some(id) != fact.active.map(|id| id as usize)
                && stands
                && known.fit
                && !known.is_barred()
        });
        if !other || fact.active != last {
            ready = None;
        }
        last = fact.active;
        if other {
            ready.get_or_insert(from);
        }
        let (Some(active), Some(since), Some(ready), false) =
            (fact.active, fact.silent_since, ready, fact.serving)
        else {
            continue;
        };
        let known = &fact.members[active as usize];
        let least = needed(known.round);
        let paid = !known.accepts || budget.left(since) > 0;
        let most = if paid { least } else { 4 * least };
        let due = record.later(
            since.max(ready),
            most + DECIDED + TICK + ROUNDS * known.round,
        );
        if due < until {
            let silent = due - since;
            let text = format!("m{active} is silent for {silent} ms, and still the active");
            return Some((due, text));
        }
    }
    None
}

pub(super) fn own_network(record: &Record) -> Found {
    record.log.iter().find_map(|(at, entry)| match entry {
        Entry::GaveUp {
            member,
            silent,
            refused: false,
            active: true,
            elsewhere: false,
            round,
            ..
        } if *silent >= nearly(*round) => {
            let text = format!("the active m{member} is given up, and nobody else was heard since");
            Some((*at, text))
        }
        _ => None,
    })
}
