//! `prove`: a round trip to the server on exactly this connection, which may be dropped.

use failover_core::api::{Backend, Health, Member, Probe};
use tokio::time::{sleep, timeout};

use crate::conformance::Harness;
use crate::conformance::stage::Stage;
use crate::conformance::suite::{Check, Must, Suite, failed, within};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "prove: a frozen member does not pass, however often it is asked",
            round_trip(harness),
        )
        .await;
    suite
        .check(
            "prove: a connection whose member died does not pass",
            dead(harness),
        )
        .await;
    suite
        .check(
            "prove: one that was dropped harms neither the next nor an operation",
            cancel_safe(harness),
        )
        .await;
    suite
        .check(
            "checks: the default ones pass a member that is well, and not a frozen one",
            checks(harness),
        )
        .await;
}

/// The bytes of a local flush leave for a frozen member as for any other. Only an answer is a proof, and an answer
/// that was already under way is the proof of nothing: hence the second time.
async fn round_trip<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    harness.freeze(&member).await;
    let proofs = [stage.prove(&link).await, stage.prove(&link).await];
    harness.thaw(&member).await;
    match proofs.iter().position(Result::is_ok) {
        Some(0) => Err(failed("a member that answers nothing was proven")),
        Some(_) => Err(failed("it was proven at the second try")),
        None => Ok(()),
    }
}

async fn dead<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    harness.kill(&member).await;
    if stage.prove(&link).await.is_ok() {
        return Err(failed("a dead connection was proven"));
    }
    // Also when the member is there again: it is this connection that is in question.
    harness.restart(&member).await;
    match stage.prove(&link).await {
        Ok(()) => Err(failed(
            "the dead connection was proven on a new one, which nobody dialled",
        )),
        Err(_) => Ok(()),
    }
}

async fn cancel_safe<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    harness.freeze(&member).await;
    let short = stage.bounds.prove / 5;
    // The engine drops a proof at its deadline, and before that when nobody needs its answer any more.
    let _ = timeout(short, stage.backend.prove(&link.connection)).await;
    harness.thaw(&member).await;
    // What the dropping brought about, and the answer that nobody waits for any more, arrive first.
    sleep(stage.bounds.slack).await;
    stage
        .prove(&link)
        .await
        .must("the proof after one that was dropped")?;
    stage.activate(&link);
    for _ in 0..3 {
        stage
            .operate()
            .await?
            .must("an operation after a proof that was dropped")?;
    }
    Ok(())
}

async fn checks<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let place = harness.start().await;
    let link = stage.connect("one", &place).await?;
    let member = Member::new("one", harness.settings(&place));
    let probe = Probe {
        backend: &stage.backend,
        member: &member,
        connection: &link.connection,
        timeout: stage.bounds.prove,
    };
    let defaults = stage.backend.default_checks();
    let checks: Vec<_> = stage
        .backend
        .checks()
        .into_iter()
        .filter(|check| defaults.iter().any(|name| name == check.name()))
        .collect();
    for check in &checks {
        let what = format!("the check {:?}", check.name());
        match within(stage.bounds.prove, &what, check.check(probe)).await? {
            Health::Healthy => {}
            Health::Unhealthy(reason) => {
                return Err(failed(format_args!("{what} condemns it: {reason}")));
            }
            Health::Inconclusive => return Err(failed(format_args!("{what} finds nothing out"))),
        }
    }
    harness.freeze(&place).await;
    for check in &checks {
        let found = timeout(stage.bounds.prove, check.check(probe)).await;
        if let Ok(Health::Healthy) = found {
            return Err(failed(format_args!(
                "the check {:?} finds a frozen member healthy",
                check.name()
            )));
        }
    }
    harness.thaw(&place).await;
    Ok(())
}
