//! `retire`: bounded, waiting for nobody, and nothing is left.

use failover_core::Error;
use failover_core::api::{Backend, ErrorKind};
use tokio::time::{sleep, timeout};

use crate::conformance::Harness;
use crate::conformance::stage::{Link, Stage};
use crate::conformance::suite::{Check, Problem, Suite, failed, sees, sees_some};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "retire: the member sees no connection afterwards, though clones are held",
            leaves_nothing(harness),
        )
        .await;
    suite
        .check(
            "retire: the same from a frozen member, and within the bound",
            frozen(harness),
        )
        .await;
    suite
        .check(
            "retire: an idle clone is answered with an error, quickly",
            idle_clone(harness),
        )
        .await;
    suite
        .check(
            "retire: an operation on a retired connection ends with Retired, or finds no other",
            after(harness),
        )
        .await;
    suite
        .check(
            "retire: an operation under way ends with Retired",
            under_way(harness),
        )
        .await;
    suite
        .check(
            "retire: a connection whose member died can be retired",
            dead(harness),
        )
        .await;
}

type Connection<H> = <<H as Harness>::Backend as Backend>::Connection;

/// One connection that carries the traffic, so that client and slot hold clones of it.
async fn active<H: Harness>(
    stage: &mut Stage<'_, H>,
    member: &H::Member,
) -> Check<Link<Connection<H>>> {
    let link = stage.connect("one", member).await?;
    stage.activate(&link);
    Ok(link)
}

async fn leaves_nothing<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = active(&mut stage, &member).await?;
    sees_some(harness, &member).await?;
    let clone = link.clone();
    stage.retire(link).await?;
    sees(harness, &member, 0, stage.bounds.notice).await?;
    // Nor does anything come back, by itself or because a clone is used.
    let _ = stage.prove(&clone).await;
    sleep(stage.bounds.quiet).await;
    sees(harness, &member, 0, stage.bounds.slack).await
}

async fn frozen<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = active(&mut stage, &member).await?;
    harness.freeze(&member).await;
    let retired = stage.retire(link).await;
    harness.thaw(&member).await;
    retired?;
    match sees(harness, &member, 0, stage.bounds.notice).await {
        // The bound was kept all the same.
        Err(Problem::NotApplicable(_)) => Ok(()),
        seen => seen,
    }
}

async fn idle_clone<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = active(&mut stage, &member).await?;
    let clone = link.clone();
    stage.retire(link).await?;
    let bound = stage.bounds.prove.min(stage.bounds.notice);
    match timeout(bound, stage.backend.prove(&clone.connection)).await {
        Ok(Err(_)) => Ok(()),
        Ok(Ok(())) => Err(failed("a retired connection was proven")),
        Err(_elapsed) => Err(failed(format_args!("it had no answer within {bound:?}"))),
    }
}

fn ends_with(answer: &Result<(), Error>, kinds: &[ErrorKind]) -> Check {
    match answer {
        Ok(()) => Err(failed("it succeeded")),
        Err(error) if kinds.contains(&error.kind()) => Ok(()),
        Err(error) => Err(failed(format_args!(
            "it ended with {:?}: {error}",
            error.kind()
        ))),
    }
}

/// A client that knows that nothing was sent may wait for the next active, and say that there was none.
async fn after<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = active(&mut stage, &member).await?;
    stage.retire(link).await?;
    let answer = stage.operate().await?;
    ends_with(&answer, &[ErrorKind::Retired, ErrorKind::NoActive])
}

/// The member does not answer, so that the operation is under way for certain; retiring does not wait for it.
async fn under_way<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = active(&mut stage, &member).await?;
    harness.freeze(&member).await;
    let (answer, retired) = tokio::join!(stage.operate(), async {
        sleep(stage.bounds.operation / 5).await;
        stage.retire(link).await
    });
    harness.thaw(&member).await;
    retired?;
    ends_with(&answer?, &[ErrorKind::Retired])
}

async fn dead<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = active(&mut stage, &member).await?;
    harness.kill(&member).await;
    stage.retire(link).await?;
    match stage.operate().await? {
        Ok(()) => Err(failed("an operation succeeded on a dead connection")),
        Err(_) => Ok(()),
    }
}
