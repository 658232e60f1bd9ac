//! Which values make sense, table by table: one truth for values from a file and values from code.
//!
//! A limit names the key it is about, and the reader knows on which line that key stands. Nothing here knows of
//! files or of members. Only what can never be meant is refused; a choice that is merely unusual passes.

use std::time::Duration;

use super::rules::{Breaker, Failback, HealthRules, LameDuck, Reconnect, Rules, Timeouts};

/// The longest time that may be given, one year: sums of times never overflow then.
pub(super) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// One value out of bounds.
#[derive(Debug)]
pub(super) struct Violation {
    /// The key in its table.
    pub(super) key: &'static str,
    /// The other key that it disagrees with.
    pub(super) with: Option<&'static str>,
    pub(super) message: String,
}

/// A table whose values have limits.
pub(super) trait Limited {
    /// Its name in the configuration.
    const TABLE: &'static str;

    fn violations(&self) -> Vec<Violation>;
}

fn violation(key: &'static str, message: impl Into<String>) -> Violation {
    Violation {
        key,
        with: None,
        message: message.into(),
    }
}

fn bounded(found: &mut Vec<Violation>, key: &'static str, value: Duration) {
    if value > LONGEST {
        found.push(violation(key, TOO_LONG));
    }
}

fn positive(found: &mut Vec<Violation>, key: &'static str, value: Duration) {
    if value.is_zero() {
        found.push(violation(key, "must be longer than zero"));
    }
    bounded(found, key, value);
}

pub(super) const TOO_LONG: &str = "must be at most a year";

impl Limited for HealthRules {
    const TABLE: &'static str = "health";

    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        positive(&mut found, "interval", self.interval);
        positive(&mut found, "timeout", self.timeout);
        bounded(&mut found, "probe_delay", self.probe_delay);
        if self.probes == 0 {
            found.push(violation("probes", "must be at least 1"));
        }
        found
    }
}

impl Limited for Breaker {
    const TABLE: &'static str = "breaker";

    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        positive(&mut found, "window", self.window);
        // Written so that NaN is refused too.
        if !(0.0..=1.0).contains(&self.failure_rate) {
            found.push(violation(
                "failure_rate",
                "must be a share from 0.0 to 1.0 (10 % is 0.1)",
            ));
        }
        found
    }
}

impl Limited for Failback {
    const TABLE: &'static str = "failback";

    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        bounded(&mut found, "grace", self.grace);
        bounded(&mut found, "stable", self.stable);
        bounded(&mut found, "jitter", self.jitter);
        found
    }
}

impl Limited for LameDuck {
    const TABLE: &'static str = "lame_duck";

    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        bounded(&mut found, "drain_window", self.drain_window);
        found
    }
}

impl Limited for Reconnect {
    const TABLE: &'static str = "reconnect";

    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        positive(&mut found, "initial", self.initial);
        positive(&mut found, "max", self.max);
        if found.is_empty() && self.initial > self.max {
            found.push(Violation {
                key: "initial",
                with: Some("max"),
                message: format!(
                    "`initial` ({:?}) must not be longer than `max` ({:?})",
                    self.initial, self.max
                ),
            });
        }
        found
    }
}

impl Limited for Timeouts {
    const TABLE: &'static str = "timeouts";

    fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        positive(&mut found, "connect", self.connect);
        positive(&mut found, "prove", self.prove);
        positive(&mut found, "operation", self.operation);
        found
    }
}

/// What the group has beside its tables.
pub(super) fn of_group(rules: &Rules) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(message) = wrong_name(&rules.name) {
        found.push(violation("name", message));
    }
    bounded(&mut found, "unavailable.wait", rules.unavailable_wait);
    bounded(&mut found, "loss.redial", rules.loss_redial);
    bounded(&mut found, "timeouts.switch_grace", rules.switch_grace);
    found
}

/// What is wrong with the name of a group or of a member.
pub(super) fn wrong_name(name: &str) -> Option<&'static str> {
    name.trim().is_empty().then_some("the name is empty")
}
