//! What is wrong with a configuration, all of it, for people.
//!
//! A configuration is corrected by hand, so an error holds everything that was found, in the order of the file, with
//! line and column. Texts are free of interpolated secrets before they come here.

use std::fmt;
use std::sync::Arc;

use backend_api::{Error, ErrorKind};

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The name of the file; `None` for values that were given in code.
    pub file: Option<Arc<str>>,
    /// Line and column, both from 1, the column in characters; `None` where no place in the file is at fault.
    pub at: Option<(usize, usize)>,
    /// Where in the configuration, what, and the nearest valid word where one is near.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let Some((line, column)) = self.at {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        f.write_str(&self.message)
    }
}

/// Why a configuration was refused. Displays one problem per line: `failover.toml:12:1: ...`. At least one, and at
/// most [`ConfigError::MOST`], followed by the number of those left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
    left_out: usize,
}

impl ConfigError {
    /// How many problems one error holds: a broken template can cause thousands, which nobody reads.
    pub const MOST: usize = 100;

    /// `problems` is not empty.
    pub(super) fn new(problems: Vec<Problem>, left_out: usize) -> Self {
        Self { problems, left_out }
    }

    /// What is wrong, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        match self.left_out {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<ConfigError> for Error {
    /// Of kind [`ErrorKind::Config`], with the same text.
    fn from(error: ConfigError) -> Self {
        Self::new(ErrorKind::Config, error.to_string())
    }
}
