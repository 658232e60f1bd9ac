//! The same values from code, and the same judgement of them.

use std::time::Duration;

use super::{Settings, Test, accepted, refused, with_member};
use crate::config::{GroupConfig, Known, NewMember, Rules, Standby};

fn settings(url: &str) -> Settings {
    Settings {
        url: url.to_owned(),
        nested: None,
        port: None,
        mode: None,
        routes: Vec::new(),
        user: None,
        load: None,
        loose: None,
        tag: None,
    }
}

fn east() -> NewMember<Settings> {
    NewMember::new("east", settings("test://east"))
}

fn backend() -> Test {
    accepted(&with_member("")).backend
}

#[test]
fn members_have_the_groups_rules_unless_they_say_otherwise() {
    let group = GroupConfig::builder()
        .member(east())
        .member(
            NewMember::new("west", settings("test://west"))
                .weight(0.5)
                .enabled(false)
                .rules(|rules| rules.health.probes = 9),
        )
        .name("sessions")
        .rules(|rules| {
            rules.member.health.interval = Duration::from_secs(5);
            rules.standby = Standby::Count(1);
        })
        .build()
        .unwrap();
    assert_eq!(group.rules.name, "sessions");
    let [east, west] = &group.members[..] else {
        panic!("two members")
    };
    assert_eq!(east.rules, group.rules.member);
    assert_eq!((west.member.weight.get(), west.enabled), (0.5, false));
    assert_eq!(west.rules.health.interval, Duration::from_secs(5));
    assert_eq!(west.rules.health.probes, 9);
    group.check(&backend(), &Known::new()).unwrap();
}

#[test]
fn a_group_from_code_equals_the_one_from_a_file() {
    let group = GroupConfig::new([east()]).unwrap();
    let loaded = accepted(&with_member("")).group;
    assert_eq!(format!("{group:?}"), format!("{loaded:?}"));
    loaded.check(&backend(), &Known::new()).unwrap();
}

fn problem(change: impl FnOnce(&mut Rules)) -> String {
    let built = GroupConfig::builder().rules(change).member(east()).build();
    built.unwrap_err().to_string()
}

#[test]
fn values_out_of_bounds_are_named() {
    assert_eq!(
        problem(|rules| rules.name.clear()),
        "group.name: the name is empty"
    );
    assert_eq!(
        problem(|rules| rules.member.health.probes = 0),
        "group.health.probes: must be at least 1"
    );
    assert_eq!(
        problem(|rules| rules.member.breaker.failure_rate = f64::NAN),
        "group.breaker.failure_rate: must be a share from 0.0 to 1.0 (10 % is 0.1)\n\
         member `east`: breaker.failure_rate: must be a share from 0.0 to 1.0 (10 % is 0.1)"
    );
    let long = Duration::from_secs(u64::MAX);
    assert_eq!(
        problem(|rules| rules.unavailable_wait = long),
        "group.unavailable.wait: must be at most a year"
    );
    assert_eq!(
        problem(|rules| rules.loss_redial = long),
        "group.loss.redial: must be at most a year"
    );
    assert_eq!(
        problem(|rules| rules.switch_grace = long),
        "group.timeouts.switch_grace: must be at most a year"
    );
    assert_eq!(
        problem(|rules| rules.lame_duck.drain_window = long),
        "group.lame_duck.drain_window: must be at most a year"
    );
    assert_eq!(
        problem(|rules| rules.failback.stable = long),
        "group.failback.stable: must be at most a year"
    );
}

/// What a file is refused for, values from code are refused for in the same words.
#[test]
fn file_and_code_are_judged_alike() {
    let zero = "health = { interval = \"0s\" }\nreconnect = { initial = \"11s\" }\n";
    let file = refused(&(with_member("") + zero));
    let from_file: Vec<&str> = file
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(_, text)| text)
        .collect();
    let member = east().rules(|rules| {
        rules.health.interval = Duration::ZERO;
        rules.reconnect.initial = Duration::from_secs(11);
    });
    let code = GroupConfig::new([member]).unwrap_err().to_string();
    assert_eq!(code.lines().collect::<Vec<_>>(), from_file);
}

#[test]
fn members_out_of_bounds_are_named() {
    for (members, expected) in [
        (vec![], "a group needs at least one [[member]]"),
        (vec![east().enabled(false)], "all members are disabled"),
        (
            vec![east().weight(0.0)],
            "member `east`: weight: the weight 0 is not a positive finite number",
        ),
        (
            vec![NewMember::new("", settings("x"))],
            "member number 1: name: the name is empty",
        ),
        (
            vec![east(), east()],
            "member `east`: name: the name `east` is taken by member number 1",
        ),
    ] {
        assert_eq!(GroupConfig::new(members).unwrap_err().to_string(), expected);
    }
}

#[test]
fn checks_and_settings_are_judged_where_the_backend_is_known() {
    let wrong = NewMember::new("west", settings("http://west"))
        .rules(|rules| rules.health.checks = Some(vec!["pong".to_owned()]));
    let group = GroupConfig::builder()
        .rules(|rules| rules.member.health.checks = Some(vec!["mine".to_owned()]))
        .members([east(), wrong])
        .build()
        .unwrap();
    let error = group.check(&backend(), &Known::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "group.health.check: unknown check `mine`; known checks: ping\n\
         member `west`: health.check: unknown check `pong`, did you mean `ping`?\n\
         member `west`: \"http://west\" is no test:// URL (replay )"
    );
}

#[test]
fn a_description_shows_no_settings() {
    let shown = format!(
        "{:?}",
        GroupConfig::builder().member(NewMember::new("a", settings("hunter2")))
    );
    assert!(
        shown.contains("\"a\"") && !shown.contains("hunter2"),
        "{shown}"
    );
}

#[test]
fn a_check_of_ones_own_needs_a_name_of_its_own() {
    let group = GroupConfig::new([NewMember::new("east", settings("x"))]).unwrap();
    let known = Known::new().check("ping");
    let error = group.check(&backend(), &known).unwrap_err();
    assert!(
        error.to_string().contains("two checks are called `ping`"),
        "{error}"
    );
}
