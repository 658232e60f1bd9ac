//! What was seen of a play, as plain data: the checkers of the promises read nothing else, and so a record can be forged.
//!
//! Times are milliseconds since the start. Facts hold from their time to the time of the next one.

use std::fmt::Write as _;
use std::time::Duration;

use crate::config::Rules;
use crate::machine::{Answer, Kind, LinkView, News, Reason, RequestId};

use super::script::Call;

/// What is true of a member at a time, and what the engine shows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// It would serve everybody well over a new connection.
    pub(super) fit: bool,
    /// A new connection to it would pass proofs and checks.
    pub(super) looks_fit: bool,
    /// It serves reads over a new connection, fit or not.
    pub(super) serves_reads: bool,
    /// It would accept a dial, or not answer it; otherwise it refuses.
    pub(super) accepts: bool,
    /// How long a dial takes.
    pub(super) dial: u64,
    /// One round trip to it.
    pub(super) round: u64,
    /// Its open connection leads where a new one would.
    pub(super) connected: bool,
    pub(super) link: LinkView,
    pub(super) healthy: Option<bool>,
    pub(super) lame: bool,
    pub(super) broken: bool,
    pub(super) grace: bool,
    pub(super) enabled: bool,
}

impl Known {
    /// Held back by something that need does not break.
    pub(super) fn is_barred(&self) -> bool {
        !self.enabled || self.broken
    }
}

/// What is true from a time on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) at: u64,
    pub(super) active: Option<u32>,
    /// The active's connection carries operations.
    pub(super) serving: bool,
    /// Since when the active's connection is silent, if it is.
    pub(super) silent_since: Option<u64>,
    /// When a proof or a check was last answered with a failure over that connection.
    pub(super) refused: Option<u64>,
    pub(super) members: Vec<Known>,
}

impl Fact {
    /// The active is gone, marked or unfit, as the engine knows.
    pub(super) fn is_in_need(&self) -> bool {
        let Some(active) = self.active.map(|id| &self.members[id as usize]) else {
            return true;
        };
        active.healthy == Some(false) || active.lame || active.broken
    }
}

/// Something that happened at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entry {
    /// The environment did something, in words.
    Changed(String),
    Told(News),
    Dialled(u32),
    /// The server ended the connection of this member, which was the active one or not.
    Ended {
        member: u32,
        active: bool,
    },
    /// The engine took an open connection for lost.
    GaveUp {
        member: u32,
        /// How long it had been silent.
        silent: u64,
        /// Its server had just answered that it cannot serve.
        refused: bool,
        /// It had passed a proof.
        proven: bool,
        /// It was the active one.
        active: bool,
        /// Somebody else was heard since it fell silent.
        elsewhere: bool,
        /// One round trip to it.
        round: u64,
    },
    /// A connection was ended while operations were under way on it that it was to finish.
    Cut {
        member: u32,
        operations: usize,
    },
    Called(RequestId, Call),
    Answered(RequestId, Answer),
}

/// How an operation, or one attempt of it, ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Served,
    Failed,
    /// It says nothing about the member.
    Neutral,
}

/// One attempt on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) member: u32,
    pub(super) fate: Fate,
}

/// All that was seen of one history.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) rules: Rules,
    pub(super) weights: Vec<f64>,
    pub(super) facts: Vec<Fact>,
    pub(super) log: Vec<(u64, Entry)>,
    pub(super) attempts: Vec<Attempt>,
    /// Operations as the application sees them: when each was issued, and whether it was served in the end.
    pub(super) operations: Vec<(u64, Fate)>,
    /// When this process did not run: from and to.
    pub(super) stops: Vec<(u64, u64)>,
    pub(super) end: u64,
}

impl Record {
    pub(super) fn new(rules: &Rules, weights: &[f64]) -> Self {
        Self {
            rules: rules.clone(),
            weights: weights.to_vec(),
            facts: Vec::new(),
            log: Vec::new(),
            attempts: Vec::new(),
            operations: Vec::new(),
            stops: Vec::new(),
            end: 0,
        }
    }

    /// The facts with the time until which each holds.
    pub(super) fn spans(&self) -> impl Iterator<Item = (u64, u64, &Fact)> {
        let ends = self.facts.iter().skip(1).map(|fact| fact.at);
        let ends = ends.chain(std::iter::once(self.end));
        self.facts
            .iter()
            .zip(ends)
            .map(|(fact, until)| (fact.at, until, fact))
            .filter(|(from, until, _)| from < until)
    }

    /// What holds at a time.
    pub(super) fn at(&self, at: u64) -> Option<&Fact> {
        let index = self.facts.partition_point(|fact| fact.at <= at);
        self.facts.get(index.checked_sub(1)?)
    }

    /// What held just before a time.
    pub(super) fn before(&self, at: u64) -> Option<&Fact> {
        let index = self.facts.partition_point(|fact| fact.at < at);
        self.facts.get(index.checked_sub(1)?)
    }

    /// When so many milliseconds have passed in which this process ran.
    pub(super) fn later(&self, from: u64, running: u64) -> u64 {
        let mut until = from + running;
        for &(stop, end) in &self.stops {
            if end > from && stop < until {
                until += end - stop.max(from);
            }
        }
        until
    }

    /// All news, and when.
    pub(super) fn news(&self) -> impl Iterator<Item = (u64, &News)> {
        self.log.iter().filter_map(|(at, entry)| match entry {
            Entry::Told(news) => Some((*at, news)),
            _ => None,
        })
    }

    /// The record as if the history had ended then.
    pub(super) fn until(&self, at: u64) -> Self {
        let mut cut = self.clone();
        cut.log.retain(|(when, _)| *when <= at);
        cut.end = cut.end.min(at);
        cut
    }

    /// What happened, line by line, for people. Repetitions are counted.
    pub(super) fn timetable(&self) -> String {
        let mut text = String::new();
        let mut last: Option<(String, u64, usize)> = None;
        let mut write = |line: Option<(String, u64)>| {
            if let (Some((new, _)), Some((old, _, times))) = (&line, &mut last)
                && new == old
            {
                *times += 1;
                return;
            }
            if let Some((told, at, times)) = last.take() {
                let more = if times > 1 {
                    format!(" ({times} times)")
                } else {
                    String::new()
                };
                let (seconds, millis) = (at / 1000, at % 1000);
                let _ = writeln!(text, "    {seconds:>4}.{millis:03} s  {told}{more}");
            }
            last = line.map(|(told, at)| (told, at, 1));
        };
        let mut lines: Vec<(u64, String)> = self
            .log
            .iter()
            .filter_map(|(at, entry)| Some((*at, told(entry)?)))
            .collect();
        let shown = |at: &u64| *at <= self.end;
        lines.extend(self.attempts.iter().filter(|one| shown(&one.ended)).map(
            |Attempt {
                 ended,
                 member,
                 fate,
                 ..
             }| {
                let how = match fate {
                    Fate::Served => "operations are served",
                    Fate::Failed => "an operation fails",
                    Fate::Neutral => "an operation ends without a verdict",
                };
                (*ended, format!("{how} on m{member}"))
            },
        ));
        lines.sort_by_key(|(at, _)| *at);
        for (at, line) in lines {
            write(Some((line, at)));
        }
        write(None);
        text
    }
}

fn told(entry: &Entry) -> Option<String> {
    Some(match entry {
        Entry::Changed(what) => format!("* {what}"),
        Entry::Dialled(member) => format!("m{member} is dialled"),
        Entry::Ended { member, active } => format!(
            "m{member} ends {}",
            if *active {
                "the active connection"
            } else {
                "a connection"
            }
        ),
        Entry::GaveUp { member, silent, .. } => {
            format!("m{member} is given up, {silent} ms silent")
        }
        Entry::Cut { member, operations } => {
            format!("{operations} operations are cut on m{member}")
        }
        Entry::Called(id, call) => format!("call {}: {call:?}", id.0),
        Entry::Answered(id, answer) => format!("answer {}: {answer:?}", id.0),
        Entry::Told(news) => match news {
            News::Switched {
                from,
                to,
                reason,
                kind,
                took,
            } => switched(from.map(|id| id.0), to.0, *reason, *kind, *took),
            News::Lost(id, _) => format!("m{} is lost", id.0),
            News::Connected(id, _) => format!("m{} is connected", id.0),
            News::DialFailed(id) => format!("a dial of m{} fails", id.0),
            News::Health(id, true) => format!("m{} is healthy again", id.0),
            News::Health(id, false) => format!("m{} is unhealthy", id.0),
            News::Breaker(id, true) => format!("the breaker of m{} opens", id.0),
            News::Breaker(id, false) => format!("the breaker of m{} closes", id.0),
            News::LameDuck(id, true) => format!("m{} is marked", id.0),
            News::LameDuck(id, false) => format!("the mark of m{} goes", id.0),
            News::AllDown(round) => format!("all members are down, round {round}"),
            News::SwitchAborted(id, reason) => {
                format!("the move to m{} is given up ({reason:?})", id.0)
            }
            News::Stalled => "this process was stalled".to_owned(),
            News::DrainEnded(id, false) => format!("the drain of m{} ends with it", id.0),
            _ => return None,
        },
    })
}

fn switched(from: Option<u32>, to: u32, reason: Reason, kind: Kind, took: Duration) -> String {
    let from = from.map_or(String::from("nobody"), |id| format!("m{id}"));
    let took = took.as_millis();
    format!("TRAFFIC MOVES {from} -> m{to} ({reason:?}, {kind:?}, {took} ms)")
}
