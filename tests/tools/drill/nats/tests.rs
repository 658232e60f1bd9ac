//! The figures, on made-up arrivals; the command line; and whole drills on a real cluster, as one types them.

use std::time::{Duration, Instant};

use failover_core::nats::{Dedupe, Delivery};
use serde_json::Value;

use super::ledger::{Ledger, ranges};
use super::options::{Mode, Options};
use super::record::Record;
use crate::args::{self, Command};
use crate::load::{Moments, Record as _};
use crate::scenario::Scenario;
use crate::{Failed, run};

#[test]
fn lost_duplicated_and_reordered_mean_what_they_say() {
    assert_eq!(
        Ledger::of(3, [0, 1, 2]),
        Ledger {
            received: 3,
            ..Ledger::default()
        }
    );
    // 3 and 4 never come; 1 comes twice, the second time below the highest, which is no reordering; 2 comes late.
    let ledger = Ledger::of(6, [0, 1, 5, 1, 2]);
    assert_eq!(ledger.lost, [3, 4]);
    assert_eq!(ledger.duplicated, [1]);
    assert_eq!(ledger.reordered, [2]);
    assert_eq!(ledger.received, 4);
    // What was given up when the drill ended was not published.
    assert_eq!(Ledger::of(1, [0, 1]).received, 1);
    assert_eq!(Ledger::of(2, []).lost, [0, 1]);
}

#[test]
fn numbers_that_follow_one_another_are_one_range() {
    assert_eq!(ranges(&[7, 3, 2, 1, 9, 8, 3]), [1..4, 7..10]);
    assert!(ranges(&[]).is_empty());
}

#[test]
fn the_gap_is_the_longest_silence_around_the_fault() {
    let zero = Instant::now();
    let at = |millis| zero + Duration::from_millis(millis);
    let moments = |fault, moved| Moments {
        fault: at(fault),
        restored: at(200),
        moved: at(moved),
        whole: at(200),
        old: 1,
    };
    // The second arrival of 2 ends no silence.
    let arrivals = [(0, 0), (1, 20), (2, 30), (2, 33), (3, 37), (4, 60), (5, 90)];
    let arrivals = arrivals.map(|(number, millis)| (number, at(millis)));
    let published = (0..6).map(|number| at(number * 10)).collect();
    let record = Record::new(published, &arrivals, (0, 0, None));
    let gap = |fault, moved| record.gap(Scenario::Kill, &moments(fault, moved));
    let millis = |millis| Some(Duration::from_millis(millis));
    // The hand-over after it takes another 20 ms.
    assert_eq!(gap(5, 9), millis(20));
    assert_eq!(gap(25, 12), millis(10));
    assert_eq!(gap(25, 20), millis(23));
    assert_eq!(gap(31, 45), millis(30));
    assert_eq!(gap(95, 99), None);
    assert_eq!(record.calm(at(15), at(61)), millis(23));
    assert_eq!(record.calm(at(15), at(40)), millis(10));
}

fn parsed(line: &str) -> Result<Options, String> {
    match args::parse(line.split(' ').map(Into::into))? {
        Command::Drill(args) => Ok(args.stream),
        Command::Help => Err("help".to_owned()),
    }
}

#[test]
fn the_stream_is_chosen_on_the_command_line() {
    assert_eq!(parsed("nats kill"), Ok(Options::default()));
    let given = parsed("nats freeze --rate 500 --dedupe header --ordered --publish").unwrap();
    let expected = Options {
        rate: 500,
        dedupe: Dedupe::Header,
        ordered: true,
        publish: true,
        ..Options::default()
    };
    assert_eq!(given, expected);
    assert_eq!(given.delivery(), Delivery::ordered(Dedupe::Header));
    let given = parsed("nats kill --delivery mirrored --dedupe content").unwrap();
    assert_eq!(given.delivery(), Delivery::mirrored(Dedupe::Content));
    let given = parsed("nats lame-duck --delivery at-most-once --queue").unwrap();
    assert_eq!(given.delivery, Mode::AtMostOnce);
    assert!(given.queue);
}

#[test]
fn what_would_have_no_effect_is_refused() {
    for (line, expected) in [
        ("nats kill --rate 0", "messages per second"),
        (
            "nats kill --delivery twice",
            "at-most-once, at-least-once or mirrored",
        ),
        ("nats kill --dedupe id", "none, header or content"),
        ("nats kill --delivery mirrored", "needs --dedupe"),
        ("nats kill --ordered", "needs --dedupe"),
        (
            "nats kill --delivery at-most-once --dedupe header",
            "no effect",
        ),
        (
            "nats kill --delivery at-most-once --ordered",
            "at-least-once alone",
        ),
        (
            "nats kill --delivery mirrored --dedupe header --queue",
            "cannot be mirrored",
        ),
        ("nats kill --op incr", "--op is an option of redis"),
        ("redis kill --queue", "--queue is an option of nats"),
    ] {
        let problem = parsed(line).unwrap_err();
        assert!(problem.contains(expected), "{line}: {problem}");
    }
}

#[tokio::test]
async fn a_server_that_announces_nothing_cannot_be_a_lame_duck() {
    let line = ["redis", "lame-duck"].map(Into::into);
    match run(line.into_iter(), &mut Vec::new()).await {
        Err(Failed::Usage(problem)) => assert!(problem.contains("announces no"), "{problem}"),
        other => panic!("{other:?}"),
    }
}

async fn report(line: &str) -> Value {
    let mut out = Vec::new();
    let line = format!("{line} --json");
    let args = line.split(' ').map(Into::into);
    run(args, &mut out).await.unwrap();
    serde_json::from_slice(&out).expect("one JSON object")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lame_duck_is_reported_with_every_field_and_loses_nothing() {
    let report = report("nats lame-duck --rate 2000 --dedupe header").await;
    let mut fields: Vec<_> = report.as_object().unwrap().keys().collect();
    fields.sort_unstable();
    let mut expected = [
        "backend",
        "scenario",
        "rounds",
        "tuned",
        "startup_ms",
        "published",
        "received",
        "lost",
        "lost_when_whole",
        "duplicated",
        "reordered",
        "group_published",
        "publish_errors",
        "notice_ms",
        "switched_after_notice_ms",
        "accepted",
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
        ("backend", "nats"),
        ("scenario", "lame-duck"),
        ("from", "n1"),
        ("to", "n2"),
        ("reason", "lame_duck"),
    ] {
        assert_eq!(report[field], value, "{report:#}");
    }
    for field in ["lost", "duplicated", "publish_errors"] {
        assert_eq!(report[field], 0, "{report:#}");
    }
    assert_eq!(report["received"], report["published"], "{report:#}");
    assert!(report["published"].as_u64() > Some(500), "{report:#}");
    assert!(report["notice_ms"].as_f64() > Some(0.0), "{report:#}");
    assert!(report["accepted"].is_null(), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_over_with_one_connection_to_each_member() {
    let report = report("nats outage --rate 1000 --publish").await;
    assert_eq!(report["lost_when_whole"], 0, "{report:#}");
    assert_eq!(report["accepted"], 3, "{report:#}");
    let gap = report["gap_ms"]["max"].as_f64().unwrap();
    assert!((2_900.0..60_000.0).contains(&gap), "{report:#}");
    assert!(report["group_published"].as_u64() > Some(0), "{report:#}");
}
