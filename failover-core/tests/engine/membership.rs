//! Members come and go while the group runs.

use failover_core::api::{ErrorKind, Weight};
use failover_core::config::NewMember;
use failover_core::event::{Kind, Reason};
use failover_core::memory::{Method, Settings};
use failover_core::status::Link;

use crate::bench::{Setup, after, member, moved, ms, pends, secs, settle};

#[tokio::test(start_paused = true)]
async fn an_added_member_is_checked_and_can_take_the_traffic() {
    // P111
    let group = Setup::new(&["a"]).open_whole().await;
    group.add(member("b").weight(0.5)).await.unwrap();
    after(secs(3)).await;
    assert_eq!(group.link("b"), Link::Standby);
    assert_eq!(group.member("b").healthy, Some(true));
    assert!(group.server("b").checks() >= 4);
    group.switch_to("b").await.unwrap();
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_taken_is_refused() {
    // P112
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let error = group.add(member("b")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateMember);
    assert_eq!(group.status().members.len(), 2);
    // Once it is gone the name is free.
    group.remove("b").await.unwrap();
    group.add(member("b").weight(0.5)).await.unwrap();
    after(secs(1)).await;
    assert_eq!(group.link("b"), Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_removed_member_is_closed_and_left_alone() {
    // P113
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.remove("b").await.unwrap();
    let b = group.server("b");
    assert_eq!((b.retired(), b.unretired()), (1, 0));
    let (checks, dials) = (b.checks(), b.dials());
    after(secs(60)).await;
    assert_eq!((b.checks(), b.dials()), (checks, dials));
    assert!(group.status().member("b").is_none());
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_unknown_name_is_refused() {
    // P114
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let weight = Weight::new(2.0).unwrap();
    for answer in [
        group.remove("x").await,
        group.disable("x").await,
        group.enable("x").await,
        group.set_weight("x", weight).await,
        group.mark_lame_duck("x").await,
        group.clear_lame_duck("x").await,
    ] {
        assert_eq!(answer.unwrap_err().kind(), ErrorKind::UnknownMember);
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_active_that_is_removed_hands_over_first() {
    // P115
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let lease = group.client().lease().await.unwrap();
    let removing = pends(group.remove("a"), ms(100)).await;
    // Traffic has moved, and the old connection still serves what it had begun.
    group.assert_active("b");
    assert!(lease.connection().is_open());
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Removed, Kind::Drain)]
    );
    drop(lease);
    removing.await.unwrap();
    assert_eq!(group.server("a").unretired(), 0);
    assert_eq!(group.status().members.len(), 1);

    let error = group.remove("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LastMember);
    group.assert_active("b");
    group.client().ping().await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_active_with_nowhere_to_go_cannot_be_removed() {
    // P115
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").kill();
    settle().await;
    let error = group.remove("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotEligible);
    group.assert_active("a");
    assert_eq!(group.server("a").connections_ever(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_whose_move_fails_is_refused_and_the_member_stays() {
    // P115
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").refuse_promotion(true);
    let error = group.remove("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotEligible);
    group.assert_active("a");
    group.client().ping().await.unwrap();
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_add_changes_nothing() {
    // P116
    let group = Setup::new(&["a"]).open_whole().await;
    let before = format!("{:?}", group.status());
    let wrong: [NewMember<Settings>; 5] = [
        member("b").weight(-1.0),
        NewMember::new("b", Settings::at("")),
        NewMember::new(" ", Settings::at("b")),
        member("b").rules(|rules| rules.health.probes = 0),
        member("b").rules(|rules| rules.health.checks = Some(vec!["statsu".to_owned()])),
    ];
    for member in wrong {
        let error = group.add(member).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    }
    settle().await;
    assert_eq!(format!("{:?}", group.status()), before);
    assert_eq!(group.server("b").dials(), 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_never_answers_can_be_added_and_removed() {
    // P116: a member that is down is a member that is dialled on.
    let group = Setup::new(&["a"]).open_whole().await;
    group.server("b").freeze();
    group.add(member("b")).await.unwrap();
    after(ms(100)).await;
    assert_eq!(group.link("b"), Link::Connecting);
    group.remove("b").await.unwrap();
    assert_eq!(group.status().members.len(), 1);
    group.server("b").thaw();
    after(secs(5)).await;
    group.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn adding_and_removing_at_the_same_time_is_safe() {
    // P117
    let group = Setup::new(&["keep"]).open().await;
    let names = ["p", "q", "r"];
    let tasks = (0..6).map(|index| {
        let failover = group.failover.clone();
        tokio::spawn(async move {
            for round in 0..40 {
                let name = names[(index + round) % names.len()];
                // Whether it is there depends on the others; each call is answered either way.
                if (index + round) % 2 == 0 {
                    match failover.add(member(name).weight(0.5)).await {
                        Ok(()) => {}
                        Err(error) => assert_eq!(error.kind(), ErrorKind::DuplicateMember),
                    }
                } else {
                    match failover.remove(name).await {
                        Ok(()) => {}
                        Err(error) => assert!(
                            matches!(
                                error.kind(),
                                ErrorKind::UnknownMember | ErrorKind::NotEligible
                            ),
                            "{error}"
                        ),
                    }
                }
                failover.client().ping().await.unwrap();
            }
        })
    });
    let tasks: Vec<_> = tasks.collect();
    for task in tasks {
        task.await.unwrap();
    }
    for name in names {
        let _ = group.remove(name).await;
    }
    group.assert_active("keep");
    assert_eq!(group.status().members.len(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_disabled_member_stays_known_and_unused() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.disable("a").await.unwrap();
    settle().await;
    group.assert_active("b");
    assert!(!group.member("a").enabled);
    assert_eq!(group.link("a"), Link::Cold);
    let dials = group.server("a").dials();
    after(secs(30)).await;
    assert_eq!(group.server("a").dials(), dials);
    let error = group.disable("b").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LastMember);
    group.enable("a").await.unwrap();
    settle().await;
    assert_eq!(group.link("a"), Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_during_a_dial_leaves_no_connection() {
    // P117: the dial succeeds at the moment when it is given up.
    for millis in [4, 5, 6] {
        let group = Setup::new(&["a"]).open_whole().await;
        group.server("b").set_delay(Method::Connect, ms(5));
        group.add(member("b")).await.unwrap();
        after(ms(millis)).await;
        group.remove("b").await.unwrap();
        after(secs(1)).await;
        assert_eq!(group.server("b").unretired(), 0);
        group.end().await;
    }
}
