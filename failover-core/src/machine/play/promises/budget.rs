//! The budget of moves: a move away from an active that fails but still accepts dials costs one. Whoever swaps for ever
//! runs out of it.

use super::super::record::Record;
use super::{Found, MOVES, millis};
use crate::machine::{News, Reason};

/// When each move that cost was made.
fn moves(record: &Record) -> impl Iterator<Item = u64> + '_ {
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
            accepts(from.0).unwrap_or(false).then_some(at)
        }
        _ => None,
    })
}

/// The account of a group.
pub(super) struct Budget {
    /// What was left after each move that cost.
    moves: Vec<(u64, i64)>,
    stable: u64,
    grace: u64,
}

impl Budget {
    pub(super) fn of(record: &Record) -> Self {
        let mut budget = Self {
            moves: Vec::new(),
            stable: millis(record.rules.failback.stable).max(1),
            grace: millis(record.rules.failback.grace).max(1),
        };
        for at in moves(record) {
            let left = budget.left(at) - 1;
            budget.moves.push((at, left));
        }
        budget
    }

    /// What is left at a time.
    pub(super) fn left(&self, at: u64) -> i64 {
        let before = self.moves.partition_point(|(when, _)| *when <= at);
        let last = before
            .checked_sub(1)
            .and_then(|index| self.moves.get(index));
        let (from, left) = last.copied().unwrap_or((0, MOVES));
        let quiet = (at - from) / self.stable;
        let slow = at / self.grace - from / self.grace;
        let more = i64::try_from(quiet.max(slow)).unwrap_or(MOVES);
        left.saturating_add(more).min(MOVES)
    }
}

pub(super) fn budget(record: &Record) -> Found {
    let account = Budget::of(record);
    let index = account.moves.iter().position(|(_, left)| *left < 0)?;
    let (at, _) = account.moves[index];
    let text = format!("move {} away from a member that accepts dials", index + 1);
    Some((at, text))
}
