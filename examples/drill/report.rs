//! The report: one JSON object for programs, or a few lines for people. Both say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::args::Args;
use crate::measure::Spread;
use crate::rounds::Round;
use crate::scenario::{Scenario, Service};

/// How many different errors people are shown.
const SHOWN: usize = 5;

/// What came out, field by field as in JSON.
#[derive(Serialize)]
pub(crate) struct Report {
    backend: &'static str,
    /// The client library.
    driver: &'static str,
    scenario: &'static str,
    rounds: u32,
    /// Whether the fastest sensible settings were used; otherwise the defaults.
    tuned: bool,
    /// Opening the group over healthy servers: parse, connect, prove, check. The median of the rounds.
    #[serde(serialize_with = "millis")]
    startup_ms: Duration,
    /// Over all rounds, `ok + errors`.
    calls: usize,
    ok: usize,
    errors: usize,
    /// See [`measure`](crate::measure) for what the gap is in which scenario.
    gap_ms: Gap,
    /// Between which members traffic moved; where rounds differ, all of them.
    from: String,
    to: String,
    /// Why, in the words of the group's events.
    reason: String,
    /// From the server's return (its start included), or from the order to move, until a standby was armed again. The
    /// median of the rounds.
    #[serde(serialize_with = "millis")]
    standby_rearmed_ms: Duration,
    /// Attempts to connect, successful or not, from the fault on, over all rounds. Counted by the group's events: a dead
    /// server cannot count who knocks.
    dials: usize,
    #[serde(skip)]
    about: About,
}

#[derive(Serialize)]
struct Gap {
    #[serde(serialize_with = "millis")]
    p50: Duration,
    #[serde(serialize_with = "millis")]
    p99: Duration,
    #[serde(serialize_with = "millis")]
    max: Duration,
}

/// What only people are told.
struct About {
    scenario: Scenario,
    every: Duration,
    calm: Duration,
    failures: BTreeMap<String, usize>,
}

impl Report {
    pub(crate) fn new<S: Service>(args: &Args, rounds: &[Round]) -> Self {
        let gap = Spread::of(rounds.iter().map(|round| round.gap));
        let median = |of: fn(&Round) -> Duration| Spread::of(rounds.iter().map(of)).percentile(50);
        let words = |of: fn(&Round) -> String| {
            let distinct: BTreeSet<_> = rounds.iter().map(of).collect();
            distinct.into_iter().collect::<Vec<_>>().join(", ")
        };
        let mut failures = BTreeMap::new();
        for call in rounds.iter().flat_map(|round| &round.calls) {
            if let Err(error) = &call.answer {
                *failures.entry(error.clone()).or_default() += 1;
            }
        }
        let calls = rounds.iter().map(|round| round.calls.len()).sum();
        let errors = failures.values().sum();
        Self {
            backend: S::NAME,
            driver: S::DRIVER,
            scenario: args.scenario.name(),
            rounds: args.rounds,
            tuned: args.tuned,
            startup_ms: median(|round| round.startup),
            calls,
            ok: calls - errors,
            errors,
            gap_ms: Gap {
                p50: gap.percentile(50),
                p99: gap.percentile(99),
                max: gap.max(),
            },
            from: words(|round| round.from.clone()),
            to: words(|round| round.to.clone()),
            reason: words(|round| round.reason.to_string()),
            standby_rearmed_ms: median(|round| round.rearmed),
            dials: rounds.iter().map(|round| round.dials).sum(),
            about: About {
                scenario: args.scenario,
                every: args.every,
                calm: median(|round| round.calm),
                failures,
            },
        }
    }

    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    pub(crate) fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let About {
            scenario,
            every,
            calm,
            failures,
        } = &self.about;
        let settings = if self.tuned { "tuned" } else { "default" };
        writeln!(
            out,
            "{} {} through {}: {} round(s), {settings} settings, a call every {every:?}",
            self.backend, self.scenario, self.driver, self.rounds
        )?;
        let gap = match scenario {
            Scenario::Kill | Scenario::Freeze => "from the fault to the first call elsewhere",
            Scenario::Outage => "from the first death to the first call after it",
            Scenario::Switch | Scenario::Drain => "longest pause between calls during the move",
        };
        let (p50, p99, max) = (self.gap_ms.p50, self.gap_ms.p99, self.gap_ms.max);
        let mut line = |name: &str, value: String| writeln!(out, "  {name:<16}{value}");
        let Self {
            from, to, reason, ..
        } = self;
        line("traffic moved", format!("{from} -> {to} ({reason})"))?;
        line(
            "gap",
            format!("p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?}"),
        )?;
        line("", gap.to_owned())?;
        line(
            "calm",
            format!("{calm:.1?}: longest pause between calls just before"),
        )?;
        let (calls, ok, errors) = (self.calls, self.ok, self.errors);
        line("calls", format!("{calls}: {ok} ok, {errors} failed"))?;
        for (error, count) in failures.iter().take(SHOWN) {
            line("", format!("{count} x {error}"))?;
        }
        if failures.len() > SHOWN {
            line("", format!("and {} further errors", failures.len() - SHOWN))?;
        }
        line("startup", format!("{:.1?}", self.startup_ms))?;
        line(
            "standby",
            format!("armed again after {:.1?}", self.standby_rearmed_ms),
        )?;
        line("dials", self.dials.to_string())
    }
}

fn millis<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Microseconds are what a clock here can be trusted with.
    serializer.serialize_f64(value.as_micros() as f64 / 1000.0)
}
