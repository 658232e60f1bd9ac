//! `kept`: nothing that a server acknowledged is missing where that server kept it.
//!
//! Asked of writes that count themselves and of messages that a stream acknowledged. A write that is missing at the end is
//! a violation, unless its server's own history says why:
//!
//! - The server was emptied later ([`History::Nothing`]): counted as `lost_with_servers`.
//! - The server followed another one later, and its copy is that one's: a replica is never ahead of its master, so a write
//!   that was acknowledged before the replica was promoted may not have reached it. The framework does not replicate, so
//!   this is `lost_with_servers` too. The same holds if the group simply stayed on the old master while somebody promoted
//!   the other one.
//! - The write was acknowledged after the promotion, and the traffic had moved *back* onto the member that was not
//!   promoted, whose data was old. Then the framework chose the wrong history. Counted apart, as `lost_to_old_data`.
//!
//! A promotion is a turn to a history of one's own by a member that followed before. A master that comes back with what it
//! had kept is none. Who acknowledged a write is told by the moves; where two members may have, one reason is enough.

use std::ops::Range;

use super::run::{Run, acknowledged, end, seconds};
use super::{Verdict, bounds};
use crate::record::{History, Kind, Member, Micros, Operation, Turn};

pub(crate) fn check(run: &Run<'_>, verdict: &mut Verdict) {
    let (mut with_servers, mut to_old_data) = (0, 0);
    for (id, operation) in run.operations() {
        if !acknowledged(operation) || run.applied(id) > 0 {
            continue;
        }
        match why_missing(run, operation) {
            Some(Loss::WithServers) => with_servers += 1,
            Some(Loss::ToOldData) => to_old_data += 1,
            None => {
                let members = run.actives(&(operation.begun..end(operation)));
                verdict.add(end(operation), &[id], &members, || {
                    let at = seconds(end(operation));
                    let kind = operation.kind;
                    format!(
                        "a write ({kind:?}) was acknowledged at {at} and is not there at the end"
                    )
                });
            }
        }
    }
    verdict.figure("lost_with_servers", with_servers);
    verdict.figure("lost_to_old_data", to_old_data);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Loss {
    WithServers,
    ToOldData,
}

fn why_missing(run: &Run<'_>, operation: &Operation) -> Option<Loss> {
    // A stream lives on all nodes of the cluster: no single one excuses a loss.
    if operation.kind == Kind::StreamPublish {
        return None;
    }
    let during = operation.begun..end(operation);
    let members = run.actives(&during);
    let losses = members.iter().map(|member| loss_of(run, *member, &during));
    losses.flatten().max()
}

/// Why a write that this member acknowledged is gone.
fn loss_of(run: &Run<'_>, member: Member, write: &Range<Micros>) -> Option<Loss> {
    let turns = &run.record.turns;
    let gone = turns.iter().position(|turn| {
        turn.member == member && turn.into != History::Own && turn.during.end >= write.start
    })?;
    let History::Of(survivor) = turns[gone].into else {
        return Some(Loss::WithServers);
    };
    let Some(promotion) = last_promotion(&turns[..gone], [member, survivor]) else {
        // They never had a history in common.
        return Some(Loss::WithServers);
    };
    let promoted = promotion.member;
    let late = bounds::LATE_EVENT.micros();
    if write.start.saturating_sub(late) <= promotion.during.end {
        // Acknowledged while the histories parted, or before: by the old master, of which the promoted one had a copy.
        return (promoted != member).then_some(Loss::WithServers);
    }
    let old = if promoted == member { survivor } else { member };
    let until = turns[gone].during.end;
    let back = run.record.moves.iter().any(|step| {
        step.to == old && step.at >= promotion.during.start && step.at <= until.saturating_add(late)
    });
    Some(if back {
        Loss::ToOldData
    } else {
        Loss::WithServers
    })
}

/// The last time that one of the two stopped following and went on by itself.
fn last_promotion(turns: &[Turn], pair: [Member; 2]) -> Option<&Turn> {
    let candidates = turns.iter().enumerate().rev();
    candidates
        .filter(|(_, turn)| turn.into == History::Own && pair.contains(&turn.member))
        .find(|(place, turn)| {
            let before = turns[..*place].iter().rev();
            let mut own = before.filter(|earlier| earlier.member == turn.member);
            matches!(
                own.next(),
                Some(Turn {
                    into: History::Of(_),
                    ..
                })
            )
        })
        .map(|(_, turn)| turn)
}

#[cfg(test)]
mod tests {
    use super::super::forge::{Forge, MS, S};
    use super::super::{check, tests::only};
    use crate::record::{History, Kind, Outcome, Turn};

    fn turn(member: u8, at: u32, into: History) -> Turn {
        Turn {
            member,
            during: at..at + 5 * MS,
            into,
        }
    }

    /// East leads and west follows; west is promoted at 10 s; east comes back with what it had, and follows at 14 s.
    fn pair() -> Forge {
        let mut forge = Forge::pair();
        forge.record.turns = vec![
            turn(1, 0, History::Of(0)),
            turn(1, 10 * S, History::Own),
            turn(0, 12 * S, History::Own),
            turn(0, 14 * S, History::Of(1)),
        ];
        forge
    }

    #[test]
    fn an_acknowledged_write_that_is_missing_is_found() {
        for kind in [Kind::Write, Kind::Pipeline, Kind::Transaction, Kind::Script] {
            let mut forge = Forge::redis();
            let id = forge.operation(6 * S, MS, kind, Outcome::Right);
            forge.applied(id, 0);
            only(&check(&forge.record), "kept", 1);
        }
        let mut forge = Forge::nats();
        let id = forge.operation(6 * S, MS, Kind::StreamPublish, Outcome::Right);
        forge.applied(id, 0);
        // A stream outlives its nodes.
        forge.record.turns = vec![turn(0, 7 * S, History::Nothing)];
        assert_eq!(check(&forge.record).of("kept"), 1);
    }

    #[test]
    fn what_a_server_lost_as_a_whole_is_no_violation() {
        let mut forge = Forge::redis();
        let lost = forge.operation(6 * S, MS, Kind::Write, Outcome::Right);
        forge.applied(lost, 0);
        forge.record.turns = vec![turn(0, 7 * S, History::Nothing)];
        let findings = check(&forge.record);
        only(&findings, "kept", 0);
        assert_eq!(findings.figure("lost_with_servers"), 1);
        // What was written afterwards has no such excuse, nor has what another member lost.
        let missing = forge.operation(8 * S, MS, Kind::Write, Outcome::Right);
        forge.applied(missing, 0);
        only(&check(&forge.record), "kept", 1);
    }

    #[test]
    fn what_had_not_reached_the_promoted_replica_is_lost_with_the_servers() {
        let mut forge = pair();
        let tail = forge.operation(10 * S - 20 * MS, MS, Kind::Write, Outcome::Right);
        forge.applied(tail, 0);
        forge.go(10 * S, 1, "lost", true);
        let findings = check(&forge.record);
        only(&findings, "kept", 0);
        assert_eq!(findings.figure("lost_with_servers"), 1);
        assert_eq!(findings.figure("lost_to_old_data"), 0);
    }

    #[test]
    fn what_the_promoted_one_acknowledged_and_kept_leading_is_missed() {
        let mut forge = pair();
        forge.go(10 * S, 1, "lost", true);
        let id = forge.operation(11 * S, MS, Kind::Write, Outcome::Right);
        forge.applied(id, 0);
        only(&check(&forge.record), "kept", 1);
    }

    #[test]
    fn what_was_written_onto_old_data_is_counted_apart() {
        let mut forge = pair();
        forge.go(10 * S, 1, "lost", true);
        forge.go(13 * S, 0, "failback", false);
        let id = forge.operation(13 * S + 500 * MS, MS, Kind::Write, Outcome::Right);
        forge.applied(id, 0);
        let findings = check(&forge.record);
        only(&findings, "kept", 0);
        assert_eq!(findings.figure("lost_to_old_data"), 1);
    }

    #[test]
    fn what_the_promoted_one_lost_to_the_old_one_is_counted_apart() {
        let mut forge = pair();
        forge.record.turns[3] = turn(1, 14 * S, History::Of(0));
        forge.go(10 * S, 1, "lost", true);
        let id = forge.operation(11 * S, MS, Kind::Write, Outcome::Right);
        forge.applied(id, 0);
        forge.go(13 * S, 0, "failback", false);
        let findings = check(&forge.record);
        only(&findings, "kept", 0);
        assert_eq!(findings.figure("lost_to_old_data"), 1);
    }

    #[test]
    fn who_never_left_the_old_master_lost_with_the_servers() {
        let mut forge = pair();
        let id = forge.operation(11 * S, MS, Kind::Write, Outcome::Right);
        forge.applied(id, 0);
        let findings = check(&forge.record);
        only(&findings, "kept", 0);
        assert_eq!(findings.figure("lost_with_servers"), 1);
    }
    #[test]
    fn a_move_may_be_recorded_a_little_late() {
        for (before, count) in [(50 * MS, 0), (200 * MS, 1)] {
            let mut forge = Forge::redis();
            forge.record.turns = vec![turn(1, 12 * S, History::Nothing)];
            forge.go(10 * S, 1, "manual", false);
            let id = forge.operation(10 * S - before, MS, Kind::Write, Outcome::Right);
            forge.applied(id, 0);
            only(&check(&forge.record), "kept", count);
        }
    }
}
