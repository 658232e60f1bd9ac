//! `[group]`, its tables, and the tables that a `[[member]]` lays over them.
//!
//! The keys of the configuration stand here and nowhere else. Values start as the defaults and are overwritten by
//! what the file says. No decision and no limit lives here.

use std::sync::Arc;
use std::time::Duration;

use backend_api::Pool;
use toml::de::DeValue;

use super::table::Table;
use super::values::{count, duration, expected, flag, number, string, word};
use crate::config::known::{Known, wrong_checks};
use crate::config::limits::wrong_name;
use crate::config::rules::{
    Combine, HealthRules, LameDuckAction, MemberRules, ProbePolicy, Rules, Standby, Startup,
};

/// What of a group's tables no member can override.
pub(super) const GROUP_ONLY: &[&str] = &[
    "startup",
    "standby",
    "pool",
    "failback",
    "lame_duck",
    "unavailable",
    "loss",
];

/// Reads `[group]` over the defaults. `checks`: the names that `check` may say, where they are known.
pub(super) fn group(
    table: &Table<'_>,
    rules: &mut Rules,
    known: &Known,
    checks: Option<&[String]>,
) {
    table.set("name", &mut rules.name, |value| {
        let name = string(value)?;
        if name.contains("${") {
            return Err("environment variables serve in [backend] and [[member]] only".to_owned());
        }
        wrong_name(&name).map_or(Ok(name), |wrong| Err(wrong.to_owned()))
    });
    table.set("startup", &mut rules.startup, startup);
    table.set("standby", &mut rules.standby, standby);
    table.set("pool", &mut rules.pool, |value| pool(value, known));
    overridable(
        table,
        &mut rules.member,
        checks,
        Some(&mut rules.switch_grace),
    );
    table.limited(&mut rules.failback, |table, failback| {
        table.set("enabled", &mut failback.enabled, flag);
        table.set("grace", &mut failback.grace, duration);
        table.set("stable", &mut failback.stable, duration);
        table.set("jitter", &mut failback.jitter, duration);
    });
    table.limited(&mut rules.lame_duck, |table, lame_duck| {
        table.set("action", &mut lame_duck.action, lame_duck_action);
        table.set("drain_window", &mut lame_duck.drain_window, duration);
    });
    table.table("unavailable", |table| {
        table.set("wait", &mut rules.unavailable_wait, duration);
    });
    table.table("loss", |table| {
        table.set("redial", &mut rules.loss_redial, duration);
    });
    table.done();
}

/// Reads the four tables that a group has and a member may override. Only a group has a `switch_grace`.
pub(super) fn overridable(
    table: &Table<'_>,
    rules: &mut MemberRules,
    checks: Option<&[String]>,
    switch_grace: Option<&mut Duration>,
) {
    table.limited(&mut rules.health, |table, rules| {
        health(table, rules, checks);
    });
    table.limited(&mut rules.breaker, |table, breaker| {
        table.set("window", &mut breaker.window, duration);
        table.set("failure_rate", &mut breaker.failure_rate, number);
        table.set("min_failures", &mut breaker.min_failures, count);
    });
    table.limited(&mut rules.reconnect, |table, reconnect| {
        table.set("initial", &mut reconnect.initial, duration);
        table.set("max", &mut reconnect.max, duration);
    });
    table.limited(&mut rules.timeouts, |table, timeouts| {
        table.set("connect", &mut timeouts.connect, duration);
        table.set("prove", &mut timeouts.prove, duration);
        table.set("operation", &mut timeouts.operation, duration);
        match (switch_grace, table.get("switch_grace")) {
            (Some(grace), _) => table.set("switch_grace", grace, duration),
            (None, Some(value)) => {
                let message = "belongs to the whole group, set it in [group.timeouts]";
                table.wrong(value.span().start, "switch_grace", message);
            }
            (None, None) => {}
        }
    });
}

fn health(table: &Table<'_>, health: &mut HealthRules, checks: Option<&[String]>) {
    if let Some(value) = table.get("check") {
        match names(value.get_ref()) {
            Ok((names, starts)) => {
                for (place, message) in wrong_checks(&names, checks.unwrap_or(&names)) {
                    table.wrong(starts[place], "check", &message);
                }
                health.checks = Some(names);
            }
            Err(message) => table.wrong(value.span().start, "check", &message),
        }
    }
    table.set("combine", &mut health.combine, |value| {
        word(value, &[("all", Combine::All), ("any", Combine::Any)])
    });
    table.set("interval", &mut health.interval, duration);
    table.set("timeout", &mut health.timeout, duration);
    table.set("probes", &mut health.probes, count);
    table.set("probe_delay", &mut health.probe_delay, duration);
    table.set("policy", &mut health.policy, |value| {
        word(
            value,
            &[
                ("all", ProbePolicy::All),
                ("majority", ProbePolicy::Majority),
                ("any", ProbePolicy::Any),
            ],
        )
    });
}

/// Names, and where each of them stands.
fn names(value: &DeValue<'_>) -> Result<(Vec<String>, Vec<usize>), String> {
    let expected = |found| expected("an array of names like [\"ping\"]", found);
    let DeValue::Array(items) = value else {
        return Err(expected(value));
    };
    let mut names = (Vec::new(), Vec::new());
    for item in items {
        let DeValue::String(name) = item.get_ref() else {
            return Err(format!(
                "expected names, found {}",
                super::values::kind_of(item.get_ref())
            ));
        };
        names.0.push(name.clone().into_owned());
        names.1.push(item.span().start);
    }
    Ok(names)
}

fn startup(value: &DeValue<'_>) -> Result<Startup, String> {
    word(
        value,
        &[
            ("one", Startup::One),
            ("majority", Startup::Majority),
            ("all", Startup::All),
            ("lazy", Startup::Lazy),
        ],
    )
}

fn standby(value: &DeValue<'_>) -> Result<Standby, String> {
    match value {
        DeValue::Integer(_) => count(value).map(Standby::Count),
        DeValue::String(text) if text == "all" => Ok(Standby::All),
        _ => Err("expected \"all\" or how many members to keep warm, like 1".to_owned()),
    }
}

fn pool(value: &DeValue<'_>, known: &Known) -> Result<Arc<dyn Pool>, String> {
    string(value).and_then(|name| known.find_pool(&name))
}

fn lame_duck_action(value: &DeValue<'_>) -> Result<LameDuckAction, String> {
    word(
        value,
        &[
            ("none", LameDuckAction::None),
            ("switch_to_passive", LameDuckAction::SwitchToPassive),
            ("drain_to_passive", LameDuckAction::DrainToPassive),
            ("passive_only", LameDuckAction::PassiveOnly),
        ],
    )
}
