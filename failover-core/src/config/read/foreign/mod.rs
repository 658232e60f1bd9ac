//! Reads what belongs to a backend: `[backend]`, and a `[[member]]` beyond the engine's keys, into the backend's types.
//!
//! A deserializer of our own over the spanned tables, because all of this is wanted at once, at every depth: lines,
//! unknown keys that are errors whatever the type says about them, the nearest valid key, secrets from files
//! where the type wants a string, and errors that never repeat a value. serde's flatten and untagged enums accept
//! unknown keys and lose lines; toml's errors print the source, serde's the value. The engine's keys are not read here.

mod access;
mod deserializer;
mod fields;
mod reject;

use std::cell::RefCell;

use serde::de::DeserializeOwned;

pub(super) use fields::fields_of;

use self::deserializer::De;
use super::Outside;
use super::report::Report;
use super::secrets::Secrets;
use super::values::Value;
use crate::config::place::Scope;

/// Keys of the outermost table that are not the backend's.
#[derive(Clone, Copy, Default)]
pub(super) struct EngineKeys {
    /// Passed over, but offered as suggestions.
    pub(super) here: &'static [&'static str],
    /// Out of place, unless the backend's type has keys of these names: they are set for the whole group.
    pub(super) group_only: &'static [&'static str],
}

/// What reading needs beside the table itself.
pub(super) struct Foreign<'a> {
    pub(super) report: &'a Report<'a>,
    pub(super) secrets: &'a Secrets,
    pub(super) scope: Scope<'a>,
    /// Where secret files are found.
    pub(super) outside: &'a Outside<'a>,
    pub(super) engine: EngineKeys,
    /// The keys on the way to where reading is.
    trail: RefCell<Vec<&'a str>>,
}

impl<'a> Foreign<'a> {
    pub(super) fn new(
        report: &'a Report<'a>,
        secrets: &'a Secrets,
        scope: Scope<'a>,
        outside: &'a Outside<'a>,
        engine: EngineKeys,
    ) -> Self {
        Self {
            report,
            secrets,
            scope,
            outside,
            engine,
            trail: RefCell::default(),
        }
    }

    /// The table as a backend's type; `None` when errors were reported.
    pub(super) fn read<T: DeserializeOwned>(&self, table: &'a Value<'a>) -> Option<T> {
        let before = self.report.count();
        let read = T::deserialize(De::outermost(table, self));
        match read {
            Ok(read) => (self.report.count() == before).then_some(read),
            Err(reject) => {
                let at = reject.at.unwrap_or(table.span().start);
                if let Some(message) = reject.message(self.secrets) {
                    let path = reject.path.as_deref().unwrap_or_default();
                    self.report.say(Some(at), self.scope, path, &message);
                }
                None
            }
        }
    }

    fn path(&self) -> String {
        self.trail.borrow().join(".")
    }
}
