//! `arm` and `promote`: they work on what is well, and harm nothing on what is not.

use std::time::Duration;

use failover_core::Error;
use failover_core::api::{Backend, Leases};

use crate::conformance::Harness;
use crate::conformance::stage::{Link, Stage};
use crate::conformance::suite::{Check, Must, Suite, failed, not_applicable, within};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "promote: a standby is armed, promoted and serves",
            healthy(harness),
        )
        .await;
    suite
        .check(
            "promote: it works over a connection whose member died",
            from_the_dead(harness),
        )
        .await;
    suite
        .check(
            "promote: a failure harms neither connection",
            to_the_dead(harness),
        )
        .await;
    suite
        .check(
            "promote: ahead of the decision it is a proof",
            proves(harness),
        )
        .await;
    suite
        .check(
            "promote: one that was called off is drained and serves later",
            called_off(harness),
        )
        .await;
}

type Connection<H> = <<H as Harness>::Backend as Backend>::Connection;

/// What the engine does, with the bound that it has.
async fn promote<H: Harness>(
    stage: &Stage<'_, H>,
    to: &Link<Connection<H>>,
    from: Option<&Link<Connection<H>>>,
) -> Check<Result<(), Error>> {
    let from = from.map(|from| &from.connection);
    let promotion = stage.backend.promote(&to.connection, from);
    within(stage.bounds.prove, "promoting", promotion).await
}

async fn healthy<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let (east, west) = (harness.start().await, harness.start().await);
    let first = stage.connect("east", &east).await?;
    promote(&stage, &first, None)
        .await?
        .must("the first promotion")?;
    stage.activate(&first);
    stage
        .operate()
        .await?
        .must("an operation on the first active")?;

    let next = stage.connect("west", &west).await?;
    let arming = stage.backend.arm(&next.connection);
    within(stage.bounds.prove, "arming", arming)
        .await?
        .must("arming a connection that is well")?;
    promote(&stage, &next, Some(&first))
        .await?
        .must("the promotion of a standby")?;
    // Until the traffic moves, the old one still serves it.
    stage
        .operate()
        .await?
        .must("an operation on the old active after the promotion of the new one")?;
    stage.activate(&next);
    stage.retire(first).await?;
    stage
        .operate()
        .await?
        .must("an operation on the new active")?;
    stage.retire(next).await
}

/// The usual failover: nothing can be fetched from the old one any more, and the new one must not wait for it.
async fn from_the_dead<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let (east, west) = (harness.start().await, harness.start().await);
    let first = stage.connect("east", &east).await?;
    stage.activate(&first);
    let next = stage.connect("west", &west).await?;
    harness.kill(&east).await;
    promote(&stage, &next, Some(&first))
        .await?
        .must("the promotion over a dead active")?;
    stage.activate(&next);
    stage.retire(first.clone()).await?;
    stage
        .operate()
        .await?
        .must("an operation on the new active")?;
    // Once more, over one that is retired already.
    promote(&stage, &next, Some(&first))
        .await?
        .must("the promotion over a retired active")?;
    stage.retire(next).await
}

/// It may fail or succeed (there may be nothing to bring over): then the engine retires `to`, and `from` serves on.
async fn to_the_dead<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let (east, west) = (harness.start().await, harness.start().await);
    let active = stage.connect("east", &east).await?;
    stage.activate(&active);
    let dead = stage.connect("west", &west).await?;
    harness.kill(&west).await;
    // Its bound is the engine's: running into it is a failure as good as any other.
    let promotion = stage
        .backend
        .promote(&dead.connection, Some(&active.connection));
    let _ = tokio::time::timeout(stage.bounds.prove, promotion).await;
    stage.retire(dead).await?;
    stage
        .prove(&active)
        .await
        .must("the proof of the active after a promotion that failed")?;
    stage
        .operate()
        .await?
        .must("an operation on the active after a promotion that failed")?;
    stage.retire(active).await
}

/// Ahead of the decision nobody proves `to` before.
async fn proves<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    ahead(&stage)?;
    let (east, west) = (harness.start().await, harness.start().await);
    let first = stage.connect("east", &east).await?;
    let next = stage.connect("west", &west).await?;
    harness.kill(&east).await;
    harness.freeze(&west).await;
    let promotion = stage
        .backend
        .promote(&next.connection, Some(&first.connection));
    let answer = tokio::time::timeout(stage.bounds.prove, promotion).await;
    harness.thaw(&west).await;
    match answer {
        Ok(Ok(())) => Err(failed("a member that answers nothing was promoted")),
        // It is given up there, and can be begun again.
        Ok(Err(_)) | Err(_) => stage.retire(next).await,
    }
}

/// The redial of the lost active wins: given up half way or done, the standby is one again.
async fn called_off<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    ahead(&stage)?;
    let (east, west) = (harness.start().await, harness.start().await);
    let lost = stage.connect("east", &east).await?;
    stage.activate(&lost);
    let next = stage.connect("west", &west).await?;
    stage.retire(lost.clone()).await?;
    for time in [Duration::ZERO, stage.bounds.prove] {
        let promotion = stage
            .backend
            .promote(&next.connection, Some(&lost.connection));
        let _ = tokio::time::timeout(time, promotion).await;
        let drain = stage.backend.drain(&next.connection, Leases::none());
        within(stage.bounds.notice, "draining", drain).await?;
        let arming = stage.backend.arm(&next.connection);
        within(stage.bounds.prove, "arming", arming)
            .await?
            .must("arming what was promoted in vain")?;
    }
    let back = stage.connect("east", &east).await?;
    promote(&stage, &back, Some(&lost))
        .await?
        .must("the promotion of who answered the redial")?;
    stage.activate(&back);
    stage
        .operate()
        .await?
        .must("an operation on who answered the redial")?;
    harness.kill(&east).await;
    promote(&stage, &next, Some(&back))
        .await?
        .must("the promotion of who was promoted in vain before")?;
    stage.activate(&next);
    stage.retire(back).await?;
    stage
        .operate()
        .await?
        .must("an operation on who was promoted in vain before")?;
    stage.retire(next).await
}

fn ahead<H: Harness>(stage: &Stage<'_, H>) -> Check {
    if stage.backend.capabilities().promotes_ahead() {
        Ok(())
    } else {
        Err(not_applicable("the backend does not promote ahead"))
    }
}
