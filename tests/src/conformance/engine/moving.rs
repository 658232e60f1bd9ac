//! Traffic that moves: because a member fails, or because somebody wants it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use failover_core::api::{Backend, Error};
use failover_core::status::Link;
use tokio::time::sleep;

use super::{Group, HEAVY, LIGHT};
use crate::conformance::Harness;
use crate::conformance::suite::{Check, Must, Suite, failed, not_applicable, until};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "engine: operations work again after the active was killed",
            killed(harness),
        )
        .await;
    suite
        .check(
            "engine: an idle group leaves a killed active by itself",
            killed_idle(harness),
        )
        .await;
    suite
        .check(
            "engine: operations work again after the active was frozen",
            frozen(harness),
        )
        .await;
    suite
        .check(
            "engine: an announced shutdown moves the traffic before the end",
            lame_duck(harness),
        )
        .await;
    suite
        .check(
            "engine: traffic is drained back without one failed operation",
            drained_back(harness),
        )
        .await;
    suite
        .check(
            "engine: the end of a connection that carries nothing moves nothing",
            late_news(harness),
        )
        .await;
    suite
        .check(
            "engine: a whole outage ends when the members are back",
            outage(harness),
        )
        .await;
}

async fn killed<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    group.operate().await.must("an operation")?;
    harness.kill(&group.heavy).await;
    group.works_again().await?;
    group.is_active(LIGHT)?;
    group.close().await
}

/// Sooner than any check could find out: what the socket says is acted on at once.
async fn killed_idle<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    harness.kill(&group.heavy).await;
    let bounds = group.bounds;
    let bound = bounds.lost + bounds.refused + bounds.slack;
    let moved = || {
        let active = group.status().active;
        async move { active.is_some_and(|active| active == LIGHT) }
    };
    until(bound, "the traffic has moved", moved).await?;
    group.operate().await.must("the first operation after it")?;
    group.close().await
}

async fn frozen<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    group.operate().await.must("an operation")?;
    harness.freeze(&group.heavy).await;
    let works = group.works_again().await;
    let active = group.is_active(LIGHT);
    harness.thaw(&group.heavy).await;
    works.and(active)?;
    group.close().await
}

async fn lame_duck<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    if !group
        .failover
        .backend()
        .capabilities()
        .announces_lame_duck()
    {
        group.close().await?;
        return Err(not_applicable("the backend announces no lame duck"));
    }
    if !harness.announce_lame_duck(&group.heavy).await {
        group.close().await?;
        return Err(not_applicable("the harness cannot announce a lame duck"));
    }
    let moved = || {
        let active = group.status().active;
        async move { active.is_some_and(|active| active == LIGHT) }
    };
    until(group.bounds.failover, "the traffic has moved", moved).await?;
    group.operate().await.must("an operation after it")?;
    group.close().await
}

const WINDOW: Duration = Duration::from_secs(2);

/// Failover, the member comes back, and the operator moves the traffic home while it flows.
async fn drained_back<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    harness.kill(&group.heavy).await;
    group.works_again().await?;
    harness.restart(&group.heavy).await;
    group.stands(HEAVY, Link::Standby).await?;

    let stop = AtomicBool::new(false);
    let application = || async {
        let mut done = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            group.operate().await?;
            done += 1;
            // A backend that never waits would otherwise leave nobody else a turn.
            sleep(Duration::from_millis(1)).await;
        }
        Ok::<u64, Error>(done)
    };
    let moves = async {
        sleep(group.bounds.slack).await;
        let moved = group.failover.drain_to(HEAVY, WINDOW).await;
        sleep(group.bounds.quiet).await;
        stop.store(true, Ordering::Relaxed);
        moved
    };
    let applications = async {
        let (a, b, c, d) = tokio::join!(application(), application(), application(), application());
        [a, b, c, d]
    };
    let (moved, done) = tokio::join!(moves, applications);
    moved.must("draining back")?;
    for done in done {
        if done.must("an operation while the traffic moved")? == 0 {
            return Err(failed("no operation was done: the move proves nothing"));
        }
    }
    group.is_active(HEAVY)?;
    group.close().await
}

/// The connection that the traffic left, and the standby that it may have become, die after the move.
async fn late_news<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    group
        .failover
        .switch_to(LIGHT)
        .await
        .must("switching to the other member")?;
    harness.kill(&group.heavy).await;
    let until = tokio::time::Instant::now() + group.bounds.quiet;
    while tokio::time::Instant::now() < until {
        group
            .operate()
            .await
            .must("an operation while the other member died")?;
        sleep(Duration::from_millis(1)).await;
    }
    group.is_active(LIGHT)?;
    group.close().await
}

async fn outage<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    harness.kill(&group.heavy).await;
    harness.kill(&group.light).await;
    sleep(group.bounds.quiet).await;
    if let Some(active) = group.status().active {
        return Err(failed(format_args!("all are dead, and {active} is active")));
    }
    harness.restart(&group.heavy).await;
    harness.restart(&group.light).await;
    group.works_again().await?;
    let whole = || {
        let degraded = group.status().degraded;
        async move { !degraded }
    };
    until(group.bounds.failover, "the group is whole again", whole).await?;
    group.close().await
}
