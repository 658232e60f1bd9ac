//! From numbers in the order of their arrival to what was lost, doubled and out of order. Pure: no clock, no network.
//!
//! **Lost**: published, and never received until two seconds after the end. Published means that the plain client took it
//! and its server has handled it, or was killed before.
//! **Duplicated**: each arrival of a number that had arrived before.
//! **Reordered**: each first arrival of a number below the highest so far.

use std::ops::Range;

/// What became of the numbers `0..published`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    pub(super) lost: Vec<u64>,
    pub(super) duplicated: Vec<u64>,
    pub(super) reordered: Vec<u64>,
    /// Different numbers that arrived.
    pub(super) received: u64,
}

impl Ledger {
    pub(super) fn of(published: u64, arrivals: impl IntoIterator<Item = u64>) -> Self {
        let mut ledger = Self::default();
        // A number beyond can only be one that was given up at the very end, and was sent all the same.
        let mut seen = vec![false; usize::try_from(published).unwrap_or(usize::MAX)];
        let mut highest = None;
        for number in arrivals {
            let place = usize::try_from(number)
                .ok()
                .and_then(|number| seen.get_mut(number));
            let Some(seen) = place else { continue };
            if std::mem::replace(seen, true) {
                ledger.duplicated.push(number);
                continue;
            }
            ledger.received += 1;
            if highest > Some(number) {
                ledger.reordered.push(number);
            }
            highest = highest.max(Some(number));
        }
        let lost = (0..published).zip(&seen).filter(|(_, seen)| !**seen);
        ledger.lost = lost.map(|(number, _)| number).collect();
        ledger
    }
}

/// Numbers that follow one another, as ranges.
pub(super) fn ranges(numbers: &[u64]) -> Vec<Range<u64>> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for number in sorted {
        match ranges.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => ranges.push(number..number + 1),
        }
    }
    ranges
}
