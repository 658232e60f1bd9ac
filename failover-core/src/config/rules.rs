//! The values that govern a group, with their defaults: what a configuration can say, checked or not.
//!
//! Plain data. The machine reads it, the TOML reader and the builders write it; nothing here parses or decides.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Member, Pool, Weighted};

use super::StartupPolicy;

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Everything that governs a group, its members and backend aside.
#[derive(Clone)]
pub struct Rules {
    /// Names the group in events, logs and errors. Default: `default`.
    pub name: String,
    /// When startup is complete. Default: `one`.
    pub startup: Startup,
    /// How many members are kept warm beside the active. Default: all.
    pub standby: Standby,
    /// Which member next. Default: [`Weighted`].
    pub pool: Arc<dyn Pool>,
    /// See [`Failback`].
    pub failback: Failback,
    /// See [`LameDuck`].
    pub lame_duck: LameDuck,
    /// How long an operation waits for an active before it fails; zero: not at all. Default: 1 s.
    pub unavailable_wait: Duration,
    /// How long the redial of a lost active may hold up the failover; zero: a lost connection always moves the
    /// traffic. Default: 50 ms.
    pub loss_redial: Duration,
    /// Longest life of the old connection after a planned switch. Default: 100 ms.
    pub switch_grace: Duration,
    /// What a member may override for itself.
    pub member: MemberRules,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            startup: Startup::One,
            standby: Standby::All,
            pool: Arc::new(Weighted),
            failback: Failback::default(),
            lame_duck: LameDuck::default(),
            unavailable_wait: millis(1000),
            loss_redial: millis(50),
            switch_grace: millis(100),
            member: MemberRules::default(),
        }
    }
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules")
            .field("name", &self.name)
            .field("startup", &self.startup)
            .field("standby", &self.standby)
            .field("pool", &self.pool.name())
            .field("failback", &self.failback)
            .field("lame_duck", &self.lame_duck)
            .field("unavailable_wait", &self.unavailable_wait)
            .field("loss_redial", &self.loss_redial)
            .field("switch_grace", &self.switch_grace)
            .field("member", &self.member)
            .finish()
    }
}

/// The part of the rules that a `[[member]]` may override (`health = { timeout = "1s" }`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberRules {
    /// See [`HealthRules`].
    pub health: HealthRules,
    /// See [`Breaker`].
    pub breaker: Breaker,
    /// See [`Reconnect`].
    pub reconnect: Reconnect,
    /// See [`Timeouts`].
    pub timeouts: Timeouts,
}

/// When startup is complete.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Startup {
    /// One member is available. The default.
    #[default]
    One,
    /// More than half of the members are available.
    Majority,
    /// All members are available.
    All,
    /// At once, without an active: one comes later.
    Lazy,
    /// The user's own policy.
    Custom(Arc<dyn StartupPolicy>),
}

impl std::fmt::Debug for Startup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::One => "one",
            Self::Majority => "majority",
            Self::All => "all",
            Self::Lazy => "lazy",
            Self::Custom(_) => "custom",
        })
    }
}

/// How many members are kept warm beside the active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Standby {
    /// All of them. The default.
    #[default]
    All,
    /// So many, the best of the pool, on other servers than the active's as far as the backend can tell servers apart.
    Count(u32),
}

/// How members are checked.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthRules {
    /// The checks by name; `None`: the backend's default ones. Empty: none, every open connection counts as healthy.
    pub checks: Option<Vec<String>>,
    /// Whether all of the checks must pass or any one of them. Default: all.
    pub combine: Combine,
    /// From the start of one check to the start of the next, jittered by a tenth. Default: 1 s.
    pub interval: Duration,
    /// How long one probe may take. Default: 500 ms.
    pub timeout: Duration,
    /// How many probes make a verdict, at least 1. Default: 3.
    pub probes: u32,
    /// After a failed probe the next starts this long after it began; after a success, at once. Default: 100 ms.
    pub probe_delay: Duration,
    /// How probes make a verdict. Default: majority.
    pub policy: ProbePolicy,
}

impl Default for HealthRules {
    fn default() -> Self {
        Self {
            checks: None,
            combine: Combine::All,
            interval: millis(1000),
            timeout: millis(500),
            probes: 3,
            probe_delay: millis(100),
            policy: ProbePolicy::Majority,
        }
    }
}

impl HealthRules {
    /// Puts the backend's default checks in place where none are named.
    pub(crate) fn name_checks(&mut self, defaults: &[String]) {
        self.checks.get_or_insert_with(|| defaults.to_vec());
    }

    /// Whether there is nothing to check, once the default checks are named.
    pub(crate) fn is_empty(&self) -> bool {
        self.checks.as_ref().is_some_and(Vec::is_empty)
    }

    /// The longest that one whole check can take.
    pub fn bound(&self) -> Duration {
        self.timeout.max(self.probe_delay) * self.probes
    }
}

/// How several checks make one probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Combine {
    /// All must pass. The default.
    #[default]
    All,
    /// One must pass.
    Any,
}

/// How several probes make one verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbePolicy {
    /// All must succeed; the first failure decides.
    All,
    /// More than half must succeed; decided as early as that is certain. The default.
    #[default]
    Majority,
    /// One must succeed; the first success decides.
    Any,
}

/// When a member's failed operations open its breaker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Breaker {
    /// Operations older than this are forgotten. Default: 2 s.
    pub window: Duration,
    /// Share of failures, 0 to 1, at which it opens. Default: 0.5.
    pub failure_rate: f64,
    /// Number of failures below which it never opens. Default: 10.
    pub min_failures: u32,
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            window: millis(2000),
            failure_rate: 0.5,
            min_failures: 10,
        }
    }
}

/// When traffic goes back to a member of higher weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failback {
    /// Whether it does by itself. Default: yes.
    pub enabled: bool,
    /// How long a member is not chosen again after a failover away from it. Default: 60 s.
    pub grace: Duration,
    /// Unbroken health that a member needs before traffic goes back to it. Default: 10 s.
    pub stable: Duration,
    /// Failbacks and the re-arming of standbys are spread over this, so that a fleet does not move in one step.
    /// Default: 10 s.
    pub jitter: Duration,
}

impl Default for Failback {
    fn default() -> Self {
        Self {
            enabled: true,
            grace: millis(60_000),
            stable: millis(10_000),
            jitter: millis(10_000),
        }
    }
}

/// What follows when a member announces its own shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LameDuck {
    /// Default: [`LameDuckAction::SwitchToPassive`].
    pub action: LameDuckAction,
    /// How long the old connection may finish under [`LameDuckAction::DrainToPassive`]. Default: 5 s.
    pub drain_window: Duration,
}

impl Default for LameDuck {
    fn default() -> Self {
        Self {
            action: LameDuckAction::SwitchToPassive,
            drain_window: millis(5000),
        }
    }
}

/// See [`LameDuck`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LameDuckAction {
    /// Nothing, until the member ends the connection.
    None,
    /// An active moves to the standby at once, a standby is re-homed. The default.
    #[default]
    SwitchToPassive,
    /// The same, but the old active may finish what is under way.
    DrainToPassive,
    /// Only a standby is re-homed; an active rides it out.
    PassiveOnly,
}

/// How members without a connection are dialled again: exponential, capped, with full jitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// Upper bound of the first delay. Default: 50 ms.
    pub initial: Duration,
    /// Upper bound of every delay. Default: 10 s.
    pub max: Duration,
}

impl Default for Reconnect {
    fn default() -> Self {
        Self {
            initial: millis(50),
            max: millis(10_000),
        }
    }
}

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// One attempt to connect, handshake and authentication included. Default: 2 s.
    pub connect: Duration,
    /// One proof, and each of arming and promoting. Default: 500 ms.
    pub prove: Duration,
    /// One operation of the application. Default: 500 ms.
    pub operation: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: millis(2000),
            prove: millis(500),
            operation: millis(500),
        }
    }
}

/// One member with what it overrides.
#[derive(Clone)]
pub struct MemberConfig<S> {
    /// Name, weight and the backend's settings.
    pub member: Member<S>,
    /// A disabled member is known but neither connected nor used. Default: enabled.
    pub enabled: bool,
    /// The group's rules with the member's own tables laid over them.
    pub rules: MemberRules,
}

/// A whole group: checked by [`GroupConfig::check`], which every way of opening a group calls.
#[derive(Clone)]
pub struct GroupConfig<S> {
    /// What governs the group.
    pub rules: Rules,
    /// Its members, in the declared order.
    pub members: Vec<MemberConfig<S>>,
}

// By hand: a backend's settings need not be `Debug`, and are never printed.
impl<S> std::fmt::Debug for MemberConfig<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemberConfig")
            .field("member", &self.member)
            .field("enabled", &self.enabled)
            .field("rules", &self.rules)
            .finish()
    }
}

impl<S> std::fmt::Debug for GroupConfig<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupConfig")
            .field("rules", &self.rules)
            .field("members", &self.members)
            .finish()
    }
}
