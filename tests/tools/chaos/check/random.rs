//! Random runs that keep every promise, and for each promise the ways to break it.
//!
//! A run has a few faults one after the other. Each does to calls, messages, moves, connections and fitness what a good
//! framework would show. So it says what the checker must put up with.

use std::ops::Range;

use super::forge::{Forge, MS, S};
use super::run::{end, is_write};
use crate::record::{Delivery, Kind, Member, Micros, OperationId, Outcome, Target};

/// The dice of the tools, over ranges.
pub(super) struct Dice(crate::dice::Dice);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(crate::dice::Dice::new(seed))
    }

    fn of(&mut self, range: Range<u32>) -> u32 {
        let below = u64::from(range.end - range.start);
        range.start + self.0.below(below) as u32
    }

    fn one_in(&mut self, sides: u32) -> bool {
        self.of(0..sides) == 0
    }
}

/// Faults begin after that, and the last one is over before the quiet spell at the end.
const FIRST: Micros = 6 * S;
const LAST: Micros = 12 * S;

/// A run that keeps every promise.
pub(super) fn valid(dice: &mut Dice) -> Forge {
    let mut forge = match dice.of(0..3) {
        0 => Forge::redis(),
        1 => Forge::pair(),
        _ => Forge::nats(),
    };
    let mut at = FIRST;
    while at < LAST {
        at += dice.of(50 * MS..800 * MS);
        at = trouble(&mut forge, at, dice);
    }
    forge
}

/// One fault; says when it is over.
fn trouble(forge: &mut Forge, at: Micros, dice: &mut Dice) -> Micros {
    let active = forge.active(at).expect("since the start");
    let other = (active + dice.of(1..3) as Member) % 3;
    match dice.of(0..8) {
        0 => {
            forge.kill(at, active, other);
            calls_end(forge, &(at..at + 3 * MS), dice);
            messages_suffer(forge, &(at..at + 3 * MS), dice);
            at + 1100 * MS
        }
        1 => {
            forge.kill(at, other, active);
            at + 1100 * MS
        }
        2 => {
            let during = at..at + 2500 * MS;
            forge.fault("freeze", Some(active), during.clone());
            forge.unfit(active, during.clone());
            forge.go(at + 1100 * MS, other, "lost", false);
            forge.link(at + 1100 * MS, active, false);
            forge.link(during.end + 10 * MS, active, true);
            calls_end(forge, &(at..at + 1100 * MS), dice);
            messages_suffer(forge, &(at..at + 1100 * MS), dice);
            during.end + 20 * MS
        }
        3 => {
            // Too short for anything but patience.
            let during = at..at + dice.of(50 * MS..800 * MS);
            forge.fault("freeze", Some(active), during.clone());
            forge.unfit(active, during.clone());
            calls_end(forge, &during, dice);
            messages_suffer(forge, &during, dice);
            during.end
        }
        4 => {
            let (kind, reason) =
                [("lame_duck", "lame_duck"), ("manual", "manual")][dice.of(0..2) as usize];
            forge.fault(kind, Some(active), at..at + MS);
            forge.go(at + MS, other, reason, false);
            forge.link(at + 300 * MS, active, false);
            forge.link(at + 310 * MS, active, true);
            messages_come_twice(forge, &(at..at + 5 * MS), dice);
            at + 400 * MS
        }
        5 => {
            forge.fault("cut", Some(active), at..at + MS);
            forge.link(at + MS, active, false);
            forge.link(at + 3 * MS, active, true);
            calls_end(forge, &(at..at + 4 * MS), dice);
            messages_suffer(forge, &(at..at + 4 * MS), dice);
            at + 10 * MS
        }
        6 => {
            let during = at..at + dice.of(200 * MS..1200 * MS);
            forge.fault("stop", None, during.clone());
            forge.record.stops.push(during.clone());
            calls_end(forge, &during, dice);
            during.end
        }
        _ => {
            // Everybody at once, for longer than calls wait.
            let during = at..at + dice.of(500 * MS..2000 * MS);
            for member in 0..3 {
                forge.fault("kill", Some(member), during.clone());
                forge.unfit(member, during.clone());
                forge.link(at + MS, member, false);
                forge.link(during.end + 100 * MS, member, true);
            }
            calls_end(forge, &(at..during.end + 110 * MS), dice);
            messages_suffer(forge, &(at..during.end), dice);
            during.end + 200 * MS
        }
    }
}

/// Calls that are under way last until then, and each ends in a way that is allowed. Steady publishers go on.
fn calls_end(forge: &mut Forge, during: &Range<Micros>, dice: &mut Dice) {
    let record = &mut forge.record;
    let logs = record.workers.iter_mut().zip(&mut record.applied);
    for (log, applied) in logs {
        if log
            .iter()
            .any(|operation| matches!(operation.kind, Kind::Publish | Kind::StreamPublish))
        {
            continue;
        }
        let first = log.partition_point(|operation| end(operation) < during.start);
        let after = log.partition_point(|operation| operation.begun < during.end);
        if first == after {
            continue;
        }
        // A worker waits for one call, so the later ones were never made.
        log.drain(first + 1..after);
        applied.drain(first + 1..after);
        let operation = &mut log[first];
        operation.took = during.end - operation.begun.min(during.end) + dice.of(1..2000);
        let write = is_write(operation.kind);
        (operation.outcome, applied[first]) = match dice.of(0..3) {
            0 => (Outcome::Right, u8::from(write)),
            1 => (Outcome::NotApplied, 0),
            _ if write => (Outcome::MayHaveBeenApplied, dice.of(0..2) as u8),
            _ => (Outcome::MayHaveBeenApplied, 0),
        };
    }
}

/// What is on its way may be lost, where that was not promised otherwise.
fn messages_suffer(forge: &mut Forge, during: &Range<Micros>, dice: &mut Dice) {
    let lossy = forge.record.heard.iter_mut().filter(|heard| {
        matches!(
            heard.delivery,
            Delivery::AtMostOnce | Delivery::AtLeastOnce { .. }
        )
    });
    for heard in lossy {
        heard
            .messages
            .retain(|(at, _)| !during.contains(at) || dice.one_in(2));
    }
}

/// A planned move: at most once has a gap, at least once hears both sides.
fn messages_come_twice(forge: &mut Forge, during: &Range<Micros>, dice: &mut Dice) {
    for heard in &mut forge.record.heard {
        match heard.delivery {
            Delivery::AtMostOnce => heard.messages.retain(|(at, _)| !during.contains(at)),
            Delivery::AtLeastOnce { .. } | Delivery::Consumer => {
                let within = heard.messages.iter().filter(|(at, _)| during.contains(at));
                let twice: Vec<_> = within.filter(|_| dice.one_in(2)).copied().collect();
                heard.messages.extend(twice);
                heard.messages.sort_by_key(|(at, _)| *at);
            }
            _ => {}
        }
    }
}

type Corruption = fn(&mut Forge, &mut Dice);

/// For each promise what breaks it.
pub(super) fn corruptions() -> [(&'static str, Corruption); 17] {
    [
        ("kept", |forge, dice| {
            let id = pick(forge, dice, |kind, outcome| {
                is_write(kind) && outcome == Outcome::Right
            });
            forge.applied(id, 0);
        }),
        ("doubled", |forge, dice| {
            let id = pick(forge, dice, |kind, _| is_write(kind));
            forge.applied(id, dice.of(2..256) as u8);
        }),
        ("doubled", |forge, dice| {
            nats(forge);
            let heard = &mut forge.record.heard[dice.of(0..2) as usize].messages;
            let place = dice.of(0..heard.len() as u32) as usize;
            let (at, id) = heard[place];
            heard.insert(place + 1, (at + dice.of(0..2000), id));
        }),
        ("fates", |forge, dice| {
            let id = pick(forge, dice, |kind, _| is_write(kind));
            forge.at(id).outcome = Outcome::NotApplied;
            forge.applied(id, 1);
        }),
        ("fates", |forge, dice| {
            let id = pick(forge, dice, |kind, _| kind != Kind::Read);
            forge.at(id).outcome = Outcome::NoFate;
        }),
        ("answers", |forge, dice| {
            let id = pick(forge, dice, |_, _| true);
            forge.at(id).outcome = Outcome::Wrong;
        }),
        ("lost", |forge, dice| {
            nats(forge);
            // The mirrored one in quiet times, and the consumer always until its quiet spell.
            let (listener, within) =
                [(1, 2 * S..5 * S), (3, 0..15 * S)][dice.of(0..2) as usize].clone();
            let heard = &mut forge.record.heard[listener].messages;
            let from = heard.partition_point(|(at, _)| *at < within.start);
            let to = heard.partition_point(|(at, _)| *at < within.end);
            let (_, lost) = heard[dice.of(from as u32..to as u32) as usize];
            heard.retain(|(_, id)| *id != lost);
        }),
        ("order", |forge, dice| {
            nats(forge);
            let heard = &mut forge.record.heard[0].messages;
            let place = dice.of(0..heard.len() as u32 - 50) as usize;
            let early = heard.remove(place);
            let mut later = heard[place..].iter();
            let next = later
                .position(|(_, id)| id.worker == early.1.worker)
                .expect("one more");
            let at = heard[place + next].0;
            heard.insert(place + next + 1, (at, early.1));
        }),
        ("answered", |forge, dice| {
            let latest = forge.record.length - forge.record.patience - S;
            let begun = dice.of(0..latest);
            forge.operation(begun, 0, Kind::Read, Outcome::Unended);
        }),
        ("answered", |forge, dice| {
            let longer = forge.record.patience + dice.of(300 * MS..2000 * MS);
            forge.operation(dice.of(S..FIRST - S), longer, Kind::Read, Outcome::Right);
            forge.record.stops.clear();
        }),
        ("service", |forge, dice| {
            let from = dice.of(S..15 * S);
            forge.failing(from..from + 4 * S);
            forge.record.fit = Forge::redis().record.fit;
        }),
        ("moves", |forge, dice| {
            for _ in 0..5 {
                let at = 16 * S + dice.of(0..2 * S);
                let active = forge.active(at).expect("since the start");
                forge.record.moves.push(crate::record::Move {
                    at,
                    from: Some(active),
                    to: (active + 1) % 3,
                    reason: "lost".to_owned(),
                    refused: false,
                });
            }
            forge.record.moves.sort_by_key(|step| step.at);
        }),
        ("dials", |forge, dice| {
            let (at, member) = (dice.of(0..18 * S), dice.of(0..3) as Member);
            forge
                .record
                .dials
                .extend((0..21).map(|_| (at + dice.of(0..S), member)));
        }),
        ("replaced", |forge, dice| {
            let (at, member) = (dice.of(S..FIRST - S), dice.of(0..3) as Member);
            forge.link(at, member, false);
            forge.link(at + MS, member, true);
        }),
        ("flat", |forge, dice| {
            let more = dice.of(9..1000);
            end_samples(forge, |sample| sample.tasks += more);
        }),
        ("flat", |forge, dice| {
            let more = dice.of(13..1000);
            end_samples(forge, |sample| sample.sockets += more);
        }),
        ("flat", |forge, dice| {
            let more = dice.of(40_000..1_000_000);
            end_samples(forge, |sample| sample.kibibytes += more);
        }),
    ]
}

/// A promise about messages needs some.
fn nats(forge: &mut Forge) {
    if forge.record.target != Target::Nats {
        *forge = Forge::nats();
    }
}

fn end_samples(forge: &mut Forge, change: impl Fn(&mut crate::record::Sample)) {
    let spell = forge.record.quiet[1].clone();
    let samples = forge.record.samples.iter_mut();
    samples
        .filter(|sample| spell.contains(&sample.at))
        .for_each(change);
}

/// An operation like this.
fn pick(forge: &Forge, dice: &mut Dice, like: impl Fn(Kind, Outcome) -> bool) -> OperationId {
    loop {
        let worker = dice.of(0..forge.record.workers.len() as u32) as u16;
        let log = &forge.record.workers[usize::from(worker)];
        let number = dice.of(0..log.len() as u32);
        let operation = log[number as usize];
        if like(operation.kind, operation.outcome) {
            return OperationId { worker, number };
        }
    }
}
