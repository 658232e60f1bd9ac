//! The load: a call at every tick, whether the previous one has ended or not.
//!
//! A loop that waits for its answer would stop calling exactly when it matters, and count one late call where a service
//! with many users has thousands (what is known as coordinated omission).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::api::Backend;
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;

use crate::args::Args;
use crate::load::{Load, Moments, Record};
use crate::measure;
use crate::rounds::Round;
use crate::scenario::{Answers, Op, Scenario};

/// How many different errors people are shown.
const SHOWN: usize = 5;

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) ended: Instant,
    /// The member that answered, or what went wrong.
    pub(crate) answer: Result<usize, String>,
}

/// Calls that go on until they are stopped.
pub(crate) struct Calls {
    calls: Arc<Mutex<Vec<Call>>>,
    stop: oneshot::Sender<()>,
    ticks: JoinHandle<()>,
}

impl<S: Answers<Load = Self>> Load<S> for Calls {
    type Record = Vec<Call>;

    async fn start(
        _service: &Arc<S>,
        group: &Failover<S::Backend>,
        args: &Args,
    ) -> Result<Self, String> {
        let calls = Arc::default();
        let (stop, stopped) = oneshot::channel();
        let client = group.client();
        let tick = tick::<S>(client, args.op, args.every, Arc::clone(&calls), stopped);
        let ticks = tokio::spawn(tick);
        Ok(Self { calls, stop, ticks })
    }

    fn served(&self, since: Instant, but: Option<usize>) -> bool {
        let served = |call: &Call| {
            let by = call.answer.as_ref();
            call.ended > since && by.is_ok_and(|member| Some(*member) != but)
        };
        // From the end: it is the recent ones that are asked for.
        lock(&self.calls).iter().rev().any(served)
    }

    /// No further call; all calls, once the last has ended.
    async fn stop(self) -> Result<Vec<Call>, String> {
        drop(self.stop);
        let ended = self.ticks.await;
        ended.map_err(|error| format!("the load broke down: {error}"))?;
        Ok(std::mem::take(&mut *lock(&self.calls)))
    }
}

/// The calls of all rounds together.
#[derive(Serialize)]
pub(crate) struct Counts {
    /// Over all rounds, `ok + errors`.
    calls: usize,
    ok: usize,
    errors: usize,
    /// Writes that were acknowledged and that no server has: over all rounds, where writes are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    writes_lost: Option<usize>,
    /// Writes that the servers have beyond those that were acknowledged and those that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    writes_doubled: Option<usize>,
    #[serde(skip)]
    failures: BTreeMap<String, usize>,
}

impl Record for Vec<Call> {
    type Sum = Counts;

    fn gap(&self, scenario: Scenario, moments: &Moments) -> Option<Duration> {
        let Moments {
            fault,
            restored,
            old,
            ..
        } = *moments;
        match scenario {
            Scenario::Kill
            | Scenario::Freeze
            | Scenario::LameDuck
            | Scenario::Failback
            | Scenario::Readonly
            | Scenario::Pubsub => measure::until_served_elsewhere(self, fault, old),
            Scenario::Outage => measure::until_served_again(self, fault, restored),
            Scenario::Switch | Scenario::Drain => measure::pause_around_move(self, fault, old),
        }
    }

    fn calm(&self, from: Instant, to: Instant) -> Option<Duration> {
        measure::longest_pause(self, from, to)
    }

    fn sum(rounds: &[Round<Self>]) -> Counts {
        let mut failures = BTreeMap::new();
        for call in rounds.iter().flat_map(|round| &round.record) {
            if let Err(error) = &call.answer {
                *failures.entry(error.clone()).or_default() += 1;
            }
        }
        let calls = rounds.iter().map(|round| round.record.len()).sum();
        let errors = failures.values().sum();
        // Where one round was counted all were.
        let each = |of: fn(usize, usize, usize) -> usize| {
            let of = |round: &Round<Self>| {
                let answered = round.record.iter().filter(|call| call.answer.is_ok());
                let answered = answered.count();
                let failed = round.record.len() - answered;
                round.writes.map(|applied| of(applied, answered, failed))
            };
            rounds.iter().map(of).sum::<Option<usize>>()
        };
        let lost = each(|applied, answered, _failed| answered.saturating_sub(applied));
        let doubled = each(|applied, answered, failed| applied.saturating_sub(answered + failed));
        Counts {
            writes_lost: lost,
            writes_doubled: doubled,
            calls,
            ok: calls - errors,
            errors,
            failures,
        }
    }

    fn lines(sum: &Counts) -> Vec<(&'static str, String)> {
        let (calls, ok, errors) = (sum.calls, sum.ok, sum.errors);
        let mut lines = vec![("calls", format!("{calls}: {ok} ok, {errors} failed"))];
        if let (Some(lost), Some(doubled)) = (sum.writes_lost, sum.writes_doubled) {
            lines.push(("writes", format!("{lost} lost, {doubled} doubled")));
        }
        for (error, count) in sum.failures.iter().take(SHOWN) {
            lines.push(("", format!("{count} x {error}")));
        }
        if sum.failures.len() > SHOWN {
            let more = sum.failures.len() - SHOWN;
            lines.push(("", format!("and {more} further errors")));
        }
        lines
    }

    fn load(args: &Args) -> String {
        format!("a call every {:?}", args.every)
    }

    fn about_gap(scenario: Scenario) -> &'static str {
        match scenario {
            Scenario::Kill
            | Scenario::Freeze
            | Scenario::LameDuck
            | Scenario::Failback
            | Scenario::Readonly
            | Scenario::Pubsub => "from the fault to the first call elsewhere",
            Scenario::Outage => "from the first death to the first call after it",
            Scenario::Switch | Scenario::Drain => "longest pause between calls during the move",
        }
    }
}

async fn tick<S: Answers>(
    client: <S::Backend as Backend>::Client,
    op: Op,
    every: Duration,
    calls: Arc<Mutex<Vec<Call>>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut ticks = tokio::time::interval(every);
    // A stalled process does not make up for the calls that it missed: that burst would be no load but a fault.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            _ = ticks.tick() => {}
        }
        let (client, calls) = (client.clone(), calls.clone());
        under_way.spawn(async move {
            let answer = S::call(client, op).await;
            let ended = Instant::now();
            lock(&calls).push(Call { ended, answer });
        });
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
}

fn lock(calls: &Mutex<Vec<Call>>) -> MutexGuard<'_, Vec<Call>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}
