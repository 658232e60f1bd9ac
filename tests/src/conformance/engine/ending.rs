//! Groups that end: nothing of them is left, neither at the members nor for those who still hold a client.

use failover_core::api::ErrorKind;

use super::Group;
use crate::conformance::Harness;
use crate::conformance::suite::{Check, Must, Suite, failed, sees, sees_some, within};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "engine: operations on a closed group end with Closed",
            closed(harness),
        )
        .await;
    suite
        .check(
            "engine: a closed group leaves nothing at its members",
            closed_leaves_nothing(harness),
        )
        .await;
    suite
        .check(
            "engine: a dropped group leaves nothing at its members",
            dropped_leaves_nothing(harness),
        )
        .await;
}

async fn closed<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    group.operate().await.must("an operation")?;
    within(group.bounds.failover, "closing", group.failover.close()).await?;
    let notice = group.bounds.notice;
    match within(notice, "an operation after the end", group.operate()).await? {
        Ok(()) => Err(failed("an operation succeeded on a closed group")),
        Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
        Err(error) => Err(failed(format_args!(
            "it ended with {:?}: {error}",
            error.kind()
        ))),
    }
}

async fn closed_leaves_nothing<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    group.operate().await.must("an operation")?;
    sees_some(harness, &group.heavy).await?;
    sees_some(harness, &group.light).await?;
    within(group.bounds.failover, "closing", group.failover.close()).await?;
    sees(harness, &group.heavy, 0, group.bounds.notice).await?;
    sees(harness, &group.light, 0, group.bounds.notice).await
}

/// A group ends with its last handle and client; nobody is there to wait for it.
async fn dropped_leaves_nothing<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    group.operate().await.must("an operation")?;
    sees_some(harness, &group.heavy).await?;
    let Group {
        bounds,
        heavy,
        light,
        failover,
        client,
        ..
    } = group;
    drop((failover, client));
    let bound = bounds.retire + bounds.notice;
    sees(harness, &heavy, 0, bound).await?;
    sees(harness, &light, 0, bound).await
}
