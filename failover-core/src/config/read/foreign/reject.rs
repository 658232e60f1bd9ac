//! Why a backend's type refused a table, without the values that serde would print.

use std::fmt::{self, Display};

use serde::de::{self, Expected, Unexpected};

use crate::config::read::secrets::Secrets;
use crate::config::suggest::hint;

/// The first thing that a type refused. Place and path are filled in on the way out, by the innermost that knows.
#[derive(Debug)]
pub(super) struct Reject {
    pub(super) at: Option<usize>,
    pub(super) path: Option<String>,
    pub(super) why: Why,
}

#[derive(Debug)]
pub(super) enum Why {
    /// In words that may hold values.
    Text(String),
    Missing(&'static str),
    UnknownVariant {
        found: String,
        known: &'static [&'static str],
    },
    /// Reported already, with more detail.
    Reported,
}

impl Reject {
    pub(super) fn new(why: Why) -> Self {
        Self {
            at: None,
            path: None,
            why,
        }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::new(Why::Text(text.into()))
    }

    /// What to report, if anything is left to report.
    pub(super) fn message(&self, secrets: &Secrets) -> Option<String> {
        match &self.why {
            Why::Text(text) => Some(secrets.strike_out(text)),
            Why::Missing(key) => Some(format!("missing key `{key}`")),
            Why::UnknownVariant { found, known } => {
                let shown = secrets.strike_out(found);
                let hint = hint(&shown, "values", known.iter().copied());
                Some(format!("unknown value `{shown}`{hint}"))
            }
            Why::Reported => None,
        }
    }
}

impl Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Never shown: `message` is. It must not print what `message` strikes out.
        f.write_str("not what the backend expects")
    }
}

impl std::error::Error for Reject {}

/// What was found, as a type: serde's own words hold the value.
fn kind_of(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "true or false",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) => "a whole number",
        Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a string",
        Unexpected::Bytes(_) => "bytes",
        Unexpected::Seq => "an array",
        Unexpected::Map | Unexpected::StructVariant => "a table",
        Unexpected::Unit | Unexpected::UnitVariant => "a word without a value",
        Unexpected::NewtypeVariant | Unexpected::TupleVariant => "a word with a value",
        _ => "something else",
    }
}

impl de::Error for Reject {
    fn custom<T: Display>(message: T) -> Self {
        Self::text(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::text(format!("expected {expected}, found {}", kind_of(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let kind = kind_of(found);
        Self::text(format!(
            "expected {expected}, found {kind} that does not fit"
        ))
    }

    fn unknown_variant(found: &str, known: &'static [&'static str]) -> Self {
        Self::new(Why::UnknownVariant {
            found: found.to_owned(),
            known,
        })
    }

    fn unknown_field(found: &str, known: &'static [&'static str]) -> Self {
        let hint = hint(found, "keys", known.iter().copied());
        Self::text(format!("unknown key `{found}`{hint}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new(Why::Missing(field))
    }

    fn duplicate_field(field: &'static str) -> Self {
        // A field with an alias: toml itself refuses the same key twice.
        Self::text(format!("`{field}` is given twice, under two names"))
    }
}
