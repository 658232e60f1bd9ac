//! Tries all cases of a play, and finds the shortest history of each promise that is broken.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::promises::{Promise, check, first};
use super::script::{Case, Play};
use super::stage::play;

/// What came of a play.
pub(super) struct Report {
    pub(super) histories: usize,
    /// Each broken promise: how many histories break it, and the shortest.
    pub(super) broken: BTreeMap<Promise, (usize, String)>,
}

/// The measure of a history: the fewest changes, and then the shortest time.
type Length = (usize, u64);

pub(super) fn explore(one: &Play, nightly: bool) -> Report {
    let cases = (one.cases)(nightly);
    let mut shortest: BTreeMap<Promise, (usize, Length, &Case)> = BTreeMap::new();
    for case in &cases {
        let record = play(case);
        for breach in check(&record, one.failing) {
            let changes = case.script.iter().filter(|(at, _)| *at <= breach.at);
            let length = (changes.count(), breach.at);
            shortest
                .entry(breach.promise)
                .and_modify(|(times, best, which)| {
                    *times += 1;
                    if length < *best {
                        (*best, *which) = (length, case);
                    }
                })
                .or_insert((1, length, case));
        }
    }
    let broken = shortest
        .into_iter()
        .map(|(promise, (times, _, case))| {
            let history = history(&shrunk(case, promise, one.failing), promise, one.failing);
            (promise, (times, history))
        })
        .collect();
    Report {
        histories: cases.len(),
        broken,
    }
}

/// The case without every change that its breach does not need, and without what comes after it.
pub(super) fn shrunk(case: &Case, promise: Promise, failing: Option<u64>) -> Case {
    let broken = |case: &Case| first(promise, &play(case), failing);
    let mut best = case.clone();
    let Some(breach) = broken(&best) else {
        return best;
    };
    best.script.retain(|(at, _)| *at <= breach.at);
    let mut index = 0;
    while index < best.script.len() {
        let mut less = best.clone();
        less.script.remove(index);
        if broken(&less).is_some() {
            best = less;
        } else {
            index += 1;
        }
    }
    best
}

fn history(case: &Case, promise: Promise, failing: Option<u64>) -> String {
    let record = play(case);
    let mut text = format!("  case: {}\n", case.name);
    if let Some(breach) = first(promise, &record, failing) {
        text.push_str(&record.until(breach.at).timetable());
        let (seconds, millis) = (breach.at / 1000, breach.at % 1000);
        let _ = writeln!(
            text,
            "    {seconds:>4}.{millis:03} s  BROKEN: {}",
            breach.text
        );
    }
    text
}
