//! `dials`: nobody dials a member more than [`bounds::DIALS`] times in any second.
//!
//! As its proxy saw them, whoever they were for. A blocking command may need a connection of its own, so each one that is
//! under way in that second allows one more. A second begins with a dial.

use std::ops::Range;

use super::run::{Run, end, seconds};
use super::{Verdict, bounds};
use crate::record::{Kind, Member, Micros, Outcome};

const SECOND: Micros = 1_000_000;

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let blocking = Blocking::of(run);
    let mut most = 0;
    for member in (0..).take(run.record.members.len()) {
        most = most.max(of(run, member, &blocking, verdict));
    }
    verdict.figure("dials_per_member_s", most);
}

/// The most dials of one member in a second.
fn of(run: &Run<'_>, member: Member, blocking: &Blocking, verdict: &mut Verdict) -> u64 {
    let dials = run
        .record
        .dials
        .iter()
        .filter(|(_, other)| *other == member);
    let mut dials: Vec<Micros> = dials.map(|(at, _)| *at).collect();
    dials.sort_unstable();
    let mut most = 0;
    let mut told_until = 0;
    for (place, at) in dials.iter().enumerate() {
        let second = *at..at.saturating_add(SECOND);
        let count = dials[place..].partition_point(|dial| *dial < second.end);
        most = most.max(count as u64);
        let allowed = bounds::DIALS.value as usize + blocking.during(&second);
        // A storm of a minute is sixty violations, not thousands.
        if count > allowed && *at >= told_until {
            told_until = second.end;
            verdict.add(*at, &[], &[member], || {
                let (name, from) = (run.name(member), seconds(*at));
                format!("{name} was dialled {count} times in the second from {from}; at most {allowed} are promised")
            });
        }
    }
    most
}

/// When blocking commands began and ended, each in order.
struct Blocking {
    begun: Vec<Micros>,
    ended: Vec<Micros>,
}

impl Blocking {
    fn of(run: &Run<'_>) -> Self {
        let all = run.operations().map(|(_, operation)| operation);
        let all = all.filter(|operation| operation.kind == Kind::Blocking);
        let (mut begun, mut ended): (Vec<_>, Vec<_>) = all
            .map(|operation| match operation.outcome {
                Outcome::Unended => (operation.begun, Micros::MAX),
                _ => (operation.begun, end(operation)),
            })
            .unzip();
        begun.sort_unstable();
        ended.sort_unstable();
        Self { begun, ended }
    }

    /// How many were under way at some time in this span.
    fn during(&self, span: &Range<Micros>) -> usize {
        let begun = self.begun.partition_point(|begun| *begun < span.end);
        begun - self.ended.partition_point(|ended| *ended < span.start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{Kind, Outcome};

    fn dialled(count: u32, every: u32) -> Forge {
        let mut forge = Forge::redis();
        let dials = (0..count).map(|step| (9 * S + step * every, 1));
        forge.record.dials.extend(dials);
        forge
    }

    #[test]
    fn more_than_twenty_in_a_second_are_found() {
        only(&check(&dialled(21, 49 * MS).record), "dials", 1);
        only(&check(&dialled(100, 20 * MS).record), "dials", 2);
    }

    #[test]
    fn twenty_a_second_to_each_member_are_fine() {
        let mut forge = dialled(60, 50 * MS);
        forge
            .record
            .dials
            .extend((0..20).map(|step| (9 * S + step * 50 * MS, 0)));
        forge.record.dials.sort_unstable();
        only(&check(&forge.record), "dials", 0);
    }

    #[test]
    fn a_blocking_command_may_have_a_connection() {
        let mut forge = dialled(21, 49 * MS);
        forge.operation(9 * S, MS, Kind::Blocking, Outcome::Right);
        only(&check(&forge.record), "dials", 0);
        // One that was over before the storm may not.
        let mut forge = dialled(21, 49 * MS);
        forge.operation(9 * S - 2 * MS, MS, Kind::Blocking, Outcome::Right);
        only(&check(&forge.record), "dials", 1);
    }
}
