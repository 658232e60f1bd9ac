//! What was finished is what was counted, once, for whoever served it.

use backend_api::{Outcome, Slot};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::{activate, explore, owner_of, slot};

/// One operation, and on which member it ran.
fn operation(slot: Slot<&'static str>) -> thread::JoinHandle<&'static str> {
    thread::spawn(move || {
        let lease = slot.try_lease().expect("there is always an active");
        let served = owner_of(&lease);
        lease.finish(Outcome::Success);
        served
    })
}

/// Two threads on one stripe, or each on its own, while stripes are replaced. Catches counters that lose an addition, and
/// a tick that forgets what the stripes before it have counted.
#[test]
fn ticks_lose_no_count() {
    explore(|| {
        let (mut owner, slot) = slot();
        let (east, _) = activate(&mut owner, "east");
        let operations = [operation(slot.clone()), operation(slot.clone())];
        // Holds its stripe, with what others count on it, over the tick.
        let held = slot.try_lease().unwrap();
        owner.tick();
        for operation in operations {
            assert_eq!(operation.join().unwrap(), "east");
        }
        assert_eq!(east.totals(), (2, 0));
        held.finish(Outcome::Failure);
        assert_eq!(east.totals(), (2, 1));
    });
}

/// Catches an outcome that is lost with its turn, or that goes to the next.
#[test]
fn a_move_loses_no_count_and_moves_none() {
    explore(|| {
        let (mut owner, slot) = slot();
        let (east, _) = activate(&mut owner, "east");
        let operations = [operation(slot.clone()), operation(slot)];
        let (west, _) = activate(&mut owner, "west");
        let served = operations.map(|operation| operation.join().unwrap());
        let by = |name| served.iter().filter(|served| **served == name).count() as u64;
        assert_eq!(east.totals(), (by("east"), 0));
        assert_eq!(west.totals(), (by("west"), 0));
    });
}

/// A sample taken in the midst of it all: never more than was finished. Catches a stripe that is counted while it is
/// alive and once more among those that are gone.
#[test]
fn no_sample_counts_twice() {
    explore(|| {
        let (mut owner, slot) = slot();
        let (east, _) = activate(&mut owner, "east");
        let begun = Arc::new(AtomicU64::new(0));
        let client = thread::spawn({
            let begun = begun.clone();
            move || {
                let lease = slot.try_lease().unwrap();
                begun.fetch_add(1, Ordering::Relaxed);
                lease.finish(Outcome::Success);
            }
        });
        owner.tick();
        let (sampled, _) = east.totals();
        assert!(sampled <= begun.fetch_add(0, Ordering::Relaxed));
        client.join().unwrap();
        assert_eq!(east.totals(), (1, 0));
    });
}

/// Catches an age measured against a clock older than the stripe, which would make every lease overdue.
#[test]
fn no_lease_given_up_within_a_tick_is_overdue() {
    explore(|| {
        let (mut owner, slot) = slot();
        owner.set_overdue(1);
        let told = Arc::new(AtomicU64::new(0));
        owner.activate(&"east".into(), super::number("east"), &"east", {
            let told = told.clone();
            move || {
                told.fetch_add(1, Ordering::Relaxed);
            }
        });
        let client = thread::spawn({
            let slot = slot.clone();
            move || drop(slot.try_lease())
        });
        owner.tick();
        client.join().unwrap();
        assert_eq!(told.load(Ordering::Relaxed), 0);
        let held = slot.try_lease();
        owner.tick();
        owner.tick();
        drop(held);
        assert_eq!(told.load(Ordering::Relaxed), 1);
    });
}
