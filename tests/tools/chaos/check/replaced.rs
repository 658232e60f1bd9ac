//! `replaced`: no connection is given up without a move and without a fault that ends connections.
//!
//! A connection that ended is explained by
//!
//! - a fault of its member that ends connections, or a planned one: a lame duck, changed settings;
//! - its member's silence: a fault, or several together, made it unfit for at least `silence`, less [`bounds::STALL`]. A
//!   shorter stall replaces nothing;
//! - a move away from it, whose window may have run out;
//! - the end of the run.
//!
//! Each reason holds until `silence` and [`bounds::AFTER_FAULT`] later, since a broken connection is sometimes only
//! noticed when it is used. That this process was stopped is no reason.

use std::ops::Range;

use super::run::Run;
use super::{Verdict, bounds};
use crate::record::{Link, Micros};

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let record = run.record;
    let lost = record.links.iter().filter(|link| !link.opened);
    let mut ended = 0;
    for link in lost.filter(|link| link.at < record.quiet[1].end) {
        ended += 1;
        if !explained(run, link) {
            verdict.add(link.at, &[], &[link.member], || {
                let name = run.name(link.member);
                format!(
                    "a connection to {name} ended, and neither a fault nor a move is the reason"
                )
            });
        }
    }
    verdict.figure("connections_ended", ended);
}

fn explained(run: &Run<'_>, link: &Link) -> bool {
    let record = run.record;
    let silence = record.silence;
    let after = silence.saturating_add(bounds::AFTER_FAULT.micros());
    let holds = |reason: Range<Micros>| {
        let from = reason.start.saturating_sub(bounds::LATE_EVENT.micros());
        (from..=reason.end.saturating_add(after)).contains(&link.at)
    };
    let stall = silence.saturating_sub(bounds::STALL.micros());
    // The part of a span that is long enough to be silence.
    let silent = |span: &Range<Micros>| {
        let since = span.start.saturating_add(stall);
        (since <= span.end).then_some(since..span.end)
    };
    let by_fault = record.faults.iter().any(|fault| {
        let touches = fault.member.is_none_or(|member| member == link.member);
        let span = &fault.during;
        touches
            && if fault.planned {
                holds(span.start..span.end.saturating_add(record.window))
            } else if fault.ends_connections {
                holds(span.clone())
            } else {
                fault.member.is_some() && silent(span).is_some_and(holds)
            }
    });
    let by_move = record.moves.iter().any(|step| {
        step.from == Some(link.member) && holds(step.at..step.at.saturating_add(record.window))
    });
    by_fault || by_move || unfit(run, link).iter().filter_map(silent).any(holds)
}

/// When the member of this connection was not fit.
fn unfit(run: &Run<'_>, link: &Link) -> Vec<Range<Micros>> {
    let fit = &run.fit[usize::from(link.member)];
    let ends = std::iter::once(0).chain(fit.iter().map(|span| span.end));
    let starts = fit.iter().map(|span| span.start).chain([run.record.length]);
    ends.zip(starts)
        .filter(|(end, start)| end < start)
        .map(|(end, start)| end..start)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::Fit;

    fn replaced() -> Forge {
        let mut forge = Forge::redis();
        forge.link(9 * S, 1, false);
        forge.link(9 * S + 5 * MS, 1, true);
        forge
    }

    #[test]
    fn a_connection_that_ended_for_nothing_is_found() {
        let findings = check(&replaced().record);
        only(&findings, "replaced", 1);
        assert_eq!(findings.figure("connections_ended"), 1);
        // A stop of this process is no reason, and neither is a fault of another member.
        let mut forge = replaced();
        forge.record.stops.push(8 * S..9 * S - MS);
        forge.fault("kill", Some(2), 9 * S - MS..9 * S);
        only(&check(&forge.record), "replaced", 1);
    }

    #[test]
    fn a_short_stall_replaces_nothing() {
        for (length, count) in [(800 * MS, 1), (950 * MS, 0)] {
            let mut forge = replaced();
            forge.fault("freeze", Some(1), 9 * S - length..9 * S);
            only(&check(&forge.record), "replaced", count);
        }
        // Two short ones together are a long one.
        let mut forge = replaced();
        let length = forge.record.length;
        forge.record.fit.retain(|fit| fit.member != 1);
        forge.record.fit.push(Fit {
            member: 1,
            during: 0..8 * S,
        });
        forge.record.fit.push(Fit {
            member: 1,
            during: 9 * S + MS..length,
        });
        only(&check(&forge.record), "replaced", 0);
    }

    #[test]
    fn faults_and_moves_explain_it() {
        let mut forge = replaced();
        forge.fault("kill", Some(1), 8 * S..8 * S + 900 * MS);
        only(&check(&forge.record), "replaced", 0);
        let mut forge = replaced();
        forge.go(6 * S, 1, "manual", false);
        forge.go(8 * S, 0, "manual", false);
        only(&check(&forge.record), "replaced", 0);
        let mut forge = replaced();
        forge.record.quiet[1].end = 8 * S;
        assert_eq!(check(&forge.record).of("replaced"), 0);
    }
}
