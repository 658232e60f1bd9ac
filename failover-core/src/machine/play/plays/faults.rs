//! Servers that die, freeze, flap, or change their role, and what is left of the group then.

use super::super::host::{Host, State};
use super::super::script::{App, Case, Change, Play};
use super::phases;
use crate::config::{Standby, Startup};

pub(super) fn plays() -> Vec<Play> {
    let play = |name, cases| Play {
        name,
        cases,
        failing: None,
    };
    vec![
        play("a member dies", dies),
        play("a member freezes", freezes),
        play("silent while this process is blocked", blocked_freeze),
        play("both freeze", both_freeze),
        Play {
            failing: Some(60),
            ..play("a flapping survivor", |nightly| {
                flapping(nightly, 4800, 200)
            })
        },
        play("a survivor that is away as long as it is up", |nightly| {
            flapping(nightly, 3000, 3000)
        }),
        play("started again and then needed", needed_again),
        play("in grace and the only fit one", only_grace),
        play("lame ducks in turn", lame_ducks),
        play("demoted behind a name", demoted_behind_name),
        play("a name with two addresses", two_addresses),
        play("demoted before the other is promoted", handover),
        play("a sole member that is sick", sick),
        play("one standby of two is kept warm", one_kept),
        play("back after rare checks", rare_checks),
    ]
}

fn dies(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 4, 50) {
        for ahead in [false, true] {
            for away in [100, 3000, 20_000] {
                let case = Case::of(&[2.0, 1.0])
                    .named(format!("at {at} ms for {away} ms, ahead {ahead}"))
                    .with(|case| case.ahead = ahead);
                let case = case.at(at, Change::Kill(0));
                cases.push(case.at(at + away, Change::Start(0)).long(40_000));
            }
        }
    }
    cases
}

fn freezes(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for (app, how) in [
        ("busy", App::every(50)),
        ("slow", App::every(500)),
        ("idle", App::every(60_000)),
    ] {
        for at in phases(nightly, 5, 50) {
            for silent in [300, 700, 900, 30_000] {
                let case = Case::of(&[2.0, 1.0])
                    .named(format!("at {at} ms for {silent} ms, {app}"))
                    .with(|case| case.app = how.clone());
                let case = case.at(at, Change::Freeze(0));
                cases.push(case.at(at + silent, Change::Thaw(0)).long(15_000));
            }
        }
    }
    cases
}

/// A stall of this process clears nothing that was counted before.
fn blocked_freeze(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 5, 50) {
        for after in [300, 700, 900, 1100] {
            for engine_first in [true, false] {
                let case = Case::of(&[2.0, 1.0])
                    .named(format!(
                        "at {at} ms, blocked after {after} ms, engine first {engine_first}"
                    ))
                    .with(|case| case.engine_first = engine_first);
                let case = case.at(at, Change::Freeze(0));
                cases.push(case.at(at + after, Change::Stop(300)).long(15_000));
            }
        }
    }
    cases
}

/// More likely this process's own network.
fn both_freeze(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 4, 50) {
        for silent in [700, 3000, 20_000] {
            let case = Case::of(&[2.0, 1.0]).named(format!("at {at} ms for {silent} ms"));
            let case = case.at(at, Change::Freeze(0)).at(at, Change::Freeze(1));
            let case = case.at(at + silent, Change::Thaw(0));
            cases.push(case.at(at + silent, Change::Thaw(1)).long(50_000));
        }
    }
    cases
}

/// The other is down. The survivor restarts again and again.
fn flapping(nightly: bool, up: u64, away: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    let length = if nightly { 300_000 } else { 60_000 };
    for phase in [0, 130, 270, 410] {
        for seed in 0..if nightly { 20 } else { 2 } {
            let mut case = Case::of(&[2.0, 1.0])
                .named(format!("phase {phase}, seed {seed}"))
                .at(2000, Change::Kill(1))
                .with(|case| {
                    case.app = App {
                        replay: true,
                        ..App::every(50)
                    };
                    case.seed = seed;
                })
                .long(length);
            let mut at = 5000 + phase;
            while at + away < length {
                case = case.at(at, Change::Kill(0)).at(at + away, Change::Start(0));
                at += up + away;
            }
            cases.push(case);
        }
    }
    cases
}

/// m1 is dead for a while and started again; then m0 dies.
fn needed_again(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for dead in [2000, 5000, 12_000, 40_000] {
        for gap in [0, 50, 300] {
            for seed in 0..if nightly { 20 } else { 3 } {
                let case = Case::of(&[2.0, 1.0])
                    .named(format!("dead for {dead} ms, {gap} ms before, seed {seed}"))
                    .with(|case| case.seed = seed);
                let started = 3000 + dead;
                let case = case.at(3000, Change::Kill(1)).at(started, Change::Start(1));
                let lame = case.clone().named(format!("{}, lame duck", case.name));
                let kill = case.at(started + gap, Change::Kill(0));
                cases.push(kill.long(started + 20_000));
                let lame = lame.at(started + gap, Change::LameDuck(0));
                cases.push(lame.long(started + 20_000));
            }
        }
    }
    cases
}

/// Traffic had to leave m0, which is back. Now m1 fails in each way.
fn only_grace(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 3, 30) {
        let case = Case::of(&[2.0, 1.0]).at(at, Change::Kill(0));
        let case = case.at(at + 500, Change::Start(0)).long(30_000);
        let then = at + 9000;
        let ways: [(&str, Change); 4] = [
            ("dies", Change::Kill(1)),
            ("freezes", Change::Freeze(1)),
            ("is demoted", Change::Is(1, State::Replica)),
            ("announces its end", Change::LameDuck(1)),
        ];
        for (how, change) in ways {
            let name = format!("m1 {how}, {at} ms");
            cases.push(case.clone().named(name).at(then, change));
        }
    }
    cases
}

/// n0 announces its end, restarts, and stands by in grace; then n1 does.
fn lame_ducks(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 3, 30) {
        for away in [300, 3000] {
            for gap in [15_000, 30_000] {
                let case = Case::of(&[1.0, 1.0])
                    .named(format!("at {at} ms, away {away} ms, {gap} ms apart"));
                let case = rolled(case, 0, at, away);
                cases.push(rolled(case, 1, at + gap, away).long(at + gap + 15_000));
            }
        }
    }
    cases
}

/// A server announces its end, ends two seconds later, and is back after a while.
pub(super) fn rolled(case: Case, host: usize, at: u64, away: u64) -> Case {
    case.at(at, Change::LameDuck(host))
        .at(at + 2000, Change::Kill(host))
        .at(at + 2000 + away, Change::Start(host))
}

/// m1's name leads from server 1, which is demoted, to server 2, which is the new master. Then m0 dies.
fn demoted_behind_name(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 4, 40) {
        for gap in [200, 2000, 30_000] {
            let case = Case::of(&[2.0, 1.0])
                .named(format!("at {at} ms, {gap} ms before"))
                .with(|case| case.hosts.push(Host::new()));
            let case = case.at(at, Change::Is(1, State::Replica));
            let case = case.at(at, Change::Leads(1, 2));
            cases.push(case.at(at + gap, Change::Kill(0)).long(at + gap + 15_000));
        }
    }
    cases
}

/// Every other dial meets a silent address.
fn two_addresses(nightly: bool) -> Vec<Case> {
    let start = Case::of(&[1.0]).named(String::from("at startup"));
    let start = start.with(|case| {
        case.hosts[0].take_two_addresses();
        case.rules.startup = Startup::Lazy;
    });
    let mut cases = vec![start];
    for at in phases(nightly, 4, 40) {
        let case = Case::of(&[1.0]).named(format!("the sole member, at {at} ms"));
        let case = case.at(at, Change::TwoAddresses(0));
        cases.push(case.at(at, Change::Reset(0)));
        let case = Case::of(&[2.0, 1.0]).named(format!("the standby, at {at} ms"));
        let case = case
            .at(at, Change::TwoAddresses(1))
            .at(at, Change::Reset(1));
        cases.push(case.at(at, Change::Kill(0)));
    }
    cases
}

/// A replicated pair changes its roles.
fn handover(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for interval in [1, 5] {
        for gap in [20, 100, 2000] {
            for at in phases(nightly, 4, 40) {
                let case = Case::of(&[2.0, 1.0])
                    .named(format!(
                        "{gap} ms before, interval {interval} s, at {at} ms"
                    ))
                    .with(|case| {
                        case.hosts[1].state = State::Replica;
                        case.app = App::every(50);
                        let interval = std::time::Duration::from_secs(interval);
                        case.rules.member.health.interval = interval;
                    });
                let case = case.at(at, Change::Is(0, State::Replica));
                cases.push(case.at(at + gap, Change::Is(1, State::Master)));
            }
        }
    }
    cases
}

/// It refuses writes and proofs and serves reads, and its connection is cut once.
fn sick(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 3, 30) {
        for weights in [&[1.0][..], &[2.0, 1.0]] {
            let mut case =
                Case::of(weights).named(format!("{} members, at {at} ms", weights.len()));
            for host in 0..weights.len() {
                case = case.at(at, Change::Is(host, State::Sick));
                case = case.at(at + 2500, Change::Reset(host));
            }
            cases.push(case.long(40_000));
        }
    }
    cases
}

/// With `standby = 1` the third member is cold. It is needed.
fn one_kept(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    let ways: [(&str, &[Change]); 5] = [
        ("both die", &[Change::Kill(0), Change::Kill(1)]),
        (
            "one dies, one freezes",
            &[Change::Kill(0), Change::Freeze(1)],
        ),
        ("both freeze", &[Change::Freeze(0), Change::Freeze(1)]),
        (
            "one dies, one is demoted",
            &[Change::Kill(0), Change::Is(1, State::Replica)],
        ),
        (
            "one dies, one is half open",
            &[Change::Kill(0), Change::Sever(1)],
        ),
    ];
    for (how, changes) in ways {
        for at in phases(nightly, 4, 40) {
            for gap in [0, 100, 2000] {
                let mut case = Case::of(&[3.0, 2.0, 1.0])
                    .named(format!("{how}, {gap} ms apart, at {at} ms"))
                    .with(|case| case.rules.standby = Standby::Count(1));
                for (index, change) in changes.iter().rev().enumerate() {
                    let after = if index == 0 { 0 } else { gap };
                    case = case.at(at + after, *change);
                }
                cases.push(case);
            }
        }
    }
    cases
}

/// m0 is sick for a moment. Its checks come once a minute.
fn rare_checks(nightly: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for at in phases(nightly, 3, 20) {
        for long in [500, 30_000, 70_000] {
            let case = Case::of(&[2.0, 1.0])
                .named(format!("for {long} ms, at {at} ms"))
                .with(|case| {
                    let minute = std::time::Duration::from_secs(60);
                    case.rules.member.health.interval = minute;
                });
            let case = case.at(at, Change::Is(0, State::Sick));
            cases.push(
                case.at(at + long, Change::Is(0, State::Master))
                    .long(240_000),
            );
        }
    }
    cases
}
