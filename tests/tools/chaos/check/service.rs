//! `service`: while a fit member can be reached, operations succeed.
//!
//! The longest time in which no operation succeeded although one and the same member was fit all the while is at most
//! `silence` and [`bounds::WITHOUT_SERVICE`]. Then a member that stands still has been noticed, and the traffic has moved.
//!
//! - Stops of this process are taken out of that time.
//! - A time in which nothing was tried for [`bounds::IDLE`] ends it: the workload rested.
//! - A member that comes back after more than [`bounds::LONG_NEED`] without any fit member is found within
//!   `reconnect.max`, which is allowed on top. The delay between dials has grown until then.
//! - A published message that nobody acknowledges says nothing about a server, so it is no success.
//!
//! Time is kept in slots of ten milliseconds, each with its first and last success: exact, and small.

use std::ops::Range;

use super::run::{Run, end, joined, milliseconds, overlap, seconds};
use super::{Verdict, bounds};
use crate::record::{Kind, Member, Micros, Outcome};

const SLOT: Micros = 10_000;

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let allowed = run.record.silence + bounds::WITHOUT_SERVICE.micros();
    let times = Times::of(run, |kind| kind != Kind::Publish);
    let mut longest = 0;
    for gap in &times.gaps {
        let worst = worst(run, gap, allowed);
        let Some(worst) = worst else { continue };
        longest = longest.max(worst.ran);
        if worst.ran > worst.allowed {
            let Worst {
                member,
                during,
                ran,
                allowed,
            } = worst;
            verdict.add(during.end, &[], &[member], || {
                format!(
                    "no operation succeeded from {} to {} ({} without stops) although {} was fit; at most {} are promised",
                    seconds(during.start),
                    seconds(during.end),
                    milliseconds(ran),
                    run.name(member),
                    milliseconds(allowed)
                )
            });
        }
    }
    verdict.figure("longest_without_active_ms", u64::from(longest / 1000));
    // No promise: a member on which only reads succeed. People want to know.
    let writes = Times::of(run, super::run::is_write);
    let spans = writes
        .gaps
        .iter()
        .filter_map(|gap| worst(run, gap, allowed));
    let longest = spans.map(|worst| worst.ran).max().unwrap_or(0);
    verdict.figure("longest_without_write_ms", u64::from(longest / 1000));
}

/// Without a success, although this member was fit.
struct Worst {
    member: Member,
    during: Range<Micros>,
    ran: Micros,
    allowed: Micros,
}

/// The worst stretch of one gap: the one that is furthest beyond what is allowed.
fn worst(run: &Run<'_>, gap: &Range<Micros>, allowed: Micros) -> Option<Worst> {
    let stretches = (0..).zip(&run.fit).flat_map(|(member, fit)| {
        let first = fit.partition_point(|span| span.end <= gap.start);
        let fit = fit[first..].iter();
        let fit = fit.take_while(|span| span.start < gap.end);
        fit.map(move |span| {
            let during = overlap(span, gap);
            let ran = during.end - during.start;
            Worst {
                member,
                ran: ran - run.stopped(&during),
                allowed: allowed.saturating_add(found_within(run, span.start)),
                during,
            }
        })
    });
    stretches.max_by_key(|worst| i64::from(worst.ran) - i64::from(worst.allowed))
}

/// What is allowed on top for a member that is fit from then on: the delay between dials, if it could have grown.
fn found_within(run: &Run<'_>, fit_from: Micros) -> Micros {
    let need = bounds::LONG_NEED.micros();
    let Some(since) = fit_from.checked_sub(need) else {
        return 0;
    };
    let alone = run
        .fit
        .iter()
        .flatten()
        .all(|span| span.start >= fit_from || span.end <= since);
    if alone { run.record.reconnect } else { 0 }
}

/// When something was tried, and between which times nothing succeeded.
struct Times {
    gaps: Vec<Range<Micros>>,
}

impl Times {
    fn of(run: &Run<'_>, of: impl Fn(Kind) -> bool) -> Self {
        let ends = run.operations().map(|(_, operation)| end(operation));
        let slots = (ends.max().unwrap_or(0).max(run.record.length) / SLOT + 2) as usize;
        let mut first = vec![Micros::MAX; slots];
        let mut last = vec![0; slots];
        // How many calls begin, less how many ended in the slot before: the sum says how many are under way.
        let mut under_way = vec![0i32; slots];
        let slot = |at: Micros| (at / SLOT) as usize;
        for (_, operation) in run.operations().filter(|(_, operation)| of(operation.kind)) {
            let unended = operation.outcome == Outcome::Unended;
            let ended = if unended {
                run.record.length
            } else {
                end(operation)
            };
            let ended = ended.max(operation.begun);
            under_way[slot(operation.begun)] += 1;
            under_way[slot(ended) + 1] -= 1;
            if operation.outcome == Outcome::Right {
                let slot = slot(ended);
                first[slot] = first[slot].min(ended);
                last[slot] = last[slot].max(ended);
            }
        }
        let mut calls = 0;
        let busy = (0u32..).zip(&under_way).filter_map(|(slot, change)| {
            calls += change;
            (calls > 0).then_some(slot * SLOT..(slot + 1) * SLOT)
        });
        Self {
            gaps: gaps(&worked(busy.collect()), &first, &last),
        }
    }
}

/// Spans in which something was tried, without pauses of [`bounds::IDLE`].
fn worked(busy: Vec<Range<Micros>>) -> Vec<Range<Micros>> {
    let idle = bounds::IDLE.micros();
    let longer = busy.into_iter().map(|span| span.start..span.end + idle);
    let mut spans = joined(longer.collect());
    for span in &mut spans {
        span.end -= idle;
    }
    spans
}

/// The times between two successes, in each span of work.
fn gaps(worked: &[Range<Micros>], first: &[Micros], last: &[Micros]) -> Vec<Range<Micros>> {
    let mut gaps = Vec::new();
    for span in worked {
        let slots = (span.start / SLOT) as usize..(span.end / SLOT) as usize;
        let mut since = span.start;
        for slot in slots.filter(|slot| first[*slot] != Micros::MAX) {
            // Shorter ones are no matter, and there are many.
            if first[slot].saturating_sub(since) > SLOT {
                gaps.push(since..first[slot]);
            }
            since = last[slot];
        }
        if span.end.saturating_sub(since) > SLOT {
            gaps.push(since..span.end);
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{Fit, Kind, Micros, Outcome};

    const FROM: Micros = 8 * S;

    /// What is tried in this time fails. The members are fit.
    fn failing(length: Micros) -> Forge {
        let mut forge = Forge::redis();
        forge.failing(FROM..FROM + length);
        forge
    }

    fn allowed(forge: &Forge) -> Micros {
        forge.record.silence + 250 * MS
    }

    #[test]
    fn a_gap_that_is_too_long_is_found() {
        let allowed = allowed(&Forge::redis());
        only(&check(&failing(allowed + 20 * MS).record), "service", 1);
        only(&check(&failing(allowed - 20 * MS).record), "service", 0);
    }

    #[test]
    fn a_gap_at_the_end_is_found() {
        let mut forge = Forge::redis();
        let length = forge.record.length;
        forge.failing(length - 2 * S..length);
        only(&check(&forge.record), "service", 1);
    }

    #[test]
    fn nobody_fit_and_one_after_the_other_fit_are_no_fault() {
        let mut forge = failing(3 * S);
        forge.record.fit = vec![
            Fit {
                member: 0,
                during: 0..FROM,
            },
            Fit {
                member: 0,
                during: FROM + 3 * S..forge.record.length,
            },
        ];
        only(&check(&forge.record), "service", 0);
        // Two members that take turns: neither was fit for long enough to be found.
        forge.record.fit.push(Fit {
            member: 1,
            during: 0..FROM + S,
        });
        forge.record.fit.push(Fit {
            member: 2,
            during: FROM + S..FROM + 2 * S,
        });
        only(&check(&forge.record), "service", 0);
        forge.record.fit.push(Fit {
            member: 2,
            during: FROM + 2 * S..FROM + 3 * S,
        });
        only(&check(&forge.record), "service", 1);
    }

    #[test]
    fn stops_do_not_count() {
        let mut forge = failing(2 * S);
        forge.record.stops.push(FROM + 100 * MS..FROM + 900 * MS);
        only(&check(&forge.record), "service", 0);
    }

    #[test]
    fn a_workload_that_rests_asks_nothing() {
        let mut forge = Forge::redis();
        forge.remove(FROM..FROM + 3 * S);
        only(&check(&forge.record), "service", 0);
        // One that waits for one answer does.
        forge.operation(FROM + S, 2 * S, Kind::Read, Outcome::Right);
        assert_eq!(check(&forge.record).of("service"), 1);
    }

    #[test]
    fn a_message_that_nobody_acknowledges_is_no_success() {
        let mut forge = failing(2 * S);
        for step in 0..20 {
            forge.operation(FROM + step * 100 * MS, MS, Kind::Publish, Outcome::Right);
        }
        only(&check(&forge.record), "service", 1);
    }

    #[test]
    fn after_a_long_need_the_delay_between_dials_is_allowed() {
        for (unfit_from, count) in [(5 * S, 0), (12 * S, 1)] {
            let mut forge = Forge::redis();
            let (length, back) = (forge.record.length, 16 * S);
            forge.failing(unfit_from..back + 3 * S);
            forge.record.fit = vec![
                Fit {
                    member: 0,
                    during: 0..unfit_from,
                },
                Fit {
                    member: 0,
                    during: back..length,
                },
            ];
            only(&check(&forge.record), "service", count);
        }
    }
}
