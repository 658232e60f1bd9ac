//! Variables and secret files: replaced where they may stand, and never seen again.

use std::fs;
use std::path::PathBuf;

use super::{NO_ENVIRONMENT, Test};
use crate::config::{ConfigError, Known, Loaded, Source, read, read_file};

/// With what `Debug` escapes, and what only other escapes do.
const SECRET: &str = "s3cr\"e't";

fn env(name: &str) -> Option<String> {
    match name {
        "PASSWORD" => Some(SECRET.to_owned()),
        "HOST" => Some("east.example".to_owned()),
        "EMPTY" => Some(String::new()),
        // A part of another secret.
        "PART" => Some(SECRET[..4].to_owned()),
        "TRICKY" => Some("${PASSWORD}".to_owned()),
        _ => None,
    }
}

fn load(text: &str) -> Result<Loaded<Test>, ConfigError> {
    read(Source::new("f.toml", text), &env, &Known::new())
}

fn member(lines: &str) -> String {
    format!("[[member]]\nname = \"east\"\n{lines}\n")
}

#[test]
fn variables_are_replaced_inside_strings() {
    for (written, meant) in [
        (
            "test://app:${PASSWORD}@${HOST}:1",
            format!("test://app:{SECRET}@east.example:1"),
        ),
        ("test://${EMPTY}", "test://".to_owned()),
        ("test://$${HOST}", "test://${HOST}".to_owned()),
        ("test://$$${HOST}$", "test://$${HOST}$".to_owned()),
        ("test://${TRICKY}", "test://${PASSWORD}".to_owned()),
        ("test://$HOST", "test://$HOST".to_owned()),
    ] {
        let loaded = load(&member(&format!("url = '{written}'"))).unwrap();
        assert_eq!(
            loaded.group.members[0].member.settings.url, meant,
            "of {written}"
        );
    }
    let loaded = load(&(member("url = 'test://x'") + "[backend]\nreplay = '${HOST}'\n")).unwrap();
    assert_eq!(loaded.backend.options.replay, "east.example");
}

#[test]
fn variables_that_cannot_be_replaced() {
    for (lines, expected) in [
        (
            "url = 'test://${NOPE}'",
            "f.toml:3:7: member `east`: the environment variable `NOPE` is not set",
        ),
        (
            "url = 'test://${HOST'",
            "f.toml:3:7: member `east`: `${` without `}`; a literal `${` is written `$${`",
        ),
        (
            "url = 'test://${}'",
            "f.toml:3:7: member `east`: between `${` and `}` stands the name of an environment variable, like `${REDIS_PASSWORD}`; a literal `${` is written `$${`",
        ),
        (
            "url = 'test://x'\nroutes = [['${NOPE}']]",
            "f.toml:4:12: member `east`: the environment variable `NOPE` is not set",
        ),
    ] {
        assert_eq!(load(&member(lines)).unwrap_err().to_string(), expected);
    }
    let error =
        load(&(member("url = 'test://x'") + "[backend]\nreplay = '${NOPE}'\n")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.toml:5:10: backend: the environment variable `NOPE` is not set"
    );
}

/// Errors about a value that holds the secret: in the value's place stands `***`.
#[test]
fn no_error_repeats_a_secret() {
    for (text, expected) in [
        (
            member("url = 'http://${PASSWORD}@x'"),
            "f.toml:1:1: member `east`: \"http://***@x\" is no test:// URL (replay )",
        ),
        (
            member("url = 'http://${PART}:${PASSWORD}@x'"),
            "f.toml:1:1: member `east`: \"http://***:***@x\" is no test:// URL (replay )",
        ),
        (
            member("url = 'test://x'\nmode = '${PASSWORD}'"),
            "f.toml:4:8: member `east`: mode: unknown value `***`; known values: plain, tls",
        ),
        (
            member("url = 'test://x'\ntag = '-${PASSWORD}-'"),
            "f.toml:4:7: member `east`: tag: `-***-` is no tag",
        ),
        (
            member("url = 'test://x'\nport = '${PASSWORD}'"),
            "f.toml:4:8: member `east`: port: expected u16, found a string",
        ),
        (
            member("url = 'test://x'\nhealth.policy = '${PASSWORD}'"),
            "f.toml:4:17: member `east`: health.policy: unknown value `***`; known values: all, any, majority",
        ),
        (
            member("url = 'test://x'\nhealth.check = ['${PASSWORD}']"),
            "f.toml:4:17: member `east`: health.check: unknown check `***`; known checks: ping",
        ),
        (
            "[[member]]\nname = '${PASSWORD}'\nx = 1\nurl = 'test://x'".to_owned(),
            "f.toml:3:1: member number 1: unknown key `x`; known keys: breaker, enabled, health, load, loose, mode, name, nested, port, reconnect, routes, tag, timeouts, url, user, weight",
        ),
        (
            "[[member]]\nname = '${PASSWORD}'\nurl = 'test://x'\n".repeat(2),
            "f.toml:5:8: member number 2: name: the name `***` is taken by the member on line 2",
        ),
        (
            member("url = 'test://x'") + "[backend]\nrefuse = '${PASSWORD}'",
            "f.toml:4:1: backend: refused: ***",
        ),
        (
            member("url = 'http://x'") + "[backend]\nreplay = '${PASSWORD}'",
            "f.toml:1:1: member `east`: \"http://x\" is no test:// URL (replay ***)",
        ),
    ] {
        let error = load(&text).unwrap_err();
        assert_eq!(error.to_string(), expected, "of {text}");
        for shown in [
            format!("{error:?}"),
            format!("{:?}", backend_api::Error::from(error)),
        ] {
            assert!(!shown.contains("s3cr"), "{shown}");
        }
    }
}

#[test]
fn a_secret_in_the_file_itself_is_not_printed_by_a_syntax_error() {
    let error = load("[[member]]\nname = 'x'\nurl = 'test://literal-secret' oops\n").unwrap_err();
    assert!(!error.to_string().contains("literal"), "{error}");
    assert!(error.to_string().starts_with("f.toml:3:"), "{error}");
}

#[test]
fn nothing_that_was_loaded_prints_a_secret() {
    let text = member("url = 'test://${PASSWORD}'");
    let shown = format!(
        "{:?} {:?}",
        load(&text).unwrap(),
        Source::new("f.toml", SECRET)
    );
    assert!(shown.contains("east") && !shown.contains("s3cr"), "{shown}");
}

/// A folder of its own for each test, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("failover-config-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn secret_files_stand_for_strings_and_are_found_beside_the_configuration() {
    let folder = Folder::new("beside");
    folder.file("password", "test://from-file\r\n");
    folder.file("two", "\na\n\n");
    let lines = "url = { file = 'password' }\nuser.file = 'two'";
    let path = folder.file("failover.toml", &member(lines));
    let loaded = read_file::<Test>(&path, &Known::new()).unwrap();
    let settings = &loaded.group.members[0].member.settings;
    assert_eq!(settings.url, "test://from-file");
    assert_eq!(settings.user.as_deref(), Some("\na\n"));
}

#[test]
fn the_content_of_a_secret_file_is_struck_out_as_well() {
    let folder = Folder::new("struck");
    folder.file("url", "http://topsecret\n");
    let path = folder.file("failover.toml", &member("url = { file = 'url' }"));
    let error = read_file::<Test>(&path, &Known::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("failover.toml:1:1: member `east`: \"***\" is no test:// URL (replay )"),
        "{error}"
    );
}

#[test]
fn secret_files_that_cannot_be_read() {
    let text = member("url = { file = '/nowhere/password' }");
    let error = load(&text).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "f.toml:3:7: member `east`: url: the secret file `/nowhere/password` cannot be read: "
        ),
        "{error}"
    );
    // Where the type wants a string, only exactly this shape is a file.
    let text = member("url = { file = 'x', mode = 1 }");
    let error =
        read::<Test>(Source::new("f.toml", &text), NO_ENVIRONMENT, &Known::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "f.toml:3:7: member `east`: url: expected a string or { file = \"..\" }, found a table"
    );
}

#[test]
fn a_configuration_that_cannot_be_read_names_its_path() {
    let error = read_file::<Test>("/nowhere/failover.toml", &Known::new()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/failover.toml: cannot be read: "),
        "{error}"
    );
}
