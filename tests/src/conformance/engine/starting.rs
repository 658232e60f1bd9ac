//! Groups that start, with all members or without one.

use failover_core::status::Link;

use super::{Group, HEAVY, LIGHT};
use crate::conformance::Harness;
use crate::conformance::suite::{Check, Must, Suite};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "engine: a group starts on its heaviest member and keeps the other warm",
            heaviest(harness),
        )
        .await;
    suite
        .check(
            "engine: a member that was down at the start joins when it comes",
            joins(harness),
        )
        .await;
}

async fn heaviest<H: Harness>(harness: &H) -> Check {
    let group = Group::open(harness).await?;
    group.operate().await.must("an operation")?;
    group.is_active(HEAVY)?;
    group.close().await
}

async fn joins<H: Harness>(harness: &H) -> Check {
    let (heavy, light) = (harness.start().await, harness.start().await);
    harness.kill(&heavy).await;
    let group = Group::over(harness, heavy, light).await?;
    group.is_active(LIGHT)?;
    group
        .operate()
        .await
        .must("an operation without the heaviest")?;
    harness.restart(&group.heavy).await;
    group.stands(HEAVY, Link::Standby).await?;
    group
        .failover
        .switch_to(HEAVY)
        .await
        .must("switching to the member that joined")?;
    group.operate().await.must("an operation on it")?;
    group.close().await
}
