//! From the text of a configuration file to checked values and a backend.
//!
//! Strict: whatever is not understood is an error with its line. The engine's keys are read by hand, key by key
//! (`group`, `member`, over `table` and `values`); what is the backend's is read by its own types (`foreign`). What
//! comes from outside the file, environment and secret files, comes through here too (`secrets`). Nothing is connected, and nothing is
//! decided.

mod again;
mod depth;
mod foreign;
mod group;
mod member;
mod report;
mod secrets;
mod table;
mod values;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use backend_api::{Backend, Capabilities, FromOptions};
use toml::de::{DeTable, DeValue};

pub(crate) use self::again::{Footprint, Reread, reread, reread_file};
use self::again::{hash_of, hash_of_text};
use self::foreign::{EngineKeys, Foreign};
use self::member::Members;
use self::report::Report;
use self::secrets::{Secrets, expand};
use self::table::Table;
use self::values::{Value, expected};
use super::check::{ALL_DISABLED, NO_MEMBER};
use super::error::{ConfigError, Problem};
use super::known::Known;
use super::place::Scope;
use super::rules::{GroupConfig, MemberConfig, Rules};
use super::suggest::hint;

/// The text of a configuration.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// How errors call it, such as `failover.toml`.
    pub name: &'a str,
    /// The TOML.
    pub text: &'a str,
    /// Where relative paths of secret files begin. `None`: in the working directory of the process.
    pub folder: Option<&'a Path>,
}

impl<'a> Source<'a> {
    /// A text that is in no folder.
    pub fn new(name: &'a str, text: &'a str) -> Self {
        Self {
            name,
            text,
            folder: None,
        }
    }
}

// By hand: the text may hold secrets.
impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// What a configuration says.
pub struct Loaded<B: Backend> {
    /// Made from `[backend]`.
    pub backend: B,
    /// Checked: every value, every name, and every member's settings.
    pub group: GroupConfig<B::Settings>,
    /// What `[backend]` said, as a number to compare; `None`: nothing.
    pub(crate) options: Option<u64>,
    /// What was read, to see later whether it changed.
    pub(crate) footprint: Footprint,
}

// By hand: a backend need not be `Debug`.
impl<B: Backend> std::fmt::Debug for Loaded<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

/// The environment of this process, for [`read`]. A variable that is not Unicode counts as not set.
pub fn environment(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// Reads a configuration. `env` looks up the variables in `${VARIABLE}`: [`environment`], or a map in tests.
///
/// # Errors
///
/// Everything that was found, each with line and column. No error repeats what came from a variable or from a secret
/// file: where a text of the backend holds it, plain or quoted, `***` stands instead.
pub fn read<B: Backend + FromOptions>(
    source: Source<'_>,
    env: &dyn Fn(&str) -> Option<String>,
    known: &Known,
) -> Result<Loaded<B>, ConfigError> {
    read_all(source, &Outside::new(env, source.folder), known, None)
}

/// `running`: the backend of the group that is to be changed, which judges instead of a new one.
fn read_all<B: Backend + FromOptions>(
    source: Source<'_>,
    outside: &Outside<'_>,
    known: &Known,
    running: Option<&B>,
) -> Result<Loaded<B>, ConfigError> {
    let report = Report::new(&source);
    let loaded = parse(source.text, &report)
        .and_then(|document| read_document(document, &report, outside, known, running));
    match (report.error(), loaded) {
        (None, Some(mut loaded)) => {
            loaded.footprint = Footprint::new(source.text, outside);
            Ok(loaded)
        }
        (Some(error), _) => Err(error),
        (None, None) => Err(whole_file(source.name, "cannot be understood")),
    }
}

/// [`read`] for a file, with the [`environment`] of this process. Relative secret files are looked for beside it.
///
/// # Errors
///
/// A file that cannot be read, and whatever [`read`] finds in it.
pub fn read_file<B: Backend + FromOptions>(
    path: impl AsRef<Path>,
    known: &Known,
) -> Result<Loaded<B>, ConfigError> {
    let path = path.as_ref();
    let name = path.display().to_string();
    let text = text_of(path)?;
    let source = Source {
        name: &name,
        text: &text,
        folder: path.parent(),
    };
    read(source, &environment, known)
}

fn text_of(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|error| {
        whole_file(
            &path.display().to_string(),
            &format!("cannot be read: {error}"),
        )
    })
}

fn whole_file(name: &str, message: &str) -> ConfigError {
    let problem = Problem {
        file: Some(Arc::from(name)),
        at: None,
        message: message.to_owned(),
    };
    ConfigError::new(vec![problem], 0)
}

/// What values may come from beside the text.
struct Outside<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    folder: Option<&'a Path>,
    /// The secret files that were read, each with what it held.
    seen: RefCell<Vec<(PathBuf, Option<u64>)>>,
}

impl<'a> Outside<'a> {
    fn new(env: &'a dyn Fn(&str) -> Option<String>, folder: Option<&'a Path>) -> Self {
        Self {
            env,
            folder,
            seen: RefCell::default(),
        }
    }

    fn saw(&self, file: PathBuf, content: Option<&str>) {
        self.seen
            .borrow_mut()
            .push((file, content.map(hash_of_text)));
    }
}

/// The tables, or all that is wrong with the TOML itself.
fn parse<'t>(text: &'t str, report: &Report<'_>) -> Option<DeTable<'t>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        // The message alone: the whole error prints the line, and whatever secret stands on it.
        let at = error.span().map(|span| span.start);
        report.say(at, Scope::Document, "", error.message());
    }
    // Also a broken document is bounded, because it is dropped.
    match depth::bounded(document.into_inner()) {
        Ok(document) => errors.is_empty().then_some(document),
        Err(at) => {
            report.say(Some(at), Scope::Document, "", "nested too deeply");
            None
        }
    }
}

const TABLES: &[&str] = &["group", "backend", "member"];

fn read_document<B: Backend + FromOptions>(
    mut document: DeTable<'_>,
    report: &Report<'_>,
    outside: &Outside<'_>,
    known: &Known,
    running: Option<&B>,
) -> Option<Loaded<B>> {
    for key in document.keys() {
        let name = key.get_ref().as_ref();
        if !TABLES.contains(&name) {
            let message = format!(
                "unknown key `{name}`{}",
                hint(name, "keys", TABLES.iter().copied())
            );
            report.say(Some(key.span().start), Scope::Document, "", &message);
        }
    }
    let secrets = Secrets::default();
    let (made, options) = read_backend::<B>(document.remove("backend"), report, outside, &secrets);
    let backend = running.or(made.as_ref());
    let checks = backend.map(|backend| known.checks_of(backend));
    let capabilities = backend.map_or(Capabilities::new(), B::capabilities);
    let rules = read_group(
        document.get("group"),
        report,
        capabilities,
        known,
        checks.as_deref(),
    );
    let mut members = Members::new(
        report,
        outside,
        (backend, &secrets),
        checks.as_deref(),
        &rules.member,
    );
    let members = read_members(document.remove("member"), report, &mut members);
    Some(Loaded {
        group: GroupConfig { rules, members },
        options,
        footprint: Footprint::default(),
        backend: made?,
    })
}

fn read_backend<B: FromOptions>(
    table: Option<Value<'_>>,
    report: &Report<'_>,
    outside: &Outside<'_>,
    secrets: &Secrets,
) -> (Option<B>, Option<u64>) {
    let at = table.as_ref().map(|table| table.span().start);
    let mut said = None;
    let options = match table {
        None => B::Options::default(),
        Some(mut table) => {
            let before = report.count();
            expand(&mut table, outside.env, secrets, &mut |at, message| {
                report.say(Some(at), Scope::Backend, "", message);
            });
            if report.count() != before {
                return (None, None);
            }
            let keys = EngineKeys::default();
            let foreign = Foreign::new(report, secrets, Scope::Backend, outside, keys);
            let Some(options) = foreign.read(&table) else {
                return (None, None);
            };
            said = hash_of(&table, &outside.seen.borrow());
            options
        }
    };
    match B::from_options(options) {
        Ok(backend) => (Some(backend), said),
        Err(error) => {
            let message = secrets.strike_out(error.message());
            report.say(at, Scope::Backend, "", &message);
            (None, None)
        }
    }
}

fn read_group(
    table: Option<&Value<'_>>,
    report: &Report<'_>,
    capabilities: Capabilities,
    known: &Known,
    checks: Option<&[String]>,
) -> Rules {
    let mut rules = Rules::suited_to(capabilities);
    let nothing_secret = Secrets::default();
    if let Some(table) = table
        && let Some(table) = Table::new(report, &nothing_secret, Scope::Group, table)
    {
        group::group(&table, &mut rules, known, checks);
    }
    rules
}

fn read_members<B: Backend>(
    value: Option<Value<'_>>,
    report: &Report<'_>,
    reader: &mut Members<'_, B>,
) -> Vec<MemberConfig<B::Settings>> {
    let at = value.as_ref().map(|value| value.span().start);
    let mut members = Vec::new();
    match value.map(toml::Spanned::into_inner) {
        Some(DeValue::Array(mut items)) if !items.is_empty() => {
            let total = items.len();
            for (place, item) in items.iter_mut().enumerate() {
                members.extend(reader.read(place + 1, item));
            }
            if members.len() == total && members.iter().all(|member| !member.enabled) {
                report.say(at, Scope::Document, "member", ALL_DISABLED);
            }
        }
        None | Some(DeValue::Array(_)) => report.say(at, Scope::Document, "", NO_MEMBER),
        Some(other) => {
            let message = expected("[[member]], with two brackets", &other);
            report.say(at, Scope::Document, "member", &message);
        }
    }
    members
}
