//! Where to connect and as whom: settings, parsed and checked.
//!
//! For whichever driver connects: no driver's types here. What leaves it for logs and errors is the [`Address`], which has no
//! secrets.

use std::path::PathBuf;

use backend_api::{Error, ErrorKind};

use crate::address::{self, Address};
use crate::settings::Settings;

/// Everything that a socket to the member needs to know about it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) db: i64,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) client_name: Option<String>,
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    pub(crate) ca_file: Option<PathBuf>,
    /// Where the REST interface is asked, for the check `lag-aware`.
    #[cfg(feature = "lag-aware")]
    pub(crate) rest: Option<crate::address::Rest>,
}

impl Target {
    /// The error of an unusable URL names what is wrong with it and never quotes it.
    pub(crate) fn parse(settings: &Settings) -> Result<Self, Error> {
        let (scheme, rest) = settings.url.split_once("://").ok_or_else(|| {
            refuse("the url has no scheme: write redis://host:port, rediss://host:port or unix:///path")
        })?;
        let tls = match scheme {
            "redis" | "valkey" | "unix" | "redis+unix" | "valkey+unix" => false,
            "rediss" | "valkeys" => true,
            _ => {
                return Err(refuse(
                    "the url's scheme is not known: use redis://, rediss:// or unix://",
                ));
            }
        };
        if tls && !cfg!(feature = "tls") {
            return Err(without_tls());
        }
        if rest.contains('#') {
            // Clients take #insecure as "trust every certificate": not by a word at the end of a URL.
            return Err(refuse(
                "the url has a fragment (#..): percent-encode # in passwords; certificates are always checked",
            ));
        }
        let found = address::read(&settings.url, tls).map_err(refuse)?;
        let username = settings.username.clone().or(found.username);
        let password = settings.password.clone().or(found.password);
        let db = settings.db.map_or(found.db, i64::from);
        if settings.ca_file.is_some() && !tls {
            return Err(refuse(
                "ca_file is for TLS: the url must begin with rediss://",
            ));
        }
        if cfg!(not(feature = "lag-aware")) && settings.rest_url.is_some() {
            return Err(refuse(
                "rest_url needs its check: build failover-core with the feature `redis-lag-aware` or `fred-lag-aware`",
            ));
        }
        if db < 0 {
            return Err(refuse("the database number is negative"));
        }
        if username.is_some() && password.is_none() {
            return Err(refuse("there is a user name without a password"));
        }
        Ok(Self {
            address: found.address,
            db,
            username,
            password,
            client_name: settings.client_name.clone(),
            ca_file: settings.ca_file.clone(),
            #[cfg(feature = "lag-aware")]
            rest: crate::address::Rest::of(settings).map_err(refuse)?,
        })
    }
}

/// Several servers where one socket is wanted.
#[cfg(feature = "cluster")]
pub(crate) fn not_one() -> Error {
    let text = "one socket does not lead to several servers";
    Error::new(ErrorKind::Unsupported, text)
}

/// A `rediss://` address in a build that cannot speak to it.
pub(crate) fn without_tls() -> Error {
    refuse("rediss:// needs TLS: build failover-core with the feature `redis-tls` or `fred-tls`")
}

fn refuse(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target, Error> {
        Target::parse(&Settings::new(url))
    }

    #[test]
    fn urls_become_addresses() {
        let target = parse("redis://app:s%20t@east.example:7000/3").unwrap();
        assert_eq!(target.address.to_string(), "east.example:7000");
        assert_eq!(target.db, 3);
        assert_eq!(target.username.as_deref(), Some("app"));
        assert_eq!(target.password.as_deref(), Some("s t"));
        assert_eq!(parse("redis://h").unwrap().address.to_string(), "h:6379");
        assert_eq!(
            parse("redis://[::1]").unwrap().address.to_string(),
            "[::1]:6379"
        );
        assert_eq!(
            parse("unix:///run/redis.sock").unwrap().address.to_string(),
            "/run/redis.sock"
        );
        let settings = Settings::new("redis://a:b@h/1")
            .username("c")
            .password("d")
            .db(2);
        let target = Target::parse(&settings).unwrap();
        assert_eq!(target.username.as_deref(), Some("c"));
        assert_eq!(target.password.as_deref(), Some("d"));
        assert_eq!(target.db, 2);
    }

    #[test]
    fn a_bad_url_is_explained_without_its_secret() {
        for (url, expected) in [
            ("hunter2", "no scheme"),
            ("http://u:hunter2@h", "scheme is not known"),
            ("redis://u:hunter2@", "cannot be used"),
            ("redis://u:hunter2@h/hunter2", "Invalid database number"),
            ("redis://u:hunter2@h:port", "did not parse"),
            ("redis://u:hunter2@h/-1", "negative"),
            ("redis://u:hunter#2@h", "fragment"),
            ("redis://hunter2@h", "without a password"),
            ("redis://u:hunter2@h?protocol=hunter2", "Invalid protocol"),
        ] {
            let error = parse(url)
                .err()
                .unwrap_or_else(|| panic!("{url} was taken"));
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(error.message().contains(expected), "{url}: {error}");
            assert!(!format!("{error:?}").contains("hunter"), "{error:?}");
        }
    }

    #[test]
    fn certificates_without_tls_are_a_mistake() {
        let error = Target::parse(&Settings::new("redis://h").ca_file("/ca")).err();
        assert!(error.unwrap().message().contains("rediss://"));
    }

    #[test]
    fn debug_shows_no_secret() {
        for url in ["redis://app:hunter2@h/1", "redis:hunter2"] {
            let settings = Settings::new(url).password("hunter3");
            let text = format!("{settings:?}");
            assert!(!text.contains("hunter"), "{text}");
        }
        let text = format!("{:?}", Settings::new("redis://app:hunter2@h/1"));
        assert!(text.contains("h:6379"), "{text}");
    }

    #[test]
    fn a_rest_interface_needs_its_feature() {
        let settings = Settings::new("redis://h").rest_url("https://h");
        let answer = Target::parse(&settings);
        if cfg!(feature = "lag-aware") {
            assert!(answer.is_ok());
        } else {
            let error = answer.err().unwrap();
            let advice = "build failover-core with the feature `redis-lag-aware`";
            assert!(error.message().contains(advice), "{error}");
        }
    }

    #[test]
    fn tls_needs_its_feature() {
        let answer = parse("rediss://h");
        if cfg!(feature = "tls") {
            assert_eq!(answer.unwrap().address, Address::Tls("h".into(), 6379));
        } else {
            // The crate that applications depend on, and its feature.
            let error = answer.err().unwrap();
            let advice = "build failover-core with the feature `redis-tls`";
            assert!(error.message().contains(advice), "{error}");
        }
    }
}
