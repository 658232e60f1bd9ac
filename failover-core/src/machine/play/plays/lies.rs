//! Servers that are not what they seem: they answer some requests and not others, end connections, drip, or answer on one
//! connection and not on another.

use super::super::host::{Ask, Way};
use super::super::script::{App, Case, Change, Play};
use super::phases;
use crate::machine::Failure;

pub(super) fn plays() -> Vec<Play> {
    let play = |name, cases| Play {
        name,
        cases,
        failing: None,
    };
    vec![
        play("connections that end after k operations", wears_out),
        play(
            "a server that closes on every operation",
            closes_on_operations,
        ),
        play("published and closed untold", closes_untold),
        play("a poisoned client", poisoned),
        play("a member that only answers dials", only_dials),
        play("operations that are never answered", no_answers),
        play("operations that are refused", refused),
        play("writes that hang", writes_hang),
        play("a dripping connection", drips),
        play("a half-open connection", half_open),
        play("checks that fail under traffic", strained),
    ]
}

/// One writer, a few, or readers beside them.
fn apps() -> [(&'static str, App); 3] {
    let fast = App {
        workers: 4,
        ..App::every(50)
    };
    let mixed = App {
        reads: 2,
        ..App::every(100)
    };
    [
        ("one writer", App::every(500)),
        ("four writers at 50 ms", fast),
        ("a reader and writer at 100 ms", mixed),
    ]
}

/// Something befalls the active at different moments, under different applications.
fn on_active(
    nightly: bool,
    weights: &[f64],
    what: &str,
    change: impl Fn(Case, u64) -> Case,
) -> Vec<Case> {
    let mut cases = Vec::new();
    for (app, how) in apps() {
        for at in phases(nightly, 4, 40) {
            let case = Case::of(weights)
                .named(format!("{what}, {app}, at {at} ms"))
                .with(|case| case.app = how.clone());
            cases.push(change(case, at));
        }
    }
    cases
}

fn wears_out(nightly: bool) -> Vec<Case> {
    [1, 2, 5, 20]
        .into_iter()
        .flat_map(|most| {
            on_active(
                nightly,
                &[2.0, 1.0],
                &format!("after {most}"),
                |case, at| case.at(at, Change::Endures(0, Some(most))).long(30_000),
            )
        })
        .collect()
}

fn closes_on_operations(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for replay in [false, true] {
        let name = format!("replay {replay}");
        cases.extend(on_active(nightly, &[2.0, 1.0], &name, |case, at| {
            case.at(at, Change::Take(0, Ask::Read, Way::Closes))
                .at(at, Change::Take(0, Ask::Write, Way::Closes))
                .with(|case| case.app.replay = replay)
                .long(30_000)
        }));
    }
    cases
}

fn closes_untold(nightly: bool) -> Vec<Case> {
    on_active(nightly, &[2.0, 1.0], "every write", |case, at| {
        case.at(at, Change::Take(0, Ask::Write, Way::ClosesUntold))
            .with(|case| case.app.pace = case.app.pace.min(100))
    })
}

/// The fault is this client's, wherever it goes: the group must not swap for ever.
fn poisoned(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let ways = [Way::Closes, Way::Never, Way::Badly(Failure::Unhealthy)];
    for way in ways {
        for (app, how) in apps() {
            for replay in [false, true] {
                for weights in [&[2.0, 1.0][..], &[3.0, 2.0, 1.0]] {
                    let case = Case::of(weights)
                        .named(format!(
                            "{way:?}, {app}, {} members, replay {replay}",
                            weights.len()
                        ))
                        .with(|case| {
                            case.app = how.clone();
                            case.app.poison = Some(way);
                            case.app.replay = replay;
                        });
                    cases.push(case.long(if nightly { 300_000 } else { 90_000 }));
                }
            }
        }
    }
    cases
}

fn only_dials(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    // The standby lies, and the active dies; or the active itself does.
    for liar in [0, 1] {
        for at in phases(nightly, 4, 40) {
            let mut case = Case::of(&[3.0, 2.0, 1.0]).named(format!("m{liar} lies, at {at} ms"));
            for ask in [
                Ask::Prove,
                Ask::Check,
                Ask::Read,
                Ask::Write,
                Ask::Arm,
                Ask::Promote,
            ] {
                case = case.at(at - 2000, Change::Take(liar, ask, Way::Never));
            }
            cases.push(case.at(at, Change::Kill(0)).at(at + 1000, Change::Start(0)));
        }
    }
    cases
}

fn no_answers(nightly: bool) -> Vec<Case> {
    on_active(nightly, &[2.0, 1.0], "unanswered", |case, at| {
        case.at(at, Change::Take(0, Ask::Read, Way::Never))
            .at(at, Change::Take(0, Ask::Write, Way::Never))
    })
}

fn refused(nightly: bool) -> Vec<Case> {
    let way = Way::Badly(Failure::Unhealthy);
    on_active(nightly, &[2.0, 1.0], "refused", |case, at| {
        case.at(at, Change::Take(0, Ask::Read, way))
            .at(at, Change::Take(0, Ask::Write, way))
    })
}

/// Writes are paused, and so is everything behind them on their connection. A ping on a new one is answered.
fn writes_hang(nightly: bool) -> Vec<Case> {
    on_active(nightly, &[2.0, 1.0], "paused", |case, at| {
        case.at(at, Change::Take(0, Ask::Write, Way::Blocks))
            .with(|case| case.app.reads = 0)
    })
}

/// A large answer is on its way. Proofs and checks wait behind it, and bytes arrive all the while.
fn drips(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for long in [600, 1000, 2500] {
        for every in [5, 11] {
            for (app, how) in apps() {
                let odd = Some((every, Way::Drips(long)));
                let case = Case::of(&[2.0, 1.0])
                    .named(format!("{long} ms, every {every}th, {app}"))
                    .with(|case| case.app = App { odd, ..how.clone() });
                cases.push(case.long(if nightly { 60_000 } else { 20_000 }));
            }
        }
    }
    cases
}

/// One bad check: whoever has the traffic fails it, and whoever has none passes it.
fn strained(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for weights in [&[2.0, 1.0][..], &[1.0, 1.0], &[3.0, 2.0, 1.0]] {
        let name = format!("weights {weights:?}");
        cases.extend(on_active(nightly, weights, &name, |mut case, at| {
            for host in 0..weights.len() {
                case = case.at(at, Change::Strain(host));
            }
            case.long(60_000)
        }));
    }
    cases
}

fn half_open(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for weights in [&[1.0][..], &[2.0, 1.0]] {
        let name = format!("{} members", weights.len());
        cases.extend(on_active(nightly, weights, &name, |case, at| {
            case.at(at, Change::Sever(0))
        }));
    }
    for at in phases(nightly, 4, 40) {
        let standby = Case::of(&[2.0, 1.0]).named(format!("the standby's, at {at} ms"));
        cases.push(standby.at(at, Change::Sever(1)));
        let later = Case::of(&[2.0, 1.0])
            .named(format!("the standby's, and then the active dies, {at} ms"));
        cases.push(later.at(at, Change::Sever(1)).at(at + 300, Change::Kill(0)));
    }
    cases
}
