//! Reading a configuration again while its group runs, and telling whether there is anything new to read.
//!
//! What was read is remembered as numbers only: texts hold secrets, and nobody needs them twice.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use backend_api::{Backend, FromOptions};
use toml::de::DeValue;

use super::values::Value;
use super::{ConfigError, Known, Outside, Source, environment, read_all, text_of};
use crate::config::rules::GroupConfig;

/// A configuration and the secret files that it names, as they were when they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// `None`: there was nothing that could be read.
    text: Option<u64>,
    secrets: Vec<(PathBuf, Option<u64>)>,
}

impl Footprint {
    pub(super) fn new(text: &str, outside: &Outside<'_>) -> Self {
        Self {
            text: Some(hash_of_text(text)),
            secrets: outside.seen.borrow().clone(),
        }
    }

    /// The same files as they are now.
    #[cfg(feature = "watch")]
    pub(crate) fn now(&self, file: &Path) -> Self {
        let hash = |path: &Path| {
            let text = std::fs::read_to_string(path);
            text.ok().as_deref().map(hash_of_text)
        };
        Self {
            text: hash(file),
            secrets: self
                .secrets
                .iter()
                .map(|(path, _)| (path.clone(), hash(path)))
                .collect(),
        }
    }
}

/// What came of reading again.
pub(crate) struct Reread<S> {
    pub(crate) group: Result<GroupConfig<S>, ConfigError>,
    /// What `[backend]` says, as a number to compare.
    pub(crate) options: Option<u64>,
    pub(crate) footprint: Footprint,
}

/// [`read`](super::read) for a group that runs on this backend. `[backend]` is checked, but not applied.
pub(crate) fn reread<B: Backend + FromOptions>(
    source: Source<'_>,
    known: &Known,
    running: &B,
) -> Reread<B::Settings> {
    let outside = Outside::new(&environment, source.folder);
    let loaded = read_all(source, &outside, known, Some(running));
    let footprint = Footprint::new(source.text, &outside);
    match loaded {
        Ok(loaded) => Reread {
            group: Ok(loaded.group),
            options: loaded.options,
            footprint,
        },
        Err(error) => Reread {
            group: Err(error),
            options: None,
            footprint,
        },
    }
}

/// The same for a file.
pub(crate) fn reread_file<B: Backend + FromOptions>(
    path: &Path,
    known: &Known,
    running: &B,
) -> Reread<B::Settings> {
    match text_of(path) {
        Ok(text) => {
            let source = Source {
                name: &path.display().to_string(),
                text: &text,
                folder: path.parent(),
            };
            reread(source, known, running)
        }
        Err(error) => Reread {
            group: Err(error),
            options: None,
            footprint: Footprint::default(),
        },
    }
}

pub(super) fn hash_of_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What a table says, whatever its layout and the order of its keys, and what its secret files hold. `None`: nothing.
pub(super) fn hash_of(table: &Value<'_>, secrets: &[(PathBuf, Option<u64>)]) -> Option<u64> {
    if table
        .get_ref()
        .as_table()
        .is_some_and(|table| table.is_empty())
    {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    put(table, &mut hasher);
    for (_, content) in secrets {
        content.hash(&mut hasher);
    }
    Some(hasher.finish())
}

fn put(value: &Value<'_>, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value.get_ref()).hash(hasher);
    match value.get_ref() {
        DeValue::String(text) => text.hash(hasher),
        DeValue::Integer(number) => number.to_string().hash(hasher),
        DeValue::Float(number) => number.to_string().hash(hasher),
        DeValue::Boolean(flag) => flag.hash(hasher),
        DeValue::Datetime(time) => time.to_string().hash(hasher),
        DeValue::Array(items) => {
            items.len().hash(hasher);
            for item in items {
                put(item, hasher);
            }
        }
        DeValue::Table(table) => {
            let mut entries: Vec<_> = table.iter().collect();
            entries.sort_by(|a, b| a.0.get_ref().cmp(b.0.get_ref()));
            entries.len().hash(hasher);
            for (key, value) in entries {
                key.get_ref().hash(hasher);
                put(value, hasher);
            }
        }
    }
}
