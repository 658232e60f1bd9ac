//! The report: what the run did and met, which promises it broke, and the history around each violation.
//!
//! [`text`] is for people, [`json()`] for programs. Both say the same. The keys of the object are a promise; further ones
//! may be added. What must never come in: a judgement. The checker has made it.

mod history;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::check::bounds::{self, Bound};
use crate::check::{Findings, Verdict, Violation};
use crate::record::{Micros, Record};

/// So many different errors are told to people, the most frequent ones first.
const ERRORS: usize = 8;

/// One object, and a line break.
pub(crate) fn json(record: &Record, findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let violations = findings.promises.iter().map(|(promise, verdict)| {
        let examples = verdict.examples.iter();
        let examples: Vec<Value> = examples
            .map(|violation| example(record, violation))
            .collect();
        let told = json!({ "count": verdict.count, "examples": examples });
        ((*promise).to_owned(), told)
    });
    let bounds = bounds::ALL.iter().map(|bound| {
        let Bound {
            value, unit, why, ..
        } = bound;
        (
            bound.name.to_lowercase(),
            json!({ "value": value, "unit": unit.short(), "why": why }),
        )
    });
    let mut object = json!({
        "target": record.target.name(),
        "seed": record.seed,
        "minutes": f64::from(record.length) / 60e6,
        "command": command(record),
        "passed": findings.passed(),
        "counts": findings.discounted.is_empty(),
        "counts_not_because": findings.discounted,
        "faults": faults(record),
        "operations": findings.operations,
        "operations_per_second": findings.operations_per_second,
        "errors": record.errors,
        "violations": violations.collect::<Map<_, _>>(),
        "bounds": bounds.collect::<Map<_, _>>(),
    });
    for (name, value) in figures(findings) {
        object[name] = json!(value);
    }
    serde_json::to_writer_pretty(&mut *out, &object)?;
    writeln!(out)
}

fn example(record: &Record, violation: &Violation) -> Value {
    let operations = violation.operations.iter();
    let members = violation.members.iter();
    json!({
        "what": violation.what,
        "at_s": f64::from(violation.at) / 1e6,
        "operations": operations.map(|id| history::id(*id)).collect::<Vec<_>>(),
        "members": members.map(|member| history::name(record, *member)).collect::<Vec<_>>(),
        "history": history::around(record, violation),
    })
}

/// For somebody who was just woken up: what broke comes first, then where.
pub(crate) fn text(record: &Record, findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let broken = findings
        .promises
        .iter()
        .filter(|(_, verdict)| verdict.count > 0);
    let violations = findings.violations();
    let promises = broken.clone().count();
    writeln!(
        out,
        "chaos {}: {}, seed {}",
        record.target.name(),
        minutes(record.length),
        record.seed
    )?;
    match violations {
        0 => writeln!(out, "every promise was kept")?,
        _ => writeln!(
            out,
            "{promises} promise(s) broken, {violations} violation(s)"
        )?,
    }
    for reason in &findings.discounted {
        writeln!(out, "this run does not count: {reason}")?;
    }
    writeln!(out)?;
    summary(record, findings, out)?;
    for (promise, verdict) in broken {
        writeln!(out)?;
        broken_promise(record, promise, verdict, out)?;
    }
    Ok(())
}

fn summary(record: &Record, findings: &Findings, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |name: &str, value: String| writeln!(out, "  {name:<26}{value}");
    let (operations, rate) = (findings.operations, findings.operations_per_second);
    line("operations", format!("{operations}, {rate} a second"))?;
    let faults: Vec<_> = faults(record)
        .into_iter()
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    line(
        "faults",
        if faults.is_empty() {
            "none".to_owned()
        } else {
            faults.join(", ")
        },
    )?;
    for (name, value) in figures(findings) {
        line(name, value.to_string())?;
    }
    let kept = findings
        .promises
        .iter()
        .filter(|(_, verdict)| verdict.count == 0);
    line(
        "promises kept",
        kept.map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
    )?;
    let mut errors: Vec<_> = record.errors.iter().collect();
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    for (error, count) in errors.iter().take(ERRORS) {
        line("error", format!("{count} times: {error}"))?;
    }
    if let further @ 1.. = errors.len().saturating_sub(ERRORS) {
        line("", format!("and {further} further errors"))?;
    }
    Ok(())
}

fn broken_promise(
    record: &Record,
    promise: &str,
    verdict: &Verdict,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "BROKEN: {promise}, {} time(s)", verdict.count)?;
    for violation in &verdict.examples {
        writeln!(out, "  {}", violation.what)?;
    }
    if let Some(further @ 1..) = verdict.count.checked_sub(verdict.examples.len() as u64) {
        writeln!(out, "  and {further} more")?;
    }
    // One history says most: the others are in the JSON.
    if let Some(first) = verdict.examples.first() {
        writeln!(out, "  again: {}", command(record))?;
        writeln!(out, "  around the first one:")?;
        for line in history::around(record, first) {
            writeln!(out, "    {line}")?;
        }
    }
    Ok(())
}

/// What was measured, by name.
fn figures(findings: &Findings) -> BTreeMap<&'static str, u64> {
    let verdicts = findings.promises.iter();
    verdicts
        .flat_map(|(_, verdict)| verdict.figures.clone())
        .collect()
}

/// How many of each kind. A kind that was asked for is there in any case.
fn faults(record: &Record) -> BTreeMap<&'static str, u64> {
    let mut counts: BTreeMap<_, _> = record.asked.iter().map(|kind| (*kind, 0)).collect();
    for fault in &record.faults {
        *counts.entry(fault.kind).or_default() += 1;
    }
    counts
}

/// What does the same again.
fn command(record: &Record) -> String {
    let (target, seed) = (record.target.name(), record.seed);
    let minutes = f64::from(record.length) / 60e6;
    let faults = match record.asked.join(",") {
        all if all.is_empty() => all,
        some => format!(" --faults {some}"),
    };
    format!("cargo chaos {target} --minutes {minutes} --seed {seed}{faults}")
}

fn minutes(length: Micros) -> String {
    format!("{:.1} minutes", f64::from(length) / 60e6)
}
