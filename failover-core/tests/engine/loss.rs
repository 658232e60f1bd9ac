//! The active's connection ends: redial or failover, and never two actives.

use failover_core::api::{Capabilities, ErrorKind, Fate};
use failover_core::event::{EventKind, Kind, Reason};
use failover_core::memory::Method;
use failover_core::status::Link;
use tokio::time::Instant;

use crate::bench::{Setup, after, moved, ms, pends, secs, settle};

#[tokio::test(start_paused = true)]
async fn a_reset_connection_does_not_move_the_group() {
    // P96
    for ahead in [false, true] {
        let mut setup = Setup::new(&["a", "b"]);
        if !ahead {
            let plain = Capabilities::new().serving_again_after_drain();
            setup.memory = setup.memory.with_capabilities(plain);
        }
        let group = setup.open_whole().await;
        let standby = group.generation("b");
        group.server("a").set_latency(ms(4));
        group.server("a").reset_connections();
        after(ms(3)).await;
        assert_eq!(group.active(), None);
        after(ms(20)).await;
        // The dial, the proof and the promotion.
        assert!(group.took() <= ms(15), "{:?}", group.took());
        assert_eq!(
            group.moves(),
            [moved("a", "a", Reason::Lost, Kind::Failover)]
        );
        // Promoted ahead, in vain, it is drained and stands by on the same connection.
        let (promoted, drained) = (group.server("b").promoted(), group.server("b").drained());
        assert_eq!((promoted, drained), if ahead { (1, 1) } else { (0, 0) });
        assert_eq!(
            (group.link("b"), group.generation("b")),
            (Link::Standby, standby)
        );
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_redial_moves_at_once() {
    // P96: no time at all passes.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").kill();
    let began = Instant::now();
    group.client().set("k", "v").await.unwrap();
    assert_eq!(began.elapsed(), ms(0));
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Lost, Kind::Failover)]
    );
    assert_eq!(group.took(), ms(0));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_redial_that_hangs_holds_nothing_up_beyond_its_time() {
    // P96
    let group = Setup::new(&["a", "b"]).open_whole().await;
    let a = group.server("a");
    a.set_delay(Method::Connect, secs(1));
    a.reset_connections();
    let took = group.until_active("b", secs(1)).await;
    assert!((ms(50)..=ms(52)).contains(&took), "{took:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_the_redial_a_lost_connection_always_moves() {
    // P96: `loss.redial` zero.
    let group = Setup::new(&["a", "b"])
        .rules(|rules| rules.loss_redial = ms(0))
        .open_whole()
        .await;
    group.server("a").reset_connections();
    settle().await;
    assert_eq!(
        group.moves(),
        [moved("a", "b", Reason::Lost, Kind::Failover)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn credentials_refused_at_the_redial_move_the_traffic() {
    // P49
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_auth_refused(true);
    group.server("a").reset_connections();
    settle().await;
    group.assert_active("b");
    let auth = |kind: &EventKind| {
        matches!(kind, EventKind::DialFailed { member, cause: Some(cause) }
            if *member == "a" && cause.kind() == ErrorKind::Auth)
    };
    assert!(group.count(auth) >= 1, "{:#?}", group.told());
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_resolve_moves_the_traffic() {
    // P50
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_unresolvable(true);
    group.server("a").reset_connections();
    settle().await;
    group.assert_active("b");
    assert_eq!(group.took(), ms(0));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_the_active_makes_a_planned_switch_the_failover() {
    // P52, P56: the proof under way serves, and its caller gets that answer.
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("c").set_delay(Method::Prove, ms(80));
    let before = group.server("c").proofs();
    let switching = pends(group.switch_to("c"), ms(40)).await;
    group.server("a").kill();
    let moved_to = switching.await.unwrap();
    assert_eq!(moved_to.from.unwrap(), "a");
    assert_eq!(moved_to.to.unwrap(), "c");
    assert_eq!(
        group.moves(),
        [moved("a", "c", Reason::Lost, Kind::Failover)]
    );
    assert_eq!(group.server("c").proofs() - before, 1);
    assert_eq!(group.server("b").promoted(), 0);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_target_that_dies_with_the_active_is_answered_once() {
    // P52: both are gone; the third takes over and the caller hears that the move was given up.
    let group = Setup::new(&["a", "b", "c"]).open_whole().await;
    group.server("b").set_delay(Method::Promote, ms(80));
    let switching = pends(group.switch_to("b"), ms(40)).await;
    group.server("a").kill();
    group.server("b").kill();
    let error = switching.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Aborted);
    settle().await;
    group.assert_active("c");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn reads_survive_a_kill_and_writes_know_their_fate() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_latency(ms(10));
    group.server("b").set("k", "there");
    let client = group.client();
    let read = pends(client.get("k"), ms(2)).await;
    let write = pends(client.incr("n"), ms(2)).await;
    group.server("a").kill();
    assert_eq!(read.await.unwrap().as_deref(), Some("there"));
    let error = write.await.unwrap_err();
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    assert_eq!(error.member().unwrap(), &"a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_dies_unnoticed_costs_its_proof_and_no_more() {
    // A half-open standby looks well until it is proven.
    let group = Setup::new(&["a", "b", "c"])
        .rules(|rules| rules.member.health.interval = secs(3600))
        .open_whole()
        .await;
    group.server("b").blackhole_connections();
    group.server("a").kill();
    let took = group.until_active("c", secs(1)).await;
    assert!((ms(500)..=ms(502)).contains(&took), "{took:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_retirement_holds_up_neither_failover_nor_operations() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_delay(Method::Retire, secs(3));
    group.server("a").kill();
    let began = Instant::now();
    group.client().set("k", "v").await.unwrap();
    // The redial has to wait for the retirement, and nothing waits for the redial beyond its time.
    assert!(began.elapsed() <= ms(51), "{:?}", began.elapsed());
    assert_eq!(group.link("a"), Link::Retiring);
    group.server("a").start();
    after(secs(5)).await;
    assert_eq!(group.link("a"), Link::Standby);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_is_lost_is_armed_again() {
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").reset_connections();
    after(ms(200)).await;
    assert_eq!(group.standbys(), ["b"]);
    assert_eq!(group.server("b").armed(), 2);
    assert_eq!(group.moves(), []);
    group.end().await;
}
