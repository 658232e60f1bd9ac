//! Any text at all, and a great deal of it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Test, load};
use crate::config::{ConfigError, Known, Source, read};

const WHOLE: &str = "[group]\nname = \"s\"\nstandby = 1\n[group.health]\ninterval = \"1s\"\nprobes = 3\n\
    [group.breaker]\nfailure_rate = 0.5\n[backend]\nreplay = \"${A}\"\n[[member]]\nname = \"east\"\nweight = 1.0\n\
    url = \"test://${A}:$${B}\"\nnested = { depth = 1, deeper = { depth = 2 } }\nhealth = { timeout = \"1s\" }\n\
    [[member]]\nname = \"wést\"\nurl = { file = \"nowhere\" }\nmode = { tls = { ca = \"x\" } }\nroutes = [{ depth = 1 }]\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None, ..ProptestConfig::default() })]

    /// Cut, doubled and disturbed texts are accepted or refused, with places inside the text.
    #[test]
    fn no_text_makes_reading_panic(
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, "[\\[\\]{}=\"'$.\n#a0é-]{0,4}"), 0..6)
    ) {
        let mut text: Vec<char> = WHOLE.chars().collect();
        for (at, cut, insert) in edits {
            let at = at.index(text.len() + 1).min(text.len());
            let end = (at + cut).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        let env = |name: &str| (name == "A").then(|| "value".to_owned());
        if let Err(error) = read::<Test>(Source::new("f", &text), &env, &Known::new()) {
            for problem in error.problems() {
                let lines = text.lines().count() + 1;
                prop_assert!(problem.at.is_none_or(|(line, column)| line <= lines && line > 0 && column > 0));
            }
        }
    }

    #[test]
    fn no_rubbish_makes_reading_panic(text in "\\PC{0,80}") {
        let _ = load(&text);
    }
}

#[test]
fn deep_texts_are_refused() {
    let dotted = vec!["a"; 70].join(".");
    let nested = format!(
        "{}1{}",
        format!("{{ {dotted} = ").repeat(70),
        " }".repeat(70)
    );
    let text = format!("[[member]]\nname = \"a\"\nurl = \"test://\"\nnested = {nested}\n");
    let error = load(&text).unwrap_err().to_string();
    assert!(error.contains("nested too deeply"), "{error}");
    // Broken elsewhere: what was understood of it is as deep.
    let error = load(&(text + "\n]")).unwrap_err().to_string();
    assert!(error.contains("nested too deeply"), "{error}");
    let text = format!("a = {}", "[".repeat(100_000));
    assert!(load(&text).is_err());
}

#[test]
fn columns_count_characters() {
    let error =
        load("[[member]]\nname = \"é\"\nnested = { \"éé\" = 1, depth = 1 }\nurl = \"test://\"")
            .unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.toml:3:12: member `é`: nested: unknown key `éé`; known keys: deeper, depth"
    );
    let error =
        load("group = { name = \"éé\", x = 1 }\nmember = [{ name = \"a\", url = \"test://\" }]")
            .unwrap_err();
    assert_eq!(error.problems()[0].at, Some((1, 24)));
}

fn members(count: usize, extra: &str) -> String {
    let mut text = String::from("[group]\nhealth.timeout = \"1s\"\n");
    for number in 0..count {
        let weight = number + 1;
        let _ = write!(
            text,
            "[[member]]\nname = \"m{number}\"\nweight = {weight}.5\nurl = \"test://${{A}}@{number}\"\n\
             health = {{ timeout = \"2s\" }}\nnested = {{ depth = 1 }}\n{extra}"
        );
    }
    text
}

fn timed(text: &str) -> (Result<usize, ConfigError>, Duration) {
    let env = |_: &str| Some("value".to_owned());
    let start = Instant::now();
    let loaded = read::<Test>(Source::new("f.toml", text), &env, &Known::new());
    (
        loaded.map(|loaded| loaded.group.members.len()),
        start.elapsed(),
    )
}

/// Far above what it takes (0.7 s without optimisation, nearly all of it toml's), so that a busy machine passes;
/// lines counted from the start of the text for every error, or texts compared with all others, do not.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn ten_thousand_members_are_read_soon() {
    let (read, took) = timed(&members(10_000, ""));
    eprintln!("10,000 members in {took:?}");
    assert_eq!(read.unwrap(), 10_000);
    assert!(took < SOON, "{took:?}");
}

#[test]
fn ten_thousand_mistakes_are_read_soon_and_counted() {
    let text = members(10_000, "prot = 1\n")
        + &members(10_000, "").replace("[group]\nhealth.timeout = \"1s\"\n", "");
    let (read, took) = timed(&text);
    let error = read.unwrap_err();
    eprintln!("20,000 mistakes in {took:?}");
    assert_eq!(error.problems().len(), ConfigError::MOST);
    let shown = error.to_string();
    assert!(
        shown.ends_with("\nand 19900 more"),
        "{}",
        shown.lines().last().unwrap_or("")
    );
    assert!(took < SOON, "{took:?}");
}
