//! The application of a play: workers that operate on whichever member is active, and what their operations report, as
//! the clients of the backends do.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use backend_api::Generation;

use super::host::{Ask, Reply, Way};
use super::record::{Attempt, Fate};
use super::stage::{Event, Stage, To};
use crate::machine::{Failure, Input, MemberId};

/// One operation, over all its attempts.
struct Operation {
    worker: u32,
    issued: u64,
    ask: Ask,
    way: Option<Way>,
    /// The attempt under way, by a number of its own: on a connection, or waiting for one.
    attempt: u64,
    on: Option<(MemberId, Generation)>,
    began: u64,
    failed: Option<u64>,
}

/// What ended on a connection since the last sample.
#[derive(Default)]
struct Count {
    member: Option<MemberId>,
    success: u32,
    failure: u32,
}

/// All operations under way, and the counters that the driver samples.
#[derive(Default)]
pub(super) struct Operations {
    running: BTreeMap<u64, Operation>,
    counts: BTreeMap<Generation, Count>,
    /// Connections of which a failure has been told and not been looked at yet.
    raised: BTreeSet<Generation>,
    issued: BTreeMap<u32, u32>,
}

impl Operations {
    /// The next failure on this connection is told again.
    pub(super) fn listen(&mut self, generation: Generation) {
        self.raised.remove(&generation);
    }

    pub(super) fn sample(&mut self) -> Vec<Input> {
        let counts = std::mem::take(&mut self.counts);
        let input = |(generation, count): (Generation, Count)| {
            Some(Input::Outcomes {
                member: count.member?,
                generation,
                success: count.success,
                failure: count.failure,
            })
        };
        counts.into_iter().filter_map(input).collect()
    }

    pub(super) fn any_on(&self, generation: Generation) -> bool {
        self.on(generation).next().is_some()
    }

    fn on(&self, generation: Generation) -> impl Iterator<Item = u64> + '_ {
        let there = move |one: &Operation| one.on.is_some_and(|(_, of)| of == generation);
        let running = self.running.iter();
        running
            .filter(move |(_, one)| there(one))
            .map(|(id, _)| *id)
    }
}

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Well,
    TimedOut,
    Refused,
    /// The connection ended under it.
    Lost,
    /// The engine ended the connection.
    Retired,
    /// The backend knows why it took too long, and blames nobody.
    Excused,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Stage<'_> {
    /// A worker begins its next operation.
    pub(super) fn issue(&mut self, worker: u32) {
        let app = &self.case.app;
        let count = self.operations.issued.entry(worker).or_default();
        *count += 1;
        let nth = |every: u32| every > 0 && count.is_multiple_of(every);
        let odd = app.odd.filter(|(every, _)| worker == 0 && nth(*every));
        let ask = if nth(app.reads) {
            Ask::Read
        } else {
            Ask::Write
        };
        let way = app.poison.or(odd.map(|(_, way)| way));
        let id = self.number();
        let operation = Operation {
            worker,
            issued: self.now,
            ask,
            way,
            attempt: id,
            on: None,
            began: self.now,
            failed: None,
        };
        self.operations.running.insert(id, operation);
        self.attempt(id);
    }

    /// Runs an operation on the active, or lets it wait for one.
    fn attempt(&mut self, id: u64) {
        let (now, attempt) = (self.now, self.number());
        // A connection whose end the engine has yet to hear of takes nothing any more.
        let open = |of: &Generation| self.world.lines.get(of).is_some_and(|line| !line.ended);
        let active = self.active.filter(|(_, of)| open(of));
        let Some(one) = self.operations.running.get_mut(&id) else {
            return;
        };
        one.attempt = attempt;
        one.began = now;
        one.on = active;
        let (ask, way) = (one.ask, one.way);
        let bound = match active {
            Some((_, generation)) => {
                self.ask(generation, ask, way, To::Operation(id, attempt));
                self.case.rules.member.timeouts.operation
            }
            None => self.case.rules.unavailable_wait,
        };
        self.send(now + millis(bound), Event::Expire(id, attempt));
    }

    /// There is another active: whoever waited for one goes on.
    pub(super) fn resume(&mut self) {
        let waiting = self.operations.running.iter();
        let waiting: Vec<u64> = waiting
            .filter(|(_, one)| one.on.is_none())
            .map(|(id, _)| *id)
            .collect();
        for id in waiting {
            self.attempt(id);
        }
    }

    pub(super) fn replied(&mut self, id: u64, attempt: u64, reply: Reply) {
        let running = &self.operations.running;
        let current = running.get(&id).filter(|one| one.attempt == attempt);
        let Some((member, generation)) = current.and_then(|one| one.on) else {
            return;
        };
        if reply == Reply::Badly(Failure::ReadOnly) {
            let condemned = Input::Condemned(member, generation, Failure::ReadOnly);
            self.signal(condemned);
        }
        self.end_attempt(
            id,
            match reply {
                Reply::Well | Reply::WellAndClosed => Ended::Well,
                Reply::Badly(_) => Ended::Refused,
                Reply::Closed => Ended::Lost,
            },
        );
    }

    /// The time of an attempt is over, or of the wait for an active.
    pub(super) fn expire(&mut self, id: u64, attempt: u64) {
        let running = &self.operations.running;
        let Some(one) = running.get(&id).filter(|one| one.attempt == attempt) else {
            return;
        };
        let Some((member, _)) = one.on else {
            self.finish(id, Fate::Failed);
            return;
        };
        let way = one.way.unwrap_or(self.world.host_of(member.0).way(one.ask));
        self.end_attempt(
            id,
            if way == Way::Waits {
                Ended::Excused
            } else {
                Ended::TimedOut
            },
        );
    }

    /// The connection ended: so does what is under way on it.
    pub(super) fn break_off(&mut self, generation: Generation) {
        for id in self.operations.on(generation).collect::<Vec<_>>() {
            self.end_attempt(id, Ended::Lost);
        }
    }

    /// The engine ends a connection. How many operations were under way on it.
    pub(super) fn cut(&mut self, generation: Generation) -> usize {
        let under_way: Vec<u64> = self.operations.on(generation).collect();
        for id in &under_way {
            self.end_attempt(*id, Ended::Retired);
        }
        under_way.len()
    }

    fn end_attempt(&mut self, id: u64, ended: Ended) {
        let now = self.now;
        let Some(one) = self.operations.running.get_mut(&id) else {
            return;
        };
        let Some((member, generation)) = one.on.take() else {
            return;
        };
        let fate = match ended {
            Ended::Well => Fate::Served,
            Ended::TimedOut | Ended::Refused | Ended::Lost => Fate::Failed,
            Ended::Retired | Ended::Excused => Fate::Neutral,
        };
        let attempt = Attempt {
            began: one.began,
            ended: now,
            member: member.0,
            fate,
        };
        let again = self.case.app.replay && matches!(ended, Ended::Lost | Ended::Retired) && {
            let wait = millis(self.case.rules.unavailable_wait);
            let first = *one.failed.get_or_insert(now);
            now - first < wait || first == now
        };
        // Whoever runs again waits for the next active; this one is none any more.
        one.attempt = 0;
        let left = one.failed.map_or(0, |first| {
            (first + millis(self.case.rules.unavailable_wait)).saturating_sub(now)
        });
        self.record.attempts.push(attempt);
        let count = self.operations.counts.entry(generation).or_default();
        count.member = Some(member);
        match fate {
            Fate::Served => count.success += 1,
            Fate::Failed => count.failure += 1,
            Fate::Neutral => {}
        }
        if fate == Fate::Failed && self.operations.raised.insert(generation) {
            self.signal(Input::Suspect(member, generation));
        }
        if again {
            let attempt = self.number();
            if let Some(one) = self.operations.running.get_mut(&id) {
                one.attempt = attempt;
            }
            self.send(now + left.max(1), Event::Expire(id, attempt));
        } else {
            self.finish(id, fate);
        }
        self.end_drains();
    }

    /// The application has its answer, and goes on at its pace.
    fn finish(&mut self, id: u64, fate: Fate) {
        let Some(one) = self.operations.running.remove(&id) else {
            return;
        };
        self.record.operations.push((one.issued, fate));
        let next = (one.issued + self.case.app.pace).max(self.now + 1);
        self.send(next, Event::Issue(one.worker));
    }
}
