//! What the conformance suites of Redis expect, whatever the driver, and whether a member is one server or several.

use failover_testkit::conformance::{self, Harness};

/// Everything is tried but what Redis does not have: a server announces no shutdown and has no name, and no backend here
/// promotes ahead.
pub(crate) async fn keeps_the_contract(harness: impl Harness) {
    let report = conformance::run(&harness).await;
    report.assert();
    let untried: Vec<_> = report.not_applicable().map(|line| line.behaviour).collect();
    assert_eq!(
        untried,
        [
            "identity: all connections to a member name one server, and those to another member another",
            "signals: an announced shutdown is heard in time",
            "promote: ahead of the decision it is a proof",
            "promote: one that was called off is drained and serves later",
            "engine: an announced shutdown moves the traffic before the end",
        ],
        "Redis has none of these, and everything else is tried"
    );
}
