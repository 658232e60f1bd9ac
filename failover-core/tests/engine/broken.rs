//! A bug inside the engine's own task, here brought about by a connection that panics when it is cloned: the group cannot
//! go on, but it ends as a group does, with nothing left and nobody waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use failover_core::Failover;
use failover_core::api::{Backend, Dial, Error, ErrorKind, Slot, async_trait};
use failover_core::config::{GroupConfig, NewMember};
use failover_core::event::EventKind;

use crate::bench::{after, secs, settle};

#[derive(Default)]
struct Shared {
    explode: AtomicBool,
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
