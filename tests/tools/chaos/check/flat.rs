//! `flat`: what faults made this process use is given back.
//!
//! The median of the samples in the quiet spell at the end is compared with the one at the beginning, where the load is
//! the same: tasks, threads, sockets and memory. How much more is allowed stands in the bounds. Less is always fine. A
//! run whose quiet spells have fewer than [`bounds::SAMPLES`] samples does not count (`counts`).

use std::ops::Range;

use super::Verdict;
use super::bounds::{self, Bound};
use super::run::{Run, seconds};
use crate::record::{Micros, Record, Sample};

/// Reads one number of a sample.
type Read = fn(&Sample) -> u32;

/// What is compared: its name, how it is read, and what is allowed.
const ALL: [(&str, Read, Bound); 4] = [
    ("tasks", |sample| sample.tasks, bounds::TASKS),
    ("threads", |sample| sample.threads, bounds::THREADS),
    ("sockets", |sample| sample.sockets, bounds::SOCKETS),
    ("memory_kib", |sample| sample.kibibytes, bounds::MEMORY),
];

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let [first, last] = &run.record.quiet;
    for (name, of, bound) in ALL {
        let (before, after) = (median(run.record, first, of), median(run.record, last, of));
        let (Some(before), Some(after)) = (before, after) else {
            continue;
        };
        verdict.figure(name, u64::from(after));
        if after > before.saturating_add(bound.value) {
            verdict.add(last.start, &[], &[], || {
                let (unit, at) = (bound.unit.short(), seconds(last.start));
                format!(
                    "{name} were {before}{unit} in the quiet spell at the beginning and are {after}{unit} in the one \
                     from {at} on; {} more are allowed",
                    bound.value
                )
            });
        }
    }
}

pub(crate) fn samples<'a>(
    record: &'a Record,
    spell: &Range<Micros>,
) -> impl Iterator<Item = &'a Sample> {
    record.samples.iter().filter({
        let spell = spell.clone();
        move |sample| spell.contains(&sample.at)
    })
}

fn median(record: &Record, spell: &Range<Micros>, of: Read) -> Option<u32> {
    let mut values: Vec<u32> = samples(record, spell).map(of).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::super::forge::Forge;
    use super::super::{check, tests::only};
    use crate::record::Sample;

    /// Changes all samples of the quiet spell at the end.
    fn at_the_end(change: impl Fn(&mut Sample)) -> Forge {
        let mut forge = Forge::redis();
        let spell = forge.record.quiet[1].clone();
        let samples = forge.record.samples.iter_mut();
        samples
            .filter(|sample| spell.contains(&sample.at))
            .for_each(change);
        forge
    }

    #[test]
    fn what_grew_is_found() {
        let grown: [fn(&mut Sample); 4] = [
            |sample| sample.tasks += 9,
            |sample| sample.threads += 3,
            |sample| sample.sockets += 13,
            |sample| sample.kibibytes += 40_000,
        ];
        for grow in grown {
            only(&check(&at_the_end(grow).record), "flat", 1);
        }
    }

    #[test]
    fn a_little_more_and_anything_less_are_fine() {
        let forge = at_the_end(|sample| {
            sample.tasks += 8;
            sample.threads = 0;
            sample.kibibytes += 30_000;
        });
        only(&check(&forge.record), "flat", 0);
    }

    #[test]
    fn one_sample_that_stands_out_is_no_growth() {
        let mut forge = Forge::redis();
        forge.record.samples.last_mut().expect("some").sockets += 100;
        only(&check(&forge.record), "flat", 0);
    }
}
