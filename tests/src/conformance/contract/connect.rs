//! `connect`: one attempt, bounded, and nothing left of one that was given up.

use std::time::Duration;

use failover_core::api::ErrorKind;
use tokio::time::{Instant, sleep, timeout};

use crate::conformance::Harness;
use crate::conformance::stage::Stage;
use crate::conformance::suite::{Check, Suite, failed, sees, within};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "connect: a member that is well is connected, proven and serves",
            serves(harness),
        )
        .await;
    suite
        .check("connect: a dead member refuses at once", refused(harness))
        .await;
    suite
        .check(
            "connect: a frozen member is given up within the timeout",
            bounded(harness),
        )
        .await;
    suite
        .check(
            "connect: nothing is left of a dial that timed out",
            timed_out(harness),
        )
        .await;
    suite
        .check(
            "connect: nothing is left of a dial that was dropped",
            dropped(harness),
        )
        .await;
}

async fn serves<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    stage.activate(&link);
    if let Err(error) = stage.operate().await? {
        return Err(failed(format_args!("an operation failed: {error}")));
    }
    stage.retire(link).await
}

/// A refusal decides a failover at once: a backend that waits, or tries again by itself, takes that time away.
async fn refused<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    harness.kill(&member).await;
    let bound = stage.bounds.refused + stage.bounds.slack;
    let dial = stage.dial("one", &member);
    let Err(error) = within(bound, "connecting to a dead member", dial).await? else {
        return Err(failed("a dead member was connected"));
    };
    match error.kind() {
        ErrorKind::Refused => Ok(()),
        kind => Err(failed(format_args!(
            "the kind is {kind:?} instead of Refused: {error}"
        ))),
    }
}

async fn bounded<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    harness.freeze(&member).await;
    let bound = stage.bounds.connect + stage.bounds.slack;
    let began = Instant::now();
    let dial = stage.dial("one", &member);
    // With time to spare, so that the line says how long it took instead.
    let answer = timeout(bound * 4, dial).await;
    let took = began.elapsed();
    // A protocol without a handshake may connect, for the kernel answers: then the proof decides.
    let proof = match &answer {
        Ok(Ok(link)) => stage.prove(link).await,
        _ => Ok(()),
    };
    harness.thaw(&member).await;
    match answer {
        Ok(Ok(_)) if proof.is_ok() => Err(failed(
            "a member that answers nothing was connected and proven",
        )),
        Ok(Ok(link)) if took <= bound => stage.retire(link).await,
        Ok(Err(_)) if took <= bound => Ok(()),
        Ok(_) => Err(failed(format_args!(
            "it took {took:?} instead of {bound:?}"
        ))),
        Err(_elapsed) => Err(failed(format_args!("it was not over after {took:?}"))),
    }
}

async fn timed_out<H: Harness>(harness: &H) -> Check {
    let given_up = harness.bounds().connect * 2;
    given_up_after(harness, given_up).await
}

/// The engine drops a dial when the group closes, or when its member is removed.
async fn dropped<H: Harness>(harness: &H) -> Check {
    let given_up = harness.bounds().connect / 4;
    given_up_after(harness, given_up).await
}

async fn given_up_after<H: Harness>(harness: &H, time: Duration) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    harness.freeze(&member).await;
    let answer = timeout(time, stage.dial("one", &member)).await;
    harness.thaw(&member).await;
    if let Ok(Ok(link)) = answer {
        stage.retire(link).await?;
    }
    // What was sent meanwhile is answered now: whoever still waits for it would go on.
    sleep(stage.bounds.quiet).await;
    sees(harness, &member, 0, stage.bounds.notice).await
}
