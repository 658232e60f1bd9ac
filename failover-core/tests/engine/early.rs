//! What a connection says while it is still being dialled. It holds as soon as the connection is open, and is forgotten
//! with a dial that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use failover_core::Failover;
use failover_core::api::{Backend, Dial, Error, ErrorKind, Generation, Slot, async_trait};
use failover_core::config::{GroupConfig, NewMember, Startup};
use failover_core::event::EventKind;
use failover_core::status::Link;

use crate::bench::{after, ms, secs, settle};

/// What is said in the middle of a dial.
const NOTHING: u8 = 0;
const LAME_DUCK: u8 = 1;
const LOST: u8 = 2;

/// A backend whose dials take a tenth of a second, and say something halfway.
#[derive(Clone, Default)]
struct Chatty(Arc<AtomicU8>);

#[async_trait]
impl Backend for Chatty {
    type Settings = ();
    type Connection = ();
    type Client = Slot<()>;

    fn client(&self, slot: Slot<()>) -> Slot<()> {
        slot
    }

    async fn connect(&self, dial: Dial<'_, ()>) -> Result<(), Error> {
        after(ms(50)).await;
        match self.0.load(Ordering::Relaxed) {
            LAME_DUCK => dial.signals.lame_duck(),
            LOST => {
                let reason = Error::new(ErrorKind::Lost, "the socket ended meanwhile");
                dial.signals.lost(reason);
                // Once is enough: the next dial is well.
                self.0.store(NOTHING, Ordering::Relaxed);
            }
            _ => {}
        }
        after(ms(50)).await;
        Ok(())
    }

    async fn prove(&self, (): &()) -> Result<(), Error> {
        Ok(())
    }

    async fn retire(&self, (): ()) {}
}

async fn opened(says: u8) -> Failover<Chatty> {
    let backend = Chatty::default();
    backend.0.store(says, Ordering::Relaxed);
    let config = GroupConfig::builder()
        .rules(|rules| rules.startup = Startup::Lazy)
        .member(NewMember::new("a", ()))
        .build()
        .unwrap();
    Failover::builder()
        .seed(0)
        .open(backend, config)
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_announcement_during_a_dial_marks_the_member() {
    for (says, marked) in [(NOTHING, false), (LAME_DUCK, true)] {
        let group = opened(says).await;
        after(ms(90)).await;
        assert!(!group.status().members[0].lame_duck);
        after(ms(20)).await;
        let member = &group.status().members[0];
        assert_eq!((member.link, member.lame_duck), (Link::Active, marked));
        group.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ended_during_its_dial_is_dialled_again() {
    let group = opened(LOST).await;
    let mut events = group.events();
    after(ms(101)).await;
    assert_eq!(group.status().active, None);
    after(secs(1)).await;
    let status = group.status();
    assert_eq!(status.active, Some("a".into()));
    assert_eq!(status.members[0].generation, Some(Generation(2)));
    group.close().await;
    settle().await;
    let mut lost = 0;
    while let Some(event) = events.next().await {
        lost += usize::from(matches!(event.kind, EventKind::Lost { .. }));
    }
    assert_eq!(lost, 1);
}
