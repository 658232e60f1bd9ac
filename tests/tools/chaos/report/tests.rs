//! What the report says of forged records.

use serde_json::Value;

use super::{json, text};
use crate::check::check;
use crate::check::forge::{Forge, MS, S};
use crate::record::{Kind, Outcome, Record};

fn object(record: &Record) -> Value {
    let mut out = Vec::new();
    json(record, &check(record), &mut out).expect("memory");
    serde_json::from_slice(&out).expect("one object")
}

fn said(record: &Record) -> String {
    let mut out = Vec::new();
    text(record, &check(record), &mut out).expect("memory");
    String::from_utf8(out).expect("a text")
}

/// A kill, an acknowledged write that is missing, and a storm of dials and failures around it.
fn broken() -> Forge {
    let mut forge = Forge::redis();
    forge.record.asked = vec!["kill", "freeze"];
    forge.kill(9 * S, 0, 1);
    forge.failing(9 * S..9 * S + 300 * MS);
    let id = forge.operation(9 * S + 400 * MS, MS, Kind::Write, Outcome::Right);
    forge.applied(id, 0);
    forge
        .record
        .errors
        .insert("east: the connection ended".to_owned(), 3);
    forge
}

#[test]
fn the_object_has_what_was_promised() {
    let object = object(&broken().record);
    assert_eq!(object["seed"], 7);
    assert_eq!(object["target"], "redis");
    assert_eq!(object["faults"]["kill"], 1);
    assert_eq!(object["faults"]["freeze"], 0);
    assert_eq!(object["operations"], 25_001);
    assert_eq!(object["operations_per_second"], 1250);
    assert_eq!(object["violations"]["kept"]["count"], 1);
    assert_eq!(object["violations"]["doubled"]["count"], 0);
    assert_eq!(
        object["violations"]["kept"]["examples"][0]["operations"][0],
        "5:0"
    );
    assert_eq!(
        object["violations"]["kept"]["examples"][0]["members"][0],
        "west"
    );
    assert_eq!(object["moves"], 2);
    assert_eq!(object["dials_per_member_s"], 1);
    let without = object["longest_without_active_ms"]
        .as_u64()
        .expect("a number");
    assert!((295..=310).contains(&without), "{without}");
    assert_eq!(object["passed"], false);
    assert_eq!(object["counts"], false);
    assert_eq!(object["bounds"]["without_service"]["unit"], "ms");
}

#[test]
fn a_calm_run_passes_in_both() {
    let record = Forge::redis().record;
    assert_eq!(object(&record)["passed"], true);
    let said = said(&record);
    assert!(said.contains("every promise was kept"), "{said}");
    assert!(!said.contains("BROKEN"), "{said}");
}

#[test]
fn a_violation_is_told_with_its_seed_and_its_history() {
    let said = said(&broken().record);
    for part in [
        "BROKEN: kept, 1 time(s)",
        "cargo chaos redis --minutes 0.3333333333333333 --seed 7 --faults kill,freeze",
        "fault: kill of east begins",
        "the traffic moves to west from east, which refuses dials (lost)",
        "a connection to east ended",
        "* operation 5:0 (Write, 1.0 ms): right, begun at 9.400 s",
        "<-- here",
        "operations that failed are left out)",
        "3 times: east: the connection ended",
        "this run does not count: 1 faults of the kind kill",
    ] {
        assert!(said.contains(part), "{part:?} is missing in\n{said}");
    }
}

#[test]
fn a_history_is_bounded_and_in_order() {
    let mut forge = broken();
    for step in 0..500 {
        forge.link(9 * S + step * MS, 2, step % 2 == 0);
        forge.fault("kill", Some(2), 9 * S + step * MS..9 * S + step * MS + 1);
    }
    let object = object(&forge.record);
    let history = object["violations"]["kept"]["examples"][0]["history"]
        .as_array()
        .expect("lines");
    assert!(
        (30..=60).contains(&history.len()),
        "{} lines",
        history.len()
    );
    let times: Vec<f64> = history
        .iter()
        .map(|line| {
            let line = line.as_str().expect("a line");
            line.split_whitespace()
                .next()
                .expect("a time")
                .parse()
                .expect("a number")
        })
        .collect();
    assert!(times.is_sorted(), "{times:?}");
}
