//! What one lease costs, beside the obvious way, in one run: alternating, so that a noisy machine is noisy for both.
//!
//! The obvious way counts operations on the connection itself: load the pointer, count up, look again (the slot may
//! have moved between), use it, count the outcome, count down. Ours is [`backend_api::Slot::try_lease`] with its outcome
//! recorded. Both keep a number of leases outstanding per thread, as a client with that many operations in flight does.
//! That a lease allocates nothing is a test of `backend-api` (`tests/hot_path.rs`).
//!
//! `cargo bench -p failover-core --bench lease` prints ns per lease and the ratio of the medians; with `-- --json` as one JSON
//! object, by threads and by leases outstanding. `-- --rounds N` changes how often each is measured.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use backend_api::engine::SlotOwner;
use backend_api::{Error, ErrorKind, Generation, Lease, Outcome, Slot};

/// What a client's connection is, as far as cost goes: something shared.
type Connection = Arc<u64>;

/// Unless `--rounds` says otherwise.
const ROUNDS: usize = 15;
const LEASES: usize = 400_000;

/// The obvious way.
struct Counted {
    connection: Connection,
    outstanding: AtomicUsize,
    success: AtomicU64,
}

struct Obvious {
    active: ArcSwapOption<Counted>,
}

struct ObviousLease(Arc<Counted>);

impl Obvious {
    fn lease(&self) -> Option<ObviousLease> {
        loop {
            let active = self.active.load_full()?;
            active.outstanding.fetch_add(1, Ordering::SeqCst);
            // Moved in between: whoever drains it may not have seen the count.
            let again = self.active.load();
            if again.as_ref().is_some_and(|now| Arc::ptr_eq(now, &active)) {
                return Some(ObviousLease(active));
            }
            active.outstanding.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl ObviousLease {
    fn finish(self) {
        self.0.success.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for ObviousLease {
    fn drop(&mut self) {
        self.0.outstanding.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Keeps `outstanding` leases in flight: each step takes one and finishes the oldest.
fn turn<L>(outstanding: usize, lease: impl Fn() -> L, finish: impl Fn(L)) -> Duration {
    let mut held: VecDeque<L> = VecDeque::with_capacity(outstanding + 1);
    let begun = Instant::now();
    for _ in 0..LEASES {
        held.push_back(lease());
        if held.len() >= outstanding
            && let Some(oldest) = held.pop_front()
        {
            finish(oldest);
        }
    }
    let took = begun.elapsed();
    held.into_iter().for_each(finish);
    took
}

fn ours(slot: &Slot<Connection>, outstanding: usize) -> Duration {
    turn(
        outstanding,
        || {
            let lease = slot.try_lease().expect("there is an active");
            black_box(lease.connection());
            lease
        },
        |lease: Lease<Connection>| lease.finish(Outcome::Success),
    )
}

fn obvious(slot: &Obvious, outstanding: usize) -> Duration {
    turn(
        outstanding,
        || {
            let lease = slot.lease().expect("there is an active");
            black_box(&lease.0.connection);
            lease
        },
        ObviousLease::finish,
    )
}

/// The mean time of a lease while `threads` threads do the same.
fn on_threads(threads: usize, work: impl Fn() -> Duration + Sync) -> f64 {
    let total: Duration = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("a bench thread"))
            .sum()
    });
    total.as_secs_f64() * 1e9 / (threads * LEASES) as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let nobody = Error::new(ErrorKind::NoActive, "none");
    let (mut owner, slot) = SlotOwner::new(Duration::ZERO, nobody);
    let connection: Connection = Arc::new(7);
    owner.set_overdue(4);
    owner.activate(&"east".into(), Generation(1), &connection, || {});
    let other = Obvious {
        active: ArcSwapOption::from_pointee(Counted {
            connection,
            outstanding: AtomicUsize::new(0),
            success: AtomicU64::new(0),
        }),
    };
    let arguments: Vec<String> = std::env::args().collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let rounds = arguments.iter().position(|argument| argument == "--rounds");
    let rounds = rounds.map_or(ROUNDS, |at| {
        let number = arguments.get(at + 1).and_then(|number| number.parse().ok());
        number.expect("--rounds needs a number")
    });
    if !json {
        println!("threads  outstanding  obvious ns  lease ns  ratio   target");
    }
    let mut all = serde_json::json!({});
    for threads in [1, 2] {
        for outstanding in [1, 64, 512] {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                a.push(on_threads(threads, || obvious(&other, outstanding)));
                b.push(on_threads(threads, || ours(&slot, outstanding)));
            }
            let (a, b) = (median(a), median(b));
            all[threads.to_string()][outstanding.to_string()] =
                serde_json::json!({ "obvious_ns": a, "lease_ns": b, "ratio": b / a });
            let target = if threads == 1 { 0.7 } else { 0.35 };
            if !json {
                println!(
                    "{threads:>7}  {outstanding:>11}  {a:>10.1}  {b:>8.1}  {:>5.2}   {target:>6.2}",
                    b / a
                );
            }
        }
    }
    if json {
        println!("{all}");
    }
}
