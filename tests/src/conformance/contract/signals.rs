//! Whose voice is heard: member and generation, and what a member announces.

use failover_core::api::Backend;

use crate::conformance::Harness;
use crate::conformance::stage::{LAME_DUCK, LOST, Stage, list};
use crate::conformance::suite::{Check, Must, Suite, failed, not_applicable};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "signals: a second connection to a member speaks with its own generation",
            own_generation(harness),
        )
        .await;
    suite
        .check(
            "signals: two members of one group are not taken for each other",
            own_member(harness),
        )
        .await;
    suite
        .check(
            "signals: two connections to one member are independent",
            independent(harness),
        )
        .await;
    suite
        .check(
            "signals: an announced shutdown is heard in time",
            lame_duck(harness),
        )
        .await;
}

/// The engine drops what an old generation says. A loss under the wrong number would be dropped, or would condemn the
/// wrong connection.
async fn own_generation<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let old = stage.connect("one", &member).await?;
    let new = stage.connect("one", &member).await?;
    let old_generation = old.generation;
    stage.retire(old).await?;
    harness.kill(&member).await;
    let mut others = stage.hear(LOST, &new).await?;
    // What the old one still says is harmless as long as it says it under its own number.
    others.retain(|said| said.generation != old_generation);
    match others.as_slice() {
        [] => stage.retire(new).await,
        others => Err(failed(format_args!("it also said: {}", list(others)))),
    }
}

async fn own_member<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let (east, west) = (harness.start().await, harness.start().await);
    let on_east = stage.connect("east", &east).await?;
    let on_west = stage.connect("west", &west).await?;
    harness.kill(&west).await;
    let mut said = stage.hear(LOST, &on_west).await?;
    said.extend(stage.listen(stage.bounds.quiet).await);
    if let Some(wrong) = said.iter().find(|said| said.member == on_east.member) {
        return Err(failed(format_args!("west died, and it said: {wrong}")));
    }
    stage
        .prove(&on_east)
        .await
        .must("the proof of the other member")
}

async fn independent<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let first = stage.connect("one", &member).await?;
    let second = stage.connect("one", &member).await?;
    stage.retire(first).await?;
    stage
        .prove(&second)
        .await
        .must("the proof of one connection after the other was retired")?;
    stage.activate(&second);
    stage
        .operate()
        .await?
        .must("an operation on one connection after the other was retired")?;
    let said = stage.listen(stage.bounds.quiet).await;
    match said
        .iter()
        .find(|said| said.generation == second.generation)
    {
        Some(said) => Err(failed(format_args!("the other one said: {said}"))),
        None => stage.retire(second).await,
    }
}

async fn lame_duck<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    if !stage.backend.capabilities().announces_lame_duck() {
        return Err(not_applicable("the backend announces no lame duck"));
    }
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    if !harness.announce_lame_duck(&member).await {
        return Err(not_applicable("the harness cannot announce a lame duck"));
    }
    stage.hear(LAME_DUCK, &link).await?;
    stage.activate(&link);
    stage.operate().await?.must("an operation on a lame duck")?;
    let said = stage.listen(stage.bounds.quiet).await;
    match said.iter().find(|said| said.what == LOST) {
        Some(said) => Err(failed(format_args!(
            "it only announced, and it said: {said}"
        ))),
        None => stage.retire(link).await,
    }
}
