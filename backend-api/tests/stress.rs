//! Leases, moves, ticks and waiting by many threads at full speed, for a second.
//!
//! The models of `tests/loom` explore every order of a few steps on stand-ins; this is the other half: the real
//! primitives, the real stripes, millions of steps. What must hold is the same. Bounded by time and not by rounds, so that
//! a slow machine does less and not longer.

#![cfg(not(loom))]

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use backend_api::engine::{SlotOwner, Tally, signal_channel};
use backend_api::{Error, ErrorKind, Generation, Lease, Leases, Outcome, Slot};

const TIME: Duration = Duration::from_secs(1);
/// Nothing here takes as long as this unless it was forgotten.
const FORGOTTEN: Duration = Duration::from_secs(20);
const CLIENTS: usize = 4;
/// How many operations of one client overlap.
const OVERLAP: usize = 3;

/// What the clients know of one turn; it is the connection itself, so a lease leads to the right one or to the wrong one.
#[derive(Debug, Default)]
struct Served {
    held: AtomicI64,
    success: AtomicU64,
    failure: AtomicU64,
}

type Connection = Arc<Served>;

struct Turn {
    served: Connection,
    tally: Tally<Connection>,
    /// How many failures there were when the engine last looked.
    seen: u64,
}

impl Turn {
    fn served(&self) -> (u64, u64) {
        let success = self.served.success.load(Ordering::SeqCst);
        (success, self.served.failure.load(Ordering::SeqCst))
    }
}

fn nobody() -> Error {
    Error::new(ErrorKind::NoActive, "none")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// Ends an operation; the client's own books come first, so that the slot's may never show more.
fn finish(lease: Lease<Connection>, number: u64) {
    let served = lease.connection();
    let (counter, outcome) = match number % 4 {
        0 => (&served.failure, Outcome::Failure),
        _ => (&served.success, Outcome::Success),
    };
    counter.fetch_add(1, Ordering::SeqCst);
    served.held.fetch_sub(1, Ordering::SeqCst);
    lease.finish(outcome);
}

/// Overlapping operations until the slot is closed, waiting where there is no active. How many there were.
async fn operate(slot: Slot<Connection>) -> u64 {
    let (mut number, mut open) = (0, VecDeque::new());
    loop {
        match slot.lease().await {
            Ok(lease) => {
                lease.connection().held.fetch_add(1, Ordering::SeqCst);
                open.push_back(lease);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Closed, "nobody woke this client");
                break;
            }
        }
        if open.len() >= OVERLAP
            && let Some(oldest) = open.pop_front()
        {
            number += 1;
            finish(oldest, number);
        }
    }
    for lease in open {
        number += 1;
        finish(lease, number);
    }
    number
}

/// Waits for the end of every turn: then none of its leases is held.
fn drain_all(ending: &mpsc::Receiver<(Leases, Connection)>) -> usize {
    let mut drained = 0;
    for (leases, served) in ending {
        let ended = block_on(async { tokio::time::timeout(FORGOTTEN, leases.ended()).await });
        ended.expect("a drain that does not end");
        let held = served.held.load(Ordering::SeqCst);
        assert_eq!(held, 0, "a drain ended with leases outstanding");
        drained += 1;
    }
    drained
}

#[test]
fn nothing_is_lost_by_many_threads_over_many_moves() {
    let (mut owner, slot) = SlotOwner::new(FORGOTTEN, nobody());
    let (source, mut heard) = signal_channel::<()>();
    let (end, ending) = mpsc::channel();
    let drains = thread::spawn(move || drain_all(&ending));
    let clients = [(); CLIENTS].map(|()| {
        let slot = slot.clone();
        thread::spawn(move || block_on(operate(slot)))
    });
    drop(slot);

    let mut turns: Vec<Turn> = Vec::new();
    let mut listen = |turns: &mut Vec<Turn>| {
        while let Ok(heard) = heard.try_recv() {
            let (_, generation, _) = heard.take();
            let turn = &mut turns[usize::try_from(generation.0).expect("small")];
            turn.tally.listen();
            turn.seen = turn.served().1;
        }
    };
    let begun = Instant::now();
    while begun.elapsed() < TIME {
        let generation = Generation(turns.len() as u64);
        let signals = source.signals("member".into(), generation);
        let served = Connection::default();
        let (tally, before) = owner.activate(&"member".into(), generation, &served, move || {
            signals.suspect();
        });
        if let (Some(leases), Some(last)) = (before, turns.last()) {
            end.send((leases, last.served.clone())).expect("drains");
        }
        turns.push(Turn {
            served,
            tally,
            seen: 0,
        });
        for _ in 0..3 {
            thread::sleep(Duration::from_micros(100));
            owner.tick();
            listen(&mut turns);
            let now = turns.last().expect("one is active");
            let (success, failure) = now.tally.totals();
            let served = now.served();
            assert!(success <= served.0 && failure <= served.1, "counted twice");
        }
        if generation.0.is_multiple_of(5) {
            let leases = owner.clear(nobody()).expect("there is an active");
            let last = turns.last().expect("one was active").served.clone();
            end.send((leases, last)).expect("drains");
        }
    }
    let last = turns.last().map(|turn| turn.served.clone());
    if let (Some(leases), Some(last)) = (owner.close(), last) {
        end.send((leases, last)).expect("drains");
    }
    drop(end);

    let operations: u64 = clients.map(|client| client.join().unwrap()).iter().sum();
    assert_eq!(drains.join().unwrap(), turns.len(), "each turn ends once");
    listen(&mut turns);
    for turn in &turns {
        assert_eq!(turn.tally.totals(), turn.served(), "lost or misplaced");
        assert_eq!(turn.seen, turn.served().1, "a failure nobody looked at");
    }
    let counted = turns.iter().map(|turn| turn.tally.totals());
    let counted: u64 = counted.map(|(success, failure)| success + failure).sum();
    assert_eq!(counted, operations);
    // Otherwise it was idle and has shown nothing.
    assert!(turns.len() > 10 && operations > 1_000, "too little done");
}
