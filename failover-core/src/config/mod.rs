//! From text or builders to a checked configuration. Nothing past this door can be invalid.
//!
//! `rules` says what can be configured, `read` takes it from a file, `build` from code; `limits` and `check` judge
//! both alike. Nothing here connects, and no decision is taken.
//!
//! # A new configuration for a group that runs
//!
//! [`Failover::reload`](crate::Failover::reload) reads the file of a group again, and
//! [`Failover::apply`](crate::Failover::apply) says what becomes of the difference:
//!
//! | what differs | what follows |
//! |---|---|
//! | `[[member]]` tables that come or go, `enabled` | members join at once, and go when the group can do without them |
//! | `weight`, `health`, `breaker`, `reconnect`, `timeouts` | holds from now on |
//! | a member's own settings, `timeouts.operation`, `check = []` | a new connection takes over once it is proven |
//! | `standby`, `pool`, `failback`, `lame_duck`, `loss` | holds from now on |
//! | `startup` | holds for the next start |
//! | `group.name`, `unavailable`, `[backend]` | refused: they need a restart |
//!
//! A configuration that is wrong, or that needs a restart, changes nothing at all. With the feature `watch` the file is
//! watched: `Failover::watch`.

mod build;
mod check;
mod error;
mod known;
mod limits;
mod place;
mod read;
mod rules;
mod startup;
mod suggest;
#[cfg(test)]
mod tests;

pub use build::{GroupBuilder, NewMember};
pub use error::{ConfigError, Problem};
pub use known::Known;
pub(crate) use read::{Footprint, Reread, reread, reread_file};
pub use read::{Loaded, Source, environment, read, read_file};
pub use rules::{
    Breaker, Combine, Failback, GroupConfig, HealthRules, LameDuck, LameDuckAction, MemberConfig,
    MemberRules, ProbePolicy, Reconnect, Rules, Standby, Startup, Timeouts,
};
pub use startup::{StartupPolicy, StartupTally, StartupVerdict};
