//! From text or builders to a checked configuration. Nothing past this door can be invalid.

mod rules;
mod startup;

pub use rules::{
    Breaker, Combine, Failback, GroupConfig, HealthRules, LameDuck, LameDuckAction, MemberConfig,
    MemberRules, ProbePolicy, Reconnect, Rules, Standby, Startup, Timeouts,
};
pub use startup::{StartupPolicy, StartupTally, StartupVerdict};
