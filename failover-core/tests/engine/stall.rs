//! A process that was itself stopped for a while condemns nobody.
//!
//! Virtual time that jumps over many deadlines at once is exactly that: everything is late, and nobody is to blame.

use failover_core::event::EventKind;
use failover_core::status::Link;
use tokio::time::advance;

use crate::bench::{Group, Setup, after, ms, secs, settle};

fn stalls(group: &Group) -> usize {
    group.count(|kind| matches!(kind, EventKind::Stalled))
}

fn whole(group: &Group, names: &[&str]) {
    assert!(stalls(group) >= 1);
    assert_eq!(group.moves(), []);
    for name in names {
        assert_eq!(group.server(name).connections_ever(), 1, "{name}");
        assert_eq!(group.member(name).healthy, Some(true), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn checks_that_time_out_in_a_stall_condemn_nobody() {
    // P138: every member's check is under way when the process stops.
    let names = ["a", "b", "c"];
    let group = Setup::new(&names).open_whole().await;
    for name in names {
        group.server(name).set_latency(ms(20));
    }
    for pause in [1, 10, 300] {
        after(ms(5003)).await;
        advance(secs(pause)).await;
        after(secs(3)).await;
        whole(&group, &names);
    }
    let unhealthy = group.count(|kind| matches!(kind, EventKind::HealthChanged { .. }));
    assert_eq!(unhealthy, 0, "{:#?}", group.told());
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_proof_that_times_out_in_a_stall_is_asked_again() {
    // P138
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").set_latency(ms(20));
    let failover = group.failover.clone();
    let switching = tokio::spawn(async move { failover.switch_to("b").await });
    after(ms(5)).await;
    advance(secs(30)).await;
    let moved = switching.await.unwrap().unwrap();
    assert_eq!(moved.to.unwrap(), "b");
    assert_eq!(group.server("b").connections_ever(), 1);
    assert!(stalls(&group) >= 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn operations_that_time_out_in_a_stall_open_no_breaker() {
    // P138
    let names = ["a", "b"];
    let group = Setup::new(&names).open_whole().await;
    group.server("a").set_latency(ms(20));
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let client = group.client();
            tokio::spawn(async move { client.incr("n").await })
        })
        .collect();
    after(ms(5)).await;
    advance(secs(30)).await;
    for call in calls {
        let _ = call.await.unwrap();
    }
    after(secs(1)).await;
    assert!(!group.member("a").breaker_open);
    whole(&group, &names);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_times_out_in_a_stall_is_no_blame_that_stays() {
    // P138
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").kill();
    settle().await;
    group.server("b").set_latency(ms(20));
    group.server("b").start();
    let mut waited = 0;
    while group.link("b") != Link::Connecting {
        after(ms(1)).await;
        waited += 1;
        assert!(waited < 20_000);
    }
    advance(secs(30)).await;
    after(secs(3)).await;
    assert_eq!(group.link("b"), Link::Standby);
    assert_eq!(group.moves(), []);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_died_during_the_stall_is_found_after_it() {
    // P138: a stall is no excuse for ever.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    after(ms(500)).await;
    group.server("a").freeze();
    advance(secs(30)).await;
    let took = group.until_active("b", secs(5)).await;
    assert!(took <= secs(3), "{took:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn time_that_merely_passes_is_no_stall() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    after(secs(600)).await;
    assert_eq!(stalls(&group), 0);
    group.end().await;
}
