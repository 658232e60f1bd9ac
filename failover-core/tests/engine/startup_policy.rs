//! The gate beside the walk by weight: when a group may start at all.

use std::sync::Arc;

use failover_core::api::ErrorKind;
use failover_core::config::{NewMember, Startup, StartupPolicy, StartupTally, StartupVerdict};
use failover_core::memory::Method;
use tokio::time::Instant;

use crate::bench::{Setup, after, ms, pends, secs, settle};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// So many members, of which some refuse.
fn members(count: usize, policy: Startup, dead: &[&str]) -> Setup {
    let setup = Setup::new(&NAMES[..count]).rules(|rules| {
        rules.startup = policy;
        rules.member.health.probes = 1;
        rules.member.health.timeout = secs(60);
    });
    for name in dead {
        setup.server(name).kill();
    }
    setup
}

#[tokio::test(start_paused = true)]
async fn all_means_all() {
    // P12, P13
    let error = members(3, Startup::All, &["c"]).fails().await;
    assert_eq!(error.kind(), ErrorKind::Startup);
    assert!(error.to_string().contains("c is down"), "{error}");

    let setup = members(3, Startup::All, &[]);
    setup.server("b").set_unhealthy(Some("disk full"));
    let error = setup.fails().await;
    assert!(error.to_string().contains("disk full"), "{error}");

    let setup = members(3, Startup::All, &[]);
    setup.server("c").set_delay(Method::Check, secs(5));
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), secs(5));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn majority_is_more_than_half() {
    // P14, P17, P18
    for (count, dead, starts) in [
        (3, &["b"][..], true),
        (4, &["c", "d"], false),
        (2, &["b"], false),
        (2, &[], true),
    ] {
        let setup = members(count, Startup::Majority, dead);
        if starts {
            let group = setup.open().await;
            group.assert_active("a");
            group.end().await;
        } else {
            assert_eq!(setup.fails().await.kind(), ErrorKind::Startup);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn majority_is_decided_early_both_ways() {
    // P15: nobody waits for the two that hang.
    let setup = members(5, Startup::Majority, &[]);
    for name in ["d", "e"] {
        setup.server(name).set_delay(Method::Check, secs(30));
    }
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), ms(0));
    group.assert_active("a");
    group.end().await;

    // P16
    let setup = members(5, Startup::Majority, &["a", "b", "c"]);
    for name in ["d", "e"] {
        setup.server(name).set_delay(Method::Check, secs(30));
    }
    let began = Instant::now();
    setup.fails().await;
    assert_eq!(began.elapsed(), ms(0));
}

#[tokio::test(start_paused = true)]
async fn one_waits_for_whoever_is_pending() {
    // P19
    let setup = members(2, Startup::One, &["a"]);
    setup.server("b").set_delay(Method::Check, secs(7));
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), secs(7));
    group.assert_active("b");
    group.end().await;

    // P20
    members(3, Startup::One, &["a", "b", "c"]).fails().await;
}

#[tokio::test(start_paused = true)]
async fn lazy_returns_at_once_and_the_active_comes_when_it_comes() {
    // P31
    let setup = members(2, Startup::Lazy, &["a", "b"]);
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), ms(0));
    assert_eq!(group.active(), None);
    after(secs(3)).await;
    group.server("b").start();
    group.until_active("b", secs(6)).await;
    group.client().ping().await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn lazy_walks_by_weight_like_any_other() {
    // P31: the heaviest is waited for, and operations wait with it.
    let setup = members(2, Startup::Lazy, &[]);
    setup.server("a").set_delay(Method::Check, ms(300));
    let group = setup.open().await;
    after(ms(200)).await;
    assert_eq!(group.active(), None);
    let began = Instant::now();
    group.client().ping().await.unwrap();
    assert_eq!(began.elapsed(), ms(100));
    group.assert_active("a");
    group.end().await;
}

/// Two at least, whatever the total; it fails when that cannot be.
struct Two;

impl StartupPolicy for Two {
    fn decide(&self, tally: StartupTally) -> StartupVerdict {
        if tally.available >= 2 {
            StartupVerdict::Ready
        } else if tally.available + tally.pending() < 2 {
            StartupVerdict::Fail
        } else {
            StartupVerdict::Wait
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_ones_own_decides() {
    let setup = members(5, Startup::Custom(Arc::new(Two)), &["a", "c", "d"]);
    setup.server("e").set_delay(Method::Check, secs(4));
    let opening = pends(setup.open(), secs(3)).await;
    let group = opening.await;
    group.assert_active("b");
    group.end().await;

    let dead = ["a", "b", "c", "e"];
    let setup = members(5, Startup::Custom(Arc::new(Two)), &dead);
    let error = setup.fails().await;
    assert!(error.to_string().contains("custom"), "{error}");
}

struct Broken;

impl StartupPolicy for Broken {
    fn decide(&self, _: StartupTally) -> StartupVerdict {
        panic!("a policy may be wrong")
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_panics_fails_the_start_and_leaves_nothing() {
    let error = members(2, Startup::Custom(Arc::new(Broken)), &[])
        .fails()
        .await;
    assert_eq!(error.kind(), ErrorKind::Startup);
}

#[tokio::test(start_paused = true)]
async fn disabled_members_are_not_counted() {
    let setup = members(2, Startup::All, &[]);
    let off = NewMember::new("off", failover_core::memory::Settings::at("off"));
    let setup = setup.member(off.weight(9.0).enabled(false));
    let group = setup.open().await;
    settle().await;
    group.assert_active("a");
    assert_eq!(group.server("off").dials(), 0);
    group.end().await;
}
