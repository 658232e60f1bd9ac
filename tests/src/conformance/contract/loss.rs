//! `Lost`: said once, as soon as the socket knows, and never otherwise.

use failover_core::api::Backend;
use tokio::time::sleep;

use crate::conformance::Harness;
use crate::conformance::stage::{DISCOVERED, LOST, Stage, list};
use crate::conformance::suite::{Check, Must, Suite, failed, sees, sees_some};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "loss: an idle connection says in time that its member died",
            in_time(harness),
        )
        .await;
    suite
        .check(
            "loss: it is said once, also when operations and proofs meet it",
            once(harness),
        )
        .await;
    suite
        .check(
            "loss: a healthy connection has nothing to say",
            quiet(harness),
        )
        .await;
    suite
        .check("loss: nothing reconnects by itself", no_reconnect(harness))
        .await;
}

/// Nobody operates on it and nobody proves it: the loss has to come from whoever reads the socket.
async fn in_time<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    harness.kill(&member).await;
    stage.hear(LOST, &link).await?;
    stage.retire(link).await
}

/// An operation and a proof meet the loss too, and must not tell it again.
async fn once<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    stage.activate(&link);
    harness.kill(&member).await;
    if stage.operate().await?.is_ok() {
        return Err(failed("an operation succeeded on a dead member"));
    }
    let _ = stage.prove(&link).await;
    let quiet = stage.bounds.quiet + stage.bounds.lost;
    let mut said = stage.listen(quiet).await;
    stage.retire(link).await?;
    said.extend(stage.listen(quiet).await);
    let count = said.iter().filter(|said| said.what == LOST).count();
    match count {
        1 => Ok(()),
        0 => Err(failed(
            "it was not said at all, not even after an operation failed",
        )),
        _ => Err(failed(format_args!(
            "it was said {count} times: {}",
            list(&said)
        ))),
    }
}

async fn quiet<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    stage.activate(&link);
    stage.operate().await?.must("an operation")?;
    let mut said = stage.listen(stage.bounds.quiet).await;
    if stage.backend.capabilities().discovers_members() {
        said.retain(|said| said.what != DISCOVERED);
    }
    match said.as_slice() {
        [] => stage
            .prove(&link)
            .await
            .must("the proof of a connection that was idle"),
        said => Err(failed(format_args!("it said: {}", list(said)))),
    }
}

/// The engine owns every dial. A driver that reconnects on its own is a connection too many, which nobody has proven and
/// nobody retires.
async fn no_reconnect<H: Harness>(harness: &H) -> Check {
    let mut stage = Stage::new(harness);
    let member = harness.start().await;
    let link = stage.connect("one", &member).await?;
    sees_some(harness, &member).await?;
    harness.kill(&member).await;
    sleep(stage.bounds.lost).await;
    harness.restart(&member).await;
    sleep(stage.bounds.quiet).await;
    sees(harness, &member, 0, stage.bounds.slack).await?;
    stage.retire(link).await
}
