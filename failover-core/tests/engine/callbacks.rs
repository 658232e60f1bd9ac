//! Those who listen: slow ones, careless ones, and ones that call back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use failover_core::Failover;
use failover_core::event::EventKind;
use failover_core::memory::Memory;

use crate::bench::{Setup, after, ms, secs, settle};

#[tokio::test(start_paused = true)]
async fn a_callback_that_panics_harms_nothing() {
    // P119: not the group, not other callbacks, and not its own next calls.
    let called = Arc::new(AtomicUsize::new(0));
    let counter = called.clone();
    let group = Setup::new(&["a", "b"])
        .build(|builder| {
            builder.on_event(move |_| {
                counter.fetch_add(1, Ordering::Relaxed);
                panic!("a callback may be wrong");
            })
        })
        .open_whole()
        .await;
    group.server("a").kill();
    settle().await;
    group.assert_active("b");
    after(secs(1)).await;
    let told = group.told().len();
    assert!(told > 5);
    assert_eq!(called.load(Ordering::Relaxed), told);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_callback_may_call_control_operations() {
    // P119: it moves the traffic whenever a member becomes healthy again, and closes the group at last.
    let handle: Arc<OnceLock<Failover<Memory>>> = Arc::default();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let (own, write) = (handle.clone(), answers.clone());
    let group = Setup::new(&["a", "b"])
        .build(|builder| {
            builder.on_event(move |event| {
                let Some(failover) = own.get().cloned() else {
                    return;
                };
                let write = write.clone();
                let kind = event.kind.clone();
                // Looking needs no waiting at all.
                let _ = failover.status();
                tokio::spawn(async move {
                    match kind {
                        EventKind::HealthChanged { healthy: true, .. } => {
                            let answer = failover.switch_to("b").await;
                            write.lock().unwrap().push(answer.is_ok());
                        }
                        EventKind::Switched { .. } => failover.close().await,
                        _ => {}
                    }
                });
            })
        })
        .open_whole()
        .await;
    handle.set(group.failover.clone()).unwrap();
    group.server("b").set_unhealthy(Some("for a while"));
    after(secs(2)).await;
    group.server("b").set_unhealthy(None);
    after(secs(3)).await;
    assert_eq!(*answers.lock().unwrap(), [true]);
    assert!(group.client().ping().await.is_err());
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_never_reads_costs_bounded_memory_and_hears_what_it_missed() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let mut idle = group.events();
    group.hush();
    while group.told().len() < 3000 {
        group.switch_to_passive().await.unwrap();
        settle().await;
    }
    group.failover.close().await;
    let told = group.told().len();
    let first = idle.next().await.unwrap();
    let EventKind::Missed { count } = first.kind else {
        panic!("{first:?}");
    };
    assert_eq!(&*first.group, group.name());
    let mut kept = 0;
    while idle.next().await.is_some() {
        kept += 1;
    }
    assert_eq!(kept, 1024);
    assert_eq!(usize::try_from(count).unwrap() + kept, told);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn events_are_in_order_and_carry_group_and_time() {
    let group = Setup::new(&["a", "b"])
        .rules(|rules| "sessions".clone_into(&mut rules.name))
        .open_whole()
        .await;
    let mut events = group.events();
    after(ms(49)).await;
    group.server("a").kill();
    settle().await;
    let lost = events.next().await.unwrap();
    assert_eq!(&*lost.group, "sessions");
    assert_eq!(lost.at, ms(50));
    let text = serde_json::to_string(&lost).unwrap();
    assert_eq!(
        text,
        r#"{"group":"sessions","at_ms":50.0,"event":"lost","member":"a","generation":1,"cause":"a: the server was killed"}"#
    );
    group.end().await;
}
