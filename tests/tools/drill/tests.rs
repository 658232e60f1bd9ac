//! The measurements, on made-up calls; and a whole drill on real servers, in the form in which one types it.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::calls::Call;
use crate::measure::{
    Spread, longest_pause, pause_around_move, until_served_again, until_served_elsewhere,
};
use crate::{Failed, run};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Calls by when they ended, in milliseconds, and who answered.
fn calls(zero: Instant, calls: &[(u64, Option<usize>)]) -> Vec<Call> {
    let call = |&(at, by): &(u64, Option<usize>)| Call {
        ended: zero + millis(at),
        answer: by.ok_or_else(|| "no answer".to_owned()),
    };
    calls.iter().map(call).collect()
}

#[test]
fn percentiles_are_measured_values() {
    let hundred = Spread::of((1..=100).rev().map(millis));
    assert_eq!(hundred.percentile(50), millis(50));
    assert_eq!(hundred.percentile(99), millis(99));
    assert_eq!(hundred.max(), millis(100));
    let two = Spread::of([millis(7), millis(3)]);
    assert_eq!(two.percentile(50), millis(3));
    assert_eq!(two.percentile(99), millis(7));
    let one = Spread::of([millis(4)]);
    assert_eq!(
        (one.percentile(50), one.percentile(99)),
        (millis(4), millis(4))
    );
    assert_eq!(Spread::of([]).percentile(50), Duration::ZERO);
}

#[test]
fn only_another_member_ends_the_gap_of_a_fault() {
    let zero = Instant::now();
    // A late answer of the old one, a failure, and answers of the new one that were recorded out of order.
    let calls = calls(
        zero,
        &[
            (9, Some(1)),
            (11, Some(0)),
            (12, None),
            (15, Some(1)),
            (14, Some(1)),
        ],
    );
    let fault = zero + millis(10);
    assert_eq!(until_served_elsewhere(&calls, fault, 0), Some(millis(4)));
    assert_eq!(until_served_elsewhere(&calls[..3], fault, 0), None);
}

#[test]
fn an_outage_ends_with_the_first_answer_after_it() {
    let zero = Instant::now();
    let calls = calls(
        zero,
        &[(1, Some(0)), (3, Some(0)), (40, None), (50, Some(0))],
    );
    let gap = until_served_again(&calls, zero + millis(2), zero + millis(30));
    assert_eq!(gap, Some(millis(48)));
}

#[test]
fn the_gap_of_a_move_is_the_longest_pause_that_touches_it() {
    let zero = Instant::now();
    let calls = calls(
        zero,
        &[
            (0, Some(0)),
            (9, Some(0)),
            (10, Some(0)),
            (13, Some(0)),
            (15, Some(1)),
            (30, Some(1)),
        ],
    );
    let gap = |order| pause_around_move(&calls, zero + millis(order), 0);
    assert_eq!(gap(10), Some(millis(3)));
    assert_eq!(gap(13), Some(millis(2)));
    assert_eq!(gap(5), Some(millis(9)));

    let calm = |from, to| longest_pause(&calls, zero + millis(from), zero + millis(to));
    assert_eq!(calm(0, 29), Some(millis(9)));
    assert_eq!(calm(1, 29), Some(millis(3)));
    assert_eq!(calm(1, 9), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_is_reported_with_every_field_and_nothing_else() {
    let mut out = Vec::new();
    let line = ["redis", "kill", "--rounds", "1", "--json"].map(Into::into);
    run(line.into_iter(), &mut out).await.unwrap();

    let report: Value = serde_json::from_slice(&out).expect("one JSON object");
    let mut fields: Vec<_> = report
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    fields.sort_unstable();
    let mut expected = [
        "backend",
        "driver",
        "scenario",
        "rounds",
        "tuned",
        "startup_ms",
        "calls",
        "ok",
        "errors",
        "gap_ms",
        "from",
        "to",
        "reason",
        "standby_rearmed_ms",
        "dials",
    ];
    expected.sort_unstable();
    assert_eq!(fields, expected);
    for (field, value) in [
        ("backend", "redis"),
        ("driver", "redis"),
        ("scenario", "kill"),
        ("from", "east"),
        ("to", "west"),
        ("reason", "lost"),
    ] {
        assert_eq!(report[field], value, "{report:#}");
    }
    let number = |value: &Value| value.as_f64().unwrap();
    assert_eq!(
        report["errors"], 0,
        "a read runs again elsewhere: {report:#}"
    );
    assert_eq!(report["ok"], report["calls"]);
    assert!(number(&report["calls"]) > 50.0, "{report:#}");
    assert!(number(&report["dials"]) >= 1.0, "{report:#}");
    assert!(number(&report["startup_ms"]) > 0.0, "{report:#}");
    let gap = ["p50", "p99", "max"].map(|rank| number(&report["gap_ms"][rank]));
    // No more than that it is of this world: how fast it is, is for release builds on a quiet machine.
    assert!(
        gap.iter().all(|gap| (0.001..30_000.0).contains(gap)),
        "{report:#}"
    );
}

#[tokio::test]
async fn a_wrong_command_line_says_what_is_known() {
    for (line, expected) in [
        (vec!["redis"], "name a backend and a scenario"),
        (
            vec!["redis", "flood"],
            "kill, freeze, switch, drain, outage",
        ),
        (vec!["mongo", "kill"], "only for redis"),
        (vec!["redis", "kill", "--rounds", "0"], "above zero"),
        (vec!["redis", "kill", "--every", "10us"], "at least 1ms"),
        (vec!["redis", "kill", "--fast"], "--fast"),
        (
            vec!["redis", "kill", "--driver", "jedis"],
            "there is no driver \"jedis\"",
        ),
    ] {
        let args = line.iter().map(Into::into);
        match run(args, &mut Vec::new()).await {
            Err(Failed::Usage(text)) => assert!(text.contains(expected), "{text}"),
            other => panic!("{line:?}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tuned_settings_are_accepted_and_people_get_a_text() {
    let mut out = Vec::new();
    let line = ["redis", "drain", "--tuned", "--op", "incr"].map(Into::into);
    run(line.into_iter(), &mut out).await.unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("redis drain through redis: 1 round(s), tuned settings"),
        "{text}"
    );
    assert!(text.contains("east -> west (manual)"), "{text}");
}

// P164
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_through_fred_is_reported_as_such() {
    let mut out = Vec::new();
    let line = ["redis", "kill", "--driver", "fred", "--json"].map(Into::into);
    run(line.into_iter(), &mut out).await.unwrap();
    let report: Value = serde_json::from_slice(&out).expect("one JSON object");
    assert_eq!(report["driver"], "fred", "{report:#}");
    assert_eq!(report["to"], "west", "{report:#}");
    assert_eq!(
        report["errors"], 0,
        "a read runs again elsewhere: {report:#}"
    );
}

async fn drilled(line: &[&str]) -> Value {
    let mut out = Vec::new();
    run(line.iter().map(Into::into), &mut out).await.unwrap();
    serde_json::from_slice(&out).expect("one JSON object")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failback_is_reported_with_both_moves() {
    let report = drilled(&["redis", "failback", "--json"]).await;
    for (field, value) in [("from", "east"), ("to", "west"), ("reason", "lost")] {
        assert_eq!(report[field], value, "{report:#}");
    }
    assert_eq!(
        report["errors"], 0,
        "a read runs again elsewhere: {report:#}"
    );
    // Not before the grace is over and the member has been well for a second.
    let after = report["failback"]["after_ms"]["p50"].as_f64().unwrap();
    assert!((1_000.0..30_000.0).contains(&after), "{report:#}");
    let gap = report["failback"]["gap_ms"]["max"].as_f64().unwrap();
    assert!(gap > 0.0, "{report:#}");
}

// P156: and none runs twice.
#[tokio::test(flavor = "multi_thread")]
async fn writes_to_an_active_that_becomes_a_replica_run_elsewhere() {
    let report = drilled(&["redis", "readonly", "--json"]).await;
    for field in ["errors", "writes_lost", "writes_doubled"] {
        assert_eq!(report[field], 0, "{report:#}");
    }
    assert_eq!(report["to"], "west", "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn planned_moves_lose_no_message_of_a_stream() {
    let report = drilled(&["redis", "pubsub", "--json"]).await;
    for name in ["switch", "drain"] {
        let of = &report["moves"][name];
        assert!(of["published"].as_u64().unwrap() > 50, "{report:#}");
        for field in ["failed", "lost", "doubled"] {
            assert_eq!(of[field], 0, "{report:#}");
        }
    }
    assert_eq!(report["moves"]["kill"]["doubled"], 0, "{report:#}");
}

#[tokio::test]
async fn a_scenario_of_another_backend_is_refused() {
    for (scenario, expected) in [("readonly", "replica"), ("pubsub", "other scenarios")] {
        let line = ["nats", scenario].map(Into::into);
        match run(line.into_iter(), &mut Vec::new()).await {
            Err(Failed::Usage(text)) => assert!(text.contains(expected), "{text}"),
            other => panic!("{scenario}: {other:?}"),
        }
    }
}
