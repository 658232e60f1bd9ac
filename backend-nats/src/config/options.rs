//! The `[backend]` table: what holds for the whole group.

use std::time::Duration;

use backend_api::{Error, ErrorKind, duration};
use serde::Deserialize;

/// Which messages that were published on a connection are published again on the next active when that connection ends.
///
/// A message that was published is in the client's memory until the client's task has written it, and may be lost with the
/// connection after that: `publish` says `Ok` for what is in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carry {
    /// None. What had not left is lost, and what is published amid a planned move may overtake what was just before.
    None,
    /// What certainly never left: nothing is doubled.
    #[default]
    Unsent,
    /// Also what no round trip has confirmed: nothing that a server did not get is lost, and what it got may be doubled.
    Unconfirmed,
}

/// The `[backend]` table of a NATS group.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which published messages are carried over to the next active. Default: `"unsent"`.
    pub carry: Carry,
    /// How many messages are kept for that at most, over all that is not confirmed. Beyond it a publish waits, and fails
    /// after `timeouts.operation`. Default: 65,536.
    pub carry_limit: usize,
    /// Whether the servers that a member tells of become members. Default: no.
    pub discover: bool,
    /// How often the active is asked which servers it knows, where `discover` is on. Default: 30 s.
    #[serde(deserialize_with = "duration::required")]
    pub discover_interval: Duration,
    /// How long both connections of a planned move receive before the old one is left: the time that the servers of a
    /// cluster need to tell one another of a subscription. Longer where they are far apart (gateways, leaf nodes), and
    /// then `timeouts.switch_grace` as well. Default: 10 ms.
    #[serde(deserialize_with = "duration::required")]
    pub overlap: Duration,
    /// How many messages one subscription holds for a reader that is busy; what comes beyond them is dropped, with a notice.
    /// Default: 65,536.
    pub subscription_capacity: usize,
    /// How many messages wait for the client's task to write them; beyond it a publish waits. Default: 2048.
    pub client_capacity: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            carry: Carry::Unsent,
            carry_limit: 65_536,
            discover: false,
            discover_interval: Duration::from_secs(30),
            overlap: Duration::from_millis(10),
            subscription_capacity: 65_536,
            client_capacity: 2048,
        }
    }
}

impl Options {
    /// A size or an interval of zero would stop everything, so it is refused.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let zeros = [
            ("carry_limit", self.carry_limit == 0),
            ("discover_interval", self.discover_interval.is_zero()),
            ("subscription_capacity", self.subscription_capacity == 0),
            ("client_capacity", self.client_capacity == 0),
        ];
        match zeros.iter().find(|(_, zero)| *zero) {
            Some((name, _)) => Err(Error::new(
                ErrorKind::Config,
                format!("{name} is zero: leave it out, or give it a value above zero"),
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_strict_and_has_defaults() {
        assert_eq!(toml::from_str::<Options>("").unwrap(), Options::default());
        let some: Options =
            toml::from_str("carry = \"unconfirmed\"\noverlap = \"25ms\"\ndiscover = true").unwrap();
        assert_eq!(some.carry, Carry::Unconfirmed);
        assert_eq!(some.overlap, Duration::from_millis(25));
        assert!(some.discover);
        for (wrong, expected) in [
            ("carrys = \"none\"", "unknown field `carrys`"),
            (
                "carry = \"some\"",
                "expected one of `none`, `unsent`, `unconfirmed`",
            ),
            ("overlap = \"5\"", "is not a duration"),
        ] {
            let error = toml::from_str::<Options>(wrong).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn zeros_are_refused_by_name() {
        let options = Options {
            client_capacity: 0,
            ..Options::default()
        };
        let error = options.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().starts_with("client_capacity is zero"));
    }
}
