//! What follows when connections end.

use super::super::record::{Entry, Fate, Record};
use super::{Found, ROUNDS, budget, millis};
use crate::machine::{LinkView, MemberId, News};

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
    let losses: Vec<(u64, u32)> = losses(record).collect();
    for pair in losses.windows(2) {
        let [(first, member), (second, again)] = pair else {
            continue;
        };
        if member != again || second - first >= stable {
            continue;
        }
        let due = record.later(*second, MOVED + millis(record.rules.loss_redial));
        let wait = record.rules.unavailable_wait;
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
            || budget::left(record, *second) > 0;
        if stays && other(*first) && other(second.saturating_sub(1)) && paid {
            let apart = second - first;
            let text = format!(
                "the active m{member} is lost twice within {apart} ms, keeps the traffic, and others are fit \
                 (operations wait {wait:?})"
            );
            return Some((due, text));
        }
    }
    None
}

pub(super) fn survivor(record: &Record) -> Found {
    for (lost, member) in losses(record) {
        let Some(fact) = record.before(lost) else {
            continue;
        };
        let alone = fact.members.iter().enumerate().all(|(id, known)| {
            id == member as usize || (!known.accepts && known.link != LinkView::Standby)
        });
        // The last connection carried operations for a second.
        let before = losses(record)
            .filter(|(at, _)| *at < lost)
            .last()
            .map_or(0, |(at, _)| at);
        let mut served = record
            .attempts
            .iter()
            .filter(|one| one.member == member && one.fate == Fate::Served)
            .map(|one| one.ended)
            .filter(|at| *at > before && *at <= lost);
        let first = served.next();
        let carried = first.is_some_and(|first| served.any(|at| at >= first + 1000));
        if !alone || !carried {
            continue;
        }
        let dials = record.log.iter().filter_map(|(at, entry)| {
            let this = *entry == Entry::Dialled(member);
            (this && *at >= lost).then_some(*at)
        });
        let connected = record
            .news()
            .find(|(at, news)| {
                *at >= lost && matches!(news, News::Connected(id, _) if *id == MemberId(member))
            })
            .map_or(record.end, |(at, _)| at);
        let round = fact.members[member as usize].round;
        let initial = millis(record.rules.member.reconnect.initial);
        let mut last = lost;
        let mut most = SOON + round;
        for at in dials.chain(std::iter::once(record.end)) {
            let due = record.later(last, most);
            if last > lost + 1000 || last >= connected {
                break;
            }
            if at > due && due < connected {
                let text = format!(
                    "the sole survivor m{member} is lost at {lost} ms and not dialled between {last} and {at} ms"
                );
                return Some((due, text));
            }
            last = at;
            most = initial + SOON + ROUNDS * round;
        }
    }
    None
}

pub(super) fn all_down(record: &Record) -> Found {
    let mut tried: Vec<bool> = Vec::new();
    for (at, entry) in &record.log {
        let members = record.facts.first().map_or(0, |fact| fact.members.len());
        tried.resize(members, false);
        match entry {
            // Need begins with the loss.
            Entry::Ended { active: true, .. } | Entry::GaveUp { .. } => tried.fill(false),
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
