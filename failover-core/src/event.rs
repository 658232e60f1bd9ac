//! What happened, for people and programs: typed, serializable, in the words of the documentation.

mod queue;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use backend_api::{Error, Generation, MemberName};
use serde::Serialize;

pub use queue::Events;
pub(crate) use queue::Sink;

pub use crate::machine::{Kind, Reason};
use crate::reload::Reloaded;

/// One thing that happened in a group.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// The group's name.
    pub group: Arc<str>,
    /// Since the group was opened. Serialized as `at_ms`.
    #[serde(rename = "at_ms", serialize_with = "as_millis")]
    pub at: Duration,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// A connection was opened and proven.
    Connected {
        /// Whose.
        member: MemberName,
        /// Which.
        generation: Generation,
    },
    /// A connection ended by itself, or failed its proof.
    Lost {
        /// Whose.
        member: MemberName,
        /// Which.
        generation: Generation,
        /// Why, as far as is known.
        #[serde(serialize_with = "as_text")]
        cause: Option<Error>,
    },
    /// An attempt to connect failed; it is repeated with backoff.
    DialFailed {
        /// To whom.
        member: MemberName,
        /// Why.
        #[serde(serialize_with = "as_text")]
        cause: Option<Error>,
    },
    /// A member's checks say something new.
    HealthChanged {
        /// Whose.
        member: MemberName,
        /// What they say.
        healthy: bool,
        /// Why it is unhealthy.
        #[serde(serialize_with = "as_text")]
        cause: Option<Error>,
    },
    /// A member's breaker opened or closed.
    BreakerChanged {
        /// Whose.
        member: MemberName,
        /// Whether it is open: too many operations failed.
        open: bool,
    },
    /// A member announced its shutdown, or an operator did; or that is over.
    LameDuck {
        /// Who.
        member: MemberName,
        /// Whether the mark was set or cleared.
        marked: bool,
    },
    /// Traffic moved.
    Switched {
        /// From there; `None` for the first active, and if the one before was removed meanwhile.
        from: Option<MemberName>,
        /// To there.
        to: MemberName,
        /// Why.
        reason: Reason,
        /// How the old connection ends.
        kind: Kind,
        /// From the cause to the move. Serialized as `took_ms`.
        #[serde(rename = "took_ms", serialize_with = "as_millis")]
        took: Duration,
    },
    /// A move was given up; the active is what it was.
    SwitchAborted {
        /// The target.
        to: MemberName,
        /// Why it was begun.
        reason: Reason,
        /// What the target's connection last said.
        #[serde(serialize_with = "as_text")]
        cause: Option<Error>,
    },
    /// A connection is warm and ready to be promoted.
    StandbyArmed {
        /// Whose.
        member: MemberName,
        /// Which.
        generation: Generation,
    },
    /// The group is without its standby, or without an active. Told once, until [`EventKind::WholeAgain`].
    Degraded,
    /// The group has its active and its standby again.
    WholeAgain,
    /// Every member was tried in vain.
    AllMembersDown {
        /// For the nth time since there was an active.
        attempt: u32,
    },
    /// The old connection may finish what is under way.
    DrainStarted {
        /// Whose.
        member: MemberName,
        /// How long at most. Serialized as `window_ms`.
        #[serde(rename = "window_ms", serialize_with = "as_millis")]
        window: Duration,
    },
    /// The old connection has finished, or its window is over.
    DrainEnded {
        /// Whose.
        member: MemberName,
        /// Whether it lives on, as a standby or as the active again.
        kept: bool,
    },
    /// This process was stalled; what timed out meanwhile condemned nobody.
    Stalled,
    /// A new configuration was applied.
    ConfigReloaded {
        /// What it changed.
        #[serde(flatten)]
        changes: Box<Reloaded>,
    },
    /// A new configuration was refused, and changed nothing.
    ReloadFailed {
        /// Everything that is wrong with it.
        #[serde(serialize_with = "as_text_of")]
        cause: Error,
    },
    /// A member's new settings do not work yet: it goes on with the old ones, and the new ones are tried on.
    ReplacementFailed {
        /// Whose.
        member: MemberName,
        /// Why, as far as is known.
        #[serde(serialize_with = "as_text")]
        cause: Option<Error>,
    },
    /// A member's new settings are in use.
    Replaced {
        /// Whose.
        member: MemberName,
    },
    /// A member was added: by a call, with a new configuration, or because another one tells of it.
    MemberAdded {
        /// Who.
        member: MemberName,
        /// Whether another one tells of it.
        discovered: bool,
    },
    /// A member is gone.
    MemberRemoved {
        /// Who.
        member: MemberName,
        /// Whether it was there because another one told of it.
        discovered: bool,
    },
    /// Something that a backend wants people to know; it changed no decision.
    Notice {
        /// Whose connection says so.
        member: MemberName,
        /// Which.
        generation: Generation,
        /// One word for programs; the backend's documentation lists them.
        what: &'static str,
        /// What happened, for people.
        text: String,
    },
    /// Events that this reader was too slow for.
    Missed {
        /// How many.
        count: u64,
    },
    /// The group is closed; nothing follows.
    Closed,
}

fn as_millis<S: serde::Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(value.as_secs_f64() * 1000.0)
}

fn as_text_of<S: serde::Serializer>(value: &Error, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn as_text<S: serde::Serializer>(value: &Option<Error>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(error) => serializer.collect_str(error),
        None => serializer.serialize_none(),
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |cause: &Option<Error>| match cause {
            Some(error) => format!(": {error}"),
            None => String::new(),
        };
        match self {
            Self::Connected { member, .. } => write!(f, "{member} is connected"),
            Self::Lost { member, cause, .. } => {
                write!(f, "the connection to {member} was lost{}", because(cause))
            }
            Self::DialFailed { member, cause } => {
                write!(f, "{member} could not be connected{}", because(cause))
            }
            Self::HealthChanged {
                member,
                healthy: true,
                ..
            } => write!(f, "{member} is healthy again"),
            Self::HealthChanged { member, cause, .. } => {
                write!(f, "{member} is unhealthy{}", because(cause))
            }
            Self::BreakerChanged { member, open: true } => {
                write!(
                    f,
                    "too many operations failed on {member}: its breaker is open"
                )
            }
            Self::BreakerChanged { member, .. } => write!(f, "the breaker of {member} is closed"),
            Self::LameDuck {
                member,
                marked: true,
            } => write!(f, "{member} is about to shut down"),
            Self::LameDuck { member, .. } => write!(f, "{member} is no lame duck any more"),
            Self::Switched {
                to,
                reason: Reason::Reconfigured,
                took,
                ..
            } => write!(f, "traffic of {to} moved to its new connection in {took:?}"),
            Self::Switched {
                from: Some(from),
                to,
                took,
                ..
            } if from == to => write!(f, "{to} answered again after {took:?} and stays active"),
            Self::Switched {
                from: Some(from),
                to,
                reason,
                took,
                ..
            } => write!(
                f,
                "traffic moved from {from} to {to} in {took:?} (reason: {})",
                word(*reason)
            ),
            Self::Switched {
                to,
                reason: Reason::Startup,
                ..
            } => write!(f, "{to} is the first active"),
            Self::Switched { to, reason, .. } => {
                write!(f, "traffic is on {to} (reason: {})", word(*reason))
            }
            Self::SwitchAborted { to, cause, .. } => {
                write!(f, "the move to {to} was given up{}", because(cause))
            }
            Self::StandbyArmed { member, .. } => write!(f, "{member} stands by"),
            Self::Degraded => f.write_str("the group is without an active or without its standby"),
            Self::WholeAgain => f.write_str("the group is whole again"),
            Self::AllMembersDown { attempt } => {
                write!(f, "all members are down (attempt {attempt})")
            }
            Self::DrainStarted { member, window } => {
                write!(f, "{member} may finish what is under way for {window:?}")
            }
            Self::DrainEnded { member, kept: true } => {
                write!(f, "{member} has finished and stays connected")
            }
            Self::DrainEnded { member, .. } => write!(f, "{member} has finished and is closed"),
            Self::ConfigReloaded { changes } => {
                write!(f, "the configuration was reloaded: {changes}")
            }
            Self::ReloadFailed { cause } => {
                write!(
                    f,
                    "the new configuration was refused, nothing changed: {cause}"
                )
            }
            Self::ReplacementFailed { member, cause } => write!(
                f,
                "the new settings of {member} do not work yet{}",
                because(cause)
            ),
            Self::Replaced { member } => write!(f, "{member} has its new settings"),
            Self::MemberAdded {
                member,
                discovered: true,
            } => write!(f, "{member} was discovered and joins"),
            Self::MemberAdded { member, .. } => write!(f, "{member} was added"),
            Self::MemberRemoved {
                member,
                discovered: true,
            } => write!(f, "{member} is not told of any more and is gone"),
            Self::MemberRemoved { member, .. } => write!(f, "{member} is gone"),
            Self::Stalled => f.write_str("this process was stalled; no member is blamed for it"),
            Self::Notice { member, text, .. } => write!(f, "{member}: {text}"),
            Self::Missed { count } => write!(f, "{count} events were missed by a slow reader"),
            Self::Closed => f.write_str("the group is closed"),
        }
    }
}

/// A reason as configuration and JSON spell it.
fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Startup => "startup",
        Reason::Lost => "lost",
        Reason::Health => "health",
        Reason::Breaker => "breaker",
        Reason::LameDuck => "lame_duck",
        Reason::Failback => "failback",
        Reason::Manual => "manual",
        Reason::Removed => "removed",
        Reason::Reconfigured => "reconfigured",
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(word(*self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_start_has_a_first_active() {
        let switched = |reason| EventKind::Switched {
            from: None,
            to: "east".into(),
            reason,
            kind: Kind::Failover,
            took: Duration::ZERO,
        };
        assert_eq!(
            switched(Reason::Startup).to_string(),
            "east is the first active"
        );
        // The last active was removed during an outage.
        assert_eq!(
            switched(Reason::Lost).to_string(),
            "traffic is on east (reason: lost)"
        );
    }
}
