//! Safe startup: the walk by weight, and what a start that fails leaves behind.

use failover_core::api::ErrorKind;
use failover_core::config::{GroupConfig, ProbePolicy, Rules};
use failover_core::memory::{Method, Settings, World};
use failover_core::status::Link;
use tokio::time::Instant;

use crate::bench::{Setup, after, member, ms, nothing_is_left, pends, secs, settle};

/// One probe of at most a minute: for tests whose matter is time.
fn slow_checks(rules: &mut Rules) {
    rules.member.health.probes = 1;
    rules.member.health.timeout = secs(60);
}

#[tokio::test(start_paused = true)]
async fn the_heaviest_healthy_member_is_the_first_active() {
    // P1, P2, P3
    for (sick, active) in [(&[][..], "a"), (&["a"], "b"), (&["a", "b"], "c")] {
        let setup = Setup::new(&["a", "b", "c"]);
        for name in sick {
            setup.server(name).set_unhealthy(Some("under maintenance"));
        }
        let group = setup.open().await;
        group.assert_active(active);
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_heaviest_is_waited_for_while_it_is_pending() {
    // P4, P5
    let setup = Setup::new(&["a", "b", "c"]).rules(slow_checks);
    setup.server("a").freeze();
    let a = setup.server("a");
    let opening = pends(setup.open(), secs(1)).await;
    a.thaw();
    let group = opening.await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_lighter_one() {
    // P6, P7
    for pending in ["b", "c"] {
        let setup = Setup::new(&["a", "b", "c"]).rules(slow_checks);
        setup.server(pending).set_delay(Method::Check, secs(3));
        let began = Instant::now();
        let group = setup.open().await;
        assert_eq!(began.elapsed(), ms(0));
        group.assert_active("a");
        assert_eq!(group.member(pending).healthy, None);
        after(secs(4)).await;
        assert_eq!(group.member(pending).healthy, Some(true));
        assert_eq!(group.standbys(), ["b", "c"]);
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_refuses_is_passed_over() {
    // P8
    let setup = Setup::new(&["a", "b"]);
    setup.server("a").kill();
    let group = setup.open().await;
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_check_that_hangs_is_passed_over_after_its_bound() {
    // P9
    let setup = Setup::new(&["a", "b"]);
    setup
        .server("a")
        .set_delay(Method::Check, std::time::Duration::MAX);
    let began = Instant::now();
    let group = setup.open().await;
    // Two of three probes, half a second each, decide.
    assert_eq!(began.elapsed(), secs(1));
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn slow_checks_that_pass_still_choose_the_heaviest() {
    // P10, P23: the lighter ones have passed long before.
    let setup = Setup::new(&["a", "b", "c"]).rules(slow_checks);
    setup.server("a").set_delay(Method::Check, secs(20));
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), secs(20));
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_the_error_names_every_reason() {
    // P11, P20, P29
    let setup = Setup::new(&["dead", "frozen", "sick", "locked", "nowhere", "silent"]);
    setup.server("dead").kill();
    setup.server("frozen").freeze();
    setup.server("sick").set_unhealthy(Some("disk full"));
    setup.server("locked").set_auth_refused(true);
    setup.server("nowhere").set_unresolvable(true);
    setup
        .server("silent")
        .set_delay(Method::Prove, std::time::Duration::MAX);
    let error = setup.fails().await;
    assert_eq!(error.kind(), ErrorKind::Startup);
    let text = error.to_string();
    for reason in [
        "dead is down",
        "frozen did not answer within 2s",
        "disk full",
        "locked does not accept the credentials",
        "nowhere does not resolve",
        "silent: not connected (no answer within 500ms)",
    ] {
        assert!(text.contains(reason), "{reason:?} is missing in: {text}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_group_is_refused() {
    // P21
    let error = Setup::empty(&World::new()).fails().await;
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("at least one"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn weights_that_are_no_priority_are_refused() {
    // P25
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let setup = Setup::new(&["a"]).member(member("b").weight(weight));
        let error = setup.fails().await;
        assert_eq!(error.kind(), ErrorKind::Config, "{weight}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_checks_a_connection_is_enough() {
    // P22: what its check would find does not matter.
    let setup = Setup::new(&["a", "b"]).rules(|rules| {
        rules.member.health.checks = Some(Vec::new());
    });
    setup.server("a").set_unhealthy(Some("nobody asks"));
    let (a, group) = (setup.server("a"), setup.open().await);
    group.assert_active("a");
    after(secs(10)).await;
    assert_eq!(a.checks(), 0);
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn members_that_complete_together_build_one_group() {
    // P24
    let names = ["a", "b", "c", "d", "e"];
    let setup = Setup::new(&names);
    for name in names {
        setup.server(name).set_latency(ms(7));
    }
    let group = setup.open_whole().await;
    after(ms(50)).await;
    group.assert_active("a");
    assert_eq!(group.standbys(), ["b", "c", "d", "e"]);
    assert_eq!(group.memory.promotions().len(), 1);
    for name in names {
        assert_eq!(group.server(name).dials(), 1);
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_single_member_is_a_group() {
    // P26
    let group = Setup::new(&["only"]).open_whole().await;
    group.assert_active("only");
    group.client().set("k", "v").await.unwrap();
    assert_eq!(group.server("only").get("k").as_deref(), Some("v"));
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn among_equals_the_first_declared_is_active() {
    // P27
    let mut setup = Setup::empty(&World::new());
    for name in ["z", "m", "a"] {
        setup = setup.member(member(name));
    }
    setup.server("z").set_latency(ms(30));
    let group = setup.open().await;
    group.assert_active("z");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_members_settings_reach_no_other() {
    // P28: every server is dialled by its own member alone, and a member's own rules are its own.
    let setup = Setup::new(&["a", "b", "c"])
        .member(member("d").rules(|rules| rules.timeouts.connect = secs(7)))
        .rules(|rules| rules.startup = failover_core::config::Startup::All);
    setup.server("d").set_delay(Method::Connect, secs(6));
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), secs(6));
    for name in ["a", "b", "c", "d"] {
        assert_eq!(group.server(name).dials(), 1);
        assert_eq!(group.server(name).open_connections(), 1);
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn two_groups_of_one_configuration_are_independent() {
    // P30
    let world = World::new();
    let members =
        ["a", "b"].map(|name| failover_core::config::NewMember::new(name, Settings::at(name)));
    let config = GroupConfig::new(members).unwrap();
    let open = |config| {
        failover_core::Failover::builder()
            .seed(0)
            .open(world.backend(), config)
    };
    let one = open(config.clone()).await.unwrap();
    let two = open(config).await.unwrap();
    settle().await;
    one.switch_to("b").await.unwrap();
    assert_eq!(one.status().active.unwrap(), "b");
    assert_eq!(two.status().active.unwrap(), "a");
    one.close().await;
    two.client().ping().await.unwrap();
    two.close().await;
    nothing_is_left(&world).await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_refused_at_startup_takes_part_once_it_is_there() {
    // P32: dialled on, checked, failed over to and from.
    let setup = Setup::new(&["a", "b"]).rules(|rules| {
        rules.failback.enabled = false;
        rules.loss_redial = ms(0);
    });
    setup.server("b").kill();
    let group = setup.open().await;
    group.assert_active("a");
    after(secs(20)).await;
    let dials = group.server("b").dials();
    assert!((5..12).contains(&dials), "{dials} dials with backoff");
    group.server("b").start();
    after(secs(11)).await;
    assert_eq!(group.link("b"), Link::Standby);
    assert_eq!(group.member("b").healthy, Some(true));
    assert!(group.server("b").checks() > 0);
    group.server("a").kill();
    settle().await;
    group.assert_active("b");
    group.server("a").start();
    // Traffic had to leave it, so it is in grace first.
    after(secs(61)).await;
    group.server("b").set_unhealthy(Some("again"));
    after(secs(2)).await;
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_timetable_of_startup() {
    // P33
    let setup = Setup::new(&["a", "b", "c"]).rules(slow_checks);
    for (name, check) in [("a", 5), ("b", 1), ("c", 10)] {
        setup.server(name).set_delay(Method::Check, secs(check));
    }
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), secs(5));
    group.assert_active("a");
    group.end().await;

    let setup = Setup::new(&["a", "b", "c"]).rules(slow_checks);
    setup.server("a").kill();
    for (name, check) in [("b", 2), ("c", 3)] {
        setup.server(name).set_delay(Method::Check, secs(check));
    }
    let began = Instant::now();
    let group = setup.open().await;
    assert_eq!(began.elapsed(), secs(2));
    group.assert_active("b");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_open_that_is_given_up_leaves_nothing() {
    // P29: also when nobody waits for its end.
    let setup = Setup::new(&["a", "b"]);
    let world = setup.world.clone();
    world.server("a").freeze();
    let opening = pends(setup.open(), ms(300)).await;
    drop(opening);
    settle().await;
    nothing_is_left(&world).await;
}

#[tokio::test(start_paused = true)]
async fn any_policy_of_probes_can_start_a_group() {
    // Also with a policy that could wait for more than it needs.
    for policy in [ProbePolicy::All, ProbePolicy::Majority, ProbePolicy::Any] {
        let group = Setup::new(&["a", "b"])
            .rules(|rules| rules.member.health.policy = policy)
            .open_whole()
            .await;
        group.assert_active("a");
        group.end().await;
    }
}
