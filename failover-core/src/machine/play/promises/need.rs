//! A group in need: nobody serves, or the active has to be left, although somebody could serve.

use super::super::record::{Entry, Fact, Known, Record};
use super::budget::Budget;
use super::{AT_ONCE, FIRST, Found, NEED, NOTICED, ROUNDS, TICK, millis};
use crate::machine::LinkView;

/// Whether a member could end the need that a fact shows.
type Could = fn(&Budget, &Fact, u32) -> bool;

/// How long it may take to notice a member, in time in which this process runs. The second is how long the need lasts by
/// then.
type Bound = fn(&Record, &Known, u64) -> u64;

/// The first member that could end a need, all the while, and did not within its bound.
fn waits(record: &Record, could: Could, bound: Bound) -> Option<(u64, u32, u64)> {
    let members = record.facts.first()?.members.len();
    let mut since: Vec<Option<u64>> = vec![None; members];
    let mut need: Option<u64> = None;
    let budget = Budget::of(record);
    for (from, until, fact) in record.spans() {
        if !fact.is_in_need() {
            need = None;
            since.fill(None);
            continue;
        }
        let began = *need.get_or_insert(from);
        for (id, since) in since.iter_mut().enumerate() {
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            let known = &fact.members[id as usize];
            if fact.active == Some(id) || !could(&budget, fact, id) {
                *since = None;
                continue;
            }
            let from = *since.get_or_insert(from);
            let most = bound(record, known, from - began);
            let due = record.later(from, most);
            if due < until {
                return Some((due, id, due - from));
            }
        }
    }
    None
}

fn is_free(budget: &Budget, fact: &Fact, id: u32) -> bool {
    let known = &fact.members[id as usize];
    let Some(active) = fact.active else {
        // Rather a doubtful active than none.
        return known.enabled;
    };
    // An announcement and a plan cost nothing.
    let active = &fact.members[active as usize];
    let paid = active.lame || !active.accepts || budget.left(fact.at) > 0;
    paid && !known.is_barred()
}

/// After the first ten seconds only what takes longer than the longest delay is too long.
fn delay(record: &Record, need: u64, first: u64) -> u64 {
    if need <= FIRST {
        first
    } else {
        first + millis(record.rules.member.reconnect.max)
    }
}

pub(super) fn need(record: &Record) -> Found {
    let found = waits(
        record,
        |budget, fact, id| fact.members[id as usize].fit && is_free(budget, fact, id),
        |record, known, need| delay(record, need, NEED + known.dial + ROUNDS * known.round),
    );
    found.map(|(at, id, waited)| {
        let text = format!("m{id} is fit and reachable, and is not active {waited} ms later");
        (at, text)
    })
}

pub(super) fn noticed(record: &Record) -> Found {
    let found = waits(
        record,
        |budget, fact, id| {
            let known = &fact.members[id as usize];
            let open = matches!(known.link, LinkView::Connected | LinkView::Standby);
            let connected = open && known.connected;
            connected && known.fit && is_free(budget, fact, id)
        },
        |record, known, need| delay(record, need, NOTICED + TICK + 2 * ROUNDS * known.round),
    );
    found.map(|(at, id, waited)| {
        let text = format!("m{id} is connected and fit, and is not active {waited} ms later");
        (at, text)
    })
}

pub(super) fn last_resort(record: &Record) -> Found {
    let found = waits(
        record,
        |_, fact, id| {
            let nobody = !fact.members.iter().any(|one| one.fit);
            let known = &fact.members[id as usize];
            fact.active.is_none() && nobody && known.serves_reads && known.enabled
        },
        |record, known, need| delay(record, need, NEED + known.dial + ROUNDS * known.round),
    );
    found.map(|(at, id, waited)| {
        let text =
            format!("nobody is fit, m{id} serves reads, and nobody is active {waited} ms later");
        (at, text)
    })
}

pub(super) fn grace_yields(record: &Record) -> Found {
    let found = waits(
        record,
        |budget, fact, id| {
            let known = &fact.members[id as usize];
            let stands = known.link == LinkView::Standby && known.healthy == Some(true);
            let only_grace = known.grace && !known.lame && stands;
            only_grace && known.fit && known.connected && is_free(budget, fact, id)
        },
        |_, known, _| AT_ONCE + ROUNDS * known.round,
    );
    found.map(|(at, id, waited)| {
        let text =
            format!("only grace holds m{id} back, and the active is not left {waited} ms later");
        (at, text)
    })
}

pub(super) fn failback(record: &Record) -> Found {
    let rules = record.rules.failback;
    let called = |entry: &Entry| matches!(entry, Entry::Called(..));
    if !rules.enabled || record.log.iter().any(|(_, entry)| called(entry)) {
        return None;
    }
    let stable = millis(rules.stable);
    let most = stable + stable / 3 + millis(rules.jitter) + 2 * NEED;
    let mut since: Vec<Option<u64>> = vec![None; record.weights.len()];
    for (from, until, fact) in record.spans() {
        for (id, since) in since.iter_mut().enumerate() {
            let known = &fact.members[id];
            let heavier = fact
                .active
                .is_some_and(|active| record.weights[active as usize] < record.weights[id]);
            let held = known.grace || known.lame || known.is_barred();
            if !(heavier && known.fit && known.connected) || held {
                *since = None;
                continue;
            }
            let began = *since.get_or_insert(from);
            let due = record.later(began, most);
            if due < until {
                let waited = due - began;
                let text = format!("m{id} is heavier, connected and fit for {waited} ms");
                return Some((due, text));
            }
        }
    }
    None
}
