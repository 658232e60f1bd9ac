//! What operators ask for, at bad moments.

use super::super::script::{App, Call, Case, Change, Play};
use super::phases;

pub(super) fn plays() -> Vec<Play> {
    let play = |name, cases| Play {
        name,
        cases,
        failing: None,
    };
    vec![
        play("a move to a member that is being proven", proving),
        play("moves while servers die", dying),
        play("moves while this process is blocked", blocked),
        play("a drain with long operations", draining),
    ]
}

/// m1's connection ends, and is made anew; the move is asked for a few milliseconds later.
fn proving(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let step = if nightly { 1 } else { 5 };
    for after in (0..200).step_by(step) {
        let case = Case::of(&[2.0, 1.0]).named(format!("after {after} ms"));
        let case = case
            .with(|case| case.hosts[1].round = 20)
            .at(5000, Change::Reset(1));
        cases.push(case.at(5000 + after, Change::Call(Call::SwitchTo(1))));
    }
    cases
}

fn dying(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let step = if nightly { 1 } else { 4 };
    for host in [0, 1] {
        for after in (0..40).step_by(step) {
            let case = Case::of(&[2.0, 1.0]).named(format!("server {host} after {after} ms"));
            let case = case.with(|case| {
                case.hosts[0].round = 10;
                case.hosts[1].round = 10;
            });
            let case = case.at(5000, Change::Call(Call::DrainTo(1, 1000)));
            let case = case.at(5000 + after, Change::Kill(host));
            let frozen = case
                .clone()
                .named(format!("{}, frozen", case.name))
                .with(|case| {
                    case.script.pop();
                });
            cases.push(case.at(8000, Change::Start(host)));
            let frozen = frozen.at(5000 + after, Change::Freeze(host));
            cases.push(frozen.at(12_000, Change::Thaw(host)));
            let disable =
                Case::of(&[2.0, 1.0]).named(format!("disable, server {host} after {after} ms"));
            let disable = disable.at(5000, Change::Call(Call::Disable(0)));
            cases.push(disable.at(5000 + after, Change::Reset(host)));
        }
    }
    cases
}

/// Operations take a while, and this process is blocked just when their connection is to end.
fn blocked(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let step = if nightly { 5 } else { 20 };
    for engine_first in [true, false] {
        for after in (0..120).step_by(step) {
            for long in [120, 300] {
                let case = Case::of(&[2.0, 1.0])
                    .named(format!(
                        "after {after} ms for {long} ms, engine first {engine_first}"
                    ))
                    .with(|case| {
                        case.hosts[0].round = 60;
                        case.engine_first = engine_first;
                        case.app = App {
                            workers: 4,
                            ..App::every(10)
                        };
                    });
                let case = case.at(5000, Change::Call(Call::SwitchTo(1)));
                cases.push(case.at(5000 + after, Change::Stop(long)).long(8000));
            }
        }
    }
    cases
}

fn draining(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for window in [100, 1000, 5000] {
        for at in phases(nightly, 3, 30) {
            let case = Case::of(&[2.0, 1.0])
                .named(format!("{window} ms, at {at} ms"))
                .with(|case| {
                    case.hosts[0].round = 300;
                    case.app = App::every(50);
                });
            let case = case.at(at, Change::Call(Call::DrainTo(1, window)));
            cases.push(case.at(at + 300, Change::Call(Call::Rehome)).long(25_000));
        }
    }
    cases
}
