//! The course of a drill: so many rounds, each with a fresh group over the same servers.
//!
//! Fresh, so that all rounds measure the same thing with the settings a user has. In one group the failures of earlier
//! rounds would lengthen the backoff of later ones and keep the members under grace, as they should: a member that is
//! killed every second is not one to hurry back to.

use std::sync::Arc;
use std::time::{Duration, Instant};

use failover_core::Failover;
use failover_core::api::Backend;
use failover_core::event::{EventKind, Reason};

use crate::args::Args;
use crate::course::{self, Course, blocking, until};
use crate::load::{Load, Moments, Record};
use crate::scenario::{Op, Scenario, Service};
use crate::timeline::Timeline;

/// The load runs for so long before the fault: connections are warm, and the backend has learned what it learns.
const WARM: Duration = Duration::from_millis(300);
/// Before a freeze longer than the breaker's window: in a group that has hardly been used, failures soon are the larger
/// part of all calls, and the breaker opens sooner than in one that has been running for a day.
const WARM_FOR_FREEZE: Duration = Duration::from_millis(2200);
/// From one check to the next, unless configured otherwise.
const INTERVAL: Duration = Duration::from_secs(1);
/// Its multiples spread evenly, however many there are.
const GOLDEN: f64 = 0.618;
/// The end of that, when nothing is new any more, says what calm looks like on this machine.
const CALM: Duration = Duration::from_millis(200);
/// So long before and after a failback its gap is looked for.
const AROUND: Duration = Duration::from_millis(250);
/// The load goes on for so long after the group has recovered, so that late failures are seen.
const LINGER: Duration = Duration::from_millis(100);

/// What a service's load records.
pub(crate) type RecordOf<S> = <<S as Service>::Load as Load<S>>::Record;

/// What one round came to.
pub(crate) struct Round<R> {
    /// Opening the group, servers being up: parsing, connecting, proving, checking.
    pub(crate) startup: Duration,
    pub(crate) record: R,
    pub(crate) moments: Moments,
    pub(crate) gap: Duration,
    /// The longest pause just before the fault: gaps below it mean nothing.
    pub(crate) calm: Duration,
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) reason: Reason,
    /// From the server's return, or from the planned move, to an armed standby.
    pub(crate) rearmed: Duration,
    /// Attempts to connect from the fault on.
    pub(crate) dials: usize,
    /// Connections that the servers had accepted since they were started again, after an outage.
    pub(crate) accepted: Option<usize>,
    /// From the signal until the group said that the active is a lame duck, and from then until the traffic moved.
    pub(crate) notice: Option<(Duration, Duration)>,
    /// The return of the traffic.
    pub(crate) back: Option<Back>,
    /// How many writes the servers applied, where writes are counted.
    pub(crate) writes: Option<usize>,
}

/// How the traffic returned to the member that it had left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Back {
    /// From the server's return, its start included.
    pub(crate) after: Duration,
    /// The longest pause around that move, to both sides of it.
    pub(crate) gap: Duration,
}

/// Starts the servers and does all rounds.
pub(crate) async fn run<S: Service>(args: &Args) -> Result<Vec<Round<RecordOf<S>>>, String> {
    let service = Arc::new(blocking(S::start).await??);
    let mut rounds = Vec::new();
    for number in 1..=args.rounds {
        let timeline = Timeline::default();
        let round = round(&service, args, warm(args.scenario, number), &timeline).await;
        if args.trace {
            timeline.print();
        }
        let round = round.map_err(|problem| format!("round {number}: {problem}"))?;
        rounds.push(round);
    }
    Ok(rounds)
}

/// How long the load runs before the fault. Who is not waiting for an answer notices a freeze at the next check, so that
/// it begins at another point between two checks in each round.
fn warm(scenario: Scenario, round: u32) -> Duration {
    match scenario {
        Scenario::Freeze => WARM_FOR_FREEZE + INTERVAL.mul_f64((f64::from(round) * GOLDEN).fract()),
        _ => WARM,
    }
}

async fn round<S: Service>(
    service: &Arc<S>,
    args: &Args,
    warm: Duration,
    timeline: &Timeline,
) -> Result<Round<RecordOf<S>>, String> {
    let servers = service.clone();
    blocking(move || servers.settle()).await?;
    let config = service.config(args.tuned) + args.scenario.rules();
    let begun = Instant::now();
    let group = Failover::<S::Backend>::builder()
        .on_event(timeline.recorder())
        .open_toml(&config)
        .await
        .map_err(|error| error.to_string())?;
    let startup = begun.elapsed();
    until("the group is whole", || is_whole(&group)).await?;

    let before = writes(service, args).await?;
    let load = S::Load::start(service, &group, args).await?;
    tokio::time::sleep(warm).await;
    let old = active(&group, service.members()).ok_or("the active is gone before the fault")?;
    let Course { fault, restored } =
        course::run(args.scenario, service, &group, &load, old).await?;
    timeline.fault_was(fault);
    until("the standby is armed again", || is_whole(&group)).await?;
    let whole = Instant::now();
    let accepted = match args.scenario {
        Scenario::Outage => {
            let service = service.clone();
            blocking(move || service.accepted()).await?
        }
        _ => None,
    };
    tokio::time::sleep(LINGER).await;
    let record = load.stop().await?;
    let after = writes(service, args).await?;
    group.close().await;

    let moved = timeline.since(fault, |at, kind| match kind {
        EventKind::Switched {
            from: Some(from),
            to,
            reason,
            ..
        } => Some((at, from.to_string(), to.to_string(), *reason)),
        _ => None,
    });
    let armed = timeline.since(restored, |at, kind| {
        let standby = matches!(kind, EventKind::StandbyArmed { .. } | EventKind::WholeAgain);
        standby.then_some(at - restored)
    });
    let warned = timeline.since(fault, |at, kind| match kind {
        EventKind::LameDuck { marked: true, .. } => Some(at),
        _ => None,
    });
    let notice = match (warned.first(), moved.first()) {
        (Some(warned), Some((at, ..))) => {
            Some((*warned - fault, at.saturating_duration_since(*warned)))
        }
        _ => None,
    };
    let mut moves = moved.into_iter();
    // A failback is the move after the one that is looked at.
    let (moved, back) = match args.scenario {
        Scenario::Failback => (moves.next(), moves.next_back()),
        _ => (moves.next_back(), None),
    };
    let (moved, from, to, reason) = moved.ok_or("traffic did not move")?;
    let back = back.map(|(at, ..)| Back {
        after: at.saturating_duration_since(restored),
        gap: record.calm(at - AROUND, at + AROUND).unwrap_or_default(),
    });
    let moments = Moments {
        fault,
        restored,
        moved,
        whole,
        old,
    };
    if args.trace {
        record.trace(&moments);
    }
    Ok(Round {
        startup,
        gap: (record.gap(args.scenario, &moments)).ok_or("nothing came after the fault")?,
        calm: record.calm(fault - CALM, fault).unwrap_or_default(),
        record,
        moments,
        from,
        to,
        reason,
        rearmed: armed.into_iter().next_back().unwrap_or_default(),
        dials: timeline.dials(fault),
        accepted,
        notice,
        back,
        writes: before.zip(after).map(|(before, after)| after - before),
    })
}

/// What the servers have applied so far, where calls are writes and no server loses any by the scenario itself: one that is
/// killed comes back with what it had saved.
async fn writes<S: Service>(service: &Arc<S>, args: &Args) -> Result<Option<usize>, String> {
    let keeps = matches!(
        args.scenario,
        Scenario::Switch | Scenario::Drain | Scenario::Freeze | Scenario::Readonly
    );
    if args.op != Op::Incr || !keeps {
        return Ok(None);
    }
    let service = service.clone();
    blocking(move || service.writes()).await
}

/// Whether somebody is active, all others stand by, and all are known to be healthy.
pub(crate) fn is_whole<B: Backend>(group: &Failover<B>) -> bool {
    let status = group.status();
    status.active.is_some()
        && status.standbys().count() + 1 == status.members.len()
        && (status.members.iter()).all(|member| member.healthy == Some(true))
}

/// The number of the active member.
pub(crate) fn active<B: Backend>(group: &Failover<B>, members: &[&str]) -> Option<usize> {
    let active = group.status().active?;
    members.iter().position(|name| active == **name)
}
