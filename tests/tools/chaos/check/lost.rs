//! `lost`: a subscription whose delivery promises that nothing is lost hears everything.
//!
//! Asked of messages whose sending succeeded, while the subscription was there. What each delivery promises:
//!
//! - A consumer hears every message that its stream acknowledged, whatever happened. What was sent before the quiet spell
//!   at the end has come by the end of it, if there is time for a message to come again (`ack_wait` and
//!   [`bounds::COMES_AGAIN`]). If there is not, the consumer is not asked, and the run does not count.
//! - `Mirrored` loses nothing as long as only one member at a time is in trouble, if the publishers' connections are their
//!   own. A message that is published through the group can be lost on its way to the server, with any delivery.
//! - `AtLeastOnce` and pub/sub lose nothing in planned moves.
//! - `AtMostOnce` loses nothing in quiet times.
//!
//! So each delivery has its *trouble*: spans in which a message may be lost. Trouble begins [`bounds::ON_THE_WAY`] before
//! its cause and ends [`bounds::CALM`] after it. Causes are faults that nobody planned, moves that nobody planned,
//! connections of the active that ended (until the traffic goes on), and stops of this process.

use std::ops::Range;

use super::listeners::{Listener, Marks, listeners};
use super::run::{Run, end, joined, overlap};
use super::{Verdict, bounds};
use crate::record::{Delivery, Heard, Member, Micros, Move, OperationId, Outcome, Record};

/// The reasons of moves that nobody was forced to.
pub(crate) const PLANNED: [&str; 6] = [
    "startup",
    "lame_duck",
    "failback",
    "manual",
    "removed",
    "reconfigured",
];

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let planned = trouble(run, true);
    let any = trouble(run, false);
    let several = several_in_trouble(run);
    for listener in listeners(run.record) {
        let first = listener.first();
        let trouble = match first.delivery {
            Delivery::Consumer => &Vec::new(),
            Delivery::Mirrored { .. } if first.steady => &several,
            Delivery::Mirrored { .. } | Delivery::AtLeastOnce { .. } | Delivery::PubSub => &planned,
            Delivery::AtMostOnce => &any,
        };
        let mut of_one = Verdict::default();
        subscription(run, &listener, trouble, &mut of_one);
        verdict.add_all(of_one);
    }
}

fn subscription(
    run: &Run<'_>,
    listener: &Listener<'_>,
    trouble: &[Range<Micros>],
    verdict: &mut Verdict,
) {
    let first = listener.first();
    let mut heard: Marks<bool> = Marks::of(run, first);
    for (_, id) in listener.parts.iter().flat_map(|part| &part.messages) {
        if let Some(heard) = heard.at(*id) {
            *heard = true;
        }
    }
    let present = present(run, listener);
    for worker in first.from.clone() {
        let log = run.record.workers.get(usize::from(worker));
        for (number, sent) in (0u32..).zip(log.into_iter().flatten()) {
            let id = OperationId { worker, number };
            let asked = sent.kind == first.kind
                && sent.outcome == Outcome::Right
                && present.start <= sent.begun
                && end(sent) < present.end;
            if !asked || heard.at(id).is_none_or(|heard| *heard) {
                continue;
            }
            let next = trouble.partition_point(|span| span.end < sent.begun);
            if trouble.get(next).is_none_or(|span| span.start > end(sent)) {
                verdict.add(sent.begun, &[id], &[], || sentence(first));
            }
        }
    }
}

fn sentence(heard: &Heard) -> String {
    let who = heard.queue.map_or("a subscription", |_| "a queue group");
    let delivery = heard.delivery;
    format!(
        "{who} ({delivery:?}) never heard a message that was sent while nothing excused its loss"
    )
}

/// When the whole listener was there, less what may still have been on its way at the end.
fn present(run: &Run<'_>, listener: &Listener<'_>) -> Range<Micros> {
    let starts = listener.parts.iter().map(|part| part.during.start);
    let ends = listener.parts.iter().map(|part| part.during.end);
    let (start, last) = (starts.max().unwrap_or(0), ends.min().unwrap_or(0));
    match listener.first().delivery {
        Delivery::Consumer if hears_again(run.record, listener.first()) => {
            start..last.min(run.record.quiet[1].start)
        }
        Delivery::Consumer => start..start,
        _ => start..last.saturating_sub(bounds::ON_THE_WAY.micros()),
    }
}

/// Whether what a consumer's last trouble cost comes again before the end.
pub(crate) fn hears_again(record: &Record, heard: &Heard) -> bool {
    let quiet = heard.during.end.saturating_sub(record.quiet[1].start);
    quiet >= heard.again.saturating_add(bounds::COMES_AGAIN.micros())
}

fn around(cause: &Range<Micros>) -> Range<Micros> {
    let start = cause.start.saturating_sub(bounds::ON_THE_WAY.micros());
    start..cause.end.saturating_add(bounds::CALM.micros())
}

fn is_planned(step: &Move) -> bool {
    PLANNED.contains(&step.reason.as_str())
}

/// When a message may be lost on its way through the active. `forgiving_plans`: planned moves are no trouble.
fn trouble(run: &Run<'_>, forgiving_plans: bool) -> Vec<Range<Micros>> {
    let record = run.record;
    let faults = record.faults.iter();
    let faults = faults.filter(|fault| !(forgiving_plans && fault.planned));
    let moves = record.moves.iter();
    let moves = moves.filter(|step| !(forgiving_plans && is_planned(step)));
    let causes = faults
        .map(|fault| fault.during.clone())
        .chain(moves.map(|step| step.at..step.at))
        .chain(without_active(run))
        .chain(run.stops.iter().cloned());
    joined(causes.map(|cause| around(&cause)).collect())
}

/// From the end of an active's connection to the next move, or to its next connection.
fn without_active(run: &Run<'_>) -> impl Iterator<Item = Range<Micros>> {
    let record = run.record;
    let late = bounds::LATE_EVENT.micros();
    let lost = record.links.iter().filter(move |link| {
        let before = link.at.saturating_sub(late)..link.at;
        !link.opened && run.actives(&before).contains(&link.member)
    });
    lost.map(move |lost| {
        let next = record.moves.partition_point(|step| step.at < lost.at);
        let moved = record.moves.get(next).map(|step| step.at);
        lost.at..until_opened(run, lost.member, lost.at).min(moved.unwrap_or(record.length))
    })
}

/// When the member was connected again.
fn until_opened(run: &Run<'_>, member: Member, after: Micros) -> Micros {
    let links = &run.record.links;
    let next = links.partition_point(|link| link.at < after);
    let mut links = links[next..].iter();
    let opened = links.find(|link| link.opened && link.member == member);
    opened.map_or(run.record.length, |link| link.at)
}

/// When two members or more were in trouble at once, or all were.
fn several_in_trouble(run: &Run<'_>) -> Vec<Range<Micros>> {
    let record = run.record;
    let mut several = Vec::new();
    let mut earlier: Vec<Range<Micros>> = Vec::new();
    for member in (0..).take(record.members.len()) {
        let faults = record.faults.iter();
        let faults = faults.filter(|fault| fault.member == Some(member));
        let links = record.links.iter();
        let lost = links.filter(|link| link.member == member && !link.opened);
        let own = faults
            .map(|fault| fault.during.clone())
            .chain(lost.map(|lost| lost.at..until_opened(run, member, lost.at)))
            .map(|cause| around(&cause));
        let own = joined(own.collect());
        let both = own
            .iter()
            .flat_map(|mine| earlier.iter().map(|theirs| overlap(mine, theirs)));
        several.extend(both);
        earlier.extend(own);
        earlier = joined(earlier);
    }
    let of_all = record
        .faults
        .iter()
        .filter(|fault| fault.member.is_none() && !fault.planned);
    let of_all = of_all.map(|fault| fault.during.clone());
    several.extend(
        of_all
            .chain(run.stops.iter().cloned())
            .map(|cause| around(&cause)),
    );
    joined(several)
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, S};
    use super::super::{check, tests::only};
    use crate::record::{Dedupe, Delivery, Kind, Micros, OperationId};

    const MIRRORED: Delivery = Delivery::Mirrored {
        dedupe: Dedupe::Header,
    };
    const TWICE: Delivery = Delivery::AtLeastOnce {
        dedupe: Dedupe::None,
        ordered: false,
    };

    /// The message that is sent next after this time is not heard.
    fn unheard(delivery: Delivery, at: Micros) -> Forge {
        let mut forge = Forge::nats();
        let next = forge.record.workers[0]
            .iter()
            .position(|sent| sent.begun >= at && sent.kind == Kind::Publish);
        let id = OperationId {
            worker: 0,
            number: next.expect("one") as u32,
        };
        let heard = &mut forge.record.heard[0];
        heard.delivery = delivery;
        heard.messages.retain(|(_, other)| *other != id);
        forge
    }

    #[test]
    fn a_message_lost_in_quiet_times_is_found() {
        for delivery in [
            Delivery::AtMostOnce,
            TWICE,
            MIRRORED,
            Delivery::PubSub,
            Delivery::Consumer,
        ] {
            only(&check(&unheard(delivery, 9 * S).record), "lost", 1);
        }
    }

    #[test]
    fn a_consumer_is_asked_if_a_message_can_come_again() {
        for (again, count) in [(3 * S, 1), (3 * S + 1, 0)] {
            let mut forge = unheard(Delivery::Consumer, 9 * S);
            forge.record.heard[0].again = again;
            let findings = check(&forge.record);
            only(&findings, "lost", count);
            assert_eq!(findings.discounted.is_empty(), count == 1);
        }
    }

    #[test]
    fn a_planned_move_costs_at_most_once_alone() {
        for (delivery, count) in [
            (Delivery::AtMostOnce, 0),
            (TWICE, 1),
            (MIRRORED, 1),
            (Delivery::Consumer, 1),
        ] {
            let mut forge = unheard(delivery, 10 * S);
            forge.go(10 * S, 1, "manual", false);
            only(&check(&forge.record), "lost", count);
        }
    }

    #[test]
    fn a_kill_costs_no_mirror_and_no_consumer_anything() {
        for (delivery, count) in [
            (Delivery::AtMostOnce, 0),
            (TWICE, 0),
            (MIRRORED, 1),
            (Delivery::Consumer, 1),
        ] {
            let mut forge = unheard(delivery, 10 * S);
            forge.kill(10 * S, 0, 1);
            only(&check(&forge.record), "lost", count);
        }
    }

    #[test]
    fn two_members_in_trouble_excuse_a_mirror() {
        let mut forge = unheard(MIRRORED, 10 * S);
        forge.kill(10 * S, 0, 1);
        forge.fault("freeze", Some(1), 8 * S..9 * S);
        only(&check(&forge.record), "lost", 0);
    }

    #[test]
    fn a_mirror_cannot_help_what_is_published_through_the_active() {
        let mut forge = unheard(MIRRORED, 10 * S);
        forge.record.heard[0].steady = false;
        forge.kill(10 * S, 0, 1);
        only(&check(&forge.record), "lost", 0);
    }

    #[test]
    fn a_long_outage_excuses_until_the_traffic_goes_on() {
        let mut forge = unheard(TWICE, 16 * S);
        forge.link(8 * S, 0, false);
        forge.fault("kill", Some(0), 8 * S..8 * S + 1);
        assert_eq!(check(&forge.record).of("lost"), 0);
        forge.link(9 * S, 0, true);
        assert_eq!(check(&forge.record).of("lost"), 1);
    }
}
