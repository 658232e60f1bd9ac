//! A member that is a Redis Cluster: some of its nodes, through which the others are found.

use std::fmt;

use backend_api::{Error, ErrorKind};

use crate::address::Address;
use crate::settings::Settings;
use crate::target::Target;

/// The settings of such a member, checked. [`Display`](fmt::Display) shows its address, without secrets.
pub(crate) struct Seeds {
    pub(crate) seeds: Vec<Target>,
    /// All nodes speak TLS.
    pub(crate) tls: bool,
}

impl Seeds {
    pub(crate) fn parse(settings: &Settings) -> Result<Self, Error> {
        let refuse = |text: &str| Err(Error::new(ErrorKind::Config, text));
        let mut seeds = Vec::new();
        for url in &settings.urls {
            let of_one = Settings {
                url: url.clone(),
                urls: Vec::new(),
                ..settings.clone()
            };
            let target = Target::parse(&of_one).map_err(|error| {
                Error::new(ErrorKind::Config, format!("urls: {}", error.message()))
            })?;
            if target.db != 0 {
                return refuse("urls: a cluster has only database 0");
            }
            seeds.push(target);
        }
        let tls = matches!(seeds[0].address, Address::Tls(..));
        for seed in &seeds {
            if matches!(seed.address, Address::Unix(_)) {
                return refuse("urls: a node of a cluster has a host and a port");
            }
            if matches!(seed.address, Address::Tls(..)) != tls {
                return refuse("urls: either all nodes of a cluster speak TLS or none");
            }
            let credentials = |target: &Target| (target.username.clone(), target.password.clone());
            if credentials(seed) != credentials(&seeds[0]) {
                return refuse(
                    "urls: all nodes of a cluster have the same user and password: say them once, beside the urls",
                );
            }
        }
        Ok(Self { seeds, tls })
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cluster of")?;
        for (place, seed) in self.seeds.iter().enumerate() {
            let separator = if place == 0 { " " } else { ", " };
            write!(f, "{separator}{}", seed.address)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_refused_by_name() {
        for (table, expected) in [
            ("urls = [\"a:1\"]", "urls: the url has no scheme"),
            ("urls = [\"redis://a/2\"]", "only database 0"),
            ("urls = [\"redis://a\"]\ndb = 1", "only database 0"),
            ("urls = [\"unix:///a\"]", "a host and a port"),
            (
                "urls = [\"redis://:hunter2@a\", \"redis://b\"]",
                "same user and password",
            ),
        ] {
            let error = Seeds::parse(&toml::from_str(table).unwrap())
                .err()
                .expect("refused");
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(expected), "{table}: {error}");
            assert!(!error.message().contains("hunter2"), "{error}");
        }
        let settings = Settings::cluster(["redis://:hunter2@a", "redis://:hunter2@b:7"]);
        let text = format!("{settings:?}");
        assert!(
            text.contains("the cluster of a:6379, b:7") && !text.contains("hunter"),
            "{text}"
        );
    }
}
