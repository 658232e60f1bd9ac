//! The embedded backend keeps the contract, under a paused clock and on a real one.

mod in_memory;

use failover_testkit::conformance::{self, Verdict};
use in_memory::InMemory;

#[tokio::test(start_paused = true)]
async fn the_embedded_backend_keeps_the_contract() {
    let report = conformance::run(&InMemory::default()).await;
    report.assert();
    // It claims every capability that the suite asks for, and its members can show everything.
    assert_eq!(report.not_applicable().count(), 0);
}

/// With several threads nothing is as orderly as in virtual time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_does_so_in_real_time_too() {
    conformance::run(&InMemory::default()).await.assert();
}

#[tokio::test(start_paused = true)]
async fn what_is_not_claimed_is_not_tried() {
    let plain = InMemory {
        capabilities: failover_core::api::Capabilities::new(),
        ..InMemory::default()
    };
    let report = conformance::run(&plain).await;
    report.assert();
    let untried: Vec<_> = report.not_applicable().map(|line| line.behaviour).collect();
    assert_eq!(
        untried,
        [
            "signals: an announced shutdown is heard in time",
            "promote: ahead of the decision it is a proof",
            "promote: one that was called off is drained and serves later",
            "drain: a drained connection serves again",
            "engine: an announced shutdown moves the traffic before the end",
        ]
    );
    assert!(
        report
            .lines()
            .iter()
            .all(|line| !matches!(&line.verdict, Verdict::Failed(_)))
    );
}
