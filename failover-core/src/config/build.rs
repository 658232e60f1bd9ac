//! The same values as in a file, from code.
//!
//! Members are described before they are configured: what a description does not say comes from the group, also
//! where the group's rules are set after its members were named. A builder holds and checks, it reads nothing.

use std::fmt;

use backend_api::{Capabilities, Member, MemberName, Rotating, Weight};

use super::check::Problems;
use super::error::ConfigError;
use super::place::Scope;
use super::rules::{GroupConfig, MemberConfig, MemberRules, Rules, Standby};

impl Rules {
    /// The defaults for a backend. Where members are discovered, many clients must not share one member because it
    /// is named first: the pool is [`Rotating`] there and one standby is kept.
    pub fn suited_to(capabilities: Capabilities) -> Self {
        let mut rules = Self::default();
        if capabilities.discovers_members() {
            rules.pool = std::sync::Arc::new(Rotating);
            rules.standby = Standby::Count(1);
        }
        rules
    }
}

type Override = Box<dyn FnOnce(&mut MemberRules) + Send>;

/// The description of one member: [`MemberConfig`] before the group's rules are laid under it.
#[must_use]
pub struct NewMember<S> {
    name: MemberName,
    settings: S,
    weight: f64,
    enabled: bool,
    overrides: Vec<Override>,
}

impl<S> NewMember<S> {
    /// An enabled member of weight 1.0 under the group's rules.
    pub fn new(name: impl Into<MemberName>, settings: S) -> Self {
        Self {
            name: name.into(),
            settings,
            weight: Weight::default().get(),
            enabled: true,
            overrides: Vec::new(),
        }
    }

    /// The priority, a positive finite number; checked when the group is built. Default: 1.0.
    pub fn weight(mut self, weight: f64) -> Self {
        self.weight = weight;
        self
    }

    /// A disabled member is known but neither connected nor used. Default: enabled.
    pub fn enabled(mut self, enabled: bool) -> Self {
        self.enabled = enabled;
        self
    }

    /// Changes what this member does otherwise than the group. Runs when the group is built, on a copy of the
    /// group's rules.
    pub fn rules(mut self, change: impl FnOnce(&mut MemberRules) + Send + 'static) -> Self {
        self.overrides.push(Box::new(change));
        self
    }

    /// The member under a group's rules.
    ///
    /// # Errors
    ///
    /// A weight that is not a positive finite number, of kind [`Config`](backend_api::ErrorKind::Config).
    pub fn under(self, group: &MemberRules) -> Result<MemberConfig<S>, backend_api::Error> {
        let weight = Weight::new(self.weight).map_err(|error| error.with_member(&self.name))?;
        let mut member = Member::new(self.name, self.settings);
        member.weight = weight;
        let mut rules = group.clone();
        for change in self.overrides {
            change(&mut rules);
        }
        Ok(MemberConfig {
            member,
            enabled: self.enabled,
            rules,
        })
    }
}

// By hand: settings may hold secrets.
impl<S> fmt::Debug for NewMember<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewMember")
            .field("name", &self.name)
            .field("weight", &self.weight)
            .field("enabled", &self.enabled)
            .finish_non_exhaustive()
    }
}

/// Builds a [`GroupConfig`]; see [`GroupConfig::builder`].
#[must_use]
pub struct GroupBuilder<S> {
    rules: Rules,
    members: Vec<NewMember<S>>,
}

impl<S> GroupConfig<S> {
    /// A group from code, beginning with the default [`Rules`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use failover_core::config::{GroupConfig, NewMember, Startup};
    ///
    /// let group = GroupConfig::builder()
    ///     .name("sessions")
    ///     .rules(|rules| {
    ///         rules.startup = Startup::Majority;
    ///         rules.member.health.interval = Duration::from_secs(5);
    ///     })
    ///     .member(NewMember::new("east", "east.example:6379"))
    ///     .member(NewMember::new("west", "west.example:6379").weight(0.5))
    ///     .build()?;
    /// assert_eq!(group.members[1].rules.health.interval, Duration::from_secs(5));
    /// # Ok::<(), failover_core::config::ConfigError>(())
    /// ```
    pub fn builder() -> GroupBuilder<S> {
        GroupBuilder {
            rules: Rules::default(),
            members: Vec::new(),
        }
    }

    /// A group of these members under the default [`Rules`].
    ///
    /// # Errors
    ///
    /// As [`GroupBuilder::build`].
    pub fn new(members: impl IntoIterator<Item = NewMember<S>>) -> Result<Self, ConfigError> {
        Self::builder().members(members).build()
    }
}

impl<S> GroupBuilder<S> {
    /// Names the group in events, logs and errors. Default: `default`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.rules.name = name.into();
        self
    }

    /// Changes the group's rules, also those that members have unless they override them.
    pub fn rules(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }

    /// Adds a member after those that are there.
    pub fn member(mut self, member: NewMember<S>) -> Self {
        self.members.push(member);
        self
    }

    /// Adds members after those that are there.
    pub fn members(mut self, members: impl IntoIterator<Item = NewMember<S>>) -> Self {
        self.members.extend(members);
        self
    }

    /// The group. The names of checks, and the settings, are checked when it is opened, where the backend is known.
    ///
    /// # Errors
    ///
    /// All values out of bounds: see [`GroupConfig::check`].
    pub fn build(self) -> Result<GroupConfig<S>, ConfigError> {
        let mut wrong_weights = Problems::default();
        let mut members = Vec::with_capacity(self.members.len());
        for (place, mut member) in self.members.into_iter().enumerate() {
            if let Err(error) = Weight::new(member.weight) {
                let scope = Scope::Member {
                    number: place + 1,
                    name: Some(member.name.as_str()),
                };
                wrong_weights.say(scope, "weight", error.message());
                member.weight = Weight::default().get();
            }
            // The weight was the only thing that can be refused here.
            members.extend(member.under(&self.rules.member));
        }
        let group = GroupConfig {
            rules: self.rules,
            members,
        };
        wrong_weights.and(group.problems()).into_result()?;
        Ok(group)
    }
}

impl<S> fmt::Debug for GroupBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupBuilder")
            .field("rules", &self.rules)
            .field("members", &self.members)
            .finish()
    }
}
