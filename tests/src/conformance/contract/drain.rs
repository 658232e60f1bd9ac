//! `drain`: it waits for the leases, and for nothing else, and can be given up.

use failover_core::api::{Backend, Leases};
use tokio::pin;
use tokio::time::timeout;

use crate::conformance::Harness;
use crate::conformance::stage::{Link, Stage};
use crate::conformance::suite::{Check, Must, Suite, failed, not_applicable, within};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "drain: it does not end before the operations under way",
            not_before(harness),
        )
        .await;
    suite
        .check("drain: it ends when they have ended", not_after(harness))
        .await;
    suite
        .check(
            "drain: a connection whose drain was given up serves again",
            given_up(harness),
        )
        .await;
    suite
        .check(
            "drain: a drained connection serves again",
            serves_again(harness),
        )
        .await;
}

type Connection<H> = <<H as Harness>::Backend as Backend>::Connection;

/// Two members, the traffic on the first.
async fn pair<H: Harness>(
    stage: &mut Stage<'_, H>,
    places: &(H::Member, H::Member),
) -> Check<(Link<Connection<H>>, Link<Connection<H>>)> {
    let old = stage.connect("east", &places.0).await?;
    stage.activate(&old);
    let new = stage.connect("west", &places.1).await?;
    Ok((old, new))
}

/// Traffic goes to `to`; what is still held of the connection before it.
fn moved<H: Harness>(stage: &mut Stage<'_, H>, to: &Link<Connection<H>>) -> Check<Leases> {
    let leases = stage.activate(to);
    leases.ok_or_else(|| failed("the suite has no leases to wait for"))
}

async fn not_before<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let places = (harness.start().await, harness.start().await);
    let (old, new) = pair(&mut stage, &places).await?;
    let lease = stage.slot.lease().await.must("a lease")?;
    let leases = moved(&mut stage, &new)?;
    let drain = stage.backend.drain(&old.connection, leases);
    pin!(drain);
    if timeout(stage.bounds.quiet, &mut drain).await.is_ok() {
        return Err(failed("it ended while a lease was held"));
    }
    // The one under way still has its connection.
    stage
        .prove(&old)
        .await
        .must("a round trip for an operation under way")?;
    drop(lease);
    Ok(())
}

async fn not_after<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let places = (harness.start().await, harness.start().await);
    let (old, new) = pair(&mut stage, &places).await?;
    let lease = stage.slot.lease().await.must("a lease")?;
    let leases = moved(&mut stage, &new)?;
    let drain = stage.backend.drain(&old.connection, leases);
    pin!(drain);
    let early = timeout(stage.bounds.slack, &mut drain).await.is_ok();
    drop(lease);
    // Whether it ended too early is the other line's question.
    if !early {
        within(stage.bounds.notice, "draining", drain).await?;
    }
    stage
        .operate()
        .await?
        .must("an operation on the new active")
}

/// The new active died within the window, and the old one, which is well, gets its traffic back.
async fn given_up<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let places = (harness.start().await, harness.start().await);
    let (old, new) = pair(&mut stage, &places).await?;
    let lease = stage.slot.lease().await.must("a lease")?;
    let leases = moved(&mut stage, &new)?;
    let drain = stage.backend.drain(&old.connection, leases);
    let _ = timeout(stage.bounds.slack, drain).await;
    harness.kill(&places.1).await;
    back(&mut stage, &old, &new, "a drain that was given up").await?;
    drop(lease);
    Ok(())
}

async fn serves_again<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    if !stage.backend.capabilities().serves_again_after_drain() {
        return Err(not_applicable(
            "the backend's connections do not serve again after a drain",
        ));
    }
    let places = (harness.start().await, harness.start().await);
    let (old, new) = pair(&mut stage, &places).await?;
    let leases = moved(&mut stage, &new)?;
    let drain = stage.backend.drain(&old.connection, leases);
    within(stage.bounds.notice, "draining", drain).await?;
    back(&mut stage, &old, &new, "a drain").await
}

/// What the engine does to give a connection its traffic back.
async fn back<H: Harness>(
    stage: &mut Stage<'_, H>,
    old: &Link<Connection<H>>,
    new: &Link<Connection<H>>,
    after: &str,
) -> Check {
    stage
        .prove(old)
        .await
        .must(&format!("the proof after {after}"))?;
    let promotion = stage
        .backend
        .promote(&old.connection, Some(&new.connection));
    within(stage.bounds.prove, "promoting", promotion)
        .await?
        .must(&format!("the promotion after {after}"))?;
    stage.activate(old);
    stage.retire(new.clone()).await?;
    stage
        .operate()
        .await?
        .must(&format!("an operation after {after}"))
}
