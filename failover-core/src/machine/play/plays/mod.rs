//! All plays, by what befalls the group.

mod faults;
mod lies;
mod moves;
mod ordinary;
mod weather;

use super::script::Play;

pub(super) fn all() -> Vec<Play> {
    let all = [
        faults::plays(),
        lies::plays(),
        moves::plays(),
        ordinary::plays(),
        weather::plays(),
    ];
    all.into_iter().flatten().collect()
}

/// Moments at which something happens, so that it meets the ticks, the checks and the operations of the group in
/// different phases: so many, spread over a second.
fn phases(nightly: bool, few: u64, many: u64) -> impl Iterator<Item = u64> {
    let count = if nightly { many } else { few };
    (0..count).map(move |index| 5000 + index * 1000 / count + index % 7)
}
