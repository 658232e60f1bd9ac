//! The breaker, from the outcome of an operation to the move of the traffic.

use failover_core::api::Outcome;
use failover_core::event::{EventKind, Kind, Reason};

use crate::bench::{Group, Setup, after, moved, ms, pends, secs, settle};

fn breakers(group: &Group) -> Vec<(String, bool)> {
    let changes = group.told().into_iter().filter_map(|kind| match kind {
        EventKind::BreakerChanged { member, open } => Some((member.to_string(), open)),
        _ => None,
    });
    changes.collect()
}

async fn fail(group: &Group, count: usize) {
    for _ in 0..count {
        group.client().get("k").await.unwrap_err();
    }
}

/// Longer than a sample takes to be seen.
const SAMPLED: u64 = 260;

#[tokio::test(start_paused = true)]
async fn failing_operations_move_the_traffic_although_checks_pass() {
    // P41, P44
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").fail_operations(true);
    fail(&group, 9).await;
    after(ms(SAMPLED)).await;
    assert_eq!(group.moves(), []);
    fail(&group, 1).await;
    after(ms(SAMPLED)).await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Breaker, Kind::Steal)]
    );
    assert_eq!(group.member("a").healthy, Some(true));
    assert!(group.member("a").breaker_open);
    // P91
    assert!(!group.member("b").breaker_open);
    assert_eq!(breakers(&group), [("a".to_owned(), true)]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_share_of_failures_below_the_rate_opens_nothing() {
    // P80
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for _ in 0..30 {
        group.client().get("k").await.unwrap();
    }
    group.server("a").fail_operations(true);
    fail(&group, 20).await;
    after(ms(SAMPLED)).await;
    assert_eq!(group.moves(), []);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn it_closes_at_the_end_of_grace_and_only_with_passing_checks() {
    // P72, P93
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").fail_operations(true);
    fail(&group, 10).await;
    group.until_active("b", secs(1)).await;
    group.server("a").fail_operations(false);
    group.server("a").set_unhealthy(Some("not yet"));
    after(secs(90)).await;
    assert!(group.member("a").breaker_open);
    group.server("a").set_unhealthy(None);
    after(secs(2)).await;
    assert!(!group.member("a").breaker_open);
    // P86: one event each way, however often it failed.
    assert_eq!(
        breakers(&group),
        [("a".to_owned(), true), ("a".to_owned(), false)]
    );
    after(secs(12)).await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn it_does_not_close_before_the_end_of_grace() {
    // P72
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").fail_operations(true);
    fail(&group, 10).await;
    group.until_active("b", secs(1)).await;
    group.server("a").fail_operations(false);
    after(secs(59)).await;
    assert!(group.member("a").breaker_open);
    after(secs(2)).await;
    assert!(!group.member("a").breaker_open);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn with_grace_zero_a_broken_member_still_recovers() {
    // P71
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.failback.grace = ms(0))
        .open_whole()
        .await;
    group.server("a").fail_operations(true);
    fail(&group, 10).await;
    group.until_active("b", secs(1)).await;
    group.server("a").fail_operations(false);
    after(secs(3)).await;
    assert!(!group.member("a").breaker_open);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn with_nowhere_to_go_a_broken_active_stays_and_recovers() {
    // P55
    let group = Setup::new(&["a"]).open_whole().await;
    group.server("a").fail_operations(true);
    fail(&group, 100).await;
    after(secs(5)).await;
    assert!(group.member("a").breaker_open);
    group.assert_active("a");
    group.server("a").fail_operations(false);
    group.client().set("k", "v").await.unwrap();
    after(secs(62)).await;
    assert!(!group.member("a").breaker_open);
    assert_eq!(group.server("a").connections_ever(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn every_attempt_counts_for_the_member_that_made_it_fail() {
    // P48: one call, which fails on `a`, goes on to `b` and fails there too.
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.unavailable_wait = secs(3))
        .open_whole()
        .await;
    group.server("a").swallow_answers(true);
    group.server("b").set("k", "v");
    let client = group.client();
    let calling = pends(client.get("k"), ms(10)).await;
    // It has gone out on `a`; its time ends with a proof that fails, and the traffic goes to `b`.
    group.server("b").fail_next_operations(1);
    calling.await.unwrap_err();
    after(ms(SAMPLED)).await;
    assert_eq!(group.member("a").operations.failure, 1);
    assert_eq!(group.member("b").operations.failure, 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn neutral_and_cancelled_operations_count_for_nothing() {
    // P87, P92
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for _ in 0..50 {
        drop(group.client().lease().await.unwrap());
        let lease = group.client().lease().await.unwrap();
        lease.finish(Outcome::Neutral);
    }
    group.server("a").set_latency(ms(50));
    for _ in 0..50 {
        let client = group.client();
        drop(pends(client.get("k"), ms(1)).await);
    }
    after(ms(SAMPLED)).await;
    let counted = group.member("a").operations;
    assert_eq!((counted.success, counted.failure), (0, 0));
    assert_eq!(breakers(&group), []);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn late_results_of_an_older_connection_are_ignored() {
    // P88
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let mut leases = Vec::new();
    for _ in 0..50 {
        leases.push(group.client().lease().await.unwrap());
    }
    group.server("a").reset_connections();
    settle().await;
    group.assert_active("a");
    for lease in leases {
        lease.finish(Outcome::Failure);
    }
    after(ms(SAMPLED)).await;
    assert_eq!(breakers(&group), []);
    // They are no secret, all the same.
    assert_eq!(group.member("a").operations.failure, 50);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_breaker_of_a_member_that_drains_opens_too() {
    // P93: it is the member that is broken, active or not.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let mut leases = Vec::new();
    for _ in 0..20 {
        leases.push(group.client().lease().await.unwrap());
    }
    group.drain_to("b", secs(10)).await.unwrap();
    for lease in leases.drain(1..) {
        lease.finish(Outcome::Failure);
    }
    after(ms(SAMPLED)).await;
    assert_eq!(breakers(&group), [("a".to_owned(), true)]);
    group.assert_active("b");
    drop(leases);
    after(secs(62)).await;
    assert!(!group.member("a").breaker_open);
    assert_eq!(group.standbys(), ["a"]);
    group.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn counts_are_exact_under_concurrency() {
    // P90: with switches under way all the time.
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.member.breaker.min_failures = u32::MAX)
        .open()
        .await;
    let tasks = (0..8_u64).map(|index| {
        let client = group.client();
        tokio::spawn(async move {
            let mut done = (0, 0);
            for round in 0..3000_u64 {
                let lease = client.lease().await.unwrap();
                if (round + index) % 3 == 0 {
                    lease.finish(Outcome::Failure);
                    done.1 += 1;
                } else {
                    lease.finish(Outcome::Success);
                    done.0 += 1;
                }
                if round % 64 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            done
        })
    });
    let tasks: Vec<_> = tasks.collect();
    for _ in 0..10 {
        let _ = group.switch_to_passive().await;
        tokio::task::yield_now().await;
    }
    let mut expected = (0, 0);
    for task in tasks {
        let (success, failure) = task.await.unwrap();
        expected.0 += success;
        expected.1 += failure;
    }
    let mut counted = (0, 0);
    let seen = async {
        while counted != expected {
            tokio::task::yield_now().await;
            let members = group.status().members;
            counted = members.iter().fold((0, 0), |sum, member| {
                let operations = member.operations;
                (sum.0 + operations.success, sum.1 + operations.failure)
            });
            assert!(counted.0 <= expected.0 && counted.1 <= expected.1);
        }
    };
    let in_time = tokio::time::timeout(secs(5), seen).await;
    assert!(in_time.is_ok(), "{counted:?} of {expected:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn every_transition_counts_anew() {
    // P85: the window is so long that nothing is forgotten by age.
    let group = Setup::new(&["a"])
        .rules(|rules| rules.member.breaker.window = secs(3600))
        .open_whole()
        .await;
    group.server("a").fail_operations(true);
    fail(&group, 10).await;
    after(ms(SAMPLED)).await;
    assert!(group.member("a").breaker_open);
    after(secs(62)).await;
    assert!(!group.member("a").breaker_open);
    fail(&group, 9).await;
    after(ms(SAMPLED)).await;
    assert!(!group.member("a").breaker_open);
    fail(&group, 1).await;
    after(ms(SAMPLED)).await;
    assert!(group.member("a").breaker_open);
    assert_eq!(breakers(&group).len(), 3);
    group.end().await;
}
