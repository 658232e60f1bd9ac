//! Bounds that hold whatever happens: drains, calls, dials, and the share of operations that fail.

use std::collections::BTreeMap;

use super::super::record::{Entry, Fate, Record};
use super::super::script::Call;
use super::{DIALS, Found, millis};
use crate::machine::{Answer, LinkView, MemberId, News, Refusal, RequestId};

pub(super) fn drain_ends(record: &Record) -> Found {
    let mut running: BTreeMap<MemberId, u64> = BTreeMap::new();
    for (at, news) in record.news() {
        if let Some((id, due)) = running.iter().find(|(_, due)| **due < at) {
            return Some((*due, format!("the drain of m{} has not ended", id.0)));
        }
        match news {
            News::DrainStarted(id, window) => {
                running.insert(*id, record.later(at, 2 * millis(*window)));
            }
            News::DrainEnded(id, _) => {
                running.remove(id);
            }
            _ => {}
        }
    }
    let left = running.into_iter().find(|(_, due)| *due < record.end);
    left.map(|(id, due)| (due, format!("the drain of m{} has not ended", id.0)))
}

pub(super) fn window(record: &Record) -> Found {
    let mut began: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (at, entry) in &record.log {
        match entry {
            Entry::Told(News::DrainStarted(id, window)) => {
                began.insert(id.0, (*at, millis(*window)));
            }
            Entry::Cut { member, operations } => {
                let Some((from, window)) = began.get(member) else {
                    continue;
                };
                // At most by one more window.
                let due = record.later(*from, *window).min(from + 2 * window);
                if *at < due {
                    let (after, late) = (at - from, due - from);
                    let text = format!(
                        "{operations} operations are cut on m{member} after {after} ms; with how late this process was, \
                         the window is {late} ms"
                    );
                    return Some((*at, text));
                }
            }
            _ => {}
        }
    }
    None
}

/// How long a call may wait for its answer, in time in which this process runs.
fn wait(record: &Record, call: Call) -> u64 {
    let timeouts = record.rules.member.timeouts;
    // The connection, its proof, the proof before the move, the promotion, and a redial on the way.
    let moving = millis(timeouts.connect + 3 * timeouts.prove + record.rules.loss_redial);
    match call {
        Call::SwitchTo(_) | Call::DrainTo(..) => moving,
        Call::Disable(_) => 2 * millis(record.rules.lame_duck.drain_window) + moving,
        Call::Rehome => 0,
    }
}

pub(super) fn answered(record: &Record) -> Found {
    let mut waiting: BTreeMap<RequestId, (u64, Call)> = BTreeMap::new();
    for (at, entry) in &record.log {
        match entry {
            Entry::Called(id, call) => {
                let due = record.later(*at, wait(record, *call));
                waiting.insert(*id, (due, *call));
            }
            Entry::Answered(id, _) => {
                let late = waiting.remove(id).filter(|(due, _)| due < at);
                if let Some((due, call)) = late {
                    return Some((due, format!("{call:?} is answered at {at} ms")));
                }
            }
            _ => {}
        }
    }
    let late = waiting.into_values().filter(|(due, _)| *due < record.end);
    late.min_by_key(|(due, _)| *due)
        .map(|(due, call)| (due, format!("{call:?} is not answered")))
}

pub(super) fn accepted(record: &Record) -> Found {
    let calls: BTreeMap<RequestId, Call> = record
        .log
        .iter()
        .filter_map(|(_, entry)| match entry {
            Entry::Called(id, call) => Some((*id, *call)),
            _ => None,
        })
        .collect();
    for (at, entry) in &record.log {
        let Entry::Answered(id, Answer::Refused(Refusal::NotEligible(_))) = entry else {
            continue;
        };
        let Some(Call::SwitchTo(to) | Call::DrainTo(to, _)) = calls.get(id) else {
            continue;
        };
        let free = record.before(*at).is_some_and(|fact| {
            let known = &fact.members[*to as usize];
            let coming = matches!(known.link, LinkView::Connected | LinkView::Connecting);
            known.fit && coming && !known.is_barred() && !known.lame && known.healthy != Some(false)
        });
        if free {
            let text = format!("a move to m{to} is refused, which nothing holds back");
            return Some((*at, text));
        }
    }
    None
}

pub(super) fn dials(record: &Record) -> Found {
    let mut dials: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for (at, entry) in &record.log {
        if let Entry::Dialled(member) = entry {
            let of = dials.entry(*member).or_default();
            of.push(*at);
            if let Some(first) = of.len().checked_sub(DIALS + 1)
                && at - of[first] < 1000
            {
                let text = format!("m{member} is dialled more than {DIALS} times within a second");
                return Some((*at, text));
            }
        }
    }
    None
}

pub(super) fn share(record: &Record, most: u64) -> Found {
    let failed = record.operations.iter();
    let failed = failed.filter(|(_, fate)| *fate == Fate::Failed).count();
    let share = (1000 * failed).checked_div(record.operations.len())?;
    let share = u64::try_from(share).unwrap_or(u64::MAX);
    (share > most).then(|| {
        let text = format!("{share} of 1000 operations fail, at most {most} may");
        (record.end, text)
    })
}
