//! The plan, as numbers: what every seed must give.

use std::collections::BTreeMap;

use super::*;
use crate::kinds::ALL;

const TARGETS: [Target; 4] = [Target::Redis, Target::Fred, Target::Nats, Target::Pair];
const TEN_MINUTES: Micros = 600_000 * MILLI;

fn counts(plan: &[Planned]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for fault in plan {
        *counts.entry(fault.kind.name()).or_default() += 1;
    }
    counts
}

#[test]
fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
    for target in TARGETS {
        let kinds = FaultKind::of(target);
        let first = plan(7, &kinds, target, TEN_MINUTES);
        assert_eq!(first, plan(7, &kinds, target, TEN_MINUTES));
        assert_ne!(first, plan(8, &kinds, target, TEN_MINUTES));
    }
}

#[test]
fn ten_minutes_have_each_kind_at_least_five_times() {
    for target in TARGETS {
        let kinds = FaultKind::of(target);
        for seed in 0..50 {
            let counts = counts(&plan(seed, &kinds, target, TEN_MINUTES));
            for kind in &kinds {
                let count = counts.get(kind.name()).copied().unwrap_or_default();
                assert!(
                    count >= 5,
                    "{target:?}, seed {seed}: {kind:?} {count} times"
                );
            }
        }
    }
}

#[test]
fn one_minute_has_half_a_dozen_kinds_as_often() {
    use FaultKind as K;
    let kinds = [
        K::Kill,
        K::Freeze,
        K::Cut,
        K::ClientKill,
        K::Reload,
        K::Move,
    ];
    for seed in 0..50 {
        let counts = counts(&plan(seed, &kinds, Target::Redis, 60_000 * MILLI));
        for kind in kinds {
            let count = counts.get(kind.name()).copied().unwrap_or_default();
            assert!(count >= 5, "seed {seed}: {kind:?} {count} times");
        }
    }
}

#[test]
fn only_the_kinds_that_were_asked_for_come() {
    let kinds = [FaultKind::Kill, FaultKind::Move];
    let counts = counts(&plan(1, &kinds, Target::Nats, TEN_MINUTES));
    assert_eq!(Vec::from_iter(counts.keys().copied()), ["kill", "move"]);
    assert!(plan(1, &[], Target::Nats, TEN_MINUTES).is_empty());
}

#[test]
fn both_ends_are_quiet_and_faults_last_as_long_as_their_kind_may() {
    for length in [10_000 * MILLI, 60_000 * MILLI, TEN_MINUTES] {
        let quiet = quiet(length);
        assert!(quiet >= 2000 * MILLI, "{length}");
        for seed in 0..20 {
            for fault in plan(seed, &ALL, Target::Nats, length) {
                let (_, most) = fault.kind.lasts();
                assert!(fault.begin >= quiet && fault.end <= length - quiet);
                assert!(fault.begin < fault.end && fault.end - fault.begin <= most * MILLI);
            }
        }
    }
}

#[test]
fn a_member_suffers_one_fault_at_a_time_and_several_members_at_the_same_time() {
    let kinds = FaultKind::of(Target::Nats);
    let plan = plan(3, &kinds, Target::Nats, TEN_MINUTES);
    let mut together = 0;
    for (place, fault) in plan.iter().enumerate() {
        for later in &plan[place + 1..] {
            let overlap = later.begin < fault.end;
            assert!(
                !(overlap && later.member == fault.member),
                "{fault:?} and {later:?}"
            );
            together += usize::from(overlap);
        }
    }
    assert!(together > 50, "{together}");
}

/// The time for which every member has a fault.
#[test]
fn members_are_never_all_hurt_for_long() {
    for target in TARGETS {
        for seed in 0..4 {
            let plan = plan(seed, &FaultKind::of(target), target, TEN_MINUTES);
            let step = 50 * MILLI;
            let (mut longest, mut lasting) = (0, 0);
            for at in (0..TEN_MINUTES).step_by(step as usize) {
                let hurt = |member| {
                    plan.iter()
                        .any(|f| f.member == Some(member) && (f.begin..f.end).contains(&at))
                };
                let all = (0..target.members()).all(hurt);
                lasting = if all { lasting + step } else { 0 };
                longest = longest.max(lasting);
            }
            assert!(
                longest <= ALL_HURT + step,
                "{target:?}, seed {seed}: {longest}"
            );
            assert!(longest > 0, "{target:?}, seed {seed}: never");
        }
    }
}
