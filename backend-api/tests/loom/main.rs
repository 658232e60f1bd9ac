//! The lease, the slot and the signals under every order in which their threads can run.
//!
//! Each test is a model: two or three threads, a few steps each, and what must hold however they interleave. loom runs it
//! once for each order that makes a difference, weak memory included. What waits for ever is a deadlock and fails. Every
//! model says what it would catch, and that was tried: the code was broken in that way, and the model failed.
//!
//! Built only under `--cfg loom`, where `backend_api` gets instrumented primitives; `tests/run` has the command. What
//! many threads do at full speed is the business of `tests/stress.rs`, what one thread does that of the unit tests.

#![cfg(loom)]

mod counts;
mod drain;
mod lease;
mod suspicion;
mod waiting;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use backend_api::engine::{SlotOwner, Tally};
use backend_api::{Error, ErrorKind, Generation, Lease, Leases, Slot};

type Owner = SlotOwner<&'static str>;

/// Explores `model`. A thread is interrupted three times at most where it could go on: no fault is known that needs more,
/// and each one more takes ten times as long. `LOOM_MAX_PREEMPTIONS` has the last word.
fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(model);
}

fn slot() -> (Owner, Slot<&'static str>) {
    SlotOwner::new(Duration::MAX, nobody())
}

/// loom's own, but for one thing: what of it is left when a model fails may be dropped while the failure goes up.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Bell(loom::sync::Notify);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            if !std::thread::panicking() {
                self.0.notify();
            }
        }
    }

    let bell = Arc::new(Bell(loom::sync::Notify::new()));
    let waker = Waker::from(bell.clone());
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => bell.0.wait(),
        }
    }
}

fn nobody() -> Error {
    Error::new(ErrorKind::NoActive, "east: down; west: down")
}

fn activate(owner: &mut Owner, name: &'static str) -> (Tally<&'static str>, Option<Leases>) {
    owner.activate(&name.into(), number(name), &name, || {})
}

fn number(name: &str) -> Generation {
    Generation(name.len() as u64 + u64::from(name.as_bytes()[0]))
}

/// Whose it is, after making sure that it is of one piece.
fn owner_of(lease: &Lease<&'static str>) -> &'static str {
    let name = *lease.connection();
    assert_eq!(lease.member().as_str(), name);
    assert_eq!(lease.generation(), number(name));
    name
}
