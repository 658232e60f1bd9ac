//! A drain ends with the last lease of its connection: not before, and not never.

use std::sync::Arc;

use backend_api::{Leases, Outcome, Slot};
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::{Owner, activate, block_on, explore, nobody, owner_of, slot};

/// A client that says how many leases on east it holds. Relaxed: the end of the leases itself has to order what was
/// done under them before what is done after the drain.
fn use_once(slot: &Slot<&'static str>, on_east: &AtomicUsize) {
    let Ok(lease) = slot.try_lease() else { return };
    let east = owner_of(&lease) == "east";
    if east {
        on_east.fetch_add(1, Ordering::Relaxed);
        on_east.fetch_sub(1, Ordering::Relaxed);
    }
    lease.finish(Outcome::Success);
}

fn client(slot: Slot<&'static str>, on_east: &Arc<AtomicUsize>) -> thread::JoinHandle<()> {
    let on_east = on_east.clone();
    thread::spawn(move || use_once(&slot, &on_east))
}

/// Waits for the end; then nobody may hold one, nor come by one.
fn drain(leases: &Leases, on_east: &AtomicUsize) {
    block_on(leases.ended());
    assert_eq!(on_east.load(Ordering::Relaxed), 0, "a lease is outstanding");
}

/// What changes which is active has its own thread where the wait for the end is not to hold it up.
fn end_of_east(leave: impl Fn(&mut Owner) -> Option<Leases> + Sync + Send + Copy + 'static) {
    explore(move || {
        let (mut owner, slot) = slot();
        let on_east = Arc::new(AtomicUsize::new(0));
        let (east, _) = activate(&mut owner, "east");
        let clients = [client(slot.clone(), &on_east), client(slot, &on_east)];
        let leases = leave(&mut owner).expect("east was active");
        drain(&leases, &on_east);
        let ended = east.totals();
        for client in clients {
            client.join().unwrap();
        }
        assert_eq!(east.totals(), ended, "counted after the end");
    });
}

/// Catches an end that is told by the slot and not by the leases, and one that never comes because the engine keeps
/// something of the old turn.
#[test]
fn a_move_ends_the_leases_with_the_last_one() {
    end_of_east(|owner| activate(owner, "west").1);
}

/// As above, for an active that goes without a successor.
#[test]
fn an_emptied_slot_ends_the_leases_with_the_last_one() {
    end_of_east(|owner| owner.clear(nobody()));
}

/// Catches stripes replaced by ones that end on their own: the drain would be over with an older lease still held.
#[test]
fn a_tick_neither_ends_a_drain_early_nor_holds_it_up() {
    end_of_east(|owner| {
        owner.tick();
        activate(owner, "west").1
    });
}

/// The same connection drains, is promoted again and drains again: two turns, two ends. Catches turns that share an end.
#[test]
fn each_turn_of_a_connection_has_an_end_of_its_own() {
    explore(|| {
        let (mut owner, slot) = slot();
        activate(&mut owner, "east");
        let held = slot.try_lease().unwrap();
        let [on_first, on_second] = [1, 0].map(|held| Arc::new(AtomicUsize::new(held)));
        let client = thread::spawn({
            let (on_first, on_second) = (on_first.clone(), on_second.clone());
            move || {
                let second = slot.try_lease().ok();
                let second = second.filter(|lease| lease.epoch() > held.epoch());
                on_second.fetch_add(usize::from(second.is_some()), Ordering::Relaxed);
                on_first.fetch_sub(1, Ordering::Relaxed);
                drop(held);
                on_second.fetch_sub(usize::from(second.is_some()), Ordering::Relaxed);
                drop(second);
            }
        });
        let (_, first) = activate(&mut owner, "east");
        let second = owner.clear(nobody());
        drain(&second.unwrap(), &on_second);
        drain(&first.unwrap(), &on_first);
        client.join().unwrap();
    });
}

/// The engine samples while a drain is waited for elsewhere. Catches a sample that keeps what it looked at.
#[test]
fn sampling_does_not_hold_up_a_drain() {
    explore(|| {
        let (mut owner, slot) = slot();
        let on_east = Arc::new(AtomicUsize::new(0));
        let (east, _) = activate(&mut owner, "east");
        let client = client(slot, &on_east);
        let leases = owner.clear(nobody()).unwrap();
        let waiting = thread::spawn({
            let on_east = on_east.clone();
            move || drain(&leases, &on_east)
        });
        let _ = east.totals();
        client.join().unwrap();
        waiting.join().unwrap();
    });
}
