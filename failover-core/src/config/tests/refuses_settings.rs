//! Wrong settings and options: what is the backend's, through the backend's own types.

use backend_api::{Backend, Dial, Error, ErrorKind, FromOptions, Slot, async_trait};
use serde::Deserialize;

use super::{NO_ENVIRONMENT, refused, with_member};
use crate::config::{Known, Source, read};

#[test]
fn wrong_settings() {
    for (lines, expected) in [
        (
            "prot = 1",
            "5:1: member `east`: unknown key `prot`, did you mean `port`?",
        ),
        (
            "zzz = 1",
            "5:1: member `east`: unknown key `zzz`; known keys: breaker, enabled, health, load, loose, mode, name, nested, port, reconnect, routes, tag, timeouts, url, user, weight",
        ),
        (
            "port = \"hunter2\"",
            "5:8: member `east`: port: expected u16, found a string",
        ),
        (
            "port = 70000",
            "5:8: member `east`: port: expected u16, found a whole number that does not fit",
        ),
        (
            "port = 999999999999999999999999999999999999999999",
            "5:8: member `east`: port: this number is out of range",
        ),
        (
            "load = 1e999",
            "5:8: member `east`: load: this number is out of range",
        ),
        (
            "user = 12345",
            "5:8: member `east`: user: expected a string, found a whole number",
        ),
        (
            "nested = 1",
            "5:10: member `east`: nested: expected a table, found a whole number",
        ),
        (
            "nested = [1]",
            "5:10: member `east`: nested: expected a table, found an array",
        ),
        (
            "nested = {}",
            "5:10: member `east`: nested: missing key `depth`",
        ),
        (
            "nested = { depth = 1, deph = 2 }",
            "5:23: member `east`: nested: unknown key `deph`, did you mean `depth`?",
        ),
        (
            "nested = { deph = 2 }",
            "5:12: member `east`: nested: unknown key `deph`, did you mean `depth`?",
        ),
        (
            "nested = { depth = 1, deeper = { depth = 1, x = 1 } }",
            "5:45: member `east`: nested.deeper: unknown key `x`; known keys: deeper, depth",
        ),
        (
            "nested.deeper.depth = true\nnested.depth = 1",
            "5:23: member `east`: nested.deeper.depth: expected u32, found true or false",
        ),
        (
            "routes = [{ depth = 1 }, { depth = 1, dept = 2 }]",
            "5:39: member `east`: routes: unknown key `dept`, did you mean `depth`?",
        ),
        (
            "mode = \"plai\"",
            "5:8: member `east`: mode: unknown value `plai`, did you mean `plain`?",
        ),
        (
            "mode = { tsl = {} }",
            "5:10: member `east`: mode: unknown value `tsl`, did you mean `tls`?",
        ),
        (
            "mode = { tls = { ca = \"x\", key = \"y\" } }",
            "5:28: member `east`: mode: unknown key `key`; known keys: ca",
        ),
        ("tag = \"x\"", "5:7: member `east`: tag: `x` is no tag"),
        (
            "loose = { used = true, not = { a = 1 } }",
            "5:24: member `east`: loose: unknown key `not`",
        ),
        (
            "loose = { used = 1 }",
            "5:18: member `east`: loose.used: expected a boolean, found a whole number",
        ),
        (
            "mode = 5",
            "5:8: member `east`: mode: expected one of plain, tls, found a whole number",
        ),
        (
            "mode = {}",
            "5:8: member `east`: mode: expected a table with exactly one key, found a table",
        ),
        (
            "user = { path = \"x\" }",
            "5:8: member `east`: user: expected a string or { file = \"..\" }, found a table",
        ),
    ] {
        let text = with_member("") + lines;
        assert_eq!(refused(&text), format!("f.toml:{expected}"), "of {lines}");
    }
}

#[test]
fn missing_and_invalid_settings_point_at_the_member() {
    assert_eq!(
        refused("\n\n[[member]]\nname = \"east\""),
        "f.toml:3:1: member `east`: missing key `url`"
    );
    assert_eq!(
        refused("\n[[member]]\nname = \"east\"\nurl = \"http://east\""),
        "f.toml:2:1: member `east`: \"http://east\" is no test:// URL (replay )"
    );
}

#[test]
fn wrong_options() {
    for (head, expected) in [
        (
            "[backend]\nreply = \"x\"",
            "f.toml:2:1: backend: unknown key `reply`, did you mean `replay`?",
        ),
        (
            "[backend]\nreplay = 1",
            "f.toml:2:10: backend.replay: expected a string, found a whole number",
        ),
        (
            "[backend]\nrefuse = \"so\"",
            "f.toml:1:1: backend: refused: so",
        ),
        (
            "backend = 1",
            "f.toml:1:11: backend: expected a table, found a whole number",
        ),
    ] {
        assert_eq!(refused(&with_member(head)), expected, "of {head}");
    }
}

/// A backend whose settings take a key of the engine, and that has none of its own beyond it.
struct Greedy;

#[derive(Clone, PartialEq, Deserialize)]
struct GreedySettings {
    #[serde(rename = "timeouts")]
    _timeouts: Option<u8>,
}

impl FromOptions for Greedy {
    type Options = ();

    fn from_options((): ()) -> Result<Self, Error> {
        Ok(Self)
    }
}

#[async_trait]
impl Backend for Greedy {
    type Settings = GreedySettings;
    type Connection = ();
    type Client = ();

    fn client(&self, _: Slot<()>) {}

    async fn connect(&self, _: Dial<'_, GreedySettings>) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Refused, "never"))
    }

    async fn prove(&self, (): &()) -> Result<(), Error> {
        Ok(())
    }

    async fn retire(&self, (): ()) {}
}

#[test]
fn a_setting_with_the_name_of_an_engine_key_is_refused() {
    let source = Source::new("f.toml", "[backend]\nx = 1\n[[member]]\nname = \"a\"");
    let error = read::<Greedy>(source, NO_ENVIRONMENT, &Known::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.toml: member: the backend's setting `timeouts` has the name of a key that is the engine's: \
         the backend has to rename it\n\
         f.toml:2:1: backend: unknown key `x`"
    );
}

#[test]
fn one_error_is_one_line() {
    let text = with_member("[backend]\nrefuse = \"a\\nb\"\n\"x\\ny\" = 1");
    let shown = refused(&text);
    assert_eq!(
        shown,
        "f.toml:3:1: backend: unknown key `x y`; known keys: discovers, refuse, replay"
    );
    let text = with_member("[backend]\nrefuse = \"a\\nb\"");
    assert_eq!(refused(&text), "f.toml:1:1: backend: refused: a b");
}
