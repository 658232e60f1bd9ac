//! What operators ask for: every call is answered once, and a move is whole or not at all.

use failover_core::api::{ErrorKind, Fate};
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::Method;
use failover_core::status::Link;
use tokio::time::Instant;

use crate::bench::{Setup, after, moved, ms, pends, secs, settle};

#[tokio::test(start_paused = true)]
async fn a_switch_to_an_unknown_member_names_those_there_are() {
    // P105
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let error = group.switch_to("c").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownMember);
    assert_eq!(error.member().unwrap(), &"c");
    assert!(error.message().contains("a, b"), "{error}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_unhealthy_target_is_refused_unless_forced() {
    // P106
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").set_unhealthy(Some("disk full"));
    after(secs(2)).await;
    let error = group.switch_to("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotEligible);
    group.assert_active("a");
    assert_eq!(group.moves(), []);
    group.force_switch_to("b").await.unwrap();
    // What the operator knew does not move the traffic back.
    after(secs(30)).await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Manual, Kind::Steal)]
    );
    // Once it was well, it is an active like any other.
    group.server("b").set_unhealthy(None);
    after(secs(2)).await;
    group.server("b").set_unhealthy(Some("again"));
    after(secs(2)).await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn force_still_takes_a_proof_and_never_a_replica() {
    // P106
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").set_read_only(true);
    after(secs(2)).await;
    group.force_switch_to("b").await.unwrap_err();
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_switch_to_the_active_does_nothing() {
    // P107
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let told = group.told().len();
    let nowhere = group.switch_to("a").await.unwrap();
    assert_eq!((nowhere.from, nowhere.to), (None, None));
    settle().await;
    assert_eq!(group.told().len(), told);
    assert_eq!(group.server("a").promoted(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn there_and_back_again() {
    // P108
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for _ in 0..20 {
        for (to, key) in [("b", "x"), ("a", "y")] {
            group.switch_to(to).await.unwrap();
            group.client().set(key, to).await.unwrap();
            assert_eq!(group.server(to).get(key).as_deref(), Some(to));
            settle().await;
        }
    }
    assert_eq!(group.moves().len(), 40);
    // Each is the same connection all along: drained, a standby, promoted.
    assert_eq!(group.server("a").connections_ever(), 1);
    assert_eq!(group.server("b").connections_ever(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn concurrent_switches_are_each_answered() {
    // P109
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    for name in ["a", "b", "c"] {
        group.server(name).set_latency(ms(3));
    }
    let calls = (0..30).map(|index| {
        let failover = group.failover.clone();
        let to = ["b", "c", "a"][index % 3];
        tokio::spawn(async move { (to, failover.switch_to(to).await) })
    });
    let calls: Vec<_> = calls.collect();
    let mut whole = 0;
    for call in calls {
        let (to, answer) = call.await.unwrap();
        match answer {
            Ok(moved) => {
                whole += usize::from(moved.to.is_some());
                assert!(moved.to.is_none_or(|name| name == to));
            }
            // One that is on its way out at that moment cannot be the target.
            Err(error) => assert_eq!(error.kind(), ErrorKind::NotEligible, "{error}"),
        }
    }
    after(secs(1)).await;
    assert_eq!(group.moves().len(), whole);
    let members = group.status().members;
    let active = members.iter().filter(|one| one.link == Link::Active);
    assert_eq!(active.count(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_gives_up_leaves_a_whole_move_or_none() {
    // P110: at every moment of it.
    for millis in 0..=14 {
        let group = Setup::new(&["a", "b"]).open_whole().await;
        group.server("b").set_latency(ms(5));
        let calling = group.switch_to("b");
        let _ = tokio::time::timeout(ms(millis), calling).await;
        after(secs(1)).await;
        group.assert_active("b");
        assert_eq!(group.standbys(), ["a"]);
        group.client().set("k", "v").await.unwrap();
        assert_eq!(group.server("b").get("k").as_deref(), Some("v"));
        assert_eq!(group.moves().len(), 1);
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_promotion_changes_nothing() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").refuse_promotion(true);
    let error = group.switch_to("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("refuses to be promoted"), "{source}");
    settle().await;
    group.assert_active("a");
    assert_eq!(group.server("a").connections_ever(), 1);
    // The one that could not be promoted was retired, and a fresh one stands by.
    assert_eq!(group.server("b").retired(), 1);
    after(secs(1)).await;
    assert_eq!(group.standbys(), ["b"]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn with_one_standby_a_cold_target_is_dialled_for_the_move() {
    let group = Setup::new(&["a", "b", "c"])
        .rules(|rules| {
            rules.standby = failover_core::config::Standby::Count(1);
        })
        .open()
        .await;
    after(secs(1)).await;
    assert_eq!(group.link("c"), Link::Cold);
    group.server("c").set_latency(ms(10));
    let began = Instant::now();
    group.switch_to("c").await.unwrap();
    assert!(began.elapsed() < ms(60), "{:?}", began.elapsed());
    group.assert_active("c");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cold_target_that_does_not_answer_is_given_up_in_time() {
    let group = Setup::new(&["a", "b", "c"])
        .rules(|rules| {
            rules.standby = failover_core::config::Standby::Count(1);
        })
        .open()
        .await;
    after(secs(1)).await;
    group.server("c").freeze();
    let began = Instant::now();
    let error = group.switch_to("c").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert!(began.elapsed() <= ms(2500), "{:?}", began.elapsed());
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_switch_loses_no_operation() {
    // Operations all the time, over switches of both kinds: none fails, none is doubled.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for name in ["a", "b"] {
        group.server(name).set_latency(ms(2));
    }
    let client = group.client();
    let load = tokio::spawn(async move {
        let mut done = 0;
        for _ in 0..500 {
            match client.incr("n").await {
                Ok(_) => done += 1,
                Err(error) => assert_ne!(error.fate(), Some(Fate::MayHaveBeenApplied), "{error}"),
            }
        }
        done
    });
    for _ in 0..5 {
        after(ms(60)).await;
        group.switch_to_passive().await.unwrap();
        after(ms(60)).await;
        group.drain_to_passive(secs(1)).await.unwrap();
    }
    let done = load.await.unwrap();
    let count = |name: &str| -> i64 {
        let value = group.server(name).get("n");
        value.map_or(0, |value| value.parse().unwrap())
    };
    assert_eq!(done, 500);
    assert_eq!(count("a") + count("b"), 500);
    assert!(count("a") > 0 && count("b") > 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_removed_or_disabled_target_aborts_the_switch() {
    for disable in [true, false] {
        let group = Setup::new(&["a", "b", "c"]).open_whole().await;
        group.server("c").set_delay(Method::Prove, ms(200));
        let switching = pends(group.switch_to("c"), ms(50)).await;
        if disable {
            group.disable("c").await.unwrap();
        } else {
            group.remove("c").await.unwrap();
        }
        let error = switching.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Aborted);
        group.assert_active("a");
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_wrong_before_is_no_cause_of_what_happens_now() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    // A check that passes, and a proof.
    group.server("a").set_unhealthy(Some("too warm"));
    after(secs(2)).await;
    group.assert_active("b");
    assert_eq!(group.member("a").last_error.as_deref(), Some("too warm"));
    group.server("a").set_unhealthy(None);
    after(secs(2)).await;
    assert_eq!(group.member("a").last_error, None);
    group.server("a").fail_proofs(Some("too cold"));
    group.switch_to("a").await.unwrap_err();
    assert_eq!(group.member("a").last_error.as_deref(), Some("too cold"));
    group.server("a").fail_proofs(None);
    after(secs(1)).await;
    assert_eq!(group.member("a").last_error, None);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_target_that_was_removed_is_blamed_for_nothing() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").kill();
    after(secs(5)).await;
    assert!(group.member("b").last_error.is_some());
    group.server("b").start();
    group.server("b").set_delay(Method::Connect, secs(1));
    let switching = pends(group.force_switch_to("b"), ms(50)).await;
    group.disable("b").await.unwrap();
    let error = switching.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    assert!(std::error::Error::source(&error).is_none(), "{error:?}");
    let told = group.told().into_iter().find_map(|kind| match kind {
        EventKind::SwitchAborted { cause, .. } => Some(cause),
        _ => None,
    });
    assert!(matches!(told, Some(None)), "{told:?}");
    group.end().await;
}
