//! A small fleet holds what the large one promises, within loose bounds; the figures mean what they say; and a seed
//! determines them.

use crate::args::{self, Settings};
use crate::brokers::{BROKERS, Brokers, ROUND_TRIP, SECOND};
use crate::figures::{Back, ideal};
use crate::{Results, json, naive, plot, report, scenario};

/// As many clients for each accepted connection as in the large one.
const SMALL: Settings = Settings {
    clients: 200,
    accept_rate: 20,
    outage_s: 10,
    seed: 7,
};

#[test]
fn an_outage_is_gentle_and_short() {
    let ours = scenario::outage(&SMALL);
    let naive = naive::outage(&SMALL);
    let (peak, theirs) = (ours.figures.dials.peak(), naive.dials.peak());
    assert!(theirs > 15 * peak, "{peak} {theirs}");
    let best = ideal(SMALL.clients, SMALL.accept_rate);
    let back = ours.figures.back;
    // Armed too early, the standbys alone make it twice the ideal.
    assert!(back.p99 < 1.5 * best.p99, "{back:?}");
    // Nobody can be faster than the queue, or the limit does not hold.
    assert!(back.max >= 0.95 * best.max, "{back:?}");
    assert!(naive.back.max >= 0.95 * best.max, "{:?}", naive.back);
    assert!(ours.complete);
    assert!(ours.standbys_s.max < 60.0, "{:?}", ours.standbys_s);
}

#[test]
fn without_an_active_there_is_one_dial_at_a_time() {
    assert_eq!(scenario::outage(&SMALL).most_in_flight, 1);
}

#[test]
fn traffic_goes_back_spread_in_time() {
    let failback = scenario::failback(&SMALL);
    assert!(failback.complete);
    assert_eq!(failback.failbacks.total(), u64::from(SMALL.clients));
    // Ten seconds of jitter: a fifth in one second would be twice as many as expected.
    assert!(failback.failbacks.peak() < 50, "{:?}", failback.failbacks);
    assert!(failback.longest_gap_s < 0.1);
}

#[test]
fn after_a_rolling_restart_everybody_is_complete() {
    let rolling = scenario::rolling_restart(&SMALL);
    assert!(rolling.complete);
    assert!(rolling.switches.total() >= u64::from(SMALL.clients));
}

#[test]
fn a_seed_determines_the_figures() {
    let other = Settings { seed: 8, ..SMALL };
    assert_eq!(scenario::outage(&SMALL), scenario::outage(&SMALL));
    assert_eq!(naive::outage(&SMALL), naive::outage(&SMALL));
    assert_ne!(scenario::outage(&SMALL), scenario::outage(&other));
}

#[test]
fn a_broker_accepts_its_share_and_refuses_beyond_its_backlog() {
    let mut brokers = Brokers::new(BROKERS as u32 * 10);
    brokers.limit();
    let answers: Vec<_> = (0..12).map(|_| brokers.dial(0, 0)).collect();
    // Ten a second, and a second's worth of them.
    for (turn, answer) in (1..).zip(&answers[..10]) {
        assert_eq!(*answer, Some(turn * SECOND / 10 + ROUND_TRIP));
    }
    assert_eq!(answers[10..], [None, None]);
    assert!(brokers.dial(0, SECOND / 10).is_some());
    assert!(brokers.dial(1, 0).is_some());
    brokers.down(1);
    assert_eq!(brokers.dial(1, 0), None);
    brokers.up(1);
    brokers.leave(1);
    assert_eq!(brokers.dial(1, 0), None);
}

#[test]
fn percentiles_are_nearest_ranks() {
    let back = Back::of((1..=200).rev().map(|second| second * SECOND).collect());
    assert_eq!((back.p50, back.p99, back.max), (100.0, 198.0, 200.0));
    assert_eq!(ideal(10_000, 1_000).p99, 9.9);
}

#[test]
fn the_command_line_is_read() {
    let read = |line: &str| args::parse(line.split_whitespace().map(str::to_owned));
    let args = read("--clients 5 --accept-rate=70 --json --plot a.svg").map(Option::unwrap);
    let args = args.expect("a sound command line");
    assert_eq!((args.settings.clients, args.settings.accept_rate), (5, 70));
    assert!(args.json && args.plot.is_some());
    assert!(read("--help").expect("help").is_none());
    for wrong in [
        "--clients",
        "--clients 0",
        "--accept-rate 9",
        "--clients x",
        "--json=1",
        "--jsn",
        "5",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn every_form_of_the_report_is_complete() {
    let results = Results::of(SMALL);
    let object: serde_json::Value =
        serde_json::from_str(&json::object(&results)).expect("one JSON object");
    assert_eq!(object["clients"], 200);
    assert_eq!(object["outage_s"], 10);
    for path in [
        "/ours/peak_dials_per_s",
        "/ours/back_s/p99",
        "/naive/peak_dials_per_s",
        "/ideal_back_s/p99",
        "/rolling_restart/peak_dials_per_s",
        "/failback/peak_switches_per_s",
    ] {
        let figure = object.pointer(path).and_then(serde_json::Value::as_f64);
        assert!(
            figure.is_some_and(|figure| figure > 0.0),
            "{path}: {object}"
        );
    }
    let text = report::text(&results);
    assert!(text.contains("target: at least 20") && text.contains("switches back"));
    let picture = plot::svg(&results);
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
    assert_eq!(picture.matches("<path").count(), 2);
}
