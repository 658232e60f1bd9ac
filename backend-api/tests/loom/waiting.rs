//! Who waits for an active wakes up when there is one, and when there never will be one.

use std::time::Duration;

use backend_api::{ErrorKind, Slot};
use loom::thread;

use super::{activate, block_on, explore, nobody, owner_of, slot};

type Waiter = thread::JoinHandle<Result<&'static str, ErrorKind>>;

fn waiter(slot: Slot<&'static str>) -> Waiter {
    thread::spawn(move || {
        let lease = block_on(slot.lease()).map_err(|error| error.kind())?;
        Ok(owner_of(&lease))
    })
}

/// Catches a state told before the slot is filled, and a state marked as seen after the slot was looked at: either way
/// the waiter sleeps beside a full slot.
#[test]
fn an_active_wakes_whoever_waits() {
    explore(|| {
        let (mut owner, slot) = slot();
        let waiter = waiter(slot);
        activate(&mut owner, "east");
        assert_eq!(waiter.join().unwrap(), Ok("east"));
    });
}

/// As above, with two who wait: catches a wake-up that reaches only one.
#[test]
fn an_active_wakes_all_who_wait() {
    explore(|| {
        let (mut owner, slot) = slot();
        let waiters = [waiter(slot.clone()), waiter(slot)];
        activate(&mut owner, "east");
        for waiter in waiters {
            assert_eq!(waiter.join().unwrap(), Ok("east"));
        }
    });
}

/// Catches a waiter that took the first active for good and missed that it went.
#[test]
fn an_active_that_goes_at_once_leaves_them_waiting_for_the_next() {
    explore(|| {
        let (mut owner, slot) = slot();
        let waiter = waiter(slot);
        activate(&mut owner, "east");
        owner.clear(nobody());
        owner.explain(nobody());
        activate(&mut owner, "west");
        assert!(waiter.join().unwrap().is_ok());
    });
}

/// Catches a slot that closes without telling.
#[test]
fn closing_ends_every_wait() {
    explore(|| {
        let (mut owner, slot) = slot();
        let waiter = waiter(slot);
        owner.close();
        assert_eq!(waiter.join().unwrap(), Err(ErrorKind::Closed));
    });
}

/// Catches an engine whose death nobody hears of, also when it died just after it filled the slot.
#[test]
fn a_dead_engine_ends_every_wait() {
    explore(|| {
        let (mut owner, slot) = slot();
        let waiter = waiter(slot.clone());
        activate(&mut owner, "east");
        let epoch = slot.epoch().unwrap();
        drop(owner);
        assert!(matches!(
            waiter.join().unwrap(),
            Ok("east") | Err(ErrorKind::Closed)
        ));
        let error = block_on(slot.moved_from(epoch)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
    });
}

/// Catches a move that whoever waits for another turn does not hear of, or mistakes for the old one.
#[test]
fn a_move_is_heard_by_whoever_waits_for_it() {
    explore(|| {
        let (mut owner, slot) = slot();
        activate(&mut owner, "east");
        let first = slot.epoch().unwrap();
        let waiter = thread::spawn(move || {
            let second = block_on(slot.moved_from(first)).unwrap();
            assert!(second > first);
            let lease = slot.try_lease().unwrap();
            assert_eq!((owner_of(&lease), lease.epoch()), ("west", second));
        });
        activate(&mut owner, "west");
        // Comes too late, and must not take back what was told.
        owner.explain(nobody());
        waiter.join().unwrap();
    });
}

/// Catches an engine that outlives everybody who could use it.
#[test]
fn the_last_slot_that_goes_is_noticed() {
    explore(|| {
        let (mut owner, slot) = slot();
        assert_eq!(slot.wait(), Duration::MAX);
        let clones = [slot.clone(), slot].map(|slot| thread::spawn(move || drop(slot)));
        block_on(owner.abandoned());
        for clone in clones {
            clone.join().unwrap();
        }
    });
}
