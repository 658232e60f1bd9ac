//! Grace and failback: when traffic returns, and what keeps it from returning too soon.

use failover_core::api::Weight;
use failover_core::config::Failback;
use failover_core::event::{EventKind, Kind, Reason};
use tokio::time::Instant;

use crate::bench::{Group, Setup, after, member, moved, ms, nothing_is_left, secs, settle};

/// Two members, and the first one lost and back: it is in grace for a minute from now.
async fn failed_over() -> Group {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").kill();
    settle().await;
    group.server("a").start();
    group.assert_active("b");
    group
}

#[tokio::test(start_paused = true)]
async fn traffic_returns_at_the_moment_when_grace_ends() {
    // P60, P68, P74
    let group = failed_over().await;
    assert!(group.member("a").grace.is_some());
    let took = group.until_active("a", secs(61)).await;
    assert!((ms(59_990)..=ms(60_005)).contains(&took), "{took:?}");
    assert_eq!(
        group.moves()[1],
        moved("b", "a", Reason::Failback, Kind::Drain)
    );
    assert_eq!(group.member("a").grace, None);
    // P64: and so it does the next time.
    after(secs(120)).await;
    group.server("a").kill();
    settle().await;
    group.server("a").start();
    group.assert_active("b");
    group.until_active("a", secs(61)).await;
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn switched_off_it_never_happens() {
    // P61
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.failback.enabled = false)
        .open_whole()
        .await;
    group.server("a").kill();
    settle().await;
    group.server("a").start();
    after(secs(900)).await;
    group.assert_active("b");
    assert_eq!(group.link("a"), failover_core::status::Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_equal_weight_is_no_reason_to_move() {
    // P62
    let setup = Setup::new(&[]).member(member("a")).member(member("b"));
    let group = setup.open_whole().await;
    group.server("a").kill();
    settle().await;
    group.server("a").start();
    after(secs(900)).await;
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn of_several_the_heaviest() {
    // P63
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("a").kill();
    settle().await;
    group.server("b").kill();
    settle().await;
    group.assert_active("c");
    group.server("a").start();
    group.server("b").start();
    after(secs(70)).await;
    group.assert_active("a");
    assert_eq!(group.moves().len(), 3);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_weight_that_is_raised_draws_the_traffic() {
    // P65
    let group = Setup::new(&["a", "b"]).open_whole().await;
    after(secs(20)).await;
    group
        .set_weight("b", Weight::new(9.0).unwrap())
        .await
        .unwrap();
    settle().await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Failback, Kind::Drain)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_ill_again_is_left_alone() {
    // P66
    let group = failed_over().await;
    after(secs(58)).await;
    group.server("a").set_unhealthy(Some("again"));
    after(secs(600)).await;
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn failback_ends_with_the_group() {
    // P67
    let group = failed_over().await;
    after(secs(59)).await;
    let world = group.world.clone();
    group.end().await;
    after(secs(10)).await;
    assert_eq!(world.server("a").promoted(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pinned_group_stays_until_it_is_released() {
    // P69
    let group = failed_over().await;
    group.pin().await.unwrap();
    after(secs(600)).await;
    group.assert_active("b");
    assert!(group.status().failback_suspended);
    group.release().await.unwrap();
    settle().await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_pinned_active_that_fails_is_left_all_the_same() {
    // P69
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.pin().await.unwrap();
    group.server("a").kill();
    settle().await;
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_is_in_grace_at_the_start() {
    // P70: also not who was passed over at startup.
    let setup = Setup::new(&["a", "b"]);
    setup.server("a").kill();
    let group = setup.open().await;
    assert_eq!(group.member("a").grace, None);
    assert_eq!(group.member("b").grace, None);
    group.server("a").start();
    // Only unbroken health is asked of it.
    let took = group.until_active("a", secs(25)).await;
    assert!(took < secs(21), "{took:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_grace_only_stable_health_is_waited_for() {
    // P71, P95
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.failback.grace = ms(0))
        .open_whole()
        .await;
    group.server("a").set_unhealthy(Some("once"));
    after(secs(2)).await;
    group.assert_active("b");
    group.server("a").set_unhealthy(None);
    after(secs(5)).await;
    // Not unbroken: the ten seconds begin anew.
    group.server("a").set_unhealthy(Some("twice"));
    after(secs(2)).await;
    group.server("a").set_unhealthy(None);
    let took = group.until_active("a", secs(15)).await;
    assert!((secs(10)..=secs(11)).contains(&took), "{took:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn grace_keeps_a_failover_from_the_member_while_there_is_another() {
    // P74
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("a").set_unhealthy(Some("once"));
    after(secs(2)).await;
    group.server("a").set_unhealthy(None);
    after(secs(2)).await;
    group.server("b").kill();
    settle().await;
    group.assert_active("c");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn when_all_others_are_gone_a_member_in_grace_is_used() {
    // P77
    let group = failed_over().await;
    after(secs(10)).await;
    assert!(group.member("a").grace.is_some());
    group.server("b").kill();
    settle().await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_manual_move_ignores_grace_starts_none_and_suspends_failback() {
    // P75
    let group = failed_over().await;
    after(secs(5)).await;
    group.switch_to("a").await.unwrap();
    group.assert_active("a");
    group.switch_to("b").await.unwrap();
    // The minute of grace goes on as it was.
    assert!(group.member("a").grace.unwrap() <= secs(55));
    assert!(group.status().failback_suspended);
    after(secs(600)).await;
    group.assert_active("b");
    group.release().await.unwrap();
    settle().await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_manual_move_suspends_only_until_its_target_fails() {
    // P75
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.switch_to("b").await.unwrap();
    assert_eq!(group.member("a").grace, None);
    group.server("b").kill();
    settle().await;
    group.assert_active("a");
    assert!(!group.status().failback_suspended);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_flapping_member_leaves_the_active_where_it_is() {
    // P76
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for _ in 0..60 {
        group.server("a").kill();
        after(secs(3)).await;
        group.server("a").start();
        after(secs(4)).await;
    }
    assert_eq!(group.moves().len(), 1);
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn grace_doubles_for_who_fails_again_after_a_failback() {
    // P94, P73
    let group = failed_over().await;
    for minutes in [2_u64, 4, 8, 16, 16] {
        group.until_active("a", secs(1000)).await;
        after(secs(1)).await;
        group.server("a").kill();
        settle().await;
        group.server("a").start();
        group.assert_active("b");
        let grace = group.member("a").grace.unwrap();
        let whole = secs(60 * minutes);
        assert!((whole - ms(5)..=whole).contains(&grace), "{grace:?}");
    }
    // One that held for longer than its grace begins anew.
    group.until_active("a", secs(1000)).await;
    after(secs(61)).await;
    group.server("a").kill();
    settle().await;
    assert!(group.member("a").grace.unwrap() <= secs(60));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_failbacks_of_many_groups_are_spread() {
    // P79
    let world = failover_core::memory::World::new();
    let mut groups = Vec::new();
    for seed in 1..=40 {
        let setup = Setup::empty(&world)
            .member(member("a").weight(2.0))
            .member(member("b"))
            .rules(|rules| rules.failback = Failback::default())
            .build(|builder| builder.seed(seed));
        groups.push(setup.open_whole().await);
    }
    world.server("a").kill();
    settle().await;
    world.server("a").start();
    let began = Instant::now();
    let mut per_second = vec![0; 20];
    let mut left: Vec<usize> = (0..groups.len()).collect();
    while !left.is_empty() {
        after(ms(100)).await;
        let second = began.elapsed().as_secs().saturating_sub(60);
        let second = usize::try_from(second).unwrap();
        left.retain(|index| {
            let back = groups[*index].active().as_deref() == Some("a");
            per_second[second.min(19)] += usize::from(back);
            !back
        });
        assert!(began.elapsed() < secs(75), "{} are not back", left.len());
    }
    // Ten seconds of jitter: on average four a second.
    let most = per_second.iter().max().copied().unwrap();
    assert!(most <= 12, "{per_second:?}");
    for group in groups {
        group.failover.close().await;
    }
    nothing_is_left(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_failback_that_fails_leaves_the_traffic_where_it_is() {
    let group = failed_over().await;
    group.server("a").refuse_promotion(true);
    after(secs(120)).await;
    group.assert_active("b");
    assert_eq!(group.moves().len(), 1);
    // It is not tried in a loop.
    let given_up = group.count(|kind| matches!(kind, EventKind::SwitchAborted { .. }));
    assert!((1..=8).contains(&given_up), "{given_up} attempts");
    group.end().await;
}
