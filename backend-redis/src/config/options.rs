//! The `[backend]` table: what holds for the whole group.

use std::time::Duration;

use backend_api::{Error, ErrorKind};
use serde::Deserialize;

use super::duration;

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

/// The `[backend]` table of a Redis group.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
    #[serde(deserialize_with = "duration::optional")]
    pub user_timeout: Option<Duration>,
    /// After how much silence TCP keepalive probes start, and their interval. Default: none; the engine's health checks
    /// use the same socket and find a dead peer sooner.
    #[serde(deserialize_with = "duration::optional")]
    pub keepalive: Option<Duration>,
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
