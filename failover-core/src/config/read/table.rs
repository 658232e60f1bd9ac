//! One table of the engine's own, read key by key.
//!
//! What is asked for is what is known: the same calls that read the values make the list that unknown keys are
//! compared with, so the two cannot disagree. A wrong value is reported, the one before it stays, reading goes on.

use std::cell::RefCell;

use toml::de::{DeTable, DeValue};

use super::report::Report;
use super::secrets::Secrets;
use super::values::{Value, expected};
use crate::config::limits::Limited;
use crate::config::place::{Scope, join};
use crate::config::suggest::hint;

pub(super) struct Table<'a> {
    report: &'a Report<'a>,
    secrets: &'a Secrets,
    scope: Scope<'a>,
    path: String,
    entries: &'a DeTable<'a>,
    /// Where it begins.
    pub(super) at: usize,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Table<'a> {
    /// A table of the document, or `None` and an error where the value is something else.
    pub(super) fn new(
        report: &'a Report<'a>,
        secrets: &'a Secrets,
        scope: Scope<'a>,
        value: &'a Value<'a>,
    ) -> Option<Self> {
        Self::at_path(report, secrets, scope, String::new(), value)
    }

    fn at_path(
        report: &'a Report<'a>,
        secrets: &'a Secrets,
        scope: Scope<'a>,
        path: String,
        value: &'a Value<'a>,
    ) -> Option<Self> {
        let at = value.span().start;
        let DeValue::Table(entries) = value.get_ref() else {
            let message = expected("a table", value.get_ref());
            report.say(Some(at), scope, &path, &message);
            return None;
        };
        Some(Self {
            report,
            secrets,
            scope,
            path,
            entries,
            at,
            asked: RefCell::default(),
        })
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &'static str) -> Option<&'a Value<'a>> {
        self.asked.borrow_mut().push(key);
        self.entries.get(key)
    }

    /// The value of a key as `read` understands it; a value that it refuses is reported.
    pub(super) fn value<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'a>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.get(key)?;
        match read(value.get_ref()) {
            Ok(read) => Some(read),
            Err(message) => {
                self.wrong(value.span().start, key, &message);
                None
            }
        }
    }

    /// The same, laid over what was there.
    pub(super) fn set<T>(
        &self,
        key: &'static str,
        into: &mut T,
        read: impl FnOnce(&DeValue<'a>) -> Result<T, String>,
    ) {
        if let Some(value) = self.value(key, read) {
            *into = value;
        }
    }

    /// A table within this one, laid over what was there: `fill` reads its keys.
    pub(super) fn table(&self, key: &'static str, fill: impl FnOnce(&Self)) {
        let Some(value) = self.get(key) else { return };
        let path = join(&self.path, key);
        if let Some(table) = Self::at_path(self.report, self.secrets, self.scope, path, value) {
            fill(&table);
            table.done();
        }
    }

    /// A table with limits. A value out of bounds is reported where it stands; one that this table did not set was
    /// reported where it came from.
    pub(super) fn limited<T: Limited>(&self, into: &mut T, fill: impl FnOnce(&Self, &mut T)) {
        self.table(T::TABLE, |table| {
            fill(table, into);
            for violation in into.violations() {
                let key = violation.key;
                let partner = violation.with.and_then(|key| table.entries.get(key));
                if let Some(value) = table.entries.get(key).or(partner) {
                    table.wrong(value.span().start, key, &violation.message);
                }
            }
        });
    }

    /// Reports something about a key here, or about the table itself where `key` is empty.
    pub(super) fn wrong(&self, at: usize, key: &str, message: &str) {
        let path = match key {
            "" => self.path.clone(),
            key => join(&self.path, key),
        };
        let message = self.secrets.strike_out(message);
        self.report.say(Some(at), self.scope, &path, &message);
    }

    /// Reports the keys that nobody asked for.
    pub(super) fn done(&self) {
        let asked = self.asked.borrow();
        for key in self.entries.keys() {
            let name = key.get_ref().as_ref();
            if !asked.contains(&name) {
                let hint = hint(name, "keys", asked.iter().copied());
                let message = format!("unknown key `{name}`{hint}");
                self.wrong(key.span().start, "", &message);
            }
        }
    }
}
