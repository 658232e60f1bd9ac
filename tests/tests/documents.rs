//! What `docs/` says is so: every test that a page names exists, and every configuration that it shows can be read.
//!
//! In a page, the tests stand in the last column of a table whose head calls that column `test`: in backticks, several of
//! them separated by commas, with the path of the file before `::` where the name alone could be another's. A
//! configuration is a block of TOML that names members.

#[path = "sources/functions.rs"]
mod functions;
mod sources;

use functions::function;
use sources::Source;

/// The tests that a page names, each with the number of its line.
fn tests(page: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut named = false;
    let mut before: Option<&str> = None;
    for (index, line) in page.lines().enumerate() {
        let last = line
            .strip_prefix('|')
            .and_then(|line| line.strip_suffix('|'))
            .map(|line| line.rsplit('|').next().unwrap_or(line).trim());
        match last {
            None => named = false,
            Some(cell) if before.is_none() => named = cell == "test",
            Some(cell) if named => {
                let names = cell.split('`').skip(1).step_by(2);
                found.extend(names.map(|name| (index + 1, name)));
            }
            Some(_) => {}
        }
        before = last;
    }
    found
}

/// Whether some file has such a test.
fn exists(sources: &[Source], test: &str) -> bool {
    let (file, name) = test.rsplit_once("::").unwrap_or(("", test));
    sources
        .iter()
        .filter(|source| file.is_empty() || source.path == file)
        .filter_map(|source| function(&source.text, name))
        .any(|lines| {
            let attributes = lines.iter().map(|line| line.trim());
            attributes
                .filter(|line| line.starts_with("#["))
                .any(|line| line.contains("test]") || line.contains("test("))
        })
}

#[test]
fn every_test_that_a_page_names_exists() {
    let sources = sources::files(&[".rs"]);
    let pages = sources::files(&[".md"]);
    let pages: Vec<_> = pages
        .iter()
        .filter(|page| page.path.starts_with("docs/"))
        .collect();
    let mut named = 0;
    let mut wrong = Vec::new();
    for page in &pages {
        for (line, test) in tests(&page.text) {
            named += 1;
            if !exists(&sources, test) {
                wrong.push(format!("{}:{line}: there is no test `{test}`", page.path));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(named > 40, "only {named} tests were understood");
}

#[test]
fn a_page_is_understood() {
    let page = "
| what | test |
|---|---|
| `not_this` | `one`, `a.rs::two` |
| neither | - |

| what | why |
|---|---|
| x | `nor_this` |
";
    assert_eq!(tests(page), [(4, "one"), (4, "a.rs::two")]);
    let sources = [Source {
        path: "a.rs".into(),
        text: "#[test]\nfn two() {\n}\n\nfn helper() {\n}\n".into(),
    }];
    assert!(exists(&sources, "two") && exists(&sources, "a.rs::two"));
    for other in ["b.rs::two", "helper", "tw"] {
        assert!(!exists(&sources, other), "{other}");
    }
}

#[cfg(feature = "redis")]
mod configurations {
    //! The blocks of TOML.

    use std::time::Duration;

    use failover_core::config::{self, Known, Loaded, ProbePolicy, Source, Startup};
    use failover_core::redis::{Redis, Settings};

    use crate::sources;

    /// What stands between the lines that begin and end a block of TOML.
    fn blocks(page: &str) -> Vec<&str> {
        let begun = page.split("\n```toml\n").skip(1);
        begun
            .filter_map(|rest| rest.split_once("\n```").map(|(block, _)| block))
            .collect()
    }

    fn read(name: &str, text: &str) -> Loaded<Redis> {
        let env = |_: &str| Some("secret".to_owned());
        config::read(Source::new(name, text), &env, &Known::new())
            .unwrap_or_else(|error| panic!("{error}"))
    }

    fn of_the_page(group: &str) -> config::GroupConfig<Settings> {
        let page = include_str!("../../docs/coming-from.md");
        let head = format!("name = \"{group}\"");
        let block = blocks(page).into_iter().find(|text| text.contains(&head));
        read("docs/coming-from.md", block.expect(group)).group
    }

    #[test]
    fn every_configuration_of_a_page_can_be_read() {
        let pages = sources::files(&[".md"]);
        let pages = pages.iter().filter(|page| page.path.starts_with("docs/"));
        let mut count = 0;
        for page in pages {
            let whole = blocks(&page.text).into_iter();
            for block in whole.filter(|block| block.contains("[[member]]")) {
                read(&page.path, block);
                count += 1;
            }
        }
        assert!(count > 0, "no configuration was found");
    }

    #[test]
    fn the_values_of_lettuce_are_what_they_are_there() {
        let group = of_the_page("as-with-lettuce");
        let rules = &group.rules;
        let millis = Duration::from_millis;
        assert!(matches!(rules.startup, Startup::Majority));
        let health = &rules.member.health;
        assert_eq!(health.interval, millis(5000));
        assert_eq!((health.timeout, health.probes), (millis(1000), 3));
        assert_eq!(health.probe_delay, millis(500));
        assert_eq!(health.policy, ProbePolicy::All);
        let breaker = &rules.member.breaker;
        assert_eq!((breaker.failure_rate, breaker.min_failures), (0.1, 1000));
        assert_eq!(breaker.window, millis(2000));
        assert_eq!(rules.failback.grace, millis(60_000));
        // A timer of 120 s, begun at any time: the failback comes within 120 s after it could.
        let failback = rules.failback;
        assert!(failback.enabled && failback.stable.is_zero());
        assert_eq!(failback.jitter, millis(120_000));
        assert_eq!(rules.member.reconnect.max, millis(12_000));
        assert!(rules.unavailable_wait.is_zero());
        let weights = group.members.iter().map(|one| one.member.weight.get());
        assert_eq!(weights.collect::<Vec<_>>(), [1.0, 0.5]);
    }
}
