//! The `[backend]` table: what holds for the whole group.

use std::time::Duration;

use backend_api::{Error, ErrorKind};
use serde::Deserialize;

/// What happens to an operation whose connection was lost, retired, or did not answer in time: may it run again on
/// the next active?
///
/// Operations that certainly were not applied (the server refused them, or they were never sent) run again under every
/// policy. Blocking commands and what runs under WATCH never run again after they were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replay {
    /// Never: the caller gets the error.
    Never,
    /// What only reads, by the server's own command table. A write fails with an error that says that it may have been
    /// applied. Through fred, which shows nobody its commands: what was run with `run_idempotent`.
    #[default]
    Reads,
    /// Everything: a write may be applied twice. For applications whose writes can be repeated.
    All,
}

/// The most messages that one stream can be told to hold.
const MOST_UNREAD: usize = 1 << 28;

/// The `[backend]` table of a Redis group.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which interrupted operations run again. Default: `"reads"`.
    pub replay: Replay,
    /// Whether a read-only replica may be active; a write on it fails with the server's READONLY, which is an answer like
    /// any other then. Default: no, and a member that turns into one is left.
    pub allow_replicas: bool,
    /// `TCP_NODELAY`. Default: off, as in redis-rs; many tasks on one connection are twice as fast without it.
    pub tcp_nodelay: bool,
    /// `TCP_USER_TIMEOUT`: how long sent data may stay unacknowledged before the socket is dead. Linux only.
    /// Default: the system's.
    #[serde(deserialize_with = "backend_api::duration::optional")]
    pub user_timeout: Option<Duration>,
    /// After how much silence TCP keepalive probes start, and their interval. Default: none; the engine's health checks
    /// use the same socket and find a dead peer sooner.
    #[serde(deserialize_with = "backend_api::duration::optional")]
    pub keepalive: Option<Duration>,
    /// How long a member that is several servers (sentinels, a cluster) may be without a master before it counts as lost.
    /// Until then it finds its next one itself, and the group stays. More than the sentinels' `down-after-milliseconds` or
    /// the cluster's `cluster-node-timeout`, and two seconds. Default: five seconds.
    #[serde(deserialize_with = "backend_api::duration::required")]
    pub member_failover: Duration,
    /// How often the connection of the subscriptions is asked whether it lives: while nothing is published, only that tells
    /// a silent one from a dead one. An answer may take `timeouts.operation`. Default: one second.
    #[serde(deserialize_with = "backend_api::duration::required")]
    pub pubsub_heartbeat: Duration,
    /// How many unread messages one stream holds; what comes beyond that is dropped and counted. Default: 8192.
    pub pubsub_buffer: usize,
    /// Check `lag`: by how many bytes a replica may be behind its master. Default: as many as it likes.
    pub lag_bytes: Option<u64>,
    /// Check `lag`: for how long a replica may be behind its master, or without it. Default: five seconds.
    #[serde(deserialize_with = "backend_api::duration::required")]
    pub lag_time: Duration,
    /// Check `write-read`: the key that is written, with ten seconds to live; `{member}` stands for the member's name.
    /// Default: `failover:check:{member}`.
    pub check_key: String,
    /// Check `lag-aware`: how far Redis Enterprise may be behind. Default: five seconds.
    #[serde(deserialize_with = "backend_api::duration::required")]
    pub rest_lag_tolerance: Duration,
    /// Check `lag-aware`: ask the node that answers about its own endpoint (`/v1/local/..`) and not the whole cluster: for
    /// a `rest_url` that leads to a load balancer. Default: no.
    pub rest_local: bool,
    /// Whether the server is asked to announce its maintenance (Redis Enterprise, by RESP3). A member that announces a
    /// move, a migration or a fail-over is a lame duck. Servers that know no such announcements are used without. Default: no.
    pub maintenance_notices: bool,
    /// How long reads wait after a switch until the new active has what the old one acknowledged, where the members are
    /// replicas of one another; the crate's page says what is guaranteed. Default: they do not wait, and nothing is asked.
    #[serde(deserialize_with = "backend_api::duration::optional")]
    pub wait_for_replication: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            replay: Replay::default(),
            allow_replicas: false,
            tcp_nodelay: false,
            user_timeout: None,
            keepalive: None,
            member_failover: Duration::from_secs(5),
            pubsub_heartbeat: Duration::from_secs(1),
            pubsub_buffer: 8192,
            lag_bytes: None,
            lag_time: Duration::from_secs(5),
            check_key: "failover:check:{member}".to_owned(),
            rest_lag_tolerance: Duration::from_secs(5),
            rest_local: false,
            maintenance_notices: false,
            wait_for_replication: None,
        }
    }
}

impl Options {
    /// A time of zero would fail every operation, so it is refused.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let zero = |name: &str| {
            Err(Error::new(
                ErrorKind::Config,
                format!("{name} is zero: leave it out, or give it a time such as \"500ms\""),
            ))
        };
        if self.user_timeout.is_some_and(|time| time.is_zero()) {
            return zero("user_timeout");
        }
        if self.keepalive.is_some_and(|time| time.is_zero()) {
            return zero("keepalive");
        }
        if self.member_failover.is_zero() {
            return zero("member_failover");
        }
        if self.pubsub_heartbeat.is_zero() {
            return zero("pubsub_heartbeat");
        }
        if self.lag_time.is_zero() {
            return zero("lag_time");
        }
        if self.wait_for_replication.is_some_and(|time| time.is_zero()) {
            return zero("wait_for_replication");
        }
        if self.check_key.is_empty() {
            let text = "check_key is empty: leave it out, or give it a name such as \"failover:check:{member}\"";
            return Err(Error::new(ErrorKind::Config, text));
        }
        // More than tokio's channels can count would panic there.
        if !(1..=MOST_UNREAD).contains(&self.pubsub_buffer) {
            let text = format!("pubsub_buffer is not between 1 and {MOST_UNREAD} messages");
            return Err(Error::new(ErrorKind::Config, text));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_strict_and_has_defaults() {
        let none: Options = toml::from_str("").unwrap();
        assert_eq!(none, Options::default());
        assert_eq!(none.replay, Replay::Reads);
        let some: Options =
            toml::from_str("replay = \"all\"\nkeepalive = \"100ms\"\nuser_timeout = \"2s\"")
                .unwrap();
        assert_eq!(some.replay, Replay::All);
        assert_eq!(some.keepalive, Some(Duration::from_millis(100)));
        assert_eq!(some.user_timeout, Some(Duration::from_secs(2)));
        for (wrong, expected) in [
            ("replays = \"all\"", "unknown field `replays`"),
            (
                "replay = \"some\"",
                "expected one of `never`, `reads`, `all`",
            ),
            ("keepalive = \"5\"", "is not a duration"),
        ] {
            let error = toml::from_str::<Options>(wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn pubsub_has_bounds() {
        let some: Options =
            toml::from_str("pubsub_heartbeat = \"250ms\"\npubsub_buffer = 7").unwrap();
        assert_eq!(some.pubsub_heartbeat, Duration::from_millis(250));
        assert_eq!(some.pubsub_buffer, 7);
        assert!(some.check().is_ok());
        for (wrong, expected) in [
            ("pubsub_heartbeat = \"0s\"", "pubsub_heartbeat is zero"),
            ("pubsub_buffer = 0", "between 1 and"),
            ("pubsub_buffer = 9223372036854775807", "between 1 and"),
        ] {
            let options: Options = toml::from_str(wrong).unwrap();
            let error = options.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(expected), "{error}");
        }
    }

    #[test]
    fn checks_and_guarantees_have_options() {
        let some: Options = toml::from_str(
            "lag_bytes = 1024\nlag_time = \"2s\"\ncheck_key = \"probe\"\nrest_lag_tolerance = \"1s\"\nrest_local = true\n\
             maintenance_notices = true\nwait_for_replication = \"2s\"",
        )
        .unwrap();
        assert_eq!(some.lag_bytes, Some(1024));
        assert_eq!(some.wait_for_replication, Some(Duration::from_secs(2)));
        assert!(some.maintenance_notices && some.rest_local && some.check().is_ok());
        for (wrong, expected) in [
            ("lag_time = \"0s\"", "lag_time is zero"),
            (
                "wait_for_replication = \"0s\"",
                "wait_for_replication is zero",
            ),
            ("check_key = \"\"", "check_key is empty"),
        ] {
            let options: Options = toml::from_str(wrong).unwrap();
            let error = options.check().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(expected), "{error}");
        }
    }

    #[test]
    fn a_zero_time_is_refused_by_name() {
        let options = Options {
            keepalive: Some(Duration::ZERO),
            ..Options::default()
        };
        let error = options.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().starts_with("keepalive is zero"));
    }
}
