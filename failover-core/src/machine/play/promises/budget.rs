//! The budget of moves: a move away from an active that fails but still accepts dials costs one. Whoever swaps for ever
//! runs out of it.

use super::super::record::Record;
use super::{Found, MOVES, millis};
use crate::machine::{News, Reason};

/// When a move that cost was made, and where from.
fn moves(record: &Record) -> impl Iterator<Item = (u64, u32)> + '_ {
    record.news().filter_map(|(at, news)| match news {
        News::Switched {
            from: Some(from),
            to,
            reason: Reason::Lost | Reason::Health | Reason::Breaker,
            ..
        } if from != to => {
            // Refusing ends at the move at the earliest: what held just before counts.
            let accepts = |id: u32| {
                record
                    .before(at)
                    .map(|fact| fact.members[id as usize].accepts)
            };
            accepts(from.0).unwrap_or(false).then_some((at, from.0))
        }
        _ => None,
    })
}

/// How many moves that cost the budget permits at a time, those before it taken off.
fn balance(record: &Record, until: u64) -> (i64, Option<u64>) {
    let stable = millis(record.rules.failback.stable).max(1);
    let grace = millis(record.rules.failback.grace).max(1);
    let most = i64::try_from(MOVES).unwrap_or(i64::MAX);
    let mut tokens = most;
    let mut broken = None;
    let mut last = 0;
    let earn = |tokens: i64, from: u64, to: u64| {
        let quiet = (to - from) / stable;
        let slow = to / grace - from / grace;
        let more = i64::try_from(quiet.max(slow)).unwrap_or(i64::MAX);
        tokens.saturating_add(more).min(most)
    };
    for (at, _) in moves(record).filter(|(at, _)| *at <= until) {
        tokens = earn(tokens, last, at) - 1;
        last = at;
        if tokens < 0 && broken.is_none() {
            broken = Some(at);
        }
    }
    (earn(tokens, last, until.max(last)), broken)
}

/// What is left at a time.
pub(super) fn left(record: &Record, at: u64) -> i64 {
    balance(record, at).0
}

pub(super) fn budget(record: &Record) -> Found {
    let at = balance(record, record.end).1?;
    let count = moves(record).filter(|(when, _)| *when <= at).count();
    let text = format!("{count} moves away from members that accept dials");
    Some((at, text))
}
