//! The recorder: each worker writes its own log, which nobody else sees before the run is over.
//!
//! So there is no lock and no shared line of memory on the way of an operation, beside one counter of each worker that only
//! that worker writes. A log has its final capacity from the beginning: nothing is copied while the run goes on.
//!
//! What must never come in: a judgement, and anything that waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

use failover_core::Fate;

use crate::record::{Kind, Micros, Operation, OperationId, Outcome};

/// Different errors that one worker keeps; further ones are counted together.
const ERRORS: usize = 100;
const FURTHER: &str = "further errors";

/// The time since the run began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Micros {
        self.of(Instant::now())
    }

    /// Zero for what was before.
    pub(crate) fn of(self, at: Instant) -> Micros {
        let since = at.saturating_duration_since(self.0);
        Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX)
    }

    pub(crate) fn at(self, micros: Micros) -> Instant {
        self.0 + std::time::Duration::from_micros(micros.into())
    }
}

/// What an operation came to, in the words of its client.
#[derive(Debug)]
pub(crate) enum Answer {
    Right,
    /// With what came and what should have come.
    Wrong(String),
    Failed(Option<Fate>, String),
}

/// The log of one worker.
pub(crate) struct Log {
    worker: u16,
    clock: Clock,
    operations: Vec<Operation>,
    under_way: Option<(Kind, Micros)>,
    errors: BTreeMap<String, u64>,
    counts: Arc<[AtomicU32]>,
}

impl Log {
    /// Begins an operation. Its number is its place in the log, also if it never ends.
    pub(crate) fn begin(&mut self, kind: Kind) -> OperationId {
        let id = self.next();
        self.under_way = Some((kind, self.clock.now()));
        id
    }

    /// What the next operation will be called.
    pub(crate) fn next(&self) -> OperationId {
        OperationId {
            worker: self.worker,
            number: self.operations.len() as u32,
        }
    }

    /// Ends the operation that is under way.
    pub(crate) fn end(&mut self, answer: Answer) {
        let (outcome, error) = match answer {
            Answer::Right => (Outcome::Right, None),
            Answer::Wrong(text) => (Outcome::Wrong, Some(text)),
            Answer::Failed(Some(Fate::NotApplied), text) => (Outcome::NotApplied, Some(text)),
            Answer::Failed(Some(_), text) => (Outcome::MayHaveBeenApplied, Some(text)),
            Answer::Failed(None, text) => (Outcome::NoFate, Some(text)),
        };
        self.finish(outcome);
        if let Some(text) = error {
            self.count(&text);
        }
    }

    fn finish(&mut self, outcome: Outcome) {
        let Some((kind, begun)) = self.under_way.take() else {
            return;
        };
        let took = self.clock.now() - begun;
        self.operations.push(Operation {
            begun,
            took,
            kind,
            outcome,
        });
        let count = self.operations.len() as u32;
        self.counts[usize::from(self.worker)].store(count, Ordering::Relaxed);
    }

    fn count(&mut self, text: &str) {
        let text = without_numbers(text);
        let known = self.errors.len() < ERRORS || self.errors.contains_key(&text);
        let text = if known { text } else { FURTHER.to_owned() };
        *self.errors.entry(text).or_default() += 1;
    }

    /// Runs a worker until it ends, or until `give_up`: then what is under way counts as not ended.
    pub(crate) async fn keep(
        mut self,
        work: impl AsyncFnOnce(&mut Self),
        give_up: Instant,
    ) -> Self {
        let _ = tokio::time::timeout_at(give_up.into(), work(&mut self)).await;
        self.finish(Outcome::Unended);
        self
    }

    /// The worker, its operations, and its errors.
    pub(crate) fn take(self) -> (u16, Vec<Operation>, BTreeMap<String, u64>) {
        (self.worker, self.operations, self.errors)
    }
}

/// Ports, times and the like would make one error into thousands.
fn without_numbers(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '0'..='9' if plain.ends_with('#') => {}
            // A decimal point is no end of a sentence.
            '.' if plain.ends_with('#') => {}
            '0'..='9' => plain.push('#'),
            other => plain.push(other),
        }
    }
    plain
}

/// Hands out the logs of a run, and knows how far each worker is.
#[derive(Clone)]
pub(crate) struct Logs {
    clock: Clock,
    counts: Arc<[AtomicU32]>,
    /// Messages that were written down, of all listeners.
    heard: Arc<AtomicU64>,
}

impl Logs {
    pub(crate) fn new(clock: Clock, workers: u16) -> Self {
        let counts = (0..workers).map(|_| AtomicU32::new(0)).collect();
        Self {
            clock,
            counts,
            heard: Arc::default(),
        }
    }

    /// The log of one worker, which will have at most so many operations. Each worker has one.
    pub(crate) fn log(&self, worker: u16, most: usize) -> Log {
        Log {
            worker,
            clock: self.clock,
            operations: Vec::with_capacity(most),
            under_way: None,
            errors: BTreeMap::new(),
            counts: self.counts.clone(),
        }
    }

    pub(crate) fn workers(&self) -> u16 {
        self.counts.len() as u16
    }

    /// How many operations a worker has behind it.
    pub(crate) fn count(&self, worker: u16) -> u32 {
        self.counts[usize::from(worker)].load(Ordering::Relaxed)
    }

    /// One more message was written down.
    pub(crate) fn heard_one(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// How much memory is written, in bytes.
    pub(crate) fn written(&self) -> u64 {
        let messages = self.heard.load(Ordering::Relaxed);
        self.total() * size_of::<Operation>() as u64
            + messages * size_of::<(Micros, OperationId)>() as u64
    }

    /// How many operations all workers have behind them.
    pub(crate) fn total(&self) -> u64 {
        let counts = self.counts.iter();
        counts
            .map(|count| u64::from(count.load(Ordering::Relaxed)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn one() -> (Logs, Log) {
        let logs = Logs::new(Clock::start(), 2);
        let log = logs.log(1, 4);
        (logs, log)
    }

    #[tokio::test(start_paused = true)]
    async fn what_did_not_end_is_recorded_as_such() {
        let (logs, log) = one();
        let work = async |log: &mut Log| {
            assert_eq!(log.begin(Kind::Read).number, 0);
            log.end(Answer::Right);
            assert_eq!(log.begin(Kind::Write).number, 1);
            std::future::pending::<()>().await;
        };
        let log = log
            .keep(work, Instant::now() + Duration::from_millis(50))
            .await;
        assert_eq!((logs.count(1), logs.total()), (2, 2));
        let (worker, operations, _) = log.take();
        assert_eq!(worker, 1);
        let ended: Vec<_> = operations.iter().map(|op| (op.kind, op.outcome)).collect();
        assert_eq!(
            ended,
            [
                (Kind::Read, Outcome::Right),
                (Kind::Write, Outcome::Unended)
            ]
        );
    }

    #[test]
    fn outcomes_are_what_the_client_said_of_the_fate() {
        let (_, mut log) = one();
        for (answer, outcome) in [
            (Answer::Wrong("x".into()), Outcome::Wrong),
            (
                Answer::Failed(Some(Fate::NotApplied), "x".into()),
                Outcome::NotApplied,
            ),
            (
                Answer::Failed(Some(Fate::MayHaveBeenApplied), "x".into()),
                Outcome::MayHaveBeenApplied,
            ),
            (Answer::Failed(None, "y".into()), Outcome::NoFate),
        ] {
            log.begin(Kind::Write);
            log.end(answer);
            assert_eq!(log.operations.last().unwrap().outcome, outcome);
        }
        assert_eq!((log.errors["x"], log.errors["y"]), (3, 1));
    }

    #[test]
    fn different_errors_are_bounded() {
        let (_, mut log) = one();
        for number in 0..1000 {
            log.begin(Kind::Read);
            log.end(Answer::Failed(None, "x".repeat(number)));
        }
        assert_eq!(log.errors.len(), ERRORS + 1);
        assert_eq!(log.errors[FURTHER], 1000 - ERRORS as u64);
    }

    #[test]
    fn errors_that_differ_in_numbers_are_one() {
        let texts = ["127.0.0.1:80 within 3.5µs", "127.0.0.1:9000 within 12µs"];
        assert_eq!(texts.map(without_numbers), ["#:# within #µs"; 2]);
    }
}
