//! The report: one JSON object for programs, or a few lines for people. Both say the same.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::args::Args;
use crate::load::Record;
use crate::measure::Spread;
use crate::rounds::{Back, Round};
use crate::scenario::{Scenario, Service};

/// What came out, field by field as in JSON.
#[derive(Serialize)]
#[serde(bound = "")]
pub(crate) struct Report<R: Record> {
    backend: &'static str,
    /// The client library, for a backend with more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<&'static str>,
    scenario: &'static str,
    rounds: u32,
    /// Whether the fastest sensible settings were used; otherwise the defaults.
    tuned: bool,
    /// Opening the group over healthy servers: parse, connect, prove, check. The median of the rounds.
    #[serde(serialize_with = "millis")]
    startup_ms: Duration,
    #[serde(flatten)]
    sum: R::Sum,
    /// See [`measure`](crate::measure) and the load's own record for what the gap is in which scenario.
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
    /// Of the scenario failback.
    #[serde(skip_serializing_if = "Option::is_none")]
    failback: Option<Failback>,
    /// Attempts to connect, successful or not, from the fault on, over all rounds. Counted by the group's events: a dead
    /// server cannot count who knocks.
    dials: usize,
    #[serde(skip)]
    about: About,
}

/// How the traffic returned to the member that it had left.
#[derive(Serialize)]
struct Failback {
    /// From the server's return (its start included) until the traffic moved back.
    after_ms: Gap,
    /// The longest pause around that move.
    gap_ms: Gap,
}

#[derive(Serialize)]
pub(crate) struct Gap {
    #[serde(serialize_with = "millis")]
    p50: Duration,
    #[serde(serialize_with = "millis")]
    p99: Duration,
    #[serde(serialize_with = "millis")]
    max: Duration,
}

impl Gap {
    pub(crate) fn of(values: impl IntoIterator<Item = Duration>) -> Self {
        let values = Spread::of(values);
        Self {
            p50: values.percentile(50),
            p99: values.percentile(99),
            max: values.max(),
        }
    }

    pub(crate) fn text(&self) -> String {
        let (p50, p99, max) = (self.p50, self.p99, self.max);
        format!("p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?}")
    }
}

fn failback(returns: impl Iterator<Item = Back> + Clone) -> Option<Failback> {
    returns.clone().next()?;
    Some(Failback {
        after_ms: Gap::of(returns.clone().map(|back| back.after)),
        gap_ms: Gap::of(returns.map(|back| back.gap)),
    })
}

/// What only people are told.
struct About {
    scenario: Scenario,
    load: String,
    calm: Duration,
}

impl<R: Record> Report<R> {
    pub(crate) fn new<S: Service>(args: &Args, rounds: &[Round<R>]) -> Self {
        let median =
            |of: fn(&Round<R>) -> Duration| Spread::of(rounds.iter().map(of)).percentile(50);
        let words = |of: fn(&Round<R>) -> String| {
            let distinct: BTreeSet<_> = rounds.iter().map(of).collect();
            distinct.into_iter().collect::<Vec<_>>().join(", ")
        };
        Self {
            backend: S::NAME,
            driver: S::DRIVER,
            scenario: args.scenario.name(),
            rounds: args.rounds,
            tuned: args.tuned,
            startup_ms: median(|round| round.startup),
            sum: R::sum(rounds),
            gap_ms: Gap::of(rounds.iter().map(|round| round.gap)),
            failback: failback(rounds.iter().filter_map(|round| round.back)),
            from: words(|round| round.from.clone()),
            to: words(|round| round.to.clone()),
            reason: words(|round| round.reason.to_string()),
            standby_rearmed_ms: median(|round| round.rearmed),
            dials: rounds.iter().map(|round| round.dials).sum(),
            about: About {
                scenario: args.scenario,
                load: R::load(args),
                calm: median(|round| round.calm),
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
            load,
            calm,
        } = &self.about;
        let settings = if self.tuned { "tuned" } else { "default" };
        let driver = self.driver.map(|driver| format!(" through {driver}"));
        let driver = driver.unwrap_or_default();
        writeln!(
            out,
            "{} {}{}: {} round(s), {settings} settings, {load}",
            self.backend, self.scenario, driver, self.rounds
        )?;
        let mut line = |name: &str, value: String| writeln!(out, "  {name:<16}{value}");
        let Self {
            from, to, reason, ..
        } = self;
        line("traffic moved", format!("{from} -> {to} ({reason})"))?;
        line("gap", self.gap_ms.text())?;
        line("", R::about_gap(*scenario).to_owned())?;
        line("calm", format!("{calm:.1?}: longest pause just before"))?;
        if let Some(failback) = &self.failback {
            line("returned", failback.after_ms.text())?;
            line(
                "",
                "from the server's return; 2 s of grace and 1 s of health are configured"
                    .to_owned(),
            )?;
            line("gap then", failback.gap_ms.text())?;
        }
        for (name, value) in R::lines(&self.sum) {
            line(name, value)?;
        }
        line("startup", format!("{:.1?}", self.startup_ms))?;
        line(
            "standby",
            format!("armed again after {:.1?}", self.standby_rearmed_ms),
        )?;
        line("dials", self.dials.to_string())
    }
}

pub(crate) fn millis<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Microseconds are what a clock here can be trusted with.
    serializer.serialize_f64(value.as_micros() as f64 / 1000.0)
}
