//! Wrong values of the engine's own keys: each class with the text that people read.

use super::{refused, with_member};

/// Lines before a good member, and the error about them.
const GROUP: &[(&str, &str)] = &[
    // Keys.
    (
        "[grup]",
        "f.toml:1:2: unknown key `grup`, did you mean `group`?",
    ),
    (
        "[[members]]\nname = \"x\"",
        "f.toml:1:3: unknown key `members`, did you mean `member`?",
    ),
    (
        "zzz = 1",
        "f.toml:1:1: unknown key `zzz`; known keys: backend, group, member",
    ),
    (
        "[group]\nstartUp = \"one\"",
        "f.toml:2:1: group: unknown key `startUp`, did you mean `startup`?",
    ),
    (
        "[group.health]\nintervall = \"1s\"",
        "f.toml:2:1: group.health: unknown key `intervall`, did you mean `interval`?",
    ),
    (
        "[group.health]\nprobe-delay = \"1s\"",
        "f.toml:2:1: group.health: unknown key `probe-delay`, did you mean `probe_delay`?",
    ),
    (
        "[group.loss]\nwait = \"1s\"",
        "f.toml:2:1: group.loss: unknown key `wait`; known keys: redial",
    ),
    (
        "[group.helth]\ninterval = \"1s\"",
        "f.toml:1:8: group: unknown key `helth`, did you mean `health`?",
    ),
    // Types.
    (
        "group = 1",
        "f.toml:1:9: group: expected a table, found a whole number",
    ),
    (
        "[group]\nhealth = \"1s\"",
        "f.toml:2:10: group.health: expected a table, found a string",
    ),
    (
        "[group]\nname = 1",
        "f.toml:2:8: group.name: expected a string, found a whole number",
    ),
    (
        "[group]\nname = \" \"",
        "f.toml:2:8: group.name: the name is empty",
    ),
    (
        "[group]\nname = \"${X}\"",
        "f.toml:2:8: group.name: environment variables serve in [backend] and [[member]] only",
    ),
    (
        "[group.failback]\nenabled = \"yes\"",
        "f.toml:2:11: group.failback.enabled: expected true or false, found a string",
    ),
    (
        "[group.health]\nprobes = 1.5",
        "f.toml:2:10: group.health.probes: expected a whole number, found a number",
    ),
    (
        "[group.health]\nprobes = -1",
        "f.toml:2:10: group.health.probes: expected a whole number from 0 to 4294967295",
    ),
    (
        "[group.health]\ncheck = \"ping\"",
        "f.toml:2:9: group.health.check: expected an array of names like [\"ping\"], found a string",
    ),
    (
        "[group.health]\ncheck = [1]",
        "f.toml:2:9: group.health.check: expected names, found a whole number",
    ),
    (
        "[group.breaker]\nfailure_rate = \"10%\"",
        "f.toml:2:16: group.breaker.failure_rate: expected a number, found a string",
    ),
    (
        "[group.breaker]\nfailure_rate = 1e999",
        "f.toml:2:16: group.breaker.failure_rate: this number is out of range",
    ),
    // Words.
    (
        "[group]\nstartup = \"mayority\"",
        "f.toml:2:11: group.startup: unknown value `mayority`, did you mean `majority`?",
    ),
    (
        "[group]\nstartup = true",
        "f.toml:2:11: group.startup: expected \"one\" or \"majority\" or \"all\" or \"lazy\", found true or false",
    ),
    (
        "[group]\nstandby = \"some\"",
        "f.toml:2:11: group.standby: expected \"all\" or how many members to keep warm, like 1",
    ),
    (
        "[group]\nstandby = -1",
        "f.toml:2:11: group.standby: expected a whole number from 0 to 4294967295",
    ),
    (
        "[group]\npool = \"wieghted\"",
        "f.toml:2:8: group.pool: unknown pool `wieghted`, did you mean `weighted`?",
    ),
    (
        "[group]\npool = \"zzz\"",
        "f.toml:2:8: group.pool: unknown pool `zzz`; known pools: rotating, weighted",
    ),
    (
        "[group.health]\npolicy = \"most\"",
        "f.toml:2:10: group.health.policy: unknown value `most`; known values: all, any, majority",
    ),
    (
        "[group.health]\ncombine = \"alll\"",
        "f.toml:2:11: group.health.combine: unknown value `alll`, did you mean `all`?",
    ),
    (
        "[group.health]\ncheck = [\"ping\", \"pong\"]",
        "f.toml:2:18: group.health.check: unknown check `pong`, did you mean `ping`?",
    ),
    (
        "[group.health]\ncheck = [\"ping\", \"ping\"]",
        "f.toml:2:18: group.health.check: the check `ping` is named twice",
    ),
    (
        "[group.lame_duck]\naction = \"drain\"",
        "f.toml:2:10: group.lame_duck.action: unknown value `drain`; known values: drain_to_passive, none, passive_only, switch_to_passive",
    ),
    // Times.
    (
        "[group.health]\ninterval = 5",
        "f.toml:2:12: group.health.interval: a time needs a unit: write a time like \"500ms\", \"1.5s\", \"2m\" or \"1h\"",
    ),
    (
        "[group.health]\ninterval = \"5\"",
        "f.toml:2:12: group.health.interval: a time needs a unit: write a time like \"500ms\", \"1.5s\", \"2m\" or \"1h\"",
    ),
    (
        "[group.health]\ninterval = \"5 sec\"",
        "f.toml:2:12: group.health.interval: this is no time: write a time like \"500ms\", \"1.5s\", \"2m\" or \"1h\"",
    ),
    (
        "[group.health]\ninterval = \".s\"",
        "f.toml:2:12: group.health.interval: this is no time: write a time like \"500ms\", \"1.5s\", \"2m\" or \"1h\"",
    ),
    (
        "[group.health]\ninterval = \"-1s\"",
        "f.toml:2:12: group.health.interval: this is no time: write a time like \"500ms\", \"1.5s\", \"2m\" or \"1h\"",
    ),
    (
        "[group.health]\ninterval = []",
        "f.toml:2:12: group.health.interval: expected a time, found an array: write a time like \"500ms\", \"1.5s\", \"2m\" or \"1h\"",
    ),
    (
        "[group.failback]\ngrace = \"9000h\"",
        "f.toml:2:9: group.failback.grace: must be at most a year",
    ),
    (
        "[group.failback]\ngrace = \"99999999999999999999999h\"",
        "f.toml:2:9: group.failback.grace: must be at most a year",
    ),
    // Limits.
    (
        "[group.health]\nprobes = 0",
        "f.toml:2:10: group.health.probes: must be at least 1",
    ),
    (
        "[group.health]\ninterval = \"0s\"",
        "f.toml:2:12: group.health.interval: must be longer than zero",
    ),
    (
        "[group.health]\ntimeout = \"0s\"",
        "f.toml:2:11: group.health.timeout: must be longer than zero",
    ),
    (
        "[group.breaker]\nwindow = \"0s\"",
        "f.toml:2:10: group.breaker.window: must be longer than zero",
    ),
    (
        "[group.breaker]\nfailure_rate = 10",
        "f.toml:2:16: group.breaker.failure_rate: must be a share from 0.0 to 1.0 (10 % is 0.1)",
    ),
    (
        "[group.breaker]\nfailure_rate = -0.1",
        "f.toml:2:16: group.breaker.failure_rate: must be a share from 0.0 to 1.0 (10 % is 0.1)",
    ),
    (
        "[group.breaker]\nfailure_rate = nan",
        "f.toml:2:16: group.breaker.failure_rate: must be a share from 0.0 to 1.0 (10 % is 0.1)",
    ),
    (
        "[group.reconnect]\ninitial = \"0s\"",
        "f.toml:2:11: group.reconnect.initial: must be longer than zero",
    ),
    (
        "[group.reconnect]\ninitial = \"11s\"",
        "f.toml:2:11: group.reconnect.initial: `initial` (11s) must not be longer than `max` (10s)",
    ),
    (
        "[group.reconnect]\nmax = \"1ms\"",
        "f.toml:2:7: group.reconnect.initial: `initial` (50ms) must not be longer than `max` (1ms)",
    ),
    (
        "[group.timeouts]\nconnect = \"0s\"",
        "f.toml:2:11: group.timeouts.connect: must be longer than zero",
    ),
    (
        "[group.timeouts]\nprove = \"0s\"",
        "f.toml:2:9: group.timeouts.prove: must be longer than zero",
    ),
    (
        "[group.timeouts]\noperation = \"0s\"",
        "f.toml:2:13: group.timeouts.operation: must be longer than zero",
    ),
    // TOML itself: never with the line, which may hold a secret.
    (
        "[group]\nname = ",
        "f.toml:2:8: string values must be quoted, expected literal string",
    ),
    (
        "[group]\nname = \"a\"\nname = \"b\"",
        "f.toml:3:1: duplicate key",
    ),
];

#[test]
fn wrong_groups() {
    for (head, expected) in GROUP {
        assert_eq!(refused(&with_member(head)), *expected, "of {head}");
    }
}

/// Lines of a member after its name and url, and the error about them.
const MEMBER: &[(&str, &str)] = &[
    (
        "weight = 0",
        "f.toml:5:10: member `west`: weight: the weight 0 is not a positive finite number",
    ),
    (
        "weight = -1.5",
        "f.toml:5:10: member `west`: weight: the weight -1.5 is not a positive finite number",
    ),
    (
        "weight = nan",
        "f.toml:5:10: member `west`: weight: the weight NaN is not a positive finite number",
    ),
    (
        "weight = inf",
        "f.toml:5:10: member `west`: weight: the weight inf is not a positive finite number",
    ),
    (
        "weight = \"1\"",
        "f.toml:5:10: member `west`: weight: expected a number, found a string",
    ),
    (
        "wieght = 1",
        "f.toml:5:1: member `west`: unknown key `wieght`, did you mean `weight`?",
    ),
    (
        "enabled = 0",
        "f.toml:5:11: member `west`: enabled: expected true or false, found a whole number",
    ),
    (
        "health = { timeout = \"0s\" }",
        "f.toml:5:22: member `west`: health.timeout: must be longer than zero",
    ),
    (
        "health = { timeuot = \"1s\" }",
        "f.toml:5:12: member `west`: health: unknown key `timeuot`, did you mean `timeout`?",
    ),
    (
        "health.check = [\"mine\"]",
        "f.toml:5:17: member `west`: health.check: unknown check `mine`; known checks: ping",
    ),
    (
        "breaker = 5",
        "f.toml:5:11: member `west`: breaker: expected a table, found a whole number",
    ),
    (
        "reconnect.initial = \"1m\"",
        "f.toml:5:21: member `west`: reconnect.initial: `initial` (60s) must not be longer than `max` (10s)",
    ),
    (
        "timeouts.switch_grace = \"1s\"",
        "f.toml:5:25: member `west`: timeouts.switch_grace: belongs to the whole group, set it in [group.timeouts]",
    ),
    (
        "failback = { grace = \"1s\" }",
        "f.toml:5:1: member `west`: `failback` belongs to the whole group, not to a member",
    ),
];

fn west(lines: &str) -> String {
    format!("\n[[member]]\nname = \"west\"\nurl = \"test://west\"\n{lines}\n")
}

#[test]
fn wrong_members() {
    for (lines, expected) in MEMBER {
        assert_eq!(refused(&west(lines)), *expected, "of {lines}");
    }
}

#[test]
fn wrong_lists_of_members() {
    for (text, expected) in [
        ("", "f.toml: a group needs at least one [[member]]"),
        (
            "member = []",
            "f.toml:1:10: a group needs at least one [[member]]",
        ),
        (
            "member = [1]",
            "f.toml:1:11: member number 1: expected a table, found a whole number",
        ),
        (
            "[member]\nname = \"a\"",
            "f.toml:1:1: member: expected [[member]], with two brackets, found a table",
        ),
        (
            "[[member]]\nurl = \"test://x\"",
            "f.toml:1:1: member number 1: missing key `name`",
        ),
        (
            "[[member]]\nname = \"\"\nurl = \"test://x\"",
            "f.toml:2:8: member number 1: name: the name is empty",
        ),
        (
            "[[member]]\nname = 7\nurl = \"test://x\"",
            "f.toml:2:8: member number 1: name: expected a string, found a whole number",
        ),
        (
            "[[member]]\nname = \"a\"\nenabled = false\nurl = \"test://x\"",
            "f.toml:1:1: member: all members are disabled",
        ),
    ] {
        assert_eq!(refused(text), expected, "of {text}");
    }
}

#[test]
fn a_name_is_taken_once() {
    let text = format!("{}{}", with_member(""), with_member(""));
    assert_eq!(
        refused(&text),
        "f.toml:7:8: member `east`: name: the name `east` is taken by the member on line 3"
    );
}

#[test]
fn everything_that_is_wrong_is_said_at_once_in_order() {
    let text = "[group]\nstartup = \"x\"\nname = \"\"\n[[member]]\nname = \"a\"\nweight = 0\nurll = \"y\"\n[backnd]\n";
    assert_eq!(
        refused(text),
        "f.toml:2:11: group.startup: unknown value `x`; known values: all, lazy, majority, one\n\
         f.toml:3:8: group.name: the name is empty\n\
         f.toml:6:10: member `a`: weight: the weight 0 is not a positive finite number\n\
         f.toml:7:1: member `a`: unknown key `urll`, did you mean `url`?\n\
         f.toml:8:2: unknown key `backnd`, did you mean `backend`?"
    );
}

#[test]
fn what_a_group_has_wrong_is_not_repeated_for_its_members() {
    let text = with_member("[group]\nhealth.probes = 0") + "health.timeout = \"1s\"\n";
    assert_eq!(
        refused(&text),
        "f.toml:2:17: group.health.probes: must be at least 1"
    );
}
