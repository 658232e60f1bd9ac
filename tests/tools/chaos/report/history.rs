//! The history around a violation: what happened within two seconds before it and one after, in at most some sixty lines.
//!
//! It says what was done to whom, where the traffic went, which connections ended, how the operations fared, and each
//! operation that the violation names. Where there is too much, what is nearest to the violation stays.

use std::ops::Range;

use crate::check::Violation;
use crate::record::{History, Member, Micros, Operation, OperationId, Outcome, Record};

const BEFORE: Micros = 2_000_000;
const AFTER: Micros = 1_000_000;
/// One line says how all operations fared in so much time.
const STEP: Micros = 250_000;
/// At most so many faults, moves, stops and turns.
const EVENTS: usize = 20;
/// At most so many connections that came or ended.
const LINKS: usize = 8;
/// At most so many operations that failed, beside those that the violation names.
const FAILED: usize = 8;
/// Shorter stops are a busy machine, and there are many.
const STOP: Micros = 100_000;

/// One thing that happened.
struct Line {
    at: Micros,
    text: String,
}

/// All lines in the order of time, each with its time and its distance from the violation.
pub(crate) fn around(record: &Record, violation: &Violation) -> Vec<String> {
    let window = violation.at.saturating_sub(BEFORE)..violation.at.saturating_add(AFTER);
    let mut lines = nearest(events(record, &window), violation.at, EVENTS, "events");
    lines.extend(nearest(
        links(record, &window),
        violation.at,
        LINKS,
        "connections",
    ));
    let calls = calls(record, &window);
    let named = violation.operations.iter().filter_map(|id| {
        let call = operation(record, *id)?;
        Some(named(record, *id, call))
    });
    lines.extend(named);
    let failed = calls
        .iter()
        .filter(|(id, call)| call.outcome != Outcome::Right && !violation.operations.contains(id));
    let failed = failed.map(|(id, call)| Line {
        at: end(call),
        text: told(*id, call),
    });
    lines.extend(nearest(
        failed.collect(),
        violation.at,
        FAILED,
        "operations that failed",
    ));
    lines.extend(steps(record, &window, &calls));
    lines.push(Line {
        at: violation.at,
        text: "<-- here".to_owned(),
    });
    lines.sort_by_key(|line| line.at);
    let here = violation.at;
    let lines = lines.into_iter().map(|Line { at, text }| {
        let distance = (f64::from(at) - f64::from(here)) / 1e6;
        format!("{:>9.3} s  {distance:>+7.3}  {text}", f64::from(at) / 1e6)
    });
    lines.collect()
}

/// As `worker:number`.
pub(crate) fn id(id: OperationId) -> String {
    format!("{}:{}", id.worker, id.number)
}

pub(crate) fn name(record: &Record, member: Member) -> &str {
    let name = record.members.get(usize::from(member));
    name.map_or("an unknown member", String::as_str)
}

fn operation(record: &Record, id: OperationId) -> Option<&Operation> {
    record
        .workers
        .get(usize::from(id.worker))?
        .get(id.number as usize)
}

fn end(call: &Operation) -> Micros {
    call.begun.saturating_add(call.took)
}

/// The lines nearest to this time, and how many are left out.
fn nearest(mut lines: Vec<Line>, at: Micros, most: usize, what: &str) -> Vec<Line> {
    lines.sort_by_key(|line| line.at.abs_diff(at));
    if let further @ 1.. = lines.len().saturating_sub(most) {
        lines.truncate(most);
        let first = lines.iter().map(|line| line.at).min().unwrap_or(at);
        lines.push(Line {
            at: first,
            text: format!("({further} more {what} are left out)"),
        });
    }
    lines
}

/// What was done and what the group said.
fn events(record: &Record, window: &Range<Micros>) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |at: Micros, text: String| lines.push(Line { at, text });
    // Stops are this process's, reloads and moves by hand the group's.
    let whom = |member: Option<Member>| {
        member.map_or(String::new(), |member| {
            format!(" of {}", name(record, member))
        })
    };
    let seconds = |at: Micros| f64::from(at) / 1e6;
    for fault in &record.faults {
        let (kind, whom, span) = (fault.kind, whom(fault.member), &fault.during);
        if span.start < window.start && window.start <= span.end {
            let (since, until) = (seconds(span.start), seconds(span.end));
            add(
                window.start,
                format!("fault: {kind}{whom}, from {since:.3} s until {until:.3} s"),
            );
        } else if window.contains(&span.start) {
            add(span.start, format!("fault: {kind}{whom} begins"));
        }
        if window.contains(&span.end) {
            add(span.end, format!("fault: {kind}{whom} ends"));
        }
    }
    let stops = record.stops.iter();
    let stops = stops.filter(|stop| stop.end - stop.start >= STOP);
    for stop in stops.filter(|stop| window.contains(&stop.start)) {
        let length = f64::from(stop.end - stop.start) / 1e3;
        add(
            stop.start,
            format!("this process does not run for {length:.1} ms"),
        );
    }
    let moves = record
        .moves
        .iter()
        .filter(|step| step.from != Some(step.to));
    for step in moves.filter(|step| window.contains(&step.at)) {
        let from = step.from.map_or("nobody", |from| name(record, from));
        let refused = if step.refused {
            ", which refuses dials"
        } else {
            ""
        };
        let (to, reason) = (name(record, step.to), &step.reason);
        add(
            step.at,
            format!("the traffic moves to {to} from {from}{refused} ({reason})"),
        );
    }
    for turn in record
        .turns
        .iter()
        .filter(|turn| window.contains(&turn.during.end))
    {
        let member = name(record, turn.member);
        add(
            turn.during.end,
            match turn.into {
                History::Own => format!("{member} leads with its own data"),
                History::Of(other) => {
                    format!("{member} follows {}, and has its data", name(record, other))
                }
                History::Nothing => format!("{member} has no data any more"),
            },
        );
    }
    lines
}

/// Which connections came and ended, and where the traffic went on with another connection to the same member.
fn links(record: &Record, window: &Range<Micros>) -> Vec<Line> {
    let links = record.links.iter().map(|link| {
        let how = if link.opened { "is there" } else { "ended" };
        let member = name(record, link.member);
        let text = format!("a connection to {member} {how}");
        Line { at: link.at, text }
    });
    let stays = record
        .moves
        .iter()
        .filter(|step| step.from == Some(step.to));
    let stays = stays.map(|step| {
        let (member, reason) = (name(record, step.to), &step.reason);
        let text = format!("the traffic goes on with another connection to {member} ({reason})");
        Line { at: step.at, text }
    });
    let lines = links.chain(stays);
    lines.filter(|line| window.contains(&line.at)).collect()
}

/// All calls with a moment in the window.
fn calls<'a>(record: &'a Record, window: &Range<Micros>) -> Vec<(OperationId, &'a Operation)> {
    let mut calls = Vec::new();
    for (worker, log) in (0u16..).zip(&record.workers) {
        // Workers do one thing after the other, so one call at most began before and ends within.
        let first = log
            .partition_point(|call| call.begun < window.start)
            .saturating_sub(1);
        let last = log.partition_point(|call| call.begun < window.end);
        for (number, call) in (first as u32..).zip(&log[first..last]) {
            if end(call) >= window.start || call.outcome == Outcome::Unended {
                calls.push((OperationId { worker, number }, call));
            }
        }
    }
    calls
}

fn told(of: OperationId, call: &Operation) -> String {
    let outcome = match call.outcome {
        Outcome::Right => "right",
        Outcome::Wrong => "the answer to another question",
        Outcome::NotApplied => "not applied",
        Outcome::MayHaveBeenApplied => "may have been applied",
        Outcome::NoFate => "an error without a fate",
        Outcome::Unended => "never ended",
    };
    let took = f64::from(call.took) / 1e3;
    format!(
        "operation {} ({:?}, {took:.1} ms): {outcome}",
        id(of),
        call.kind
    )
}

/// An operation that the violation is about: with what became of it.
fn named(record: &Record, id: OperationId, call: &Operation) -> Line {
    let applied = record.applied.get(usize::from(id.worker));
    let times = applied
        .and_then(|log| log.get(id.number as usize))
        .copied()
        .unwrap_or(0);
    let mut text = format!(
        "* {}, begun at {:.3} s",
        told(id, call),
        f64::from(call.begun) / 1e6
    );
    if times > 0 {
        text += &format!(", applied {times} time(s)");
    }
    let heard = record.heard.iter().flat_map(|heard| &heard.messages);
    let heard = heard.filter(|(_, other)| *other == id).count();
    if heard > 0 {
        text += &format!(", heard {heard} time(s)");
    }
    Line {
        at: end(call),
        text,
    }
}

/// How all operations fared, step by step.
fn steps(
    record: &Record,
    window: &Range<Micros>,
    calls: &[(OperationId, &Operation)],
) -> Vec<Line> {
    let starts = (0..).map(|step| window.start + step * STEP);
    let starts = starts.take_while(|start| *start < window.end.min(record.length));
    let lines = starts.map(|start| {
        let step = start..start.saturating_add(STEP);
        let ended = calls.iter().map(|(_, call)| *call);
        let ended =
            ended.filter(|call| call.outcome != Outcome::Unended && step.contains(&end(call)));
        let (mut right, mut failed, mut longest) = (0, 0, 0);
        for call in ended {
            match call.outcome {
                Outcome::Right => right += 1,
                _ => failed += 1,
            }
            longest = longest.max(call.took);
        }
        let dials = record
            .dials
            .iter()
            .filter(|(at, _)| step.contains(at))
            .count();
        let dials = if dials > 0 {
            format!(", {dials} dial(s)")
        } else {
            String::new()
        };
        let longest = f64::from(longest) / 1e3;
        let text = format!(
            "in the next 250 ms: {right} right, {failed} failed, the longest {longest:.1} ms{dials}"
        );
        Line { at: start, text }
    });
    lines.collect()
}
