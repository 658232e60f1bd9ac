//! Rules about the sources that no compiler knows, so that they do not depend on who reads a change.
//!
//! Each rule is here because breaking it costs something later: a decision that reads a clock cannot be searched, a
//! backend that depends on the engine gives two copies of every type, a file of a thousand lines is not read. What a
//! lint of rustc or clippy can say stands in the workspace's manifest instead.

mod sources;

use sources::{Source, files};

const MACHINE: &str = "failover-core/src/machine";

/// Words that must not stand in the machine's code, and why. Its comments may say what it does not do.
const IMPURE: [(&str, &str); 14] = [
    ("tokio", "the runtime belongs to the driver"),
    (
        "async",
        "the machine yields actions, the driver awaits them",
    ),
    (
        "await",
        "the machine yields actions, the driver awaits them",
    ),
    ("Instant", "`now` is a number that the caller supplies"),
    ("SystemTime", "`now` is a number that the caller supplies"),
    (
        "fastrand",
        "jitter comes from the seeded generator in the state",
    ),
    (
        "rand",
        "jitter comes from the seeded generator in the state",
    ),
    ("RandomState", "a search must meet the same state twice"),
    ("thread", "one caller at a time, and no waiting"),
    ("std::net", "no I/O: actions are carried out by the driver"),
    ("std::fs", "no I/O: actions are carried out by the driver"),
    ("std::io", "no I/O: actions are carried out by the driver"),
    (
        "std::env",
        "configuration is read before the machine starts",
    ),
    (
        "std::process",
        "no I/O: actions are carried out by the driver",
    ),
];

/// Texts that must not stand in any file. They are put together here, so that this file obeys too.
const FOREIGN: [(&str, &str); 7] = [
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (
        concat!("static.crates", ".io"),
        "a registry is reached by package name, through whatever mirror is set up",
    ),
    (
        concat!("index.crates", ".io"),
        "a registry is reached by package name, through whatever mirror is set up",
    ),
    (
        concat!("pypi", ".org"),
        "a registry is reached by package name, through whatever mirror is set up",
    ),
    (
        concat!("deb.debian", ".org"),
        "a registry is reached by package name, through whatever mirror is set up",
    ),
];

/// Whether `word` stands in `code` on its own, not as a part of a longer name.
fn has_word(code: &str, word: &str) -> bool {
    let part = |neighbour: Option<char>| neighbour.is_some_and(|c| c.is_alphanumeric() || c == '_');
    code.match_indices(word).any(|(at, _)| {
        !part(code[..at].chars().next_back()) && !part(code[at + word.len()..].chars().next())
    })
}

/// What the machine's file says that it must not.
fn impurities(source: &Source) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for (word, why) in IMPURE.iter().filter(|(word, _)| has_word(code, word)) {
            wrong.push(format!("{}:{}: `{word}`: {why}", source.path, index + 1));
        }
    }
    wrong
}

/// A manifest's lines that name one of `crates` as a dependency, under whatever name.
fn depends_on(manifest: &str, crates: &[&str]) -> Vec<String> {
    let mut section = "";
    let mut wrong = Vec::new();
    for line in manifest
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
    {
        if line.starts_with('[') {
            section = line;
        }
        let named = crates.iter().any(|name| has_word(line, name));
        if named && section.contains("dependencies") {
            wrong.push(line.to_owned());
        }
    }
    wrong
}

fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_file_begins_with_what_it_is_about() {
    let head = |source: &&Source| {
        let text = &source.text;
        !(text.starts_with("//!") || text.starts_with("#![doc = include_str!"))
    };
    let wrong: Vec<_> = files(&[".rs"])
        .iter()
        .filter(head)
        .map(|s| format!("{}: no `//!` head", s.path))
        .collect();
    none(&wrong);
}

#[test]
fn no_file_is_too_long_to_be_read() {
    let lines = |source: &Source| source.text.lines().count();
    let files = files(&[".rs"]);
    let long = files.iter().filter(|source| lines(source) > 600);
    none(
        &long
            .map(|s| format!("{}: {} lines, 600 at most", s.path, lines(s)))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn nothing_is_skipped() {
    // In pieces for the same reason as above.
    let skips = [concat!("#[ign", "ore"), concat!("```ign", "ore")];
    let mut wrong = Vec::new();
    for source in files(&[".rs", ".md"]) {
        for skip in skips.iter().filter(|skip| source.text.contains(**skip)) {
            wrong.push(format!(
                "{}: `{skip}`: what is not run is not known to work",
                source.path
            ));
        }
    }
    none(&wrong);
}

#[test]
fn the_machine_is_pure() {
    let sources = files(&[".rs"]);
    let machine: Vec<_> = sources
        .iter()
        .filter(|source| source.path.starts_with(MACHINE))
        .collect();
    // Without this the rule would silently hold for a machine that moved elsewhere.
    let driver = sources
        .iter()
        .any(|source| source.path == "failover-core/src/driver/mod.rs");
    assert!(
        !machine.is_empty() || !driver,
        "there is a driver, and nothing below {MACHINE}"
    );
    none(&machine.into_iter().flat_map(impurities).collect::<Vec<_>>());
}

#[test]
fn impurities_are_found_in_code_only() {
    let found = |text: &str| {
        let source = Source {
            path: "m.rs".into(),
            text: text.into(),
        };
        impurities(&source).len()
    };
    assert_eq!(found("use tokio::time::Instant;"), 2);
    assert_eq!(found("async fn f() {}"), 1);
    assert_eq!(found("use std::net::TcpStream; // as tokio does"), 1);
    assert_eq!(
        found("//! No tokio here\nlet operand = threads_of(instant);"),
        0
    );
}

#[test]
fn dependencies_point_one_way() {
    let mut wrong = Vec::new();
    let mut manifests = 0;
    for Source { path, text } in files(&["Cargo.toml"]) {
        let banned: &[&str] = match path.split_once('/').map(|(folder, _)| folder) {
            // They stand where a stranger's backend stands: on the contract alone.
            Some(folder) if folder.starts_with("backend-") => &[
                "failover-core",
                "failover-testkit",
                "failover-examples",
                "failover-tools",
            ],
            Some("failover-core") => &["failover-testkit", "failover-examples", "failover-tools"],
            // The tools stand on the test kit, below which they live; nothing stands on them.
            Some("tests") => &["failover-examples", "failover-tools"],
            Some("examples") => &["failover-tools"],
            _ => continue,
        };
        manifests += 1;
        for line in depends_on(&text, banned) {
            wrong.push(format!(
                "{path}: must not depend on this, not even for its tests: {line}"
            ));
        }
    }
    assert!(manifests >= 4, "only {manifests} manifests were found");
    none(&wrong);
}

#[test]
fn the_test_kit_brings_no_client_of_its_own() {
    let manifest = include_str!("../Cargo.toml");
    let clients = ["redis", "fred", "async-nats"];
    let (_, own) = manifest.split_once("[dependencies]").expect("dependencies");
    let own = own.split("\n[").next().unwrap_or_default();
    let bring = |line: &&str| {
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        clients.contains(&name) && !line.contains("optional = true")
    };
    let wrong: Vec<_> = own.lines().filter(bring).map(str::to_owned).collect();
    none(&wrong);
    assert!(
        manifest.contains("default = []"),
        "a stranger's suite must compile no client"
    );
}

#[test]
fn dependencies_are_found_under_any_name_in_any_section() {
    let found = |line: &str, section: &str| {
        let manifest = format!("[package]\nname = \"failover-core\"\n{section}\n{line}\n");
        depends_on(&manifest, &["failover-core"]).len()
    };
    assert_eq!(
        found("failover-core.workspace = true", "[dev-dependencies]"),
        1
    );
    assert_eq!(
        found("x = { package = \"failover-core\" }", "[dependencies]"),
        1
    );
    assert_eq!(
        found(
            "path = \"..\"",
            "[target.'cfg(unix)'.dependencies.failover-core]"
        ),
        1
    );
    assert_eq!(found("# failover-core", "[dependencies]"), 0);
    assert_eq!(found("redis = [\"failover-core/redis\"]", "[features]"), 0);
}

#[test]
fn no_file_knows_one_machine_or_one_mirror() {
    let mut wrong = Vec::new();
    for source in files(&[".rs", ".md", ".toml", "run", "servers"]) {
        for (text, why) in FOREIGN
            .iter()
            .filter(|(text, _)| source.text.contains(text))
        {
            wrong.push(format!("{}: `{text}`: {why}", source.path));
        }
    }
    none(&wrong);
}
