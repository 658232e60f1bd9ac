//! Forged records: for each promise one that its checker must reject, beside one that it must accept and that differs in
//! little.

use std::time::Duration;

use super::super::record::{Attempt, Entry, Fact, Fate, Known, Record};
use super::super::script::Call;
use super::{Breach, Promise, first};
use crate::config::Rules;
use crate::machine::{Answer, Kind, LinkView, MemberId, News, Reason, Refusal, RequestId};

fn known(link: LinkView) -> Known {
    Known {
        fit: true,
        looks_fit: true,
        serves_reads: true,
        accepts: true,
        dial: 2,
        round: 2,
        connected: true,
        link,
        healthy: Some(true),
        lame: false,
        broken: false,
        grace: false,
        enabled: true,
    }
}

/// Both are well, and traffic is with the first, or with nobody.
fn fact(at: u64, active: Option<u32>) -> Fact {
    let link = |id| match active {
        Some(active) if active == id => LinkView::Active,
        _ => LinkView::Standby,
    };
    Fact {
        at,
        active,
        serving: active.is_some(),
        silent_since: None,
        refused: None,
        members: vec![known(link(0)), known(link(1))],
    }
}

/// Two members of which the first is heavier, with these facts, for so long.
fn record(facts: Vec<Fact>, end: u64) -> Record {
    let mut record = Record::new(&Rules::default(), &[2.0, 1.0]);
    record.facts = facts;
    record.end = end;
    record
}

fn with(mut record: Record, log: Vec<(u64, Entry)>) -> Record {
    record.log = log;
    record
}

fn broken(promise: Promise, record: &Record) -> Option<Breach> {
    first(promise, record, Some(60))
}

#[track_caller]
fn told_apart(promise: Promise, good: &Record, bad: &Record) {
    let found = broken(promise, good);
    assert!(found.is_none(), "{promise:?}: {found:?}");
    assert!(broken(promise, bad).is_some(), "{promise:?} accepts it");
}

fn moved(at: u64, from: u32, to: u32, reason: Reason) -> (u64, Entry) {
    let switched = News::Switched {
        from: Some(MemberId(from)),
        to: MemberId(to),
        reason,
        kind: Kind::Failover,
        took: Duration::ZERO,
    };
    (at, Entry::Told(switched))
}

fn attempt(began: u64, took: u64, fate: Fate) -> Attempt {
    Attempt {
        began,
        ended: began + took,
        member: 0,
        fate,
    }
}

fn ended(at: u64) -> (u64, Entry) {
    let entry = Entry::Ended {
        member: 0,
        active: true,
    };
    (at, entry)
}

fn gave_up(at: u64, silent: u64, elsewhere: bool) -> (u64, Entry) {
    let entry = Entry::GaveUp {
        member: 0,
        silent,
        refused: false,
        proven: true,
        active: true,
        elsewhere,
        round: 2,
    };
    (at, entry)
}

/// Nobody is active for so long, beside a second member as `change` makes it.
fn gap(long: u64, change: fn(&mut Known)) -> Record {
    let mut gone = fact(1000, None);
    gone.members[0].fit = false;
    gone.members[0].serves_reads = false;
    gone.members[0].link = LinkView::Cold;
    gone.members[1].link = LinkView::Cold;
    gone.members[1].connected = false;
    change(&mut gone.members[1]);
    record(
        vec![fact(0, Some(0)), gone, fact(1000 + long, Some(1))],
        20_000,
    )
}

#[test]
fn who_is_fit_in_need_is_active_after_a_second_and_a_dial() {
    told_apart(Promise::Need, &gap(1000, |_| {}), &gap(1100, |_| {}));
    // Whoever is not fit is not missed.
    assert!(broken(Promise::Need, &gap(9000, |one| one.fit = false)).is_none());
    // Time in which this process did not run does not count.
    let mut stopped = gap(1100, |_| {});
    stopped.stops.push((1200, 1500));
    assert!(broken(Promise::Need, &stopped).is_none());
}

#[test]
fn who_is_connected_is_noticed_sooner() {
    let connected = |one: &mut Known| {
        one.connected = true;
        one.link = LinkView::Connected;
    };
    told_apart(Promise::Noticed, &gap(900, |_| {}), &gap(900, connected));
    assert!(broken(Promise::Noticed, &gap(250, connected)).is_none());
}

#[test]
fn a_doubtful_active_is_better_than_none() {
    let doubtful = |one: &mut Known| one.fit = false;
    let useless = |one: &mut Known| {
        one.fit = false;
        one.serves_reads = false;
    };
    told_apart(
        Promise::LastResort,
        &gap(9000, useless),
        &gap(9000, doubtful),
    );
}

#[test]
fn a_heavier_member_gets_its_traffic_back() {
    let mut grace = fact(0, Some(1));
    grace.members[0].grace = true;
    let bad = record(vec![grace.clone(), fact(10_000, Some(1))], 90_000);
    let good = record(
        vec![grace, fact(10_000, Some(1)), fact(30_000, Some(0))],
        90_000,
    );
    told_apart(Promise::Failback, &good, &bad);
}

#[test]
fn grace_gives_way_to_need() {
    let marked = |until: u64| {
        let mut marked = fact(5000, Some(0));
        marked.members[0].lame = true;
        marked.members[1].grace = true;
        record(vec![fact(0, Some(0)), marked, fact(until, Some(1))], 20_000)
    };
    told_apart(Promise::GraceYields, &marked(5010), &marked(5100));
}

#[test]
fn a_survivor_is_redialled_at_once() {
    let survived = |dials: &[u64]| {
        let mut alone = fact(0, Some(0));
        alone.members[1].accepts = false;
        alone.members[1].link = LinkView::Cold;
        let mut record = record(vec![alone], 20_000);
        record.attempts = (0..50)
            .map(|nth| attempt(nth * 100, 2, Fate::Served))
            .collect();
        record.log.push(ended(5000));
        for at in dials {
            let failed = Entry::Told(News::DialFailed(MemberId(0)));
            record.log.push((*at, Entry::Dialled(0)));
            record.log.push((at + 1, failed));
        }
        record
    };
    let steady: Vec<u64> = (0..40).map(|nth| 5001 + nth * 50).collect();
    told_apart(
        Promise::Survivor,
        &survived(&steady),
        &survived(&[5001, 5200]),
    );
    assert!(broken(Promise::Survivor, &survived(&[5050])).is_some());
}

#[test]
fn all_are_down_only_when_all_were_tried() {
    let told = (5010, Entry::Told(News::AllDown(1)));
    let both = vec![
        ended(5000),
        (5001, Entry::Dialled(0)),
        (5002, Entry::Dialled(1)),
        told.clone(),
    ];
    let one = vec![
        (4000, Entry::Dialled(1)),
        ended(5000),
        (5001, Entry::Dialled(0)),
        told,
    ];
    let cold = || {
        let mut cold = fact(0, None);
        for member in &mut cold.members {
            member.link = LinkView::Cold;
        }
        record(vec![cold], 20_000)
    };
    told_apart(Promise::AllDown, &with(cold(), both), &with(cold(), one));
}

#[test]
fn an_active_on_which_nothing_succeeds_is_left() {
    let failing = |every: u64, until: u64| {
        let mut record = record(vec![fact(0, Some(0)), fact(until, Some(1))], 20_000);
        let times = (1000..until).step_by(usize::try_from(every).unwrap_or(1));
        record.attempts = times.map(|at| attempt(at, 500, Fate::Failed)).collect();
        record
    };
    told_apart(Promise::Failing, &failing(500, 4400), &failing(500, 6000));
    // Where little is tried, little is known.
    assert!(broken(Promise::Failing, &failing(3000, 20_000)).is_none());
    let mut served = failing(500, 6000);
    served.attempts.push(attempt(3000, 2, Fate::Served));
    assert!(broken(Promise::Failing, &served).is_none());
    let mut nobody = failing(500, 6000);
    for fact in &mut nobody.facts {
        fact.members[1].looks_fit = false;
    }
    assert!(broken(Promise::Failing, &nobody).is_none());
}

#[test]
fn the_second_loss_moves() {
    let stays = || record(vec![fact(0, Some(0))], 20_000);
    let moves = record(vec![fact(0, Some(0)), fact(3010, Some(1))], 20_000);
    let twice = vec![ended(2000), ended(3000)];
    told_apart(
        Promise::SecondLoss,
        &with(moves, twice.clone()),
        &with(stays(), twice),
    );
    let rare = with(stays(), vec![ended(2000), ended(15_000)]);
    assert!(broken(Promise::SecondLoss, &rare).is_none());
}

#[test]
fn nobody_is_given_up_who_was_heard() {
    let base = || record(vec![fact(0, Some(0))], 20_000);
    told_apart(
        Promise::Patience,
        &with(base(), vec![gave_up(5000, 1000, true)]),
        &with(base(), vec![gave_up(5000, 600, true)]),
    );
    // A silence that this process slept through is none.
    let mut stopped = with(base(), vec![gave_up(5000, 1000, true)]);
    stopped.stops.push((4200, 4900));
    assert!(broken(Promise::Patience, &stopped).is_some());
    let left = with(base(), vec![moved(5000, 0, 1, Reason::Breaker)]);
    assert!(broken(Promise::Patience, &left).is_some());
}

#[test]
fn a_silent_active_is_left() {
    let silent = |until: u64| {
        let mut silent = fact(5000, Some(0));
        silent.serving = false;
        silent.silent_since = Some(5000);
        record(vec![fact(0, Some(0)), silent, fact(until, Some(1))], 20_000)
    };
    told_apart(Promise::Silence, &silent(6300), &silent(6600));
}

#[test]
fn where_nobody_is_heard_the_active_stays() {
    let base = || record(vec![fact(0, Some(0))], 20_000);
    told_apart(
        Promise::OwnNetwork,
        &with(base(), vec![gave_up(5000, 1200, true)]),
        &with(base(), vec![gave_up(5000, 1200, false)]),
    );
}

#[test]
fn a_drain_ends() {
    let drain = |until: u64| {
        let window = Duration::from_millis(100);
        let log = vec![
            (5000, Entry::Told(News::DrainStarted(MemberId(0), window))),
            (until, Entry::Told(News::DrainEnded(MemberId(0), true))),
        ];
        with(record(vec![fact(0, Some(1))], 20_000), log)
    };
    told_apart(Promise::DrainEnds, &drain(5200), &drain(5201));
    let mut never = drain(5200);
    never.log.pop();
    assert!(broken(Promise::DrainEnds, &never).is_some());
}

#[test]
fn a_window_is_as_long_as_this_process_was_late() {
    let cut = |after: u64| {
        let window = Duration::from_millis(100);
        let entry = Entry::Cut {
            member: 0,
            operations: 1,
        };
        let log = vec![
            (5000, Entry::Told(News::DrainStarted(MemberId(0), window))),
            (5000 + after, entry),
        ];
        with(record(vec![fact(0, Some(1))], 20_000), log)
    };
    told_apart(Promise::Window, &cut(100), &cut(80));
    let stopped = |after: u64| {
        let mut record = cut(after);
        record.stops.push((5050, 5120));
        record
    };
    told_apart(Promise::Window, &stopped(170), &stopped(120));
}

#[test]
fn calls_are_answered() {
    let call = |until: u64| {
        let log = vec![
            (5000, Entry::Called(RequestId(1), Call::SwitchTo(1))),
            (until, Entry::Answered(RequestId(1), Answer::Done)),
        ];
        with(record(vec![fact(0, Some(0))], 20_000), log)
    };
    told_apart(Promise::Answered, &call(8000), &call(9000));
    let mut never = call(8000);
    never.log.pop();
    assert!(broken(Promise::Answered, &never).is_some());
}

#[test]
fn a_move_that_nothing_holds_back_is_not_refused() {
    let refused = |change: fn(&mut Known)| {
        let mut fact = fact(0, Some(0));
        fact.members[1].link = LinkView::Connected;
        change(&mut fact.members[1]);
        let refusal = Answer::Refused(Refusal::NotEligible(MemberId(1)));
        let log = vec![
            (5000, Entry::Called(RequestId(1), Call::SwitchTo(1))),
            (5000, Entry::Answered(RequestId(1), refusal)),
        ];
        with(record(vec![fact], 20_000), log)
    };
    told_apart(
        Promise::Accepted,
        &refused(|one| one.lame = true),
        &refused(|_| {}),
    );
}

#[test]
fn moves_cost() {
    let moves = |apart: u64| {
        let log = (1..=5).map(|nth| moved(nth * apart, 0, 1, Reason::Health));
        with(record(vec![fact(0, Some(0))], 90_000), log.collect())
    };
    told_apart(Promise::Budget, &moves(10_000), &moves(2000));
    // Away from a member that refuses dials is free.
    let mut free = moves(2000);
    free.facts[0].members[0].accepts = false;
    assert!(broken(Promise::Budget, &free).is_none());
}

#[test]
fn dials_are_bounded() {
    let dials = |apart: u64| {
        let log = (0..21).map(|nth| (nth * apart, Entry::Dialled(0)));
        with(record(vec![fact(0, Some(0))], 20_000), log.collect())
    };
    told_apart(Promise::Dials, &dials(50), &dials(49));
}

#[test]
fn few_operations_fail() {
    let share = |failed: u64| {
        let mut record = record(vec![fact(0, Some(0))], 20_000);
        record.operations = (0..100)
            .map(|nth| {
                (
                    nth,
                    if nth < failed {
                        Fate::Failed
                    } else {
                        Fate::Served
                    },
                )
            })
            .collect();
        record
    };
    told_apart(Promise::Share, &share(6), &share(7));
}
