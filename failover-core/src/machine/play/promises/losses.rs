//! What follows when connections end.

use super::super::record::{Entry, Fate, Record};
use super::budget::Budget;
use super::{Found, ROUNDS, millis};
use crate::machine::{LinkView, News};

/// How long after the second loss the traffic may still be where it was: the redial may hold up the move.
const MOVED: u64 = 250;

/// A survivor's redial begins within this of its loss.
const SOON: u64 = 10;

/// The active's connections that ended by themselves: when, and whose.
fn losses(record: &Record) -> impl Iterator<Item = (u64, u32)> + '_ {
    record.log.iter().filter_map(|(at, entry)| match entry {
        Entry::Ended {
            member,
            active: true,
        } => Some((*at, *member)),
        _ => None,
    })
}

pub(super) fn second_loss(record: &Record) -> Found {
    let stable = millis(record.rules.failback.stable);
    let budget = Budget::of(record);
    let losses: Vec<(u64, u32)> = losses(record).collect();
    for pair in losses.windows(2) {
        let [(first, member), (second, again)] = pair else {
            continue;
        };
        if member != again || second - first >= stable {
            continue;
        }
        let due = record.later(*second, MOVED + millis(record.rules.loss_redial));
        let stays = due < record.end
            && record
                .at(due)
                .is_some_and(|fact| fact.active == Some(*member));
        let other = |at: u64| {
            record.at(at).is_some_and(|fact| {
                let others = fact.members.iter().enumerate();
                others
                    .filter(|(id, _)| *id != *member as usize)
                    .any(|(_, known)| {
                        let stands = known.link == LinkView::Standby && known.looks_fit;
                        stands
                            && known.healthy == Some(true)
                            && !known.is_barred()
                            && !known.lame
                            && !known.grace
                    })
            })
        };
        let known = record.before(*second);
        let paid = known.is_some_and(|fact| !fact.members[*member as usize].accepts)
            || budget.left(*second) > 0;
        if stays && other(*first) && other(second.saturating_sub(1)) && paid {
            let apart = second - first;
            let text = format!(
                "the active m{member} is lost twice within {apart} ms and keeps the traffic, though another is fit"
            );
            return Some((due, text));
        }
    }
    None
}

pub(super) fn survivor(record: &Record) -> Found {
    let losses: Vec<(u64, u32)> = losses(record).collect();
    for (index, &(lost, member)) in losses.iter().enumerate() {
        let Some(fact) = record.before(lost) else {
            continue;
        };
        let alone = fact.members.iter().enumerate().all(|(id, known)| {
            id == member as usize || (!known.accepts && known.link != LinkView::Standby)
        });
        let before = index.checked_sub(1).map_or(0, |last| losses[last].0);
        if alone && carried(record, member, before, lost) {
            let round = fact.members[member as usize].round;
            if let Some((due, last)) = not_dialled(record, member, round, lost) {
                let text = format!(
                    "the sole survivor m{member} is lost at {lost} ms, and not dialled within {} ms of {last} ms",
                    due - last
                );
                return Some((due, text));
            }
        }
    }
    None
}

/// Its last connection carried operations for a second, and to the end.
fn carried(record: &Record, member: u32, from: u64, lost: u64) -> bool {
    let mut served = record
        .attempts
        .iter()
        .filter(|one| one.member == member && one.fate == Fate::Served)
        .map(|one| one.ended)
        .filter(|at| *at > from && *at <= lost);
    let first = served.next();
    let last = served.next_back();
    first
        .zip(last)
        .is_some_and(|(first, last)| last >= first + 1000 && last + 1000 >= lost)
}

/// When a dial was due and did not begin, and after what. A dial under way is not looked at.
fn not_dialled(record: &Record, member: u32, round: u64, lost: u64) -> Option<(u64, u64)> {
    let initial = millis(record.rules.member.reconnect.initial);
    let mut due = Some((record.later(lost, SOON + round), lost));
    for (at, entry) in record.log.iter().filter(|(at, _)| *at >= lost) {
        if let Some((due, last)) = due
            && due < *at
        {
            return Some((due, last));
        }
        match entry {
            Entry::Dialled(id) if *id == member => due = None,
            Entry::Told(News::DialFailed(id)) if id.0 == member => {
                if *at > lost + 1000 {
                    return None;
                }
                due = Some((record.later(*at, initial + SOON + ROUNDS * round), *at));
            }
            Entry::Told(News::Connected(id, _)) if id.0 == member => return None,
            _ => {}
        }
    }
    due.filter(|(due, _)| *due < record.end)
}

pub(super) fn all_down(record: &Record) -> Found {
    let mut tried: Vec<bool> = Vec::new();
    for (at, entry) in &record.log {
        let members = record.facts.first().map_or(0, |fact| fact.members.len());
        tried.resize(members, false);
        match entry {
            // Need begins with the loss of the active; a proof that failed since then is a try.
            Entry::Ended { active: true, .. } | Entry::GaveUp { active: true, .. } => {
                tried.fill(false);
            }
            Entry::Ended { member, .. } | Entry::GaveUp { member, .. } => {
                if let Some(tried) = tried.get_mut(*member as usize) {
                    *tried = true;
                }
            }
            Entry::Dialled(member) => {
                if let Some(tried) = tried.get_mut(*member as usize) {
                    *tried = true;
                }
            }
            Entry::Told(News::AllDown(_)) => {
                let fact = record.at(*at)?;
                let known = |id: usize| {
                    let known = &fact.members[id];
                    // An open connection tells as much as a dial.
                    let open = matches!(known.link, LinkView::Connected | LinkView::Standby);
                    open || !known.enabled
                };
                let untried = (0..members).find(|id| !tried[*id] && !known(*id));
                if let Some(id) = untried {
                    let text = format!("all members are told to be down, and m{id} was not tried");
                    return Some((*at, text));
                }
                tried.fill(false);
            }
            _ => {}
        }
    }
    None
}
