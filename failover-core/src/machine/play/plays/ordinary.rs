//! What every group lives through, and should live through well. The timetables stand at the head of
//! [`play`](super::super).

use super::super::host::{Ask, Host, Way};
use super::super::script::{App, Case, Change, Play};
use super::faults::rolled;

pub(super) fn plays() -> Vec<Play> {
    let play = |name, cases| Play {
        name,
        cases,
        failing: None,
    };
    vec![
        play("a quiet day", quiet),
        play("a rolling restart, 30 s apart", |night| {
            rolling(night, 30_000)
        }),
        play("a rolling restart, 4 s apart", |night| rolling(night, 4000)),
        play("a stall of 700 ms every 10 s", stalls),
        play("both members slow", slow),
        play("this process frozen for 20 s", frozen),
        play("this process blocked often", blocked),
        play("a sentinel failover of 12 s", sentinel),
    ]
}

fn quiet(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for weights in [&[1.0][..], &[2.0, 1.0], &[3.0, 2.0, 1.0]] {
        for seed in 0..if nightly { 10 } else { 2 } {
            let case = Case::of(weights).named(format!("{} members, seed {seed}", weights.len()));
            cases.push(case.with(|case| case.seed = seed).long(60_000));
        }
    }
    cases
}

fn rolling(nightly: bool, apart: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for weights in [&[1.0, 1.0, 1.0][..], &[3.0, 2.0, 1.0]] {
        for away in [200, 1000, 2500] {
            for seed in 0..if nightly { 20 } else { 3 } {
                let name = format!("weights {weights:?}, away {away} ms, seed {seed}");
                let mut case = Case::of(weights).named(name).with(|case| {
                    case.seed = seed;
                    case.app = App::every(100);
                });
                for (host, at) in (0..3).zip((5000..).step_by(usize::try_from(apart).unwrap_or(1)))
                {
                    case = rolled(case, host, at, away);
                }
                cases.push(case.long(5000 + 3 * apart + 20_000));
            }
        }
    }
    cases
}

fn stalls(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (app, how) in [("busy", App::every(20)), ("slow", App::every(500))] {
        for phase in (0..1000).step_by(if nightly { 20 } else { 200 }) {
            for both in [false, true] {
                let mut case = Case::of(&[2.0, 1.0])
                    .named(format!("{app}, phase {phase} ms, both {both}"))
                    .with(|case| case.app = how.clone());
                for at in (5000 + phase..60_000).step_by(10_000) {
                    for host in 0..=usize::from(both) {
                        case = case
                            .at(at, Change::Freeze(host))
                            .at(at + 700, Change::Thaw(host));
                    }
                }
                cases.push(case.long(60_000));
            }
        }
    }
    cases
}

fn slow(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (app, how) in [("busy", App::every(50)), ("slow", App::every(500))] {
        for seed in 1..=if nightly { 50 } else { 5 } {
            let case = Case::of(&[2.0, 1.0]).named(format!("{app}, seed {seed}"));
            cases.push(
                case.with(|case| {
                    case.seed = seed;
                    case.app = how.clone();
                    for host in &mut case.hosts {
                        host.round = 200;
                        host.loss = 5;
                    }
                })
                .long(60_000),
            );
        }
    }
    cases
}

fn frozen(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for engine_first in [true, false] {
        for phase in (0..1000).step_by(if nightly { 20 } else { 125 }) {
            let case = Case::of(&[2.0, 1.0])
                .named(format!("phase {phase} ms, engine first {engine_first}"))
                .with(|case| case.engine_first = engine_first);
            cases.push(case.at(5000 + phase, Change::Stop(20_000)).long(40_000));
        }
    }
    cases
}

fn blocked(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for engine_first in [true, false] {
        for every in [400, 700, 1000, 3000] {
            for phase in (0..300).step_by(if nightly { 20 } else { 100 }) {
                let mut case = Case::of(&[2.0, 1.0])
                    .named(format!(
                        "every {every} ms, phase {phase} ms, engine first {engine_first}"
                    ))
                    .with(|case| {
                        case.engine_first = engine_first;
                        case.app = App::every(50);
                    });
                for at in (5000 + phase..30_000).step_by(every) {
                    case = case.at(at, Change::Stop(300));
                }
                cases.push(case.long(35_000));
            }
        }
    }
    cases
}

/// m0 is a master behind sentinels. Its backend holds the connection while they fail over, and nothing is served.
fn sentinel(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (app, how) in [("busy", App::every(50)), ("slow", App::every(500))] {
        for phase in (0..1000).step_by(if nightly { 50 } else { 250 }) {
            let mut case = Case::of(&[2.0, 1.0])
                .named(format!("{app}, phase {phase} ms"))
                .with(|case| {
                    case.app = how.clone();
                    case.hosts = vec![Host::new(), Host::new()];
                });
            for ask in [Ask::Read, Ask::Write] {
                case = case.at(5000 + phase, Change::Take(0, ask, Way::Waits));
                case = case.at(17_000 + phase, Change::Take(0, ask, Way::Well(0)));
            }
            cases.push(case.long(30_000));
        }
    }
    cases
}
