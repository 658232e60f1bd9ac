//! The table of figures and the documents hold each other; and what becomes of an answer.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Value, json};

use crate::claims::{self, Document, Found, find, words};
use crate::program::{Program, Size, counted};
use crate::report::{Line, Report};
use crate::table::{self, Measurement, Row, Target};

/// Where the README has figures: from the first words to the last ones, these not included.
const PARTS: [(&str, &str); 2] = [
    (
        "What a move does to a subscription",
        "An announced shutdown",
    ),
    ("## How fast", "## Watching it"),
];

/// What has digits there and is no figure: the settings of a measurement.
const SETTINGS: [&str; 5] = [
    "20,000 messages a second from",
    "20,000 messages a second to",
    "retry every 0-21 ms",
    "and 99 % are back",
    // The operating system's part of the figure beside it. It is read from traces.
    "of it 2 until",
];

/// Where the rows find their figures in the README.
fn found_in_readme(text: &str) -> Vec<(String, Result<Found, String>)> {
    let rows = table::all()
        .into_iter()
        .flat_map(|measurement| measurement.rows);
    rows.flat_map(|row| {
        let quotes = row
            .said
            .into_iter()
            .filter(|(said_in, _)| *said_in == Document::Readme);
        quotes
            .map(|(_, claim)| (row.name.clone(), find(text, claim)))
            .collect::<Vec<_>>()
    })
    .collect()
}

/// The words of a part that still have digits once the figures of the rows and the settings are taken out.
fn unclaimed(text: &str, (first, last): (&str, &str), known: &[Range<usize>]) -> Vec<String> {
    let begin = text
        .find(first)
        .unwrap_or_else(|| panic!("there is no {first:?}"));
    let end = begin
        + text[begin..]
            .find(last)
            .unwrap_or_else(|| panic!("there is no {last:?}"));
    let mut part = text.to_owned();
    for at in known {
        part.replace_range(at.clone(), &"_".repeat(at.len()));
    }
    let part = SETTINGS
        .iter()
        .fold(part[begin..end].to_owned(), |part, setting| {
            part.replace(setting, "")
        });
    part.split(' ')
        .filter(|word| word.contains(|letter: char| letter.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

#[test]
fn what_a_row_quotes_is_said_once() {
    let text = Document::Readme.words();
    for (name, found) in found_in_readme(&text) {
        assert!(found.is_ok(), "{name}: {}", found.unwrap_err());
    }
}

#[test]
fn every_figure_of_the_readme_has_a_row() {
    let text = Document::Readme.words();
    let found = found_in_readme(&text).into_iter();
    let known: Vec<_> = found
        .filter_map(|(_, found)| Some(found.ok()?.at))
        .collect();
    for part in PARTS {
        let left = unclaimed(&text, part, &known);
        assert!(
            left.is_empty(),
            "figures of README.md without a row in tests/tools/figures/table: {left:?}"
        );
        // It would be found.
        let without = unclaimed(&text, part, &[]);
        assert!(!without.is_empty(), "{part:?} has no figures");
    }
}

/// ARCHITECTURE.md explains and claims nothing that was measured. Once it does, it is one more [`Document`].
#[test]
fn the_architecture_claims_no_figure() {
    let text = words(include_str!("../../../ARCHITECTURE.md"));
    let units = ["ns", "us", "ms", "s", "%", "KiB", "MiB", "times"];
    let words: Vec<_> = text.split(' ').collect();
    for pair in words.windows(2) {
        let number = pair[0]
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".,".contains(letter));
        let unit =
            pair[1].trim_matches(|letter: char| letter.is_ascii_punctuation() && letter != '%');
        assert!(
            !(number && units.contains(&unit)),
            "a figure without a row: {pair:?}"
        );
    }
}

#[test]
fn names_are_unique_and_programs_are_of_this_workspace() {
    let mut names = HashSet::new();
    let tools = include_str!("../Cargo.toml");
    for measurement in table::all() {
        if let Program::Tool(tool, _) = &measurement.program {
            assert!(tools.contains(&format!("name = \"{tool}\"")), "{tool}");
        }
        for row in measurement.rows {
            assert!(
                names.insert(row.name.clone()),
                "{} is there twice",
                row.name
            );
        }
    }
}

#[test]
fn a_claim_is_found_over_line_breaks_and_only_once() {
    let text = words("It takes 1,055 ms\n  on two cores, of it 2.5\nin the kernel. It takes 7 s.");
    let value = |claim| find(&text, claim).map(|found| found.value);
    assert_eq!(value("It takes {} ms on"), Ok(1055.0));
    assert_eq!(value("# ms on two cores, of it {} in"), Ok(2.5));
    assert_eq!(value("takes {} s."), Ok(7.0));
    for wrong in ["It takes {}", "takes {} hours", "It takes", "{} of {}"] {
        assert!(value(wrong).is_err(), "{wrong}");
    }
}

fn row(target: Target) -> Row {
    Row {
        target: Some(target),
        ..Row::new("a", "ms", "/a/b")
    }
}

#[test]
fn a_figure_is_met_or_missed_and_one_without_target_is_neither() {
    let answer = Ok(json!({"a": {"b": 20.0}, "rounds": 10}));
    let met = |row| Line::of(row, String::new(), &answer).met;
    assert_eq!(met(row(Target::AtMost(20.0))), Some(true));
    assert_eq!(met(row(Target::AtMost(19.0))), Some(false));
    assert_eq!(met(row(Target::AtLeast(20.0))), Some(true));
    assert_eq!(met(row(Target::AtLeast(21.0))), Some(false));
    assert_eq!(met(row(Target::Exactly(0.0))), Some(false));
    assert_eq!(met(Row::new("a", "ms", "/a/b")), None);
    let each_round = Row {
        per: Some("/rounds"),
        scale: 4.0,
        ..row(Target::Exactly(0.5))
    };
    assert_eq!(met(each_round), Some(true));
}

#[test]
fn what_is_said_may_be_missed_by_a_quarter() {
    let claim = "| `freeze` (SIGSTOP) | {} ms | # |";
    let said = claims::find(&Document::Readme.words(), claim)
        .unwrap()
        .value;
    let met = |value: f64| {
        let row = Row {
            said: vec![(Document::Readme, claim)],
            ..row(Target::AsSaid)
        };
        Line::of(row, String::new(), &Ok(json!({"a": {"b": value}}))).met
    };
    assert_eq!(met(said * 1.2), Some(true));
    assert_eq!(met(said * 1.3), Some(false));
}

#[test]
fn what_could_not_be_measured_is_a_row_that_says_so() {
    let measurement = Measurement {
        program: Program::Tool("drill", Size::default()),
        how: "made up",
        rows: vec![row(Target::AtMost(1.0)), Row::new("c", "ms", "/c")],
    };
    let mut report = Report::default();
    report.add(&measurement, "drill", &Err("it broke".to_owned()));
    report.add(&measurement, "drill", &Ok(json!({"a": {"b": 1.0}})));
    assert_eq!(report.failed(), 3);
    let json = report.json(false);
    let errors = json["figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|figure| &figure["error"]);
    assert_eq!(
        errors.collect::<Vec<_>>(),
        [
            &json!("it broke"),
            &json!("it broke"),
            &Value::Null,
            &json!("the answer has no number at /c")
        ]
    );
    assert!(report.text().contains("it broke"));
}

#[test]
fn verdicts_are_counted_by_what_their_lines_say() {
    let text = "running 1 test\n\
                test it_keeps_the_contract ... connect: it connects: ok\n\
                prove: it proves: failed: it did not\n\
                signals: it quacks: not applicable: no duck\n\
                drain: it drains: ok\n\
                ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
    assert_eq!(
        counted(text),
        json!({"ok": 2, "failed": 1, "not_applicable": 1})
    );
}
