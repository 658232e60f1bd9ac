//! Where in a configuration something stands, in words that fit a file as well as values from code.

use std::fmt;

/// The part of a configuration that an error is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scope<'a> {
    /// The whole of it.
    Document,
    /// `[group]` and its tables.
    Group,
    /// `[backend]`.
    Backend,
    /// One `[[member]]`, counted from 1.
    Member {
        number: usize,
        /// Where it has one that can be shown.
        name: Option<&'a str>,
    },
}

impl fmt::Display for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Document => Ok(()),
            Self::Group => f.write_str("group"),
            Self::Backend => f.write_str("backend"),
            Self::Member {
                name: Some(name), ..
            } => write!(f, "member `{name}`"),
            Self::Member { number, name: None } => write!(f, "member number {number}"),
        }
    }
}

impl Scope<'_> {
    /// An error about something in here; an empty path means the scope itself.
    pub(super) fn say(self, path: &str, message: &str) -> String {
        let said = self.words(path, message);
        if said.contains(char::is_control) {
            // One error is one line, whatever a key or a backend's message holds.
            said.replace(char::is_control, " ")
        } else {
            said
        }
    }

    fn words(self, path: &str, message: &str) -> String {
        match (self, path) {
            (Self::Document, "") => message.to_owned(),
            (Self::Document, path) => format!("{path}: {message}"),
            (scope, "") => format!("{scope}: {message}"),
            (Self::Member { .. }, path) => format!("{self}: {path}: {message}"),
            (scope, path) => format!("{scope}.{path}: {message}"),
        }
    }
}

/// `health` and `probes` make `health.probes`.
pub(super) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
