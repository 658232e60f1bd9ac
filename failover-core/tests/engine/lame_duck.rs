//! Members that announce their own shutdown.

use failover_core::config::{LameDuckAction, Standby};
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::Method;
use failover_core::status::Link;
use tokio::time::Instant;

use crate::bench::{Setup, after, moved, ms, secs, settle};

/// Active and one warm standby, like the clients of a cluster.
fn pair(names: &[&str], action: LameDuckAction) -> Setup {
    Setup::new(names).rules(move |rules| {
        rules.standby = Standby::Count(1);
        rules.lame_duck.action = action;
    })
}

#[tokio::test(start_paused = true)]
async fn the_standby_takes_over_long_before_the_eviction() {
    // N10
    let group = pair(&["a", "b", "c"], LameDuckAction::SwitchToPassive)
        .open_whole()
        .await;
    assert_eq!(group.standbys(), ["b"]);
    group.server("a").announce_lame_duck();
    let began = Instant::now();
    settle().await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::LameDuck, Kind::Steal)]
    );
    assert!(began.elapsed() <= ms(1));
    // N11
    assert_eq!(group.standbys(), ["c"]);
    assert!(group.member("a").lame_duck);
    after(secs(1)).await;
    assert_eq!(group.link("a"), Link::Cold);
    group.server("a").kill();
    after(secs(1)).await;
    assert_eq!(group.moves().len(), 1);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn drained_it_may_finish() {
    // N10: the other action that moves.
    let group = pair(&["a", "b", "c"], LameDuckAction::DrainToPassive)
        .open_whole()
        .await;
    let lease = group.client().lease().await.unwrap();
    group.server("a").announce_lame_duck();
    after(secs(4)).await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::LameDuck, Kind::Drain)]
    );
    assert!(lease.connection().is_open());
    after(secs(2)).await;
    assert!(!lease.connection().is_open());
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_an_action_the_active_stays_until_it_is_evicted() {
    // N12
    let group = pair(&["a", "b", "c"], LameDuckAction::None)
        .open_whole()
        .await;
    group.server("a").announce_lame_duck();
    after(secs(60)).await;
    assert_eq!(group.moves(), []);
    group.server("a").kill();
    settle().await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Lost, Kind::Failover)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_is_rehomed_and_the_active_untouched() {
    // N13
    let group = pair(&["a", "b", "c"], LameDuckAction::SwitchToPassive)
        .open_whole()
        .await;
    let generation = group.generation("a");
    group.server("b").announce_lame_duck();
    after(ms(10)).await;
    assert_eq!(group.standbys(), ["c"]);
    assert_eq!(group.link("b"), Link::Cold);
    assert_eq!(group.generation("a"), generation);
    assert_eq!(group.moves(), []);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_standby_it_rides_out_and_reconnects() {
    // N14: no error escapes.
    let group = pair(&["a", "b"], LameDuckAction::SwitchToPassive)
        .open()
        .await;
    group.server("b").kill();
    after(secs(1)).await;
    group.server("a").announce_lame_duck();
    after(secs(5)).await;
    group.assert_active("a");
    let client = group.client();
    client.set("k", "v").await.unwrap();
    group.server("a").kill();
    let reading = tokio::spawn(async move { client.get("k").await });
    after(ms(100)).await;
    group.server("a").start();
    assert_eq!(reading.await.unwrap().unwrap().as_deref(), Some("v"));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_announcement_during_a_reconnect_marks_and_moves_nothing() {
    // N15: it is said as soon as the connection is open, before it is proven.
    let group = pair(&["a"], LameDuckAction::SwitchToPassive).open().await;
    group.server("a").kill();
    settle().await;
    group.server("a").set_delay(Method::Prove, ms(100));
    group.server("a").start();
    group.server("a").announce_lame_duck();
    group.until_active("a", secs(11)).await;
    group.client().ping().await.unwrap();
    let given_up = group.count(|kind| matches!(kind, EventKind::SwitchAborted { .. }));
    assert_eq!(given_up, 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn when_both_go_a_third_is_armed_and_takes_over() {
    // N16
    let group = pair(&["a", "b", "c"], LameDuckAction::SwitchToPassive)
        .open_whole()
        .await;
    group.server("c").set_latency(ms(20));
    group.server("b").announce_lame_duck();
    group.server("a").announce_lame_duck();
    after(ms(10)).await;
    group.assert_active("a");
    group.client().ping().await.unwrap();
    after(ms(200)).await;
    assert_eq!(
        group.moves(),
        [moved("a", "c", Reason::LameDuck, Kind::Steal)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn when_both_go_and_nobody_else_is_there_it_keeps_trying() {
    // N17
    let group = pair(&["a", "b", "c"], LameDuckAction::SwitchToPassive)
        .open_whole()
        .await;
    group.server("c").kill();
    group.server("b").announce_lame_duck();
    group.server("a").announce_lame_duck();
    after(secs(30)).await;
    group.assert_active("a");
    group.client().ping().await.unwrap();
    assert!(group.server("c").dials() > 3);
    group.server("c").start();
    after(secs(11)).await;
    group.assert_active("c");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn passive_only_moves_the_standby_and_not_the_active() {
    // N18
    let group = pair(&["a", "b", "c"], LameDuckAction::PassiveOnly)
        .open_whole()
        .await;
    group.server("b").announce_lame_duck();
    after(ms(10)).await;
    assert_eq!(group.standbys(), ["c"]);
    group.server("a").announce_lame_duck();
    after(secs(60)).await;
    group.assert_active("a");
    assert_eq!(group.moves(), []);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_marked_member_is_passed_over_until_the_mark_clears() {
    // N19: by a fresh healthy connection without the flag, once the mark has expired.
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("a").announce_lame_duck();
    settle().await;
    group.assert_active("b");
    after(ms(200)).await;
    let dials = group.server("a").dials();
    after(secs(100)).await;
    assert_eq!(group.server("a").dials(), dials);
    group.server("a").kill();
    group.server("a").start();
    after(secs(32)).await;
    assert!(!group.member("a").lame_duck);
    assert!(group.server("a").dials() > dials);
    after(secs(11)).await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_lame_duck_is_asked_now_and_then_where_there_is_no_other_standby() {
    // N19: with no other candidate it is dialled, but not while it may still be dying.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").announce_lame_duck();
    after(ms(200)).await;
    group.assert_active("b");
    let dials = group.server("a").dials();
    after(secs(9)).await;
    assert_eq!(group.server("a").dials(), dials);
    // It accepts, and says again that it is about to go: asked every ten seconds, and no standby.
    after(secs(50)).await;
    assert_eq!(group.server("a").dials(), dials + 5);
    assert_eq!(group.standbys(), [""; 0]);
    group.server("a").clear_lame_duck();
    after(secs(11)).await;
    assert_eq!(group.standbys(), ["a"]);
    assert!(!group.member("a").lame_duck);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn when_all_are_marked_they_are_used_and_nothing_spins() {
    // N19
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").announce_lame_duck();
    group.server("b").announce_lame_duck();
    after(secs(60)).await;
    assert!(group.active().is_some());
    group.client().ping().await.unwrap();
    let dials: u64 = ["a", "b"]
        .map(|name| group.server(name).dials())
        .iter()
        .sum();
    assert!(dials < 20, "{dials} dials");
    // Both gone: whoever comes back is taken, marked or not.
    group.server("a").kill();
    group.server("b").kill();
    after(secs(5)).await;
    group.server("b").start();
    group.until_active("b", secs(12)).await;
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_marks_for_maintenance_and_clears_the_mark() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.mark_lame_duck("a").await.unwrap();
    settle().await;
    group.assert_active("b");
    after(secs(600)).await;
    assert!(group.member("a").lame_duck);
    assert_eq!(group.link("a"), Link::Cold);
    group.clear_lame_duck("a").await.unwrap();
    after(secs(12)).await;
    assert!(!group.member("a").lame_duck);
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_is_rehomed_on_demand() {
    let group = pair(&["a", "b", "c"], LameDuckAction::SwitchToPassive)
        .open_whole()
        .await;
    let generation = group.generation("b");
    group.rehome_standby().await.unwrap();
    after(ms(10)).await;
    assert_eq!(group.standbys().len(), 1);
    let standby = group.standbys().remove(0);
    assert!(group.generation(&standby) > generation);
    assert_eq!(group.moves(), []);
    group.end().await;
}
