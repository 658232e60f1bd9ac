//! The traffic: tasks that read without a break, and what came of it.
//!
//! Every reader waits for its answer before it asks again, as most programs do. Nothing here knows of failover: that is
//! the point.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failover_core::memory::Client;
use tokio::task::JoinSet;

/// What was read since the last look.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    /// The first failure, in its own words.
    pub(crate) failure: Option<String>,
    /// The longest time in which no reader at all got an answer.
    pub(crate) gap: Duration,
    last: Instant,
}

impl Tally {
    fn since(last: Instant) -> Self {
        Self {
            ok: 0,
            failed: 0,
            failure: None,
            gap: Duration::ZERO,
            last,
        }
    }

    fn count(&mut self) {
        let now = Instant::now();
        self.gap = self.gap.max(now - self.last);
        self.last = now;
        self.ok += 1;
    }
}

/// Tasks that read until this is dropped.
pub(crate) struct Readers {
    seen: Arc<Mutex<Seen>>,
    _tasks: JoinSet<()>,
}

struct Seen {
    tally: Tally,
    /// The server that answered last.
    server: Option<String>,
}

impl Readers {
    pub(crate) fn start(client: &Client, count: usize) -> Self {
        let seen = Arc::new(Mutex::new(Seen {
            tally: Tally::since(Instant::now()),
            server: None,
        }));
        let tasks = (0..count).map(|_| read(client.clone(), seen.clone()));
        Self {
            _tasks: tasks.collect(),
            seen,
        }
    }

    /// What was read since the last call of this.
    pub(crate) fn take(&self) -> Tally {
        let tally = &mut lock(&self.seen).tally;
        let next = Tally::since(tally.last);
        std::mem::replace(tally, next)
    }

    /// The server that answered last.
    pub(crate) fn server(&self) -> Option<String> {
        lock(&self.seen).server.clone()
    }
}

async fn read(client: Client, seen: Arc<Mutex<Seen>>) {
    loop {
        let answer = client.get("name").await;
        let mut seen = lock(&seen);
        match answer {
            Ok(server) => {
                seen.tally.count();
                seen.server = server;
            }
            Err(error) => {
                seen.tally.failed += 1;
                let failure = &mut seen.tally.failure;
                failure.get_or_insert_with(|| error.to_string());
            }
        }
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
