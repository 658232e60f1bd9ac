//! What came out: a row for each figure, as a table or as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::claims;
use crate::table::{Measurement, Row, Target};

/// So much worse than said a figure may be.
const WORSE: f64 = 1.25;

#[derive(Default)]
pub(crate) struct Report(Vec<Line>);

/// One figure, as it came out.
pub(crate) struct Line {
    row: Row,
    how: String,
    /// Or why there is none.
    pub(crate) value: Result<f64, String>,
    said: Option<f64>,
    /// None: there is nothing to meet.
    pub(crate) met: Option<bool>,
}

impl Report {
    /// The figures of an answer.
    pub(crate) fn add(
        &mut self,
        measurement: &Measurement,
        words: &str,
        answer: &Result<Value, String>,
    ) {
        for row in &measurement.rows {
            let how = format!("{words}: {}", measurement.how);
            self.0.push(Line::of(row.clone(), how, answer));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many figures could not be measured.
    pub(crate) fn failed(&self) -> usize {
        self.0.iter().filter(|line| line.value.is_err()).count()
    }

    fn missed(&self) -> usize {
        self.0.iter().filter(|line| line.met == Some(false)).count()
    }

    pub(crate) fn json(&self, quick: bool) -> Value {
        let figures: Vec<_> = self.0.iter().map(Line::json).collect();
        json!({
            "quick": quick,
            "figures": figures,
            "missed": self.missed(),
            "failed": self.failed(),
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{:<42} {:>12}  {:<18} {:>10}  {:<12} met\n",
            "figure", "measured", "unit", "said", "target"
        );
        for line in &self.0 {
            line.write(&mut text);
        }
        let _ = writeln!(
            text,
            "\n{} figures, {} missed their target, {} could not be measured",
            self.0.len(),
            self.missed(),
            self.failed()
        );
        text
    }
}

impl Line {
    pub(crate) fn of(row: Row, how: String, answer: &Result<Value, String>) -> Self {
        let value = answer.as_ref().map_err(Clone::clone);
        let value = value.and_then(|answer| figure(&row, answer));
        let said = row.said.first().and_then(|(document, claim)| {
            let found = claims::find(&document.words(), claim).ok()?;
            Some(found.value)
        });
        let met = value.as_ref().ok().and_then(|value| {
            Some(match row.target? {
                Target::AtMost(most) => *value <= most,
                Target::AtLeast(least) => *value >= least,
                Target::Exactly(count) => *value == count,
                Target::AsSaid => *value <= said? * WORSE,
            })
        });
        Self {
            row,
            how,
            value,
            said,
            met,
        }
    }

    fn json(&self) -> Value {
        json!({
            "name": self.row.name,
            "value": self.value.as_ref().ok(),
            "error": self.value.as_ref().err(),
            "unit": self.row.unit,
            "said": self.said,
            "said_in": self.row.said.first().map(|(document, _)| document.name()),
            "target": self.target(),
            "met": self.met,
            "how": self.how,
        })
    }

    fn target(&self) -> Option<String> {
        Some(match self.row.target? {
            Target::AtMost(most) => format!("<= {most}"),
            Target::AtLeast(least) => format!(">= {least}"),
            Target::Exactly(count) => format!("{count}"),
            Target::AsSaid => "as said".to_owned(),
        })
    }

    fn write(&self, text: &mut String) {
        let met = match self.met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        let value = self
            .value
            .as_ref()
            .map_or("FAILED".to_owned(), |value| rounded(*value));
        let said = self.said.map_or(String::new(), rounded);
        let _ = write!(
            text,
            "{:<42} {value:>12}  {:<18} {said:>10}  {:<12} {met}",
            self.row.name,
            self.row.unit,
            self.target().unwrap_or_default(),
        );
        match &self.value {
            Ok(_) => text.push('\n'),
            Err(why) => {
                let _ = writeln!(text, "  {why}");
            }
        }
    }
}

/// The figure of a row in an answer, in the row's unit.
fn figure(row: &Row, answer: &Value) -> Result<f64, String> {
    let number = |at: &str| {
        let value = answer.pointer(at).and_then(Value::as_f64);
        value.ok_or_else(|| format!("the answer has no number at {at}"))
    };
    let per = row.per.map_or(Ok(1.0), number)?;
    Ok(number(&row.at)? / per / row.scale)
}

/// As many digits as a reader needs.
fn rounded(value: f64) -> String {
    match value.abs() {
        whole if whole >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        some if some >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
