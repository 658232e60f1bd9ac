//! From text or builders to a checked configuration. Nothing past this door can be invalid.
//!
//! `rules` says what can be configured, `read` takes it from a file, `build` from code; `limits` and `check` judge
//! both alike. Nothing here connects, and no decision is taken.

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
