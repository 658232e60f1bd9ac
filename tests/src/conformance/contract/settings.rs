//! Settings and what a backend says about itself without a connection.

use failover_core::api::Backend;

use crate::conformance::Harness;
use crate::conformance::suite::{Check, Must, Suite, failed};

pub(super) async fn run<H: Harness>(suite: &mut Suite<'_, H>) {
    let harness = suite.harness;
    suite
        .check(
            "settings: those of one place are equal, those of two places are not",
            equality(harness),
        )
        .await;
    suite
        .check(
            "settings: a backend accepts the settings of its members",
            validity(harness),
        )
        .await;
    suite
        .check(
            "checks: the default ones exist, and their names are unique",
            names(harness),
        )
        .await;
}

/// A reload that changes an address replaces the connection: the engine learns it from this comparison alone.
async fn equality<H: Harness>(harness: &H) -> Check {
    let (one, other) = (harness.start().await, harness.start().await);
    let settings = harness.settings(&one);
    if settings != settings.clone() || settings != harness.settings(&one) {
        return Err(failed(
            "equal settings differ: every reload would reconnect",
        ));
    }
    if settings == harness.settings(&other) {
        return Err(failed(
            "the settings of two members are equal: a changed address would not be noticed",
        ));
    }
    Ok(())
}

async fn validity<H: Harness>(harness: &H) -> Check {
    let member = harness.start().await;
    harness
        .backend()
        .validate(&harness.settings(&member))
        .must("validating the settings of a member that is well")
}

async fn names<H: Harness>(harness: &H) -> Check {
    let backend = harness.backend();
    let mut names: Vec<String> = backend
        .checks()
        .iter()
        .map(|check| check.name().to_owned())
        .collect();
    if let Some(missing) = backend.default_checks().iter().find(|d| !names.contains(d)) {
        return Err(failed(format_args!(
            "the default check {missing:?} is none of {names:?}"
        )));
    }
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(failed(format_args!("two checks are called {:?}", pair[0]))),
        None => Ok(()),
    }
}
