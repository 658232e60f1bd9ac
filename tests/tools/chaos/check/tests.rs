//! The checker as a whole: valid records are valid, each kind of corruption is found, and size is no matter.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::forge::{Forge, MS, S};
use super::random::{Dice, corruptions, valid};
use super::{EXAMPLES, Findings, check};
use crate::record::{Delivery, Kind, Operation, OperationId, Outcome, Target};

/// This promise is broken so often, and no other one is.
pub(super) fn only(findings: &Findings, promise: &str, count: u64) {
    for (name, verdict) in &findings.promises {
        let expected = if *name == promise { count } else { 0 };
        assert_eq!(verdict.count, expected, "{name}: {:#?}", verdict.examples);
    }
}

#[test]
fn a_calm_run_keeps_every_promise() {
    for forge in [Forge::redis(), Forge::nats(), Forge::pair()] {
        let findings = check(&forge.record);
        only(&findings, "kept", 0);
        assert!(findings.discounted.is_empty(), "{:?}", findings.discounted);
    }
}

#[test]
fn every_promise_has_a_corruption() {
    for (promise, _) in super::PROMISES {
        let known = corruptions().iter().any(|(name, _)| name == promise);
        assert!(known, "{promise}");
    }
}

#[test]
fn only_the_first_violations_are_described() {
    let mut forge = Forge::redis();
    for step in 0..100 {
        forge.operation(6 * S + step * MS, MS, Kind::Read, Outcome::Wrong);
    }
    let findings = check(&forge.record);
    only(&findings, "answers", 100);
    let (_, verdict) = findings
        .promises
        .iter()
        .find(|(name, _)| *name == "answers")
        .expect("it");
    assert_eq!(verdict.examples.len(), EXAMPLES);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_record_has_no_violation(seed: u64) {
        let forge = valid(&mut Dice::new(seed));
        let findings = check(&forge.record);
        for (name, verdict) in &findings.promises {
            prop_assert_eq!(verdict.count, 0, "{}: {:#?}", name, verdict.examples);
        }
    }

    #[test]
    fn one_corruption_is_found_by_its_promise(seed: u64, which in 0..corruptions().len()) {
        let mut dice = Dice::new(seed);
        let mut forge = valid(&mut dice);
        let (promise, corrupt) = corruptions()[which];
        corrupt(&mut forge, &mut dice);
        prop_assert!(check(&forge.record).of(promise) > 0, "{} did not see it", promise);
    }
}

/// Ten minutes of sixteen workers and one subscription; every thousandth write fails.
fn large(operations: u32) -> Forge {
    const WORKERS: u16 = 16;
    let length = 600 * S;
    let mut forge = Forge::of(Target::Redis, length);
    forge.record.workers.clear();
    forge.record.applied.clear();
    let each = operations / u32::from(WORKERS);
    let every = length / each;
    for worker in 0..WORKERS {
        let log = (0..each).map(|number| Operation {
            begun: number * every,
            took: every / 2,
            kind: if worker == 0 {
                Kind::Publish
            } else {
                Kind::Write
            },
            outcome: if number % 1000 == 999 && worker > 0 {
                Outcome::NotApplied
            } else {
                Outcome::Right
            },
        });
        forge.worker(log.collect());
    }
    forge.subscribe(Delivery::AtMostOnce, Kind::Publish, 0..1);
    forge
}

/// `CHAOS_OPERATIONS` asks for more than what suits every day.
#[test]
fn a_large_record_takes_little_memory_and_time() {
    let operations = std::env::var("CHAOS_OPERATIONS").map_or(Ok(300_000), |count| count.parse());
    let operations: u32 = operations.expect("CHAOS_OPERATIONS is a number");
    let mut forge = large(operations);
    // Broken everywhere: that is the most work.
    forge.record.applied[1].fill(2);
    let begun = Instant::now();
    let mut found = 0;
    let used = allocation_counter::measure(|| found = check(&forge.record).of("doubled"));
    let took = begun.elapsed();
    println!(
        "{operations} operations: {took:.2?}, {} KiB at most",
        used.bytes_max / 1024
    );
    assert_eq!(found, u64::from(operations / 16));
    // Ten minutes in slots, and a few bytes an operation.
    assert!(
        used.bytes_max < 4_000_000 + 4 * u64::from(operations),
        "{}",
        used.bytes_max
    );
    assert!(took < Duration::from_micros(10) * operations, "{took:?}");
}

#[test]
fn an_id_that_does_not_exist_harms_nothing() {
    let mut forge = Forge::nats();
    let nobodys = OperationId {
        worker: u16::MAX,
        number: u32::MAX,
    };
    for heard in &mut forge.record.heard {
        heard.messages.push((S, nobodys));
    }
    only(&check(&forge.record), "answers", 4);
}
