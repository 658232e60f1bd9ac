//! The checks on values, wherever they came from: every way of opening a group ends here.
//!
//! A file is checked while it is read, by the same limits, so that its errors have lines; this is what values from
//! code go through. It only judges, it never repairs a value.

use std::collections::HashMap;

use backend_api::{Backend, MemberName};

use super::error::{ConfigError, Problem};
use super::known::{Known, wrong_checks};
use super::limits::{self, Limited, Violation, wrong_name};
use super::place::{Scope, join};
use super::rules::{GroupConfig, MemberRules};

pub(super) const NO_MEMBER: &str = "a group needs at least one [[member]]";
pub(super) const ALL_DISABLED: &str = "all members are disabled";

impl<S> GroupConfig<S> {
    /// Checks everything that a file is checked for: the limits of the values, the names, and the settings by
    /// [`Backend::validate`].
    ///
    /// # Errors
    ///
    /// All problems that were found.
    pub fn check<B: Backend<Settings = S>>(
        &self,
        backend: &B,
        known: &Known,
    ) -> Result<(), ConfigError> {
        let mut found = self.problems();
        let checks = known.checks_of(backend);
        for (at, name) in checks.iter().enumerate() {
            if checks[..at].contains(name) {
                let message = format!(
                    "two checks are called `{name}`; one of your own needs a name that the backend does not use"
                );
                found.say(Scope::Document, "", &message);
            }
        }
        if let Some(names) = &self.rules.member.health.checks {
            for (_, message) in wrong_checks(names, &checks) {
                found.say(Scope::Group, "health.check", &message);
            }
        }
        for (scope, member) in self.scopes() {
            let names = &member.rules.health.checks;
            if let Some(names) = names
                .as_ref()
                .filter(|_| *names != self.rules.member.health.checks)
            {
                for (_, message) in wrong_checks(names, &checks) {
                    found.say(scope, "health.check", &message);
                }
            }
            if let Err(error) = backend.validate(&member.member.settings) {
                found.say(scope, "", error.message());
            }
        }
        found.into_result()
    }

    /// What can be said without a backend.
    pub(super) fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let rules = &self.rules;
        for violation in limits::of_group(rules) {
            found.violation(Scope::Group, "", &violation);
        }
        found.table(Scope::Group, &rules.failback);
        found.table(Scope::Group, &rules.lame_duck);
        found.member_rules(Scope::Group, &rules.member);
        if self.members.is_empty() {
            found.say(Scope::Document, "", NO_MEMBER);
        } else if self.members.iter().all(|member| !member.enabled) {
            found.say(Scope::Document, "", ALL_DISABLED);
        }
        let mut taken = HashMap::with_capacity(self.members.len());
        for (number, (scope, member)) in self.scopes().enumerate() {
            let name = &member.member.name;
            if let Some(message) = wrong_name(name.as_str()) {
                found.say(scope, "name", message);
            } else if let Some(first) = taken.insert(name.clone(), number + 1) {
                found.say(
                    scope,
                    "name",
                    &duplicate(name, &format!("member number {first}")),
                );
            }
            // What a member has from the group was reported there.
            if member.rules != rules.member {
                found.member_rules(scope, &member.rules);
            }
        }
        found
    }

    fn scopes(&self) -> impl Iterator<Item = (Scope<'_>, &super::MemberConfig<S>)> {
        self.members.iter().enumerate().map(|(place, member)| {
            let name = Some(member.member.name.as_str()).filter(|name| !name.trim().is_empty());
            let number = place + 1;
            (Scope::Member { number, name }, member)
        })
    }
}

pub(super) fn duplicate(name: &MemberName, first: &str) -> String {
    format!("the name `{name}` is taken by {first}")
}

/// What is wrong with values from code.
#[derive(Default)]
pub(super) struct Problems(Vec<Problem>);

impl Problems {
    pub(super) fn say(&mut self, scope: Scope<'_>, path: &str, message: &str) {
        self.0.push(Problem {
            file: None,
            at: None,
            message: scope.say(path, message),
        });
    }

    fn violation(&mut self, scope: Scope<'_>, table: &str, violation: &Violation) {
        self.say(scope, &join(table, violation.key), &violation.message);
    }

    fn table<T: Limited>(&mut self, scope: Scope<'_>, table: &T) {
        for violation in table.violations() {
            self.violation(scope, T::TABLE, &violation);
        }
    }

    fn member_rules(&mut self, scope: Scope<'_>, rules: &MemberRules) {
        self.table(scope, &rules.health);
        self.table(scope, &rules.breaker);
        self.table(scope, &rules.reconnect);
        self.table(scope, &rules.timeouts);
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn into_result(mut self) -> Result<(), ConfigError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let left_out = self.0.len().saturating_sub(ConfigError::MOST);
        self.0.truncate(ConfigError::MOST);
        Err(ConfigError::new(self.0, left_out))
    }
}
