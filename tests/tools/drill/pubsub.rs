//! The drill of those who listen: one stream through a switch, a drain and a kill, and what it missed or heard twice.
//!
//! **Who publishes**: the application itself, through the same group as it listens through, one numbered message each
//! `--every`, not waiting for the previous one's answer. So a message goes to the server that is active at that moment,
//! which is what clients of that server do. The two servers do not replicate: a message is on one of them.
//!
//! **Lost**: its PUBLISH was answered, and it never came; within two seconds after the end. Also where the server answered
//! that nobody listened. **Doubled**: it came more than once. **Failed**: its PUBLISH was an error, which is no loss: its
//! publisher knows. Each message belongs to the last move that had begun when its PUBLISH ended, so calm counts too.
//!
//! **Silence**: the longest time between two messages that came for the first time, from the move's beginning to the next
//! one's.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failover_core::api::Backend;
use failover_core::redis::Messages;
use failover_core::{Error, Failover};
use serde::Serialize;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::args::Args;
use crate::course::{blocking, until};
use crate::report::Gap;
use crate::rounds::{active, is_whole};
use crate::scenario::{Fault, Scenario, Service};
use crate::timeline::Timeline;

pub(crate) const CHANNEL: &str = "drill:news";

/// Before each move.
const WARM: Duration = Duration::from_millis(300);
const DRAIN: Duration = Duration::from_millis(500);
/// The new side carries the traffic for so long before a killed server is started again.
const SETTLE: Duration = Duration::from_millis(250);
/// How long after the end a message may still come.
const LATE: Duration = Duration::from_secs(2);
/// After the last one: what comes twice comes within this.
const TWICE: Duration = Duration::from_millis(100);

/// The moves of a round, in their order.
const MOVES: [Scenario; 3] = [Scenario::Switch, Scenario::Drain, Scenario::Kill];

/// A driver whose clients listen and publish.
pub(crate) trait Talks: Service {
    fn listen(
        client: &<Self::Backend as Backend>::Client,
    ) -> impl Future<Output = Result<Messages, Error>> + Send;

    /// Says how many heard it.
    fn publish(
        client: <Self::Backend as Backend>::Client,
        text: String,
    ) -> impl Future<Output = Result<i64, String>> + Send;
}

/// What came out, field by field as in JSON.
#[derive(Serialize)]
pub(crate) struct Report {
    backend: &'static str,
    driver: Option<&'static str>,
    scenario: &'static str,
    rounds: u32,
    tuned: bool,
    /// By move, over all rounds.
    moves: BTreeMap<&'static str, Sum>,
    #[serde(skip)]
    every: Duration,
}

#[derive(Serialize)]
struct Sum {
    /// Answered PUBLISHes.
    published: usize,
    failed: usize,
    lost: usize,
    doubled: usize,
    silence_ms: Gap,
}

/// One move of one round.
#[derive(Default)]
struct Tally {
    published: usize,
    failed: usize,
    lost: usize,
    doubled: usize,
    silence: Duration,
}

/// What was sent and what came in one round, by number.
#[derive(Default)]
struct Log {
    sent: usize,
    /// Whose PUBLISH was answered, and when.
    answered: Vec<(usize, Instant)>,
    /// Whose was an error, and when.
    failed: Vec<(usize, Instant)>,
    came: Vec<(usize, Instant)>,
}

type Shared = Arc<Mutex<Log>>;

pub(crate) async fn run<S: Talks>(args: &Args) -> Result<Report, String> {
    let service = Arc::new(blocking(S::start).await??);
    let mut tallies = Vec::new();
    for number in 1..=args.rounds {
        let timeline = Timeline::default();
        let round = round(&service, args, &timeline).await;
        if args.trace {
            timeline.print();
        }
        tallies.push(round.map_err(|problem| format!("round {number}: {problem}"))?);
    }
    let moves = MOVES.iter().enumerate().map(|(place, name)| {
        let each = || tallies.iter().map(move |round| &round[place]);
        let total = |of: fn(&Tally) -> usize| each().map(of).sum();
        let sum = Sum {
            published: total(|tally| tally.published),
            failed: total(|tally| tally.failed),
            lost: total(|tally| tally.lost),
            doubled: total(|tally| tally.doubled),
            silence_ms: Gap::of(each().map(|tally| tally.silence)),
        };
        (name.name(), sum)
    });
    Ok(Report {
        backend: S::NAME,
        driver: S::DRIVER,
        scenario: args.scenario.name(),
        rounds: args.rounds,
        tuned: args.tuned,
        moves: moves.collect(),
        every: args.every,
    })
}

/// The moves of one round, each with what came of it.
async fn round<S: Talks>(
    service: &Arc<S>,
    args: &Args,
    timeline: &Timeline,
) -> Result<Vec<Tally>, String> {
    let group = Failover::<S::Backend>::builder()
        .on_event(timeline.recorder())
        .open_toml(&service.config(args.tuned))
        .await
        .map_err(|error| error.to_string())?;
    until("the group is whole", || is_whole(&group)).await?;
    let client = group.client();
    let messages = S::listen(&client)
        .await
        .map_err(|error| error.to_string())?;
    let log = Shared::default();
    let listener = tokio::spawn(listen(messages, log.clone()));
    let (stop, stopped) = oneshot::channel();
    let publisher = tokio::spawn(publish::<S>(client, args.every, log.clone(), stopped));
    let mut begins = Vec::new();
    for scenario in MOVES {
        tokio::time::sleep(WARM).await;
        begins.push(Instant::now());
        make(scenario, service, &group).await?;
        until("the group is whole again", || is_whole(&group)).await?;
    }
    tokio::time::sleep(WARM).await;
    drop(stop);
    let ended = publisher.await;
    ended.map_err(|error| format!("the publisher broke down: {error}"))?;
    let end = Instant::now();
    while end.elapsed() < LATE && lock(&log).missing() > 0 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    tokio::time::sleep(TWICE).await;
    group.close().await;
    listener.abort();
    let log = lock(&log);
    begins.push(end);
    Ok(begins
        .windows(2)
        .map(|bounds| log.tally(bounds[0], bounds[1]))
        .collect())
}

async fn make<S: Service>(
    scenario: Scenario,
    service: &Arc<S>,
    group: &Failover<S::Backend>,
) -> Result<(), String> {
    let moved = match scenario {
        Scenario::Switch => group.switch_to_passive().await,
        Scenario::Drain => group.drain_to_passive(DRAIN).await,
        _ => {
            let old = active(group, service.members()).ok_or("nobody is active")?;
            let servers = service.clone();
            blocking(move || servers.inflict(Fault::Kill, old)).await?;
            let moved = || active(group, service.members()).is_some_and(|member| member != old);
            until("another member is active", moved).await?;
            tokio::time::sleep(SETTLE).await;
            let servers = service.clone();
            return blocking(move || servers.heal(Fault::Kill, old)).await;
        }
    };
    moved
        .map(drop)
        .map_err(|error| format!("the move failed: {error}"))
}

async fn listen(mut messages: Messages, log: Shared) {
    while let Some(message) = messages.next().await {
        if let Ok(number) = message.text().parse() {
            lock(&log).came.push((number, Instant::now()));
        }
    }
}

async fn publish<S: Talks>(
    client: <S::Backend as Backend>::Client,
    every: Duration,
    log: Shared,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            _ = ticks.tick() => {}
        }
        let number = {
            let mut log = lock(&log);
            log.sent += 1;
            log.sent - 1
        };
        let (client, log) = (client.clone(), log.clone());
        under_way.spawn(async move {
            let answer = S::publish(client, number.to_string()).await;
            let ended = (number, Instant::now());
            let mut log = lock(&log);
            match answer {
                Ok(_heard) => log.answered.push(ended),
                Err(_error) => log.failed.push(ended),
            }
        });
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
}

impl Log {
    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.sent];
        for (number, _at) in &self.came {
            if let Some(count) = counts.get_mut(*number) {
                *count += 1;
            }
        }
        counts
    }

    fn missing(&self) -> usize {
        let counts = self.counts();
        let missing = |(number, _at): &&(usize, Instant)| counts[*number] == 0;
        self.answered.iter().filter(missing).count()
    }

    /// Of what was published from `begin` to `end`.
    fn tally(&self, begin: Instant, end: Instant) -> Tally {
        let counts = self.counts();
        let within = |ended: &[(usize, Instant)]| -> Vec<usize> {
            let within = ended.iter().filter(|(_, at)| (begin..end).contains(at));
            within.map(|(number, _at)| *number).collect()
        };
        let (answered, failed) = (within(&self.answered), within(&self.failed));
        let mut known = vec![false; self.sent];
        let fresh = self.came.iter().filter(|(number, _at)| {
            (known.get_mut(*number)).is_some_and(|known| !std::mem::replace(known, true))
        });
        let fresh: Vec<_> = fresh.map(|(_number, at)| *at).collect();
        let pauses = fresh
            .windows(2)
            .filter(|pause| pause[1] > begin && pause[0] < end);
        Tally {
            published: answered.len(),
            failed: failed.len(),
            lost: (answered.iter())
                .filter(|number| counts[**number] == 0)
                .count(),
            doubled: (answered.iter().chain(&failed))
                .filter(|number| counts[**number] > 1)
                .count(),
            silence: pauses
                .map(|pause| pause[1] - pause[0])
                .max()
                .unwrap_or_default(),
        }
    }
}

impl Report {
    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    pub(crate) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let settings = if self.tuned { "tuned" } else { "default" };
        writeln!(
            out,
            "{} {} through {}: {} round(s), {settings} settings, a message every {:?} through the group itself",
            self.backend,
            self.scenario,
            self.driver.unwrap_or_default(),
            self.rounds,
            self.every
        )?;
        for scenario in MOVES {
            let Some(sum) = self.moves.get(scenario.name()) else {
                continue;
            };
            let Sum {
                published,
                failed,
                lost,
                doubled,
                silence_ms,
            } = sum;
            writeln!(
                out,
                "  {:<16}{published} published, {failed} failed, {lost} lost, {doubled} doubled",
                scenario.name()
            )?;
            writeln!(out, "  {:<16}silent: {}", "", silence_ms.text())?;
        }
        Ok(())
    }
}

fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_counted_once_and_with_its_move() {
        let zero = Instant::now();
        let at = |millis| zero + Duration::from_millis(millis);
        let log = Log {
            sent: 6,
            answered: [0, 1, 2, 4, 5]
                .map(|number| (number, at(number as u64 * 10)))
                .to_vec(),
            failed: vec![(3, at(30))],
            // 1 never comes; 3 failed and comes all the same; 4 comes twice.
            came: vec![
                (0, at(1)),
                (2, at(21)),
                (4, at(41)),
                (3, at(42)),
                (4, at(43)),
                (5, at(51)),
            ],
        };
        let first = log.tally(at(0), at(30));
        assert_eq!(
            (first.published, first.failed, first.lost, first.doubled),
            (3, 0, 1, 0)
        );
        let second = log.tally(at(30), at(60));
        assert_eq!(
            (second.published, second.failed, second.lost, second.doubled),
            (2, 1, 0, 1)
        );
        assert_eq!(first.silence, Duration::from_millis(20));
        assert_eq!(log.missing(), 1);
    }
}
