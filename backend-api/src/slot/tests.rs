//! Leases, waiting and ending, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use super::places::stripe_count;
use super::*;
use crate::{Generation, Outcome};

const WAIT: Duration = Duration::from_secs(1);

fn slot() -> (SlotOwner<&'static str>, Slot<&'static str>) {
    SlotOwner::new(
        WAIT,
        Error::new(ErrorKind::NoActive, "east: down; west: down"),
    )
}

fn activate(
    owner: &mut SlotOwner<&'static str>,
    name: &'static str,
) -> (Tally<&'static str>, Option<Leases>) {
    owner.activate(&name.into(), Generation(1), &name, || {})
}

fn is_ended(leases: &Leases) -> bool {
    leases.ended.has_changed().is_err()
}

#[tokio::test(start_paused = true)]
async fn without_an_active_an_operation_waits_and_then_names_the_members() {
    let (mut owner, slot) = slot();
    let start = Instant::now();
    let error = slot.lease().await.unwrap_err();
    assert_eq!(start.elapsed(), WAIT);
    assert_eq!(error.kind(), ErrorKind::NoActive);
    assert!(error.to_string().contains("west: down"));

    let waiting = tokio::spawn({
        let slot = slot.clone();
        async move { slot.lease().await.map(|lease| *lease.connection()) }
    });
    tokio::time::sleep(WAIT / 2).await;
    activate(&mut owner, "east");
    assert_eq!(waiting.await.unwrap().unwrap(), "east");
}

#[test]
fn a_verdict_takes_no_longer_than_the_wait() {
    let (owner, slot) = slot();
    assert_eq!(slot.verdict_within(), WAIT);
    for (set, said) in [(WAIT / 4, WAIT / 4), (Duration::MAX, WAIT)] {
        owner.set_verdict_within(set);
        assert_eq!(slot.verdict_within(), said);
    }
}

#[tokio::test(start_paused = true)]
async fn leases_end_with_the_last_one_after_the_move() {
    let (mut owner, slot) = slot();
    activate(&mut owner, "east");
    let held = slot.try_lease().unwrap();
    let (_, before) = activate(&mut owner, "west");
    let before = before.unwrap();
    assert!(!is_ended(&before));
    assert_eq!(*held.connection(), "east");
    assert_eq!(*slot.try_lease().unwrap().connection(), "west");
    held.finish(Outcome::Success);
    assert!(is_ended(&before));
    before.ended().await;
}

#[tokio::test(start_paused = true)]
async fn an_outcome_counts_for_the_member_that_served_it() {
    // P53
    let (mut owner, slot) = slot();
    let (east, _) = activate(&mut owner, "east");
    let held = slot.try_lease().unwrap();
    let (west, _) = activate(&mut owner, "west");
    held.finish(Outcome::Failure);
    slot.try_lease().unwrap().finish(Outcome::Success);
    slot.try_lease().unwrap().finish(Outcome::Neutral);
    assert_eq!(east.totals(), (0, 1));
    assert_eq!(west.totals(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn failures_tell_the_engine_once_until_it_listens_again() {
    let (mut owner, slot) = slot();
    let told = Arc::new(AtomicUsize::new(0));
    let (tally, _) = owner.activate(&"east".into(), Generation(1), &"east", {
        let told = told.clone();
        move || {
            told.fetch_add(1, Ordering::Relaxed);
        }
    });
    for _ in 0..100 {
        slot.try_lease().unwrap().finish(Outcome::Failure);
    }
    assert_eq!(told.load(Ordering::Relaxed), 1);
    tally.listen();
    slot.try_lease().unwrap().finish(Outcome::Failure);
    assert_eq!(told.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn only_a_lease_given_up_late_is_a_suspicion() {
    let (mut owner, slot) = slot();
    owner.set_overdue(4);
    let told = Arc::new(AtomicUsize::new(0));
    owner.activate(&"east".into(), Generation(1), &"east", {
        let told = told.clone();
        move || {
            told.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (early, late) = (slot.try_lease().unwrap(), slot.try_lease().unwrap());
    (0..4).for_each(|_| owner.tick());
    let young = slot.try_lease().unwrap();
    drop(early);
    assert_eq!(told.load(Ordering::Relaxed), 0);
    owner.tick();
    drop(young);
    assert_eq!(told.load(Ordering::Relaxed), 0);
    drop(late);
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

fn telling(owner: &mut SlotOwner<&'static str>) -> Arc<AtomicUsize> {
    let told = Arc::new(AtomicUsize::new(0));
    let teller = told.clone();
    owner.activate(&"east".into(), Generation(1), &"east", move || {
        teller.fetch_add(1, Ordering::Relaxed);
    });
    told
}

#[test]
fn ticks_of_an_idle_slot_change_nothing_and_age_nobody() {
    let (mut owner, slot) = slot();
    owner.set_overdue(1);
    let told = telling(&mut owner);
    let stripes = |slot: &Slot<_>| slot.handle.shared.active.load_full().unwrap();
    let before = stripes(&slot);
    for _ in 0..100 {
        // What begins and ends between two ticks has no age either.
        slot.try_lease().unwrap().finish(Outcome::Success);
        drop(slot.try_lease().unwrap());
        owner.tick();
    }
    assert!(Arc::ptr_eq(&before, &stripes(&slot)));
    let held = slot.try_lease().unwrap();
    owner.tick();
    assert!(!Arc::ptr_eq(&before, &stripes(&slot)));
    drop(held);
    assert_eq!(told.load(Ordering::Relaxed), 0);
}

#[test]
fn after_an_idle_time_a_lease_ages_as_ever() {
    let (mut owner, slot) = slot();
    owner.set_overdue(2);
    let told = telling(&mut owner);
    (0..100).for_each(|_| owner.tick());
    let late = slot.try_lease().unwrap();
    for _ in 0..2 {
        owner.tick();
        drop(slot.try_lease().unwrap());
    }
    assert_eq!(told.load(Ordering::Relaxed), 0);
    owner.tick();
    drop(late);
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

#[test]
fn many_leases_on_one_old_stripe_age_too() {
    // As many as the places of the slot hold the latest stripes: the two must not be taken for one another.
    let (mut owner, slot) = slot();
    owner.set_overdue(2);
    let told = telling(&mut owner);
    let count = PLACES / stripe_count();
    let late: Vec<_> = (0..count).map(|_| slot.try_lease().unwrap()).collect();
    (0..3).for_each(|_| owner.tick());
    drop(late);
    assert_eq!(told.load(Ordering::Relaxed), 1);
}

#[test]
fn leases_of_a_turn_that_is_over_age_on() {
    for with_another in [false, true] {
        let (mut owner, slot) = slot();
        owner.set_overdue(1);
        let told = telling(&mut owner);
        let late = slot.try_lease().unwrap();
        if with_another {
            activate(&mut owner, "west");
        } else {
            owner.clear(Error::new(ErrorKind::NoActive, "nobody"));
        }
        owner.tick();
        owner.tick();
        drop(late);
        assert_eq!(told.load(Ordering::Relaxed), 1, "{with_another}");
        owner.tick();
        assert!(owner.earlier.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn moved_from_waits_for_another_turn_even_of_the_same_connection() {
    let (mut owner, slot) = slot();
    activate(&mut owner, "east");
    let first = slot.epoch().unwrap();
    let waiting = tokio::spawn({
        let slot = slot.clone();
        async move { slot.moved_from(first).await }
    });
    tokio::time::sleep(WAIT / 2).await;
    owner.clear(Error::new(ErrorKind::NoActive, "nobody"));
    activate(&mut owner, "east");
    let second = waiting.await.unwrap().unwrap();
    assert!(second > first);
    let error = slot.moved_from(second).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoActive);
}

#[tokio::test(start_paused = true)]
async fn a_dead_owner_closes_the_slot_at_once() {
    let (owner, slot) = slot();
    let waiting = tokio::spawn({
        let slot = slot.clone();
        async move { slot.lease().await.map(drop) }
    });
    tokio::task::yield_now().await;
    let start = Instant::now();
    drop(owner);
    assert_eq!(
        waiting.await.unwrap().unwrap_err().kind(),
        ErrorKind::Closed
    );
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(slot.try_lease().unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn the_last_slot_dropped_is_noticed() {
    let (mut owner, slot) = slot();
    let clone = slot.clone();
    drop(slot);
    let early = tokio::time::timeout(WAIT, owner.abandoned()).await;
    assert!(early.is_err());
    drop(clone);
    owner.abandoned().await;
}

#[tokio::test]
async fn whoever_waits_for_the_end_is_told_of_it_and_of_nothing_else() {
    let (mut owner, slot) = slot();
    let mut ended = Box::pin(slot.closed());
    for _ in 0..2 {
        activate(&mut owner, "east");
        owner.clear(Error::new(ErrorKind::NoActive, "east: down"));
        tokio::select! {
            biased;
            () = &mut ended => panic!("it is open"),
            () = tokio::task::yield_now() => {}
        }
    }
    owner.close();
    ended.await;
    slot.closed().await;
    drop(owner);
    slot.closed().await;
}

#[test]
fn outcomes_are_counted_exactly_by_many_threads_over_many_ticks() {
    // P90
    let (mut owner, slot) = slot();
    let (tally, _) = activate(&mut owner, "east");
    std::thread::scope(|scope| {
        let counting: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    for number in 0..10_000 {
                        let outcome = match number % 4 {
                            0 => Outcome::Failure,
                            _ => Outcome::Success,
                        };
                        slot.try_lease().unwrap().finish(outcome);
                    }
                })
            })
            .collect();
        while !counting.iter().all(|thread| thread.is_finished()) {
            owner.tick();
        }
    });
    assert_eq!(tally.totals(), (8 * 7_500, 8 * 2_500));
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_left_when_another_begins_or_the_group_is_closed() {
    let (mut owner, slot) = slot();
    activate(&mut owner, "east");
    let first = slot.epoch().unwrap();
    let left = tokio::spawn({
        let slot = slot.clone();
        async move { slot.left(first).await }
    });
    tokio::time::sleep(WAIT * 2).await;
    assert!(!left.is_finished(), "it has no bound of its own");
    activate(&mut owner, "west");
    left.await.unwrap();
    slot.left(first).await;
    let second = slot.epoch().unwrap();
    let left = tokio::spawn(async move { slot.left(second).await });
    tokio::task::yield_now().await;
    owner.close();
    left.await.unwrap();
}
