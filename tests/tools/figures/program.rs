//! What is run for figures, and how its answer becomes JSON. A program that fails is an answer too: its last words.

use std::env;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

/// Something that prints figures.
#[derive(Clone, Debug)]
pub(crate) enum Program {
    /// A program of this package, which prints JSON.
    Tool(&'static str, Size),
    /// A bench, which prints JSON.
    Bench {
        package: &'static str,
        features: &'static str,
        bench: &'static str,
        size: Size,
    },
    /// A conformance test, whose lines are counted.
    Conformance {
        features: &'static str,
        test: &'static str,
    },
}

/// Arguments, as one writes them: those of every run, and what is added for a full one and for a quick one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Size {
    pub(crate) always: String,
    pub(crate) full: String,
    pub(crate) quick: String,
}

impl Size {
    fn words(&self, quick: bool) -> impl Iterator<Item = &str> {
        let more = if quick { &self.quick } else { &self.full };
        self.always
            .split_whitespace()
            .chain(more.split_whitespace())
    }
}

impl Program {
    /// The command, as one types it.
    pub(crate) fn words(&self, quick: bool) -> String {
        let parts: Vec<&str> = match self {
            Self::Tool(tool, size) => ["cargo", *tool]
                .into_iter()
                .chain(size.words(quick))
                .collect(),
            Self::Bench { bench, size, .. } => ["bench", *bench]
                .into_iter()
                .chain(size.words(quick))
                .collect(),
            Self::Conformance { test, .. } => vec!["test", *test],
        };
        parts.join(" ")
    }

    pub(crate) fn run(&self, quick: bool) -> Result<Value, String> {
        match self {
            Self::Tool(tool, size) => {
                let own = env::current_exe().map_err(|error| error.to_string())?;
                let folder = own.parent().unwrap_or(Path::new("."));
                let mut command = Command::new(folder.join(tool));
                command.args(size.words(quick)).arg("--json");
                parsed(&output(command)?)
            }
            Self::Bench {
                package,
                features,
                bench,
                size,
            } => {
                let mut command = cargo("bench", package, features);
                command.args(["--bench", bench, "--"]);
                command.args(size.words(quick)).arg("--json");
                parsed(&output(command)?)
            }
            Self::Conformance { features, test } => {
                let mut command = cargo("test", "failover-testkit", features);
                command.args(["--test", test, "--", "--nocapture", "--test-threads", "1"]);
                let output = output(command)?;
                Ok(counted(&String::from_utf8_lossy(&output.stdout)))
            }
        }
    }
}

fn cargo(what: &str, package: &str, features: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args([what, "--quiet", "--package", package]);
    if !features.is_empty() {
        command.args(["--features", features]);
    }
    command
}

/// What it printed, or why there is nothing.
fn output(mut command: Command) -> Result<Output, String> {
    command.stdin(Stdio::null());
    let output = command
        .output()
        .map_err(|error| format!("{}: {error}", command.get_program().to_string_lossy()))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(format!(
        "{}: {}",
        output.status,
        last.unwrap_or("it says nothing")
    ))
}

fn parsed(output: &Output) -> Result<Value, String> {
    serde_json::from_slice(&output.stdout).map_err(|error| format!("it printed no JSON: {error}"))
}

/// The verdicts in the output of a conformance test: see `failover_testkit::conformance::Line`.
pub(crate) fn counted(text: &str) -> Value {
    let count = |says: fn(&str) -> bool| text.lines().filter(|line| says(line)).count();
    json!({
        "ok": count(|line| line.ends_with(": ok")),
        "failed": count(|line| line.contains(": failed: ")),
        "not_applicable": count(|line| line.contains(": not applicable: ")),
    })
}
