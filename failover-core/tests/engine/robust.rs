//! Backends that panic, hang or dawdle: the member is treated as failed, and the group lives.

use std::cmp::Ordering;

use failover_core::api::{Candidate, ErrorKind, Pool, Role};
use failover_core::event::EventKind;
use failover_core::memory::Method;
use failover_core::status::Link;

use crate::bench::{Setup, after, ms, secs, settle};

#[tokio::test(start_paused = true)]
async fn a_connect_that_panics_is_a_member_that_cannot_be_connected() {
    let setup = Setup::new(&["a", "b"]);
    setup.server("a").set_panic(Method::Connect, true);
    let group = setup.open().await;
    group.assert_active("b");
    let panicked = |kind: &EventKind| {
        matches!(kind, EventKind::DialFailed { cause: Some(cause), .. }
            if cause.kind() == ErrorKind::Panicked && cause.operation() == Some("connect"))
    };
    assert!(group.count(panicked) >= 1, "{:#?}", group.told());
    group.server("a").set_panic(Method::Connect, false);
    after(secs(12)).await;
    assert_eq!(group.member("a").healthy, Some(true));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_start_in_which_every_member_panics_fails_in_words() {
    let setup = Setup::new(&["a", "b"]);
    for name in ["a", "b"] {
        setup.server(name).set_panic(Method::Prove, true);
    }
    let error = setup.fails().await;
    assert_eq!(error.kind(), ErrorKind::Startup);
    assert!(error.to_string().contains("panicked"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_proof_that_panics_costs_its_connection() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").set_panic(Method::Prove, true);
    let error = group.switch_to("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    group.assert_active("a");
    group.server("b").set_panic(Method::Prove, false);
    after(secs(12)).await;
    assert_eq!(group.link("b"), Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_arming_that_panics_or_hangs_is_tried_again_with_backoff() {
    for hangs in [true, false] {
        let setup = Setup::new(&["a", "b"]);
        let b = setup.server("b");
        if hangs {
            b.set_delay(Method::Arm, std::time::Duration::MAX);
        } else {
            b.set_panic(Method::Arm, true);
        }
        let group = setup.open().await;
        after(secs(60)).await;
        group.assert_active("a");
        assert_eq!(group.standbys(), Vec::<String>::new());
        assert!((5..25).contains(&b.dials()), "{} dials", b.dials());
        b.heal();
        after(secs(12)).await;
        assert_eq!(group.standbys(), ["b"]);
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_promotion_that_panics_is_a_promotion_that_failed() {
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("b").set_panic(Method::Promote, true);
    let error = group.switch_to("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    group.assert_active("a");
    // And in a failover the next one is taken.
    after(secs(1)).await;
    group.server("a").kill();
    settle().await;
    group.assert_active("c");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_panics_is_over() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_panic(Method::Drain, true);
    let lease = group.client().lease().await.unwrap();
    group.drain_to("b", secs(60)).await.unwrap();
    settle().await;
    let ended = group.count(|kind| matches!(kind, EventKind::DrainEnded { .. }));
    assert_eq!(ended, 1);
    drop(lease);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_retirement_that_panics_holds_nothing_up() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_panic(Method::Retire, true);
    group.server("a").kill();
    settle().await;
    group.assert_active("b");
    group.server("a").start();
    after(secs(12)).await;
    assert_eq!(group.link("a"), Link::Standby);
    // It is not the engine that leaks here: it asked once for each, and the close returns.
    group.failover.close().await;
    assert_eq!(group.server("a").unretired(), 2);
    assert_eq!(group.server("b").unretired(), 0);
}

#[derive(Clone, Copy)]
struct Careless;

impl Pool for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn compare(&self, _: Role, _: &Candidate, _: &Candidate) -> Ordering {
        panic!("a pool may be wrong")
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_panics_is_replaced_by_the_weights() {
    let group = Setup::new(&["a", "b", "c"])
        .rules(|rules| rules.pool = std::sync::Arc::new(Careless))
        .open_whole()
        .await;
    group.assert_active("a");
    group.server("a").kill();
    settle().await;
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_faults_leaves_a_group_that_works_and_ends() {
    // Everything at once, for long; what is pinned is the end.
    let names = ["a", "b", "c", "d"];
    for seed in 1..=12_u64 {
        let group = Setup::new(&names)
            .build(|builder| builder.seed(seed))
            .open()
            .await;
        let mut random = fastrand::Rng::with_seed(seed);
        for name in names {
            group.server(name).set_latency(ms(random.u64(0..8)));
        }
        for _ in 0..120 {
            let server = group.server(names[random.usize(0..4)]);
            match random.u8(0..14) {
                0 => server.kill(),
                1 => server.start(),
                2 => server.freeze(),
                3 => server.thaw(),
                4 => server.reset_connections(),
                5 => server.blackhole_connections(),
                6 => server.set_unhealthy(Some("storm")),
                7 => server.announce_lame_duck(),
                8 => server.set_read_only(random.bool()),
                9 => server.set_panic(Method::Check, random.bool()),
                10 => server.refuse_promotion(random.bool()),
                11 => {
                    let failover = group.failover.clone();
                    let to = server.at().to_owned();
                    tokio::spawn(async move { failover.drain_to(to, secs(1)).await });
                }
                12 => {
                    let client = group.client();
                    tokio::spawn(async move { client.incr("n").await });
                }
                _ => server.heal(),
            }
            after(ms(random.u64(0..700))).await;
        }
        for name in names {
            group.server(name).heal();
        }
        after(secs(200)).await;
        assert!(group.active().is_some(), "seed {seed}");
        assert!(
            !group.status().degraded,
            "seed {seed}: {:?}",
            group.status()
        );
        group.client().set("k", "v").await.unwrap();
        group.end().await;
    }
}
