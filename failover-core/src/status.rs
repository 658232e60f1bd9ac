//! How a group stands, as a serializable snapshot.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Generation, MemberName, Weight};
use serde::Serialize;

pub use crate::machine::LinkView as Link;

/// A snapshot of a group.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Status {
    /// The group's name.
    pub group: Arc<str>,
    /// Who carries the traffic.
    pub active: Option<MemberName>,
    /// Without an active, or without its standby. One on the active's own server, under another name, counts only if no
    /// other member could stand by elsewhere.
    pub degraded: bool,
    /// The target of the move under way.
    pub switching_to: Option<MemberName>,
    /// Failback waits for a release: traffic was moved by hand, or pinned.
    pub failback_suspended: bool,
    /// How often all members were tried in vain since there was an active.
    pub attempts: u32,
    /// The members, in the declared order.
    pub members: Vec<MemberStatus>,
}

impl Status {
    /// One member's part.
    pub fn member(&self, name: &str) -> Option<&MemberStatus> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The members that are ready to be promoted.
    pub fn standbys(&self) -> impl Iterator<Item = &MemberStatus> {
        self.members
            .iter()
            .filter(|member| member.link == Link::Standby)
    }
}

/// A snapshot of one member.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct MemberStatus {
    /// Its name.
    pub name: MemberName,
    /// Its weight.
    pub weight: Weight,
    /// Whether it takes part.
    pub enabled: bool,
    /// Another member tells of it; no configuration and no call named it.
    pub discovered: bool,
    /// Its connection.
    pub link: Link,
    /// The number of that connection.
    pub generation: Option<Generation>,
    /// What its checks say; `None`: not checked yet on this connection.
    pub healthy: Option<bool>,
    /// It is a read-only replica.
    pub read_only: bool,
    /// It announced its shutdown, or an operator did.
    pub lame_duck: bool,
    /// Its breaker is open.
    pub breaker_open: bool,
    /// How long it is still held back after a failover away from it, in milliseconds.
    #[serde(rename = "grace_ms", serialize_with = "as_millis")]
    pub grace: Option<Duration>,
    /// Failed dials and short-lived connections in a row.
    pub failures: u32,
    /// When it is dialled next, in milliseconds.
    #[serde(rename = "next_dial_ms", serialize_with = "as_millis")]
    pub next_dial: Option<Duration>,
    /// The last proof's round trip, in milliseconds.
    #[serde(rename = "round_trip_ms", serialize_with = "as_millis")]
    pub round_trip: Option<Duration>,
    /// Operations that succeeded and failed on it while it was active.
    pub operations: Operations,
    /// It has other settings, whose connection is not proven yet: it goes on with the old ones.
    pub replacing: bool,
    /// It goes, now or as soon as the group can do without it.
    pub leaving: bool,
    /// The last error of its connection, dials or checks; while it is `replacing`, that of the new settings.
    pub last_error: Option<String>,
}

/// Operations counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Operations {
    /// The member answered.
    pub success: u64,
    /// It failed to.
    pub failure: u64,
}

fn as_millis<S: serde::Serializer>(
    value: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.serialize_f64(value.as_secs_f64() * 1000.0),
        None => serializer.serialize_none(),
    }
}
