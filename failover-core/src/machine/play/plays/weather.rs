//! Everything at random: several faults and lies at a time, on any server, at any moment, from a seed. What no script
//! thought of shows here.

use super::super::dice::Dice;
use super::super::host::{Ask, State, Way};
use super::super::script::{App, Call, Case, Change, Play};
use crate::machine::Failure;

pub(super) fn plays() -> Vec<Play> {
    vec![Play {
        name: "weather",
        cases,
        failing: None,
    }]
}

/// What breaks a promise that the seeds of every run do not: found at night.
const FOUND: [u64; 5] = [3376, 4072, 10_091, 11_400, 18_845];

fn cases(nightly: bool) -> Vec<Case> {
    let count = if nightly { 20_000 } else { 2500 };
    (1..=count).chain(FOUND).map(weather).collect()
}

fn pick<T: Clone>(dice: &mut Dice, of: &[T]) -> T {
    let index = usize::try_from(dice.below(of.len() as u64)).unwrap_or(0);
    of[index].clone()
}

fn weather(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let weights: &[f64] = pick(
        &mut dice,
        &[&[1.0][..], &[2.0, 1.0], &[1.0, 1.0], &[3.0, 2.0, 1.0]],
    );
    let app = App {
        workers: pick(&mut dice, &[1, 1, 3]),
        reads: pick(&mut dice, &[0, 2]),
        replay: dice.percent(50),
        ..App::every(pick(&mut dice, &[20, 100, 500]))
    };
    let mut case = Case::of(weights)
        .named(format!("seed {seed}"))
        .with(|case| {
            case.app = app;
            case.seed = if dice.percent(50) { 0 } else { seed };
            case.ahead = dice.percent(30);
            case.engine_first = dice.percent(50);
            for host in &mut case.hosts {
                host.round = pick(&mut dice, &[1, 2, 10, 60]);
            }
        });
    let mut at = 3000;
    let events = 1 + dice.below(4);
    for _ in 0..events {
        at += dice.below(6000);
        let host = usize::try_from(dice.below(weights.len() as u64)).unwrap_or(0);
        for (after, change) in fault(&mut dice, host) {
            case = case.at(at + after, change);
        }
    }
    case.long(at + 25_000)
}

/// A fault of a server and, mostly, its end.
fn fault(dice: &mut Dice, host: usize) -> Vec<(u64, Change)> {
    let long = pick(dice, &[100, 400, 900, 3000, 8000, 15_000]);
    let ask = pick(
        dice,
        &[
            Ask::Dial,
            Ask::Prove,
            Ask::Check,
            Ask::Promote,
            Ask::Read,
            Ask::Write,
        ],
    );
    let way = pick(
        dice,
        &[
            Way::Well(300),
            Way::Badly(Failure::Unhealthy),
            Way::Badly(Failure::Dead),
            Way::Never,
            Way::Blocks,
            Way::Closes,
            Way::Drips(700),
        ],
    );
    let member = u32::try_from(host).unwrap_or(0);
    match dice.below(9) {
        0 => vec![(0, Change::Kill(host)), (long, Change::Start(host))],
        1 => vec![(0, Change::Freeze(host)), (long, Change::Thaw(host))],
        2 => vec![(0, Change::Reset(host))],
        3 => vec![(0, Change::Sever(host))],
        4 | 5 => vec![
            (0, Change::Take(host, ask, way)),
            (long, Change::Take(host, ask, Way::Well(0))),
        ],
        6 => vec![
            (0, Change::Is(host, State::Replica)),
            (long, Change::Is(host, State::Master)),
        ],
        7 => vec![
            (0, Change::LameDuck(host)),
            (2000, Change::Kill(host)),
            (2000 + long, Change::Start(host)),
        ],
        _ => {
            let stop = pick(dice, &[150, 300, 2000]);
            let call = pick(dice, &[Call::SwitchTo(member), Call::DrainTo(member, 1000)]);
            vec![
                (0, Change::Call(call)),
                (dice.below(100), Change::Stop(stop)),
            ]
        }
    }
}
