//! An active on which nothing succeeds. Its proofs may pass, its connections may end and be made anew: what counts is that
//! no operation was served by this member, though one was tried again and again.

use super::super::record::{Fact, Fate, Record};
use super::budget::Budget;
use super::{FAILING, Found, TRIED};

/// When traffic was with one member, redials of that member included: from, until, who.
fn turns(record: &Record) -> Vec<(u64, u64, u32)> {
    let mut turns: Vec<(u64, u64, u32)> = Vec::new();
    for (from, until, fact) in record.spans() {
        match (turns.last_mut(), fact.active) {
            (Some(last), None) => last.1 = until,
            (Some(last), Some(active)) if last.2 == active => last.1 = until,
            (_, Some(active)) => turns.push((from, until, active)),
            (None, None) => {}
        }
    }
    turns
}

pub(super) fn failing(record: &Record) -> Found {
    let budget = Budget::of(record);
    let mut served: Vec<u64> = record
        .attempts
        .iter()
        .filter(|one| one.fate == Fate::Served)
        .map(|one| one.ended)
        .collect();
    served.sort_unstable();
    // The first success after a time.
    let success = |from: u64| {
        served
            .get(served.partition_point(|at| *at <= from))
            .copied()
    };
    for (from, until, member) in turns(record) {
        let mut attempts: Vec<_> = record
            .attempts
            .iter()
            .filter(|one| one.member == member && one.began >= from && one.began < until)
            .filter(|one| one.fate != Fate::Neutral)
            .collect();
        attempts.sort_by_key(|one| one.began);
        let mut since: Option<u64> = None;
        let mut last = from;
        for attempt in attempts {
            // Where nothing is tried, nothing can be known.
            if attempt.began > record.later(last, 2 * TRIED + 100) || attempt.fate == Fate::Served {
                since = None;
            }
            last = attempt.began;
            if attempt.fate == Fate::Failed {
                since.get_or_insert(attempt.began);
            }
            let Some(began) = since else {
                continue;
            };
            let due = record.later(began, FAILING);
            let tried = attempt.ended >= due;
            let alone = success(began).is_none_or(|at| at > due);
            if tried && until > due && alone && permits(record, &budget, (began, due), member) {
                let text = format!(
                    "no operation succeeds on m{member} since {began} ms, and it is still the active"
                );
                return Some((due, text));
            }
        }
    }
    None
}

/// Another member looked fit all the while, and a move could be paid.
fn permits(record: &Record, budget: &Budget, (from, until): (u64, u64), member: u32) -> bool {
    let over: Vec<&Fact> = record
        .spans()
        .filter(|(begins, ends, _)| *begins <= until && *ends > from)
        .map(|(_, _, fact)| fact)
        .collect();
    let members = record.facts.first().map_or(0, |fact| fact.members.len());
    let fit = |id: usize| {
        over.iter().all(|fact| {
            let known = &fact.members[id];
            known.looks_fit && !known.is_barred() && !known.lame
        })
    };
    let accepts = over
        .last()
        .is_some_and(|fact| fact.members[member as usize].accepts);
    let paid = !accepts || (budget.left(from) > 0 && budget.left(until) > 0);
    paid && (0..members).any(|id| id != member as usize && fit(id))
}
