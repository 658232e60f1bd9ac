//! One run from the start of the servers to the record: quiet, faults, quiet, and then what the servers kept.
//!
//! What must never come in: what only one target has, and a judgement.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use failover_core::Failover;
use failover_testkit::server::Proxy;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::args::Args;
use crate::harm::{self, Done, Scene};
use crate::log::{Clock, Log, Logs};
use crate::plan;
use crate::progress;
use crate::record::{Carry, Fault, Fit, Member, Micros, Operation, Record, Replay, Sample};
use crate::targets::{Course, Load, Target, blocking};
use crate::watch::{self as look, Pulse, Said};

/// `timeouts.operation`, `timeouts.prove` and `loss.redial` of the configuration that a group opens with: the longest that
/// a frozen member goes unseen, as long as somebody waits for its answer.
const SILENCE: Micros = 1_050_000;
/// `unavailable.wait`, and `timeouts.operation` twice.
const PATIENCE: Micros = 2_000_000;
/// What every configuration says of `failback.stable`, `failback.grace` and `reconnect.max`.
const STABLE: Micros = 2_000_000;
const GRACE: Micros = 5_000_000;
const RECONNECT: Micros = 500_000;
/// An operation that has not ended so long after the run never does.
const GIVE_UP: Duration = Duration::from_secs(10);
/// After a fault a member counts as fit again only so much later: queues empty, and routers learn.
const MARGIN: Micros = 250_000;
/// How often the proxies are asked how often they were dialled.
const DIALS: Duration = Duration::from_millis(5);
const SAMPLES: Duration = Duration::from_millis(500);
/// The workload has found its pace so long after it was started, or after the last fault.
const SETTLED: Micros = 500_000;

/// The whole run.
pub(crate) async fn run<T: Target>(args: &Args) -> Result<Record, String> {
    let target = Arc::new(blocking(T::start).await??);
    let mut gates = Vec::new();
    for member in 0..T::MEMBERS.len() {
        let gate = Proxy::start(([127, 0, 0, 1], target.port(member))).await;
        gates.push(gate.map_err(|error| format!("a proxy does not start: {error}"))?);
    }
    target.prepare().await?;

    let clock = Clock::start();
    let pulse = Pulse::start(clock);
    let said = Said::new(T::MEMBERS);
    let ports: Vec<_> = gates.iter().map(Proxy::port).collect();
    let group = Failover::<T::Backend>::builder()
        .on_event(said.recorder(clock, clock.at(0)))
        .open_toml(&target.config(&ports, 0))
        .await
        .map_err(|error| format!("the group does not open: {error}"))?;
    let (stop, over) = watch::channel(false);
    let end = clock.at(args.length);
    let course = Course {
        logs: Logs::new(clock, T::WORKERS),
        clock,
        length: Duration::from_micros(args.length.into()),
        over,
        give_up: end + GIVE_UP,
    };
    let load = target.load(&group, &course).await?;
    let scene = Arc::new(Scene {
        target,
        group,
        gates,
        course,
        done: Mutex::new(Done::default()),
    });
    let plan = plan::plan(args.seed, &args.kinds, args.target, args.length);
    let harm = {
        let scene = Arc::clone(&scene);
        tokio::spawn(async move { harm::carry_out(&scene, &plan).await })
    };
    let dials = tokio::spawn(count_dials(Arc::clone(&scene)));
    let samples = tokio::spawn(take_samples(Arc::clone(&scene)));
    let progress = progress::start(args, Arc::clone(&scene), said.clone());

    let harm = async { harm.await.map_err(|error| error.to_string())? };
    let time = async {
        tokio::time::sleep_until(end.into()).await;
        Ok(())
    };
    // A fault that cannot be done ends the run at once.
    tokio::try_join!(harm, time)?;
    stop.send_replace(true);
    let (workers, errors, heard) = ended(load).await?;
    progress.abort();
    let samples = samples.await.map_err(|error| error.to_string())?;
    let stops = pulse.stop();
    scene.group.close().await;
    let kept = scene.target.kept(&scene.course).await?;
    let mut dials = stopped(dials).await?;

    let done = std::mem::take(
        &mut *scene
            .done
            .lock()
            .unwrap_or_else(|broken| broken.into_inner()),
    );
    let mut told = said.lock();
    dials.append(&mut told.refused);
    dials.sort_unstable();
    let mut moves = std::mem::take(&mut told.moves);
    for one in &mut moves {
        let left = |(member, during): &(Member, Range<Micros>)| {
            Some(*member) == one.from && during.contains(&one.at)
        };
        one.refused = done.refused.iter().any(left);
    }
    let mut faults = done.faults;
    faults.sort_by_key(|fault| fault.during.start);
    moves.sort_by_key(|one| one.at);
    let mut links = std::mem::take(&mut told.links);
    links.sort_by_key(|link| link.at);
    let mut turns = scene.target.turns();
    turns.sort_by_key(|turn| turn.during.start);
    let mut unfit = done.unfit;
    for (_, during) in &mut unfit {
        during.end += MARGIN;
    }
    unfit.extend(scene.target.unfit(args.length));
    Ok(Record {
        target: args.target,
        seed: args.seed,
        length: args.length,
        members: T::MEMBERS.iter().map(|name| (*name).to_owned()).collect(),
        silence: SILENCE,
        patience: PATIENCE,
        patience_of: T::patience(),
        stable: STABLE,
        grace: GRACE,
        reconnect: RECONNECT,
        window: harm::DRAIN.as_micros() as Micros,
        replay: Replay::Reads,
        carry: Carry::Unsent,
        asked: args.kinds.iter().map(|kind| kind.name()).collect(),
        quiet: quiet(args.length, &faults),
        workers,
        faults,
        fit: fit(&unfit, T::NAME.members(), args.length),
        turns,
        stops,
        moves,
        links,
        dials,
        samples,
        heard,
        applied: kept.take(),
        errors,
    })
}

type Ended = (
    Vec<Vec<Operation>>,
    BTreeMap<String, u64>,
    Vec<crate::record::Heard>,
);

/// What the workload wrote down, in the order of the workers.
async fn ended(load: Load) -> Result<Ended, String> {
    let mut logs: Vec<Log> = Vec::new();
    let mut workers: JoinSet<Log> = load.workers;
    while let Some(log) = workers.join_next().await {
        logs.push(log.map_err(|error| format!("a worker broke down: {error}"))?);
    }
    let mut taken: Vec<_> = logs.into_iter().map(Log::take).collect();
    taken.sort_by_key(|(worker, ..)| *worker);
    let mut errors = BTreeMap::new();
    let mut operations = Vec::new();
    for (_, of_worker, its_errors) in taken {
        operations.push(of_worker);
        for (text, count) in its_errors {
            *errors.entry(text).or_default() += count;
        }
    }
    let mut heard = Vec::new();
    for listener in load.listeners {
        let messages = listener.await;
        heard.push(messages.map_err(|error| format!("a listener broke down: {error}"))?);
    }
    Ok((operations, errors, heard))
}

/// Every dial that a proxy accepted, until the run is over. Refused ones are told by the group.
async fn count_dials<T: Target>(scene: Arc<Scene<T>>) -> Vec<(Micros, Member)> {
    let mut dials = Vec::new();
    let mut before = vec![0; scene.gates.len()];
    loop {
        let last = *scene.course.over.borrow();
        let now = scene.course.clock.now();
        for ((gate, before), member) in scene.gates.iter().zip(&mut before).zip(0..) {
            let accepted = gate.accepted();
            dials.extend((*before..accepted).map(|_| (now, member)));
            *before = accepted;
        }
        if last {
            return dials;
        }
        tokio::time::sleep(DIALS).await;
    }
}

async fn take_samples<T: Target>(scene: Arc<Scene<T>>) -> Vec<Sample> {
    let mut samples = Vec::new();
    let Course {
        clock,
        ref over,
        ref logs,
        ..
    } = scene.course;
    while !*over.borrow() {
        let mut sample = look::sample(clock.now(), logs.written());
        // Each connection through a proxy is a task and two sockets of the proxy.
        let through: usize = scene.gates.iter().map(Proxy::connections).sum();
        sample.tasks = sample.tasks.saturating_sub(through as u32);
        sample.sockets = sample.sockets.saturating_sub(2 * through as u32);
        samples.push(sample);
        tokio::time::sleep(SAMPLES).await;
    }
    samples
}

async fn stopped<V>(task: JoinHandle<V>) -> Result<V, String> {
    task.await.map_err(|error| error.to_string())
}

/// The spells before the first fault and after the last one.
fn quiet(length: Micros, faults: &[Fault]) -> [Range<Micros>; 2] {
    let spell = plan::quiet(length);
    let last = faults.iter().map(|fault| fault.during.end).max();
    let from = (length - spell).max(last.unwrap_or_default());
    [SETTLED..spell, (from + SETTLED).min(length)..length]
}

/// Where nothing is said against a member, it could have served.
fn fit(unfit: &[(Member, Range<Micros>)], members: Member, length: Micros) -> Vec<Fit> {
    let mut fit = Vec::new();
    for member in 0..members {
        let mut spans: Vec<_> = unfit.iter().filter(|(of, _)| *of == member).collect();
        spans.sort_by_key(|(_, during)| during.start);
        let mut at = 0;
        for (_, during) in spans {
            if during.start > at {
                let during = at..during.start.min(length);
                fit.push(Fit { member, during });
            }
            at = at.max(during.end);
        }
        if at < length {
            let during = at..length;
            fit.push(Fit { member, during });
        }
    }
    fit.retain(|fit| !fit.during.is_empty());
    fit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_fit_where_nothing_is_said_against_it() {
        let unfit = [(0, 30..50), (0, 40..60), (1, 0..100), (0, 90..120)];
        let spans = |member| {
            let fit = fit(&unfit, 3, 100).into_iter();
            let of = fit.filter(|fit| fit.member == member);
            of.map(|fit| fit.during).collect::<Vec<_>>()
        };
        assert_eq!(spans(0), [0..30, 60..90]);
        assert_eq!(spans(1), []);
        assert_eq!(spans(2), vec![0..100]);
    }
}
