//! `BEHAVIOURS.md` and the tests agree: what the list says is pinned is pinned by a test that exists and knows it.
//!
//! A list that is kept by hand alone is wrong within a week: tests are renamed, ids mistyped. What is not pinned yet is
//! printed and not an error; the list grows first, the tests follow.
//!
//! This file alone is not searched for ids, since it holds examples of wrong ones.

#[path = "sources/functions.rs"]
mod functions;
mod sources;

use std::collections::BTreeSet;

use functions::function;
use sources::Source;

const OWN: &str = "tests/tests/behaviours.rs";

/// A row of the list.
struct Row<'a> {
    id: &'a str,
    tests: Vec<&'a str>,
}

/// The rows of all tables: those whose first cell is an id.
fn rows(list: &str) -> Vec<Row<'_>> {
    list.lines()
        .filter_map(|line| {
            let cells = line.strip_prefix('|')?.strip_suffix('|')?;
            let (id, rest) = cells.split_once('|')?;
            let (_, tests) = rest.rsplit_once('|')?;
            let names = tests.split(',').map(|name| name.trim().trim_matches('`'));
            Some(Row {
                id: one_id(id.trim())
                    .filter(|(_, rest)| rest.is_empty())
                    .map(|_| id.trim())?,
                tests: names
                    .filter(|name| !name.is_empty() && *name != "-")
                    .collect(),
            })
        })
        .collect()
}

/// An id at the beginning of a text, as letter and number, and what follows.
fn one_id(text: &str) -> Option<((char, u32), &str)> {
    let kind = text
        .chars()
        .next()
        .filter(|kind| matches!(kind, 'P' | 'N' | 'F'))?;
    let digits = text[1..].bytes().take_while(u8::is_ascii_digit).count();
    let number = text[1..=digits].parse().ok()?;
    let rest = &text[1 + digits..];
    let ends = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    ends.then_some(((kind, number), rest))
}

/// The ids with which the comment of a line begins; none if it has no comment, or one about something else.
fn ids(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let Some((_, comment)) = line.split_once("//") else {
        return found;
    };
    let mut text = comment.trim_start_matches(['/', '!', ' ']);
    while let Some(((kind, first), rest)) = one_id(text) {
        let range = rest
            .strip_prefix('-')
            .and_then(|rest| one_id(rest).filter(|(last, _)| last.0 == kind));
        let (last, rest) = range.map_or((first, rest), |((_, last), rest)| (last, rest));
        found.extend((first..=last).map(|number| format!("{kind}{number}")));
        text = rest.trim_start_matches([',', ' ']);
        text = text.strip_prefix("and ").unwrap_or(text);
    }
    found
}

/// Everything that does not agree, in words.
fn disagreements(list: &str, sources: &[Source]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut known = BTreeSet::new();
    for row in rows(list) {
        if !known.insert(row.id.to_owned()) {
            wrong.push(format!("{} stands in the list twice", row.id));
        }
        for test in row.tests {
            let (file, name) = test.rsplit_once("::").unwrap_or(("", test));
            let candidates = sources
                .iter()
                .filter(|source| file.is_empty() || source.path == file);
            let found: Vec<_> = candidates
                .filter_map(|source| function(&source.text, name))
                .collect();
            if found.is_empty() {
                wrong.push(format!("{}: there is no test `{test}`", row.id));
            } else if !found
                .iter()
                .flatten()
                .any(|line| ids(line).iter().any(|id| id == row.id))
            {
                wrong.push(format!(
                    "{0}: no comment of `{test}` begins with {0}",
                    row.id
                ));
            }
        }
    }
    for source in sources {
        for (index, line) in source.text.lines().enumerate() {
            for id in ids(line).iter().filter(|id| !known.contains(*id)) {
                wrong.push(format!(
                    "{}:{}: {id} is not in the list",
                    source.path,
                    index + 1
                ));
            }
        }
    }
    wrong
}

#[test]
fn the_list_and_the_tests_agree() {
    let list = include_str!("../BEHAVIOURS.md");
    let mut sources = sources::files(&[".rs"]);
    sources.retain(|source| source.path != OWN);
    let rows = rows(list);
    assert!(rows.len() > 150, "only {} rows were understood", rows.len());

    let open: Vec<_> = rows
        .iter()
        .filter(|row| row.tests.is_empty())
        .map(|row| row.id)
        .collect();
    println!(
        "{} of {} behaviours are pinned by a test",
        rows.len() - open.len(),
        rows.len()
    );
    println!("not yet pinned ({}): {}", open.len(), open.join(" "));
    for source in &sources {
        let named = source
            .text
            .lines()
            .flat_map(ids)
            .filter(|id| open.contains(&id.as_str()));
        for id in named {
            println!(
                "{id} is named in {}: its row can name the test",
                source.path
            );
        }
    }

    let wrong = disagreements(list, &sources);
    assert!(
        wrong.is_empty(),
        "tests/BEHAVIOURS.md and the tests disagree:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn comments_are_understood() {
    assert_eq!(ids("    // P12"), ["P12"]);
    assert_eq!(ids("/// P12, P13: both ways"), ["P12", "P13"]);
    assert_eq!(ids("row(1), // N1 and N2 P3"), ["N1", "N2", "P3"]);
    assert_eq!(ids("//! P1-P3, N4"), ["P1", "P2", "P3", "N4"]);
    for other in [
        "// see P12",
        "P12",
        "// P12th",
        "// Pool",
        "// p50 is low",
        "// P",
        "// N",
    ] {
        assert!(ids(other).is_empty(), "{other}");
    }
}

#[test]
fn every_kind_of_disagreement_is_found() {
    let text = "
// P1: above
#[test]
fn one() {
    // P2
    if x {
    }
}

#[test]
fn other() {
    // P9
}
";
    let sources = [Source {
        path: "a/b.rs".into(),
        text: text.into(),
    }];
    let found = |list: &str| disagreements(list, &sources);
    let unknown = "a/b.rs:12: P9 is not in the list";
    let good = "|P1|x|`one`|\n|P2|y|`a/b.rs::one`, `one`|\n|P9|z|-|";
    assert!(found(good).is_empty(), "{:?}", found(good));
    assert_eq!(found("|P1|x|-|\n|P2|y|-|"), [unknown]);
    let twice = format!("{good}\n|P9|z|-|");
    assert_eq!(found(&twice), ["P9 stands in the list twice"]);
    let missing = good.replace("|z|-", "|z|`others`, `b.rs::other`");
    assert_eq!(
        found(&missing),
        [
            "P9: there is no test `others`",
            "P9: there is no test `b.rs::other`"
        ]
    );
    let silent = good.replace("`one`|\n", "`other`|\n");
    assert!(found(&silent).contains(&"P1: no comment of `other` begins with P1".to_owned()));
}
