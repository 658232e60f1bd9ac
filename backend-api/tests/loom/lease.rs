//! Taking a lease while the engine changes what is active: it belongs to one connection, wholly, and so does its outcome.

use backend_api::{ErrorKind, Outcome};
use loom::thread;

use super::{activate, explore, nobody, owner_of, slot};

/// Catches a lease put together from two turns, and an outcome counted for whatever is active when it ends.
#[test]
fn a_lease_belongs_to_one_connection_over_a_move() {
    explore(|| {
        let (mut owner, slot) = slot();
        let (east, _) = activate(&mut owner, "east");
        let client = thread::spawn(move || {
            let lease = slot.try_lease().expect("a move leaves no gap");
            let (served, epoch) = (owner_of(&lease), lease.epoch());
            lease.finish(Outcome::Success);
            (served, epoch)
        });
        let (west, _) = activate(&mut owner, "west");
        let (served, epoch) = client.join().unwrap();
        let (tally, other) = match served {
            "east" => (east, west),
            _ => (west, east),
        };
        assert_eq!(epoch, tally.epoch());
        assert_eq!((tally.totals(), other.totals()), ((1, 0), (0, 0)));
    });
}

/// Catches a slot that gives a lease after it was emptied, or loses the outcome of one given before.
#[test]
fn a_cleared_slot_gives_the_old_connection_or_the_reason() {
    explore(|| {
        let (mut owner, slot) = slot();
        let (east, _) = activate(&mut owner, "east");
        let client = thread::spawn({
            let slot = slot.clone();
            move || match slot.try_lease() {
                Ok(lease) => {
                    assert_eq!(owner_of(&lease), "east");
                    lease.finish(Outcome::Failure);
                    1
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::NoActive);
                    0
                }
            }
        });
        owner.clear(nobody());
        assert!(slot.try_lease().is_err());
        let failed = client.join().unwrap();
        assert_eq!(east.totals(), (0, failed));
    });
}

/// Catches a lease that outlives its slot's engine and loses what it belongs to.
#[test]
fn a_dead_engine_leaves_leases_whole_and_gives_no_more() {
    explore(|| {
        let (mut owner, slot) = slot();
        let (east, _) = activate(&mut owner, "east");
        let client = thread::spawn({
            let slot = slot.clone();
            move || {
                slot.try_lease().map_or(0, |lease| {
                    assert_eq!(owner_of(&lease), "east");
                    lease.finish(Outcome::Success);
                    1
                })
            }
        });
        drop(owner);
        let error = slot.try_lease().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        let succeeded = client.join().unwrap();
        assert_eq!(east.totals(), (succeeded, 0));
    });
}
