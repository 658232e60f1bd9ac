//! Backends at the edge of what they may do, for which the embedded one is too well-behaved.
//!
//! A connection that panics when it is cloned stands for a bug inside the engine's own task: the group cannot go on, but
//! it ends as a group does, with nothing left and nobody waiting. A dial that cannot be cut off succeeds when its group
//! is gone already.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use failover_core::Failover;
use failover_core::api::{Backend, Dial, Error, ErrorKind, Slot, async_trait};
use failover_core::config::{GroupConfig, NewMember, Startup};
use failover_core::event::EventKind;

use crate::bench::{after, secs, settle};

#[derive(Default)]
struct Shared {
    explode: AtomicBool,
    /// While it is held, dials block their thread.
    gate: Mutex<()>,
    /// A dial has begun.
    dialling: AtomicBool,
    open: AtomicUsize,
    retired: AtomicUsize,
}

struct Fragile(Arc<Shared>);

impl Clone for Fragile {
    fn clone(&self) -> Self {
        assert!(!self.0.explode.load(Ordering::Relaxed), "it broke");
        Self(self.0.clone())
    }
}

struct Brittle(Arc<Shared>);

#[async_trait]
impl Backend for Brittle {
    type Settings = ();
    type Connection = Fragile;
    type Client = Slot<Fragile>;

    fn client(&self, slot: Slot<Fragile>) -> Slot<Fragile> {
        slot
    }

    async fn connect(&self, _: Dial<'_, ()>) -> Result<Fragile, Error> {
        self.0.dialling.store(true, Ordering::Release);
        drop(self.0.gate.lock().unwrap());
        self.0.open.fetch_add(1, Ordering::Relaxed);
        Ok(Fragile(self.0.clone()))
    }

    async fn prove(&self, _: &Fragile) -> Result<(), Error> {
        Ok(())
    }

    async fn retire(&self, connection: Fragile) {
        connection.0.retired.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_bug_in_the_engine_closes_the_group_cleanly() {
    let shared = Arc::new(Shared::default());
    let members = ["a", "b", "c"].map(|name| NewMember::new(name, ()));
    let group = Failover::builder()
        .seed(0)
        .open(Brittle(shared.clone()), GroupConfig::new(members).unwrap())
        .await
        .unwrap();
    settle().await;
    let mut events = group.events();
    let client = group.client();
    client.lease().await.unwrap();
    // The next check clones the connection, in the engine's task.
    shared.explode.store(true, Ordering::Relaxed);
    after(secs(2)).await;
    let error = client.lease().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    let error = group.switch_to("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    group.close().await;
    assert_eq!(shared.open.load(Ordering::Relaxed), 3);
    assert_eq!(shared.retired.load(Ordering::Relaxed), 3);
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event.kind);
    }
    assert!(matches!(last, Some(EventKind::Closed)), "{last:?}");
    let tasks = tokio::runtime::Handle::current().metrics();
    assert_eq!(tasks.num_alive_tasks(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_dial_that_could_not_be_cut_off_is_retired_by_the_close() {
    // P118: it is given up, and comes back all the same after the last decision.
    let shared = Arc::new(Shared::default());
    let config = GroupConfig::builder()
        .rules(|rules| rules.startup = Startup::Lazy)
        .member(NewMember::new("a", ()))
        .build()
        .unwrap();
    let group = {
        let gate = shared.gate.lock().unwrap();
        let shared = shared.clone();
        let runtime = tokio::runtime::Handle::current();
        std::thread::scope(|scope| {
            let opened = scope.spawn(|| {
                runtime.block_on(async {
                    let backend = Brittle(shared.clone());
                    let group = Failover::builder().open(backend, config).await.unwrap();
                    // Closed before its task has begun, a dial is cut off like any other.
                    while !shared.dialling.load(Ordering::Acquire) {
                        tokio::task::yield_now().await;
                    }
                    let closing = group.clone();
                    tokio::spawn(async move { closing.close().await });
                    // The engine has decided to close once operations fail for good.
                    while group.client().lease().await.unwrap_err().kind() != ErrorKind::Closed {}
                    group
                })
            });
            let group = opened.join().unwrap();
            drop(gate);
            group
        })
    };
    // Again is no error, and waits for the same end.
    group.close().await;
    assert_eq!(shared.open.load(Ordering::Relaxed), 1);
    assert_eq!(shared.retired.load(Ordering::Relaxed), 1);
}
