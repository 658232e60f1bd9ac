//! What happens in one round between the calm before and the calm after. It notes the moments; judging them is the
//! [record](crate::load::Record)'s.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use failover_core::Failover;
use tokio::task::JoinSet;

use crate::load::Load as _;
use crate::rounds::active;
use crate::scenario::{Fault, Scenario, Service};

const OUTAGE: Duration = Duration::from_secs(3);
/// Calls take less than a millisecond, so a drain ends long before its window does.
const DRAIN: Duration = Duration::from_millis(500);
/// The new side carries the traffic for so long before the old one is healed, or a planned move counts as over. Longer than
/// a steal leaves the old connection open (`timeouts.switch_grace`), or it would be healed in time to go on.
const SETTLE: Duration = Duration::from_millis(250);
/// How long to wait for what must happen before the drill has failed. Backoff after an outage may take a while.
const PATIENCE: Duration = Duration::from_secs(60);

/// The moments of one round.
pub(crate) struct Course {
    /// Just before the fault, or the order to move.
    pub(crate) fault: Instant,
    /// From here on a standby can be armed: just before servers are started again, or the order to move.
    pub(crate) restored: Instant,
}

/// Runs a scenario while `old` is active.
pub(crate) async fn run<S: Service>(
    scenario: Scenario,
    service: &Arc<S>,
    group: &Failover<S::Backend>,
    load: &S::Load,
    old: usize,
) -> Result<Course, String> {
    match scenario {
        Scenario::Kill => one_fails(Fault::Kill, service, group, load, old).await,
        Scenario::Freeze => one_fails(Fault::Freeze, service, group, load, old).await,
        Scenario::Readonly => one_fails(Fault::ReadOnly, service, group, load, old).await,
        Scenario::Failback => {
            let course = one_fails(Fault::Kill, service, group, load, old).await?;
            let back = || active(group, service.members()) == Some(old);
            until("the traffic has returned", || {
                back() && load.served(course.restored, None)
            })
            .await?;
            tokio::time::sleep(SETTLE).await;
            Ok(course)
        }
        Scenario::Pubsub => Err("it is no drill of a single move".to_owned()),
        Scenario::LameDuck => one_fails(Fault::LameDuck, service, group, load, old).await,
        Scenario::Outage => all_fail(service, load).await,
        Scenario::Switch | Scenario::Drain => {
            let fault = Instant::now();
            let moved = match scenario {
                Scenario::Drain => group.drain_to_passive(DRAIN).await,
                _ => group.switch_to_passive().await,
            };
            moved.map_err(|error| format!("the move failed: {error}"))?;
            tokio::time::sleep(SETTLE).await;
            Ok(Course {
                fault,
                restored: fault,
            })
        }
    }
}

async fn one_fails<S: Service>(
    fault: Fault,
    service: &Arc<S>,
    group: &Failover<S::Backend>,
    load: &S::Load,
    old: usize,
) -> Result<Course, String> {
    let begun = each(service, old..old + 1, move |service, member| {
        service.inflict(fault, member);
    })
    .await?;
    // Not every load can tell who served it; the group can say who does.
    let moved = || active(group, service.members()).is_some_and(|member| member != old);
    let elsewhere = || moved() && load.served(begun, Some(old));
    until("another member serves", elsewhere).await?;
    tokio::time::sleep(SETTLE).await;
    let restored = each(service, old..old + 1, move |service, member| {
        service.heal(fault, member);
    })
    .await?;
    if matches!(fault, Fault::LameDuck) {
        // Beside others a lame duck is left alone for two minutes; an operator who has started it again says so.
        let cleared = group.clear_lame_duck(service.members()[old]).await;
        cleared.map_err(|error| format!("the mark cannot be cleared: {error}"))?;
    }
    Ok(Course {
        fault: begun,
        restored,
    })
}

async fn all_fail<S: Service>(service: &Arc<S>, load: &S::Load) -> Result<Course, String> {
    let all = 0..service.members().len();
    let fault = each(service, all.clone(), |service, member| {
        service.inflict(Fault::Kill, member);
    })
    .await?;
    tokio::time::sleep_until((fault + OUTAGE).into()).await;
    let restored = each(service, all, |service, member| {
        service.heal(Fault::Kill, member);
    })
    .await?;
    until("the group is served again", || load.served(restored, None)).await?;
    Ok(Course { fault, restored })
}

/// Does something to several servers at the same time, and says when it began.
async fn each<S: Service>(
    service: &Arc<S>,
    members: Range<usize>,
    act: impl Fn(&S, usize) + Clone + Send + 'static,
) -> Result<Instant, String> {
    let mut acts = JoinSet::new();
    for member in members {
        let (service, act) = (service.clone(), act.clone());
        acts.spawn(blocking(move || {
            let begun = Instant::now();
            act(&service, member);
            begun
        }));
    }
    let mut begun = Vec::new();
    while let Some(ended) = acts.join_next().await {
        begun.push(ended.map_err(|error| error.to_string())??);
    }
    Ok(begun.into_iter().min().unwrap_or_else(Instant::now))
}

/// The harness blocks, and panics where something cannot be done; here that becomes the drill's error.
pub(crate) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|error| format!("the servers cannot be handled: {error}"))
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        if Instant::now() > deadline {
            return Err(format!("waited {PATIENCE:?} in vain until {what}"));
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}
