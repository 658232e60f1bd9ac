//! What one round of the stream came to, and all rounds together.
//!
//! **Gap**: the longest silence of the subscription around the fault: between two arrivals of numbers that had not arrived
//! before, of which the later comes after the fault, or the order to move, and the earlier before the traffic has moved and
//! the old connection is left. It holds everything that a listener feels: noticing, proving, moving, and the cluster
//! learning of it. Messages come a few at a time, five thousand times a second; what this machine shows in calm is beside it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};

use super::ledger::{Ledger, ranges};
use super::stream::Arrival;
use crate::args::Args;
use crate::load::{self, Moments};
use crate::measure::Spread;
use crate::report::millis;
use crate::rounds::Round;
use crate::scenario::Scenario;

/// How many ranges of numbers `--trace` shows.
const SHOWN: usize = 10;

/// So long after the traffic has moved the old connection is left: the default overlap, and as much again.
const HANDED_OVER: Duration = Duration::from_millis(20);

/// One round.
pub(crate) struct Record {
    /// When each number was published.
    published: Vec<Instant>,
    /// When each arrived for the first time, in order.
    fresh: Vec<Instant>,
    ledger: Ledger,
    group_published: u64,
    publish_errors: u64,
    publish_error: Option<String>,
}

impl Record {
    pub(super) fn new(
        published: Vec<Instant>,
        arrivals: &[Arrival],
        (group_published, publish_errors, publish_error): (u64, u64, Option<String>),
    ) -> Self {
        let ledger = Ledger::of(
            published.len() as u64,
            arrivals.iter().map(|(number, _)| *number),
        );
        let mut known = HashSet::with_capacity(arrivals.len());
        let fresh = arrivals.iter().filter(|(number, _)| known.insert(*number));
        Self {
            fresh: fresh.map(|(_, at)| *at).collect(),
            published,
            ledger,
            group_published,
            publish_errors,
            publish_error,
        }
    }

    /// How many of those published after `when` were lost.
    fn lost_after(&self, when: Instant) -> u64 {
        let late = |number: &&u64| {
            let at = usize::try_from(**number)
                .ok()
                .and_then(|number| self.published.get(number));
            at.is_some_and(|at| *at > when)
        };
        self.ledger.lost.iter().filter(late).count() as u64
    }

    /// The longest around the fault.
    fn silence(&self, moments: &Moments) -> Option<(Instant, Instant)> {
        let settled = moments.moved + HANDED_OVER;
        let around = |(begin, end): &(Instant, Instant)| *end > moments.fault && *begin < settled;
        let pauses = self.pauses().filter(around);
        pauses.max_by_key(|(begin, end)| *end - *begin)
    }

    fn pauses(&self) -> impl Iterator<Item = (Instant, Instant)> {
        let next = self.fresh.iter().skip(1);
        self.fresh.iter().copied().zip(next.copied())
    }
}

/// All rounds together.
#[derive(Serialize)]
pub(crate) struct Sum {
    /// By the plain client, over all rounds.
    published: u64,
    /// Different messages.
    received: u64,
    lost: u64,
    /// Of those published once the group was whole again.
    lost_when_whole: u64,
    duplicated: u64,
    reordered: u64,
    /// By the group itself.
    group_published: u64,
    publish_errors: u64,
    /// From the signal to the group's word that the active is a lame duck. The median of the rounds.
    #[serde(serialize_with = "some_millis")]
    notice_ms: Option<Duration>,
    /// From that word until the traffic has moved.
    #[serde(serialize_with = "some_millis")]
    switched_after_notice_ms: Option<Duration>,
    /// Connections of the group that the restarted servers accepted, over all rounds: after an outage.
    accepted: Option<usize>,
    /// The worst round: lost, duplicated, reordered.
    #[serde(skip)]
    worst: [u64; 3],
    #[serde(skip)]
    slowest_switch: Option<Duration>,
    #[serde(skip)]
    publish_error: Option<String>,
}

impl load::Record for Record {
    type Sum = Sum;

    fn gap(&self, _scenario: Scenario, moments: &Moments) -> Option<Duration> {
        self.silence(moments).map(|(begin, end)| end - begin)
    }

    fn calm(&self, from: Instant, to: Instant) -> Option<Duration> {
        let within = self
            .pauses()
            .filter(|(begin, end)| *begin >= from && *end <= to);
        within.map(|(begin, end)| end - begin).max()
    }

    fn sum(rounds: &[Round<Self>]) -> Sum {
        let each = |of: &dyn Fn(&Round<Self>) -> u64| rounds.iter().map(of).collect::<Vec<_>>();
        let total = |of: &dyn Fn(&Round<Self>) -> u64| each(of).iter().sum::<u64>();
        let worst = |of: &dyn Fn(&Round<Self>) -> u64| each(of).into_iter().max().unwrap_or(0);
        let lost = |round: &Round<Self>| round.record.ledger.lost.len() as u64;
        let duplicated = |round: &Round<Self>| round.record.ledger.duplicated.len() as u64;
        let reordered = |round: &Round<Self>| round.record.ledger.reordered.len() as u64;
        let notices = rounds.iter().filter_map(|round| round.notice);
        let spread = |of: fn((Duration, Duration)) -> Duration| {
            let of: Vec<_> = notices.clone().map(of).collect();
            (!of.is_empty()).then(|| Spread::of(of))
        };
        let (notice, switched) = (
            spread(|(notice, _)| notice),
            spread(|(_, switched)| switched),
        );
        Sum {
            published: total(&|round| round.record.published.len() as u64),
            received: total(&|round| round.record.ledger.received),
            lost: total(&lost),
            lost_when_whole: total(&|round| round.record.lost_after(round.moments.whole)),
            duplicated: total(&duplicated),
            reordered: total(&reordered),
            group_published: total(&|round| round.record.group_published),
            publish_errors: total(&|round| round.record.publish_errors),
            notice_ms: notice.map(|notice| notice.percentile(50)),
            switched_after_notice_ms: switched.as_ref().map(|switched| switched.percentile(50)),
            accepted: rounds.iter().map(|round| round.accepted).sum(),
            worst: [worst(&lost), worst(&duplicated), worst(&reordered)],
            slowest_switch: switched.map(|switched| switched.max()),
            publish_error: rounds
                .iter()
                .find_map(|round| round.record.publish_error.clone()),
        }
    }

    fn lines(sum: &Sum) -> Vec<(&'static str, String)> {
        let Sum {
            published,
            received,
            lost,
            lost_when_whole,
            duplicated,
            reordered,
            worst: [worst_lost, worst_duplicated, worst_reordered],
            ..
        } = sum;
        let mut lines = Vec::new();
        if let (Some(notice), Some(switched)) = (sum.notice_ms, sum.switched_after_notice_ms) {
            let slowest = sum.slowest_switch.unwrap_or_default();
            lines.push(("notice", format!("{notice:.1?} after the signal")));
            lines.push((
                "switched",
                format!("{switched:.1?} after the notice, {slowest:.1?} at most"),
            ));
        }
        lines.extend([
            (
                "messages",
                format!("{published} published, {received} received"),
            ),
            (
                "lost",
                format!("{lost} ({worst_lost} in the worst round), {lost_when_whole} of them published when all was well again"),
            ),
            (
                "duplicated",
                format!("{duplicated} ({worst_duplicated} in the worst round)"),
            ),
            (
                "reordered",
                format!("{reordered} ({worst_reordered} in the worst round)"),
            ),
        ]);
        if sum.group_published + sum.publish_errors > 0 {
            let (published, errors) = (sum.group_published, sum.publish_errors);
            lines.push((
                "group",
                format!("{published} published by the group itself, {errors} failed"),
            ));
        }
        if let Some(error) = &sum.publish_error {
            lines.push(("", format!("the first: {error}")));
        }
        if let Some(accepted) = sum.accepted {
            lines.push((
                "accepted",
                format!("{accepted} connections of the group by the servers since they came back"),
            ));
        }
        lines
    }

    fn load(args: &Args) -> String {
        args.stream.text()
    }

    fn about_gap(scenario: Scenario) -> &'static str {
        match scenario {
            Scenario::Outage => {
                "longest silence of the subscription, the 3 s of the outage included"
            }
            _ => "longest silence of the subscription around it",
        }
    }

    fn trace(&self, moments: &Moments) {
        let millis = |at: Instant| {
            let (after, before) = (
                at.saturating_duration_since(moments.fault),
                moments.fault.saturating_duration_since(at),
            );
            (after.as_secs_f64() - before.as_secs_f64()) * 1000.0
        };
        if let Some((begin, end)) = self.silence(moments) {
            eprintln!("silent from {:.3} to {:.3} ms", millis(begin), millis(end));
        }
        for (what, numbers) in [
            ("lost", &self.ledger.lost),
            ("duplicated", &self.ledger.duplicated),
            ("reordered", &self.ledger.reordered),
        ] {
            let ranges = ranges(numbers);
            for range in ranges.iter().take(SHOWN) {
                let when =
                    |number: u64| millis(self.published[usize::try_from(number).unwrap_or(0)]);
                eprintln!(
                    "{what} {}..={}, published at {:.3}..{:.3} ms",
                    range.start,
                    range.end - 1,
                    when(range.start),
                    when(range.end - 1)
                );
            }
            if ranges.len() > SHOWN {
                eprintln!("{what} in {} further ranges", ranges.len() - SHOWN);
            }
        }
    }
}

fn some_millis<S: Serializer>(value: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => millis(value, serializer),
        None => serializer.serialize_none(),
    }
}
