//! The hot path allocates nothing. A target of its own, because counting allocations takes over the allocator.

#![cfg(not(loom))]

use std::time::Duration;

use backend_api::engine::SlotOwner;
use backend_api::{Error, ErrorKind, Generation, Outcome};

#[test]
fn a_lease_allocates_nothing() {
    let nobody = Error::new(ErrorKind::NoActive, "none");
    let (mut owner, slot) = SlotOwner::new(Duration::ZERO, nobody);
    owner.activate(&"east".into(), Generation(1), &"connection", || {});
    let mut held = Vec::with_capacity(512);
    // The thread's first lease sets up what arc_swap and this crate keep per thread.
    slot.try_lease().unwrap().finish(Outcome::Success);
    let counted = allocation_counter::measure(|| {
        for _ in 0..512 {
            held.push(slot.try_lease().unwrap());
        }
        for lease in held.drain(..256) {
            lease.finish(Outcome::Success);
        }
        for lease in held.drain(..128) {
            lease.finish(Outcome::Failure);
        }
        held.clear();
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
    // The counter itself works.
    let counted = allocation_counter::measure(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(counted.count_total, 1);
}
