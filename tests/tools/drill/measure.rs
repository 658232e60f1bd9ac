//! From recorded calls to figures. No clock here: all times are handed in.
//!
//! **Gap of a fault**: from the moment before the fault is caused to the end of the first successful call that another
//! member answered. The servers say who they are, so a late answer of the old one cannot be taken for it. It holds
//! everything: noticing, proving, moving, and the call itself.
//!
//! **Gap of an outage**: the same to the first successful call of anybody after all servers had been down; the 3 s of
//! the outage are part of it.
//!
//! **Gap of a planned move**: nothing is down here, so it is a pause between two successful calls: the longest that
//! touches the time from the order to the first answer of another member. With a call every millisecond, calm shows
//! about a millisecond too; what this machine shows in calm is reported beside it.

use std::time::{Duration, Instant};

use crate::calls::Call;

/// From `fault` to the first success that is not `old`'s.
pub(crate) fn until_served_elsewhere(
    calls: &[Call],
    fault: Instant,
    old: usize,
) -> Option<Duration> {
    first_elsewhere(calls, fault, old).map(|end| end - fault)
}

/// The longest pause that touches the time from `order` to the first success after it that is not `old`'s.
pub(crate) fn pause_around_move(calls: &[Call], order: Instant, old: usize) -> Option<Duration> {
    let moved = first_elsewhere(calls, order, old)?;
    pauses(calls)
        .filter(|(begin, end)| *end > order && *begin < moved)
        .map(|(begin, end)| end - begin)
        .max()
}

/// The longest pause within the time from `from` to `to`.
pub(crate) fn longest_pause(calls: &[Call], from: Instant, to: Instant) -> Option<Duration> {
    pauses(calls)
        .filter(|(begin, end)| *begin >= from && *end <= to)
        .map(|(begin, end)| end - begin)
        .max()
}

/// From `fault` to the first success after `revived`.
pub(crate) fn until_served_again(
    calls: &[Call],
    fault: Instant,
    revived: Instant,
) -> Option<Duration> {
    first_end(calls, revived, |_| true).map(|end| end - fault)
}

fn first_end(calls: &[Call], after: Instant, which: impl Fn(usize) -> bool) -> Option<Instant> {
    let good = |call: &&Call| call.answer.as_ref().is_ok_and(|member| which(*member));
    let late = calls
        .iter()
        .filter(good)
        .map(|call| call.ended)
        .filter(|end| *end > after);
    late.min()
}

fn first_elsewhere(calls: &[Call], after: Instant, old: usize) -> Option<Instant> {
    first_end(calls, after, |member| member != old)
}

/// From each successful call to the next, by when they ended.
fn pauses(calls: &[Call]) -> impl Iterator<Item = (Instant, Instant)> {
    let good = calls.iter().filter(|call| call.answer.is_ok());
    let mut ends: Vec<Instant> = good.map(|call| call.ended).collect();
    ends.sort_unstable();
    let next = ends.clone().into_iter().skip(1);
    ends.into_iter().zip(next)
}

/// Several measurements of the same thing.
#[derive(Clone, Debug)]
pub(crate) struct Spread {
    sorted: Vec<Duration>,
}

impl Spread {
    pub(crate) fn of(values: impl IntoIterator<Item = Duration>) -> Self {
        let mut sorted: Vec<_> = values.into_iter().collect();
        sorted.sort_unstable();
        Self { sorted }
    }

    /// The smallest value that at least so many percent of all do not exceed (the nearest rank: always a value that was
    /// measured, and of few values the 99th percentile is the largest). Zero of none.
    pub(crate) fn percentile(&self, percent: usize) -> Duration {
        let rank = (self.sorted.len() * percent).div_ceil(100).max(1);
        self.sorted.get(rank - 1).copied().unwrap_or_default()
    }

    pub(crate) fn max(&self) -> Duration {
        self.sorted.last().copied().unwrap_or_default()
    }
}
