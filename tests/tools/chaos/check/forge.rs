//! Forged records: a calm run that keeps every promise, and the ways in which tests change it.
//!
//! Twenty seconds of 1,250 operations a second on three fit members, the first of them active. A test adds what it is
//! about and nothing else, so that what is found is due to that.

use std::collections::BTreeMap;
use std::ops::Range;

use super::run::{end, is_write};
use crate::record::{
    Carry, Dedupe, Delivery, Fault, Fit, Heard, Kind, Link, Member, Micros, Move, Operation,
    OperationId, Outcome, Record, Replay, Sample, Target,
};

pub(crate) const MS: Micros = 1_000;
pub(crate) const S: Micros = 1_000_000;

const LENGTH: Micros = 20 * S;
/// Each of so many workers does an operation every four milliseconds.
const WORKERS: u16 = 5;
/// Of NATS: so many of them publish, and one more writes into a stream.
const PUBLISHERS: u16 = 2;

/// See the [module](self).
pub(crate) struct Forge {
    pub(crate) record: Record,
}

impl Forge {
    pub(crate) fn redis() -> Self {
        Self::of(Target::Redis, LENGTH)
    }

    pub(crate) fn pair() -> Self {
        Self::of(Target::Pair, LENGTH)
    }

    /// With subscriptions: at most once, mirrored, at least once, and a consumer.
    pub(crate) fn nats() -> Self {
        let mut forge = Self::of(Target::Nats, LENGTH);
        let mirrored = Delivery::Mirrored {
            dedupe: Dedupe::Header,
        };
        let twice = Delivery::AtLeastOnce {
            dedupe: Dedupe::None,
            ordered: false,
        };
        for delivery in [Delivery::AtMostOnce, mirrored, twice] {
            forge.subscribe(delivery, Kind::Publish, 0..PUBLISHERS);
        }
        forge.subscribe(
            Delivery::Consumer,
            Kind::StreamPublish,
            PUBLISHERS..PUBLISHERS + 1,
        );
        forge
    }

    pub(crate) fn of(target: Target, length: Micros) -> Self {
        let members: Vec<String> = ["east", "west", "north"].map(str::to_owned).into();
        let fit = (0..3).map(|member| Fit {
            member,
            during: 0..length,
        });
        let record = Record {
            target,
            seed: 7,
            length,
            silence: S,
            patience: 2_500 * MS,
            patience_of: BTreeMap::new(),
            stable: 5 * S,
            grace: 10 * S,
            reconnect: 10 * S,
            window: S,
            replay: Replay::Reads,
            carry: Carry::Unsent,
            asked: Vec::new(),
            quiet: [S..5 * S, length - 4 * S..length],
            workers: Vec::new(),
            faults: Vec::new(),
            fit: fit.collect(),
            turns: Vec::new(),
            stops: Vec::new(),
            moves: vec![Move {
                at: MS,
                from: None,
                to: 0,
                reason: "startup".to_owned(),
                refused: false,
            }],
            links: (0..3)
                .map(|member| Link {
                    at: 0,
                    member,
                    opened: true,
                })
                .collect(),
            dials: (0..3).map(|member| (0, member)).collect(),
            samples: (0..length / (500 * MS)).map(sample).collect(),
            heard: Vec::new(),
            applied: Vec::new(),
            errors: BTreeMap::new(),
            members,
        };
        let mut forge = Self { record };
        for worker in 0..WORKERS {
            let log = (0..length / (4 * MS)).map(|number| calm(target, worker, number));
            forge.worker(log.collect());
        }
        forge
    }

    /// Its writes were applied as often as their outcomes say.
    pub(crate) fn worker(&mut self, log: Vec<Operation>) {
        let applied = log.iter().map(|operation| {
            let done = is_write(operation.kind) && operation.outcome == Outcome::Right;
            u8::from(done)
        });
        self.record.applied.push(applied.collect());
        self.record.workers.push(log);
    }

    /// Hears everything at once.
    pub(crate) fn subscribe(&mut self, delivery: Delivery, kind: Kind, from: Range<u16>) {
        let workers = from.clone();
        let mut messages: Vec<_> = workers
            .flat_map(|worker| {
                let log = &self.record.workers[usize::from(worker)];
                (0u32..)
                    .zip(log)
                    .filter(|(_, sent)| sent.kind == kind)
                    .map(move |(number, sent)| (end(sent) + MS, OperationId { worker, number }))
            })
            .collect();
        messages.sort_unstable();
        self.record.heard.push(Heard {
            delivery,
            queue: None,
            kind,
            from,
            steady: true,
            again: if delivery == Delivery::Consumer { S } else { 0 },
            during: 0..self.record.length,
            messages,
        });
    }

    /// One more operation, by a worker of its own.
    pub(crate) fn operation(
        &mut self,
        begun: Micros,
        took: Micros,
        kind: Kind,
        outcome: Outcome,
    ) -> OperationId {
        let worker = self.record.workers.len() as u16;
        self.worker(vec![Operation {
            begun,
            took,
            kind,
            outcome,
        }]);
        OperationId { worker, number: 0 }
    }

    pub(crate) fn at(&mut self, id: OperationId) -> &mut Operation {
        &mut self.record.workers[usize::from(id.worker)][id.number as usize]
    }

    pub(crate) fn applied(&mut self, id: OperationId, times: u8) {
        self.record.applied[usize::from(id.worker)][id.number as usize] = times;
    }

    /// What would have succeeded in this time is refused.
    pub(crate) fn failing(&mut self, during: Range<Micros>) {
        let logs = self.record.workers.iter_mut().zip(&mut self.record.applied);
        for (log, applied) in logs {
            for (operation, applied) in log.iter_mut().zip(applied) {
                if during.contains(&end(operation)) && operation.kind != Kind::Publish {
                    operation.outcome = Outcome::NotApplied;
                    *applied = 0;
                }
            }
        }
    }

    /// Nothing was done in this time. The numbers of later operations change.
    pub(crate) fn remove(&mut self, during: Range<Micros>) {
        let logs = self.record.workers.iter_mut().zip(&mut self.record.applied);
        for (log, applied) in logs {
            let mut kept = log
                .iter()
                .map(|operation| !during.contains(&operation.begun));
            applied.retain(|_| kept.next().expect("as long as the log"));
            log.retain(|operation| !during.contains(&operation.begun));
        }
    }

    pub(crate) fn active(&self, at: Micros) -> Option<Member> {
        let mut moves = self.record.moves.iter().rev();
        moves.find(|step| step.at <= at).map(|step| step.to)
    }

    /// The traffic goes there.
    pub(crate) fn go(&mut self, at: Micros, to: Member, reason: &str, refused: bool) {
        let from = self.active(at);
        let reason = reason.to_owned();
        self.record.moves.push(Move {
            at,
            from,
            to,
            reason,
            refused,
        });
        self.record.moves.sort_by_key(|step| step.at);
    }

    pub(crate) fn link(&mut self, at: Micros, member: Member, opened: bool) {
        self.record.links.push(Link { at, member, opened });
        self.record.links.sort_by_key(|link| link.at);
    }

    pub(crate) fn fault(
        &mut self,
        kind: &'static str,
        member: Option<Member>,
        during: Range<Micros>,
    ) {
        self.record.faults.push(Fault {
            kind,
            member,
            ends_connections: matches!(kind, "kill" | "cut"),
            planned: matches!(kind, "lame_duck" | "manual"),
            during,
        });
        self.record.faults.sort_by_key(|fault| fault.during.start);
    }

    /// Not fit in this time, which it was before.
    pub(crate) fn unfit(&mut self, member: Member, during: Range<Micros>) {
        let fit = &mut self.record.fit;
        let whole = fit
            .iter()
            .position(|fit| fit.member == member && fit.during.contains(&during.start))
            .expect("fit until then");
        let end = std::mem::replace(&mut fit[whole].during.end, during.start);
        if during.end < end {
            fit.push(Fit {
                member,
                during: during.end..end,
            });
        }
    }

    /// Dead for a second. If it was the active, the other one is at once.
    pub(crate) fn kill(&mut self, at: Micros, member: Member, next: Member) {
        self.fault("kill", Some(member), at..at + S);
        self.unfit(member, at..at + S);
        self.link(at + MS, member, false);
        self.link(at + S + 50 * MS, member, true);
        if self.active(at) == Some(member) {
            self.go(at + 2 * MS, next, "lost", true);
        }
    }
}

fn sample(number: u32) -> Sample {
    Sample {
        at: number * 500 * MS,
        tasks: 40 + number % 3,
        threads: 4,
        sockets: 12,
        kibibytes: 20_000 + number,
    }
}

fn calm(target: Target, worker: u16, number: u32) -> Operation {
    const REDIS: [Kind; 6] = [
        Kind::Read,
        Kind::Write,
        Kind::Pipeline,
        Kind::Read,
        Kind::Transaction,
        Kind::Script,
    ];
    let kind = match target {
        Target::Nats if worker < PUBLISHERS => Kind::Publish,
        Target::Nats if worker == PUBLISHERS => Kind::StreamPublish,
        Target::Nats => Kind::Request,
        _ => REDIS[number as usize % REDIS.len()],
    };
    Operation {
        begun: number * 4 * MS + u32::from(worker) * 700 + 10,
        took: 300 + number % 7 * 50,
        kind,
        outcome: Outcome::Right,
    }
}
