//! Collects what is wrong while a file is read, and gives it lines at the end.
//!
//! Reading goes on after an error where that is natural, so that one run shows all of them. Positions are bytes until
//! the end: one index of the lines then serves all. Texts arrive without secrets; this only orders and numbers them.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use super::Source;
use crate::config::error::{ConfigError, Problem};
use crate::config::place::Scope;

pub(super) struct Report<'a> {
    source: &'a Source<'a>,
    faults: RefCell<Vec<Fault>>,
    /// Made for the first error that needs it.
    lines: OnceCell<LineIndex>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Fault {
    /// A byte in the text; `None`, which sorts first, for the file as a whole.
    at: Option<usize>,
    message: String,
}

impl<'a> Report<'a> {
    pub(super) fn new(source: &'a Source<'a>) -> Self {
        Self {
            source,
            faults: RefCell::default(),
            lines: OnceCell::new(),
        }
    }

    pub(super) fn say(&self, at: Option<usize>, scope: Scope<'_>, path: &str, message: &str) {
        self.faults.borrow_mut().push(Fault {
            at,
            message: scope.say(path, message),
        });
    }

    /// How much was said so far: whether a part was read without errors is a comparison of two counts.
    pub(super) fn count(&self) -> usize {
        self.faults.borrow().len()
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.lines().position(self.source.text, at).0
    }

    fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(self.source.text))
    }

    pub(super) fn error(&self) -> Option<ConfigError> {
        let mut faults = self.faults.take();
        if faults.is_empty() {
            return None;
        }
        faults.sort();
        faults.dedup();
        let left_out = faults.len().saturating_sub(ConfigError::MOST);
        faults.truncate(ConfigError::MOST);
        let lines = self.lines();
        let file: Arc<str> = self.source.name.into();
        let problems = faults
            .into_iter()
            .map(|fault| Problem {
                file: Some(file.clone()),
                at: fault.at.map(|at| lines.position(self.source.text, at)),
                message: fault.message,
            })
            .collect();
        Some(ConfigError::new(problems, left_out))
    }
}

/// Where the lines of a text begin.
struct LineIndex {
    starts: Vec<usize>,
}

impl LineIndex {
    fn new(text: &str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0)
            .chain(ends.map(|(end, _)| end + 1))
            .collect();
        Self { starts }
    }

    /// Line and column of a byte, both from 1, the column in characters.
    fn position(&self, text: &str, at: usize) -> (usize, usize) {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = line
            .checked_sub(1)
            .and_then(|line| self.starts.get(line).copied())
            .unwrap_or(0);
        let before = text.as_bytes().get(start..at).unwrap_or_default();
        // Every byte that continues no character begins one.
        let column = before.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        (line.max(1), column + 1)
    }
}
