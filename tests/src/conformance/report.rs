//! What the suite found: one line per behaviour, for people and for tests.
//!
//! Never to come in: a judgement. Whether a behaviour holds is decided where it is tried.

use std::fmt;
use std::time::Duration;

/// What became of one behaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The backend behaves as the contract says.
    Ok,
    /// It does not, and how that showed.
    Failed(String),
    /// It was not tried: the backend does not claim the capability, or the harness cannot show it. The text says which.
    NotApplicable(String),
}

/// One behaviour and its verdict.
#[derive(Clone, Debug)]
pub struct Line {
    /// The behaviour, as one sentence. It does not change between runs, so that tests can name it.
    pub behaviour: &'static str,
    /// What became of it.
    pub verdict: Verdict,
    /// How long it took to find out.
    pub took: Duration,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.behaviour)?;
        match &self.verdict {
            Verdict::Ok => f.write_str("ok"),
            Verdict::Failed(why) => write!(f, "failed: {why}"),
            Verdict::NotApplicable(why) => write!(f, "not applicable: {why}"),
        }
    }
}

/// The verdicts of a whole run. Its `Display` is one line per behaviour.
#[derive(Clone, Debug, Default)]
#[must_use = "a report that nobody looks at proves nothing: call `assert`"]
pub struct Report {
    lines: Vec<Line>,
}

impl Report {
    pub(super) fn add(&mut self, line: Line) {
        self.lines.push(line);
    }

    /// All lines, in the order in which they were tried.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The behaviours that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .filter(|line| matches!(line.verdict, Verdict::Failed(_)))
    }

    /// The behaviours that were not tried.
    pub fn not_applicable(&self) -> impl Iterator<Item = &Line> {
        self.lines
            .iter()
            .filter(|line| matches!(line.verdict, Verdict::NotApplicable(_)))
    }

    /// Prints the report, and fails the test if a behaviour failed.
    ///
    /// # Panics
    /// With the failed lines, if there are any.
    #[track_caller]
    pub fn assert(&self) {
        println!("{self}");
        let failed: Vec<String> = self.failed().map(|line| format!("  {line}")).collect();
        assert!(
            failed.is_empty(),
            "{} of {} behaviours of the contract do not hold:\n{}",
            failed.len(),
            self.lines.len(),
            failed.join("\n")
        );
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in self.lines.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            line.fmt(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(behaviour: &'static str, verdict: Verdict) -> Line {
        Line {
            behaviour,
            verdict,
            took: Duration::ZERO,
        }
    }

    fn report() -> Report {
        let mut report = Report::default();
        report.add(line("it opens", Verdict::Ok));
        report.add(line("it quacks", Verdict::NotApplicable("no duck".into())));
        report
    }

    #[test]
    fn it_is_one_line_per_behaviour() {
        report().assert();
        let mut report = report();
        report.add(line("it closes", Verdict::Failed("it did not".into())));
        assert_eq!(
            report.to_string(),
            "it opens: ok\nit quacks: not applicable: no duck\nit closes: failed: it did not"
        );
        assert_eq!(report.failed().count(), 1);
        assert_eq!(report.not_applicable().count(), 1);
    }

    #[test]
    #[should_panic(
        expected = "1 of 3 behaviours of the contract do not hold:\n  it closes: failed: it did not"
    )]
    fn a_failed_line_fails_the_test() {
        let mut report = report();
        report.add(line("it closes", Verdict::Failed("it did not".into())));
        report.assert();
    }
}
