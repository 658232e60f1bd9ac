//! Values that are understood, and the defaults of those that are not given.

use std::time::Duration;

use super::{Mode, accepted, with_member};
use crate::config::{
    Combine, HealthRules, LameDuckAction, ProbePolicy, Rules, Standby, Startup, StartupPolicy,
    StartupTally, StartupVerdict,
};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn a_member_alone_is_a_group_of_defaults() {
    let group = accepted(&with_member("")).group;
    assert_eq!(
        format!("{:?}", group.rules),
        format!("{:?}", Rules::default())
    );
    let member = &group.members[0];
    assert_eq!(member.member.name, "east");
    assert_eq!(member.member.weight.get(), 1.0);
    assert_eq!(member.member.settings.url, "test://east");
    assert!(member.enabled);
    assert_eq!(member.rules, group.rules.member);
}

/// Every key, and none of them at its default.
const EVERYTHING: &str = r#"
[group]
name = "sessions"
startup = "majority"
standby = 2
pool = "rotating"
[group.health]
check = ["ping"]
combine = "any"
interval = "5s"
timeout = "1s"
probes = 5
probe_delay = "500ms"
policy = "all"
[group.breaker]
window = "1.5s"
failure_rate = 0.1
min_failures = 1000
[group.failback]
enabled = false
grace = "2m"
stable = "1h"
jitter = "0s"
[group.lame_duck]
action = "drain_to_passive"
drain_window = "7s"
[group.reconnect]
initial = "1s"
max = "1s"
[group.unavailable]
wait = "0ms"
[group.timeouts]
connect = "3s"
prove = "4s"
operation = "0.25s"
switch_grace = "0s"
[group.loss]
redial = "0s"
[backend]
replay = "reads"
[[member]]
name = "east"
weight = 2
enabled = false
url = "test://east"
port = 6379
mode = "plain"
routes = [{ depth = 1 }, { depth = 2, deeper = { depth = 0x10 } }]
load = 1
[[member]]
name = "west"
weight = 0.5
url = "test://west"
mode = { tls = { ca = "x" } }
health = { timeout = "2s", check = [] }
reconnect.max = "9s"
[member.breaker]
min_failures = 7
[member.timeouts]
prove = "9ms"
"#;

#[test]
fn every_key_is_read() {
    let loaded = accepted(EVERYTHING);
    assert_eq!(loaded.backend.options.replay, "reads");
    let rules = &loaded.group.rules;
    assert_eq!(rules.name, "sessions");
    assert!(matches!(rules.startup, Startup::Majority));
    assert_eq!(rules.standby, Standby::Count(2));
    assert_eq!(rules.pool.name(), "rotating");
    let expected = HealthRules {
        checks: Some(vec!["ping".to_owned()]),
        combine: Combine::Any,
        interval: ms(5000),
        timeout: ms(1000),
        probes: 5,
        probe_delay: ms(500),
        policy: ProbePolicy::All,
    };
    assert_eq!(rules.member.health, expected);
    let breaker = rules.member.breaker;
    assert_eq!(breaker.window, ms(1500));
    assert_eq!((breaker.failure_rate, breaker.min_failures), (0.1, 1000));
    assert!(!rules.failback.enabled);
    assert_eq!(rules.failback.grace, ms(120_000));
    assert_eq!(rules.failback.stable, ms(3_600_000));
    assert_eq!(rules.failback.jitter, ms(0));
    assert_eq!(rules.lame_duck.action, LameDuckAction::DrainToPassive);
    assert_eq!(rules.lame_duck.drain_window, ms(7000));
    let reconnect = rules.member.reconnect;
    assert_eq!((reconnect.initial, reconnect.max), (ms(1000), ms(1000)));
    assert_eq!(rules.unavailable_wait, ms(0));
    let timeouts = rules.member.timeouts;
    assert_eq!((timeouts.connect, timeouts.prove), (ms(3000), ms(4000)));
    assert_eq!(timeouts.operation, ms(250));
    assert_eq!((rules.switch_grace, rules.loss_redial), (ms(0), ms(0)));
}

#[test]
fn members_lay_their_tables_over_the_groups() {
    let group = accepted(EVERYTHING).group;
    let [east, west] = &group.members[..] else {
        panic!("two members")
    };
    assert_eq!((east.member.weight.get(), east.enabled), (2.0, false));
    assert_eq!(east.rules, group.rules.member);
    assert_eq!(east.member.settings.load, Some(1.0));
    assert_eq!(
        east.member.settings.routes[1]
            .deeper
            .as_ref()
            .unwrap()
            .depth,
        16
    );
    let tls = Mode::Tls { ca: "x".to_owned() };
    assert_eq!(west.member.settings.mode, Some(tls));
    let mut expected = group.rules.member.clone();
    expected.health.timeout = ms(2000);
    expected.health.checks = Some(vec![]);
    expected.reconnect.max = ms(9000);
    expected.breaker.min_failures = 7;
    expected.timeouts.prove = ms(9);
    assert_eq!(west.rules, expected);
}

#[test]
fn the_words_of_each_choice() {
    for (word, debug) in [("one", "one"), ("all", "all"), ("lazy", "lazy")] {
        let text = with_member(&format!("[group]\nstartup = \"{word}\""));
        assert_eq!(format!("{:?}", accepted(&text).group.rules.startup), debug);
    }
    for (word, action) in [
        ("none", LameDuckAction::None),
        ("switch_to_passive", LameDuckAction::SwitchToPassive),
        ("passive_only", LameDuckAction::PassiveOnly),
    ] {
        let text = with_member(&format!("[group.lame_duck]\naction = \"{word}\""));
        assert_eq!(accepted(&text).group.rules.lame_duck.action, action);
    }
    for (word, policy) in [
        ("majority", ProbePolicy::Majority),
        ("any", ProbePolicy::Any),
    ] {
        let text = with_member(&format!(
            "[group.health]\npolicy = \"{word}\"\ncombine = \"all\""
        ));
        assert_eq!(accepted(&text).group.rules.member.health.policy, policy);
    }
    let text = with_member("[group]\nstandby = \"all\"\npool = \"weighted\"");
    assert_eq!(accepted(&text).group.rules.standby, Standby::All);
}

#[test]
fn discovering_backends_rotate_and_keep_one_standby_unless_told_otherwise() {
    let text = with_member("[backend]\ndiscovers = true");
    let rules = accepted(&text).group.rules;
    assert_eq!(
        (rules.pool.name(), rules.standby),
        ("rotating", Standby::Count(1))
    );
    let text =
        with_member("[backend]\ndiscovers = true\n[group]\nstandby = \"all\"\npool = \"weighted\"");
    let rules = accepted(&text).group.rules;
    assert_eq!(
        (rules.pool.name(), rules.standby),
        ("weighted", Standby::All)
    );
}

#[test]
fn the_values_of_the_peers() {
    let text = with_member(
        "[group.health]\ninterval = \"5s\"\nprobes = 3\ntimeout = \"1s\"\nprobe_delay = \"500ms\"\npolicy = \"all\"\n\
         [group.breaker]\nfailure_rate = 0.1\nmin_failures = 1000\nwindow = \"2s\"\n\
         [group.failback]\ngrace = \"60s\"\nstable = \"120s\"",
    );
    let rules = accepted(&text).group.rules;
    assert_eq!(rules.member.health.interval, ms(5000));
    assert_eq!(rules.member.breaker.failure_rate, 0.1);
    assert_eq!(rules.failback.stable, ms(120_000));
}

#[test]
fn a_users_own_startup_is_a_value_of_the_rules() {
    struct Never;
    impl StartupPolicy for Never {
        fn decide(&self, _: StartupTally) -> StartupVerdict {
            StartupVerdict::Wait
        }
    }
    let rules = Rules {
        startup: Startup::Custom(std::sync::Arc::new(Never)),
        ..Rules::default()
    };
    assert!(format!("{rules:?}").contains("custom"));
}
