//! `counts`: whether the run says anything. A run that did too little or met too few faults breaks no promise, but it does
//! not count as one that kept them.
//!
//! A run counts if it did [`bounds::OPERATIONS`] a second over its whole length, was done [`bounds::FAULTS`] faults of each
//! kind that was asked for, has [`bounds::SAMPLES`] samples in each quiet spell, and gives its consumers the time that `lost`
//! asks for.

use super::run::Run;
use super::{bounds, flat, lost};
use crate::record::{Delivery, Record};

/// Why the run does not count. Empty if it does.
pub(crate) fn reasons(run: &Run<'_>) -> Vec<String> {
    let record = run.record;
    let mut reasons = Vec::new();
    let rate = operations_per_second(record);
    if rate < u64::from(bounds::OPERATIONS.value) {
        let least = bounds::OPERATIONS.value;
        reasons.push(format!(
            "{rate} operations a second; at least {least} are needed"
        ));
    }
    let least = bounds::FAULTS.value as usize;
    for kind in &record.asked {
        let faults = record.faults.iter().filter(|fault| fault.kind == *kind);
        let count = faults.count();
        if count < least {
            reasons.push(format!(
                "{count} faults of the kind {kind}; at least {least} are needed"
            ));
        }
    }
    let least = bounds::SAMPLES.value as usize;
    for (name, spell) in ["beginning", "end"].into_iter().zip(&record.quiet) {
        let count = flat::samples(record, spell).count();
        if count < least {
            reasons.push(format!(
                "{count} samples in the quiet spell at the {name}; at least {least} are needed"
            ));
        }
    }
    let consumers = record.heard.iter();
    let consumers = consumers.filter(|heard| heard.delivery == Delivery::Consumer);
    if consumers
        .filter(|heard| !lost::hears_again(record, heard))
        .count()
        > 0
    {
        reasons.push(
            "the quiet spell at the end is too short for a message to come again to a consumer"
                .to_owned(),
        );
    }
    reasons
}

pub(crate) fn operations(record: &Record) -> u64 {
    record.workers.iter().map(|log| log.len() as u64).sum()
}

pub(crate) fn operations_per_second(record: &Record) -> u64 {
    operations(record) * 1_000_000 / u64::from(record.length.max(1))
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::super::forge::{Forge, S};

    #[test]
    fn a_run_counts_if_it_did_enough() {
        let mut forge = Forge::redis();
        assert!(check(&forge.record).discounted.is_empty());
        forge.record.asked = vec!["freeze"];
        for step in 0..4 {
            forge.fault("freeze", Some(0), (7 + step) * S..(7 + step) * S + 1);
        }
        assert_eq!(
            check(&forge.record).discounted,
            ["4 faults of the kind freeze; at least 5 are needed"]
        );
        forge.fault("freeze", Some(1), 12 * S..12 * S + 1);
        assert!(check(&forge.record).discounted.is_empty());
    }

    #[test]
    fn too_little_work_and_no_quiet_spell_do_not_count() {
        let mut forge = Forge::redis();
        forge.record.samples.clear();
        forge.remove(4 * S..16 * S);
        let findings = check(&forge.record);
        assert_eq!(findings.violations(), 0);
        assert!(!findings.passed());
        assert_eq!(findings.discounted.len(), 3, "{:?}", findings.discounted);
    }
}
