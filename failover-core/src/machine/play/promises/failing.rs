//! An active on which nothing succeeds. Its proofs may pass, its connections may end and be made anew: what counts is that
//! no operation was served by this member, though one was tried again and again.

use super::super::record::{Fate, Record};
use super::{FAILING, Found, TRIED, budget};

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
    for (from, until, member) in turns(record) {
        // In the order in which they began. What waited for an active says nothing about this member.
        let mut since: Option<u64> = None;
        let mut last = from;
        let mut attempts: Vec<_> = record
            .attempts
            .iter()
            .filter(|one| one.member == member && one.began >= from && one.began < until)
            .collect();
        attempts.sort_by_key(|one| one.began);
        for attempt in attempts {
            let rare = attempt.began > record.later(last, 2 * TRIED + 100);
            last = attempt.began;
            match attempt.fate {
                Fate::Served => since = None,
                _ if rare => since = None,
                Fate::Failed => {
                    since.get_or_insert(attempt.began);
                }
                Fate::Neutral => {}
            }
            let Some(began) = since else {
                continue;
            };
            let due = record.later(began, FAILING);
            let still = attempt.began <= due && attempt.ended.max(attempt.began) >= due;
            let served = record
                .attempts
                .iter()
                .any(|one| one.fate == Fate::Served && one.ended > began && one.ended <= due);
            if (still || attempt.began > due)
                && until > due
                && !served
                && permits(record, began, due, member)
            {
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
fn permits(record: &Record, from: u64, until: u64, member: u32) -> bool {
    let over = |span: &(u64, u64, &super::super::record::Fact)| span.0 <= until && span.1 > from;
    let members = record.facts.first().map_or(0, |fact| fact.members.len());
    let others = (0..members).filter(|id| *id != member as usize);
    let fit = |id: usize| {
        record.spans().filter(over).all(|(_, _, fact)| {
            let known = &fact.members[id];
            known.looks_fit && !known.is_barred() && !known.lame
        })
    };
    let accepts = record
        .at(until)
        .is_some_and(|fact| fact.members[member as usize].accepts);
    let paid = !accepts || (budget::left(record, from) > 0 && budget::left(record, until) > 0);
    paid && others.into_iter().any(fit)
}
