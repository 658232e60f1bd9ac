//! Operations while there is no active, and the way out of a whole outage.

use failover_core::api::{ErrorKind, Fate};
use failover_core::event::EventKind;
use tokio::time::Instant;

use crate::bench::{Group, Setup, after, ms, pends, secs, settle};

fn attempts(group: &Group) -> Vec<u32> {
    let attempts = group.told().into_iter().filter_map(|kind| match kind {
        EventKind::AllMembersDown { attempt } => Some(attempt),
        _ => None,
    });
    attempts.collect()
}

#[tokio::test(start_paused = true)]
async fn an_operation_waits_and_then_names_the_members() {
    // P100
    let group = Setup::new(&["east", "west"]).open_whole().await;
    group.server("east").kill();
    group.server("west").kill();
    settle().await;
    let began = Instant::now();
    let error = group.client().set("k", "v").await.unwrap_err();
    assert_eq!(began.elapsed(), secs(1));
    assert_eq!(error.kind(), ErrorKind::NoActive);
    assert_eq!(error.fate(), Some(Fate::NotApplied));
    let text = error.to_string();
    for part in ["east: ", "east is down", "west: ", "west is down"] {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_wait_it_fails_at_once() {
    // P101
    let group = Setup::new(&["a"])
        .rules(|rules| rules.unavailable_wait = ms(0))
        .open_whole()
        .await;
    group.server("a").kill();
    settle().await;
    let began = Instant::now();
    let error = group.client().get("k").await.unwrap_err();
    assert_eq!(began.elapsed(), ms(0));
    assert_eq!(error.kind(), ErrorKind::NoActive);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_read_on_a_slow_member_waits_no_longer_than_its_proof_may_take() {
    let group = Setup::new(&["a", "b"])
        .rules(|rules| {
            rules.member.timeouts.operation = ms(50);
            rules.unavailable_wait = secs(5);
        })
        .open_whole()
        .await;
    group.server("a").set_latency(ms(200));
    let began = Instant::now();
    let error = group.client().get("k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(began.elapsed(), ms(50 + 500 + 100));
    group.assert_active("a");
    // The same patience is enough where the member is gone.
    group.server("a").freeze();
    assert_eq!(group.client().get("k").await.unwrap(), None);
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_operation_goes_on_when_a_member_is_back() {
    // P102
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.unavailable_wait = secs(60))
        .open_whole()
        .await;
    group.server("a").kill();
    group.server("b").kill();
    settle().await;
    let client = group.client();
    let waiting = pends(client.set("k", "v"), secs(30)).await;
    group.server("b").start();
    waiting.await.unwrap();
    assert_eq!(group.server("b").get("k").as_deref(), Some("v"));
    group.server("a").start();
    after(secs(12)).await;
    assert!(!group.status().degraded);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn attempts_are_counted_and_the_count_starts_anew() {
    // P103
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for _ in 0..2 {
        group.hush();
        group.server("a").kill();
        group.server("b").kill();
        after(secs(5)).await;
        let counted = attempts(&group);
        let expected: Vec<u32> = (1..=u32::try_from(counted.len()).unwrap()).collect();
        assert!(counted.len() > 3, "{counted:?}");
        assert_eq!(counted, expected);
        assert_eq!(group.status().attempts, expected.len() as u32);
        group.server("a").start();
        group.server("b").start();
        after(secs(25)).await;
        assert_eq!(group.status().attempts, 0);
        assert!(!group.status().degraded);
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn two_triggers_are_one_retry() {
    // P104: the loss, and a hundred operations that stumble over it, dial the member once.
    let group = Setup::new(&["a"]).open_whole().await;
    group.server("a").set_latency(ms(5));
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let client = group.client();
            tokio::spawn(async move { client.get("k").await })
        })
        .collect();
    after(ms(2)).await;
    group.server("a").reset_connections();
    after(ms(2)).await;
    assert_eq!(group.server("a").dials(), 2);
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(group.server("a").dials(), 2);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_group_says_once_that_it_is_degraded_and_once_that_it_is_whole() {
    // N42
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").kill();
    after(secs(30)).await;
    let degraded = |group: &Group| group.count(|kind| matches!(kind, EventKind::Degraded));
    let whole = |group: &Group| group.count(|kind| matches!(kind, EventKind::WholeAgain));
    assert_eq!((degraded(&group), whole(&group)), (1, 0));
    assert!(group.status().degraded);
    group.server("a").kill();
    after(secs(30)).await;
    assert_eq!((degraded(&group), whole(&group)), (1, 0));
    group.server("a").start();
    after(secs(11)).await;
    assert!(group.active().is_some());
    assert_eq!((degraded(&group), whole(&group)), (1, 0));
    group.server("b").start();
    after(secs(11)).await;
    assert_eq!((degraded(&group), whole(&group)), (1, 1));
    group.end().await;
}
