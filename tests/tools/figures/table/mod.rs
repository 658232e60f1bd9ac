//! The table of figures: what is measured, where each figure stands in what the measurement prints, what a document says of
//! it, and what it should be.
//!
//! One file for each kind of measurement. A row is all that a new figure needs.

mod cost;
mod nats;
mod redis;
mod whole;

use crate::claims::Document;
use crate::program::Program;

/// One program to run, and the figures in its answer.
#[derive(Debug)]
pub(crate) struct Measurement {
    pub(crate) program: Program,
    /// How the figures come about, for people.
    pub(crate) how: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// One figure.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Its name: a promise to programs.
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// Where it stands in the answer, as a JSON pointer.
    pub(crate) at: String,
    /// Where the number stands by which it is divided: the rounds, for a sum over them.
    pub(crate) per: Option<&'static str>,
    /// It is divided by this as well: the unit of the answer in the unit of the row.
    pub(crate) scale: f64,
    /// Where documents say it: see [`claims`](crate::claims).
    pub(crate) said: Vec<(Document, &'static str)>,
    pub(crate) target: Option<Target>,
}

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
    /// What the document says: not worse by more than a quarter. On the machine of the documents; others differ.
    AsSaid,
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, unit: &'static str, at: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            unit,
            at: at.into(),
            per: None,
            scale: 1.0,
            said: Vec::new(),
            target: None,
        }
    }

    /// Divided by another number of the answer.
    fn per(mut self, at: &'static str) -> Self {
        self.per = Some(at);
        self
    }

    fn scaled(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// README.md says it, and that is the target unless there is another.
    fn said(mut self, claim: &'static str) -> Self {
        self.said.push((Document::Readme, claim));
        self.target = self.target.or(Some(Target::AsSaid));
        self
    }

    fn target(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }
}

/// All of it, in the order in which it is measured.
pub(crate) fn all() -> Vec<Measurement> {
    let mut all = redis::all();
    all.extend(nats::all());
    all.extend(cost::all());
    all.extend(whole::all());
    all
}
