//! Where to connect and as whom: settings, parsed and checked.
//!
//! The one place that looks into URLs. What leaves it for logs and errors is the [`Address`], which has no secrets.

use std::fmt;
use std::path::PathBuf;

use backend_api::{Error, ErrorKind};
use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};

use crate::config::Settings;

/// An address without user or password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp(String, u16),
    /// Only with the feature `tls`; refused otherwise.
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    Tls(String, u16),
    Unix(PathBuf),
    /// Several servers, by a name of ours.
    #[cfg(feature = "cluster")]
    Several(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) | Self::Tls(host, port) if host.contains(':') => {
                write!(f, "[{host}]:{port}")
            }
            Self::Tcp(host, port) | Self::Tls(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
            #[cfg(feature = "cluster")]
            Self::Several(name) => f.write_str(name),
        }
    }
}

/// Everything that a socket to the member needs to know about it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: Address,
    pub(crate) redis: RedisConnectionInfo,
    pub(crate) client_name: Option<String>,
    #[cfg_attr(not(feature = "tls"), allow(dead_code))]
    pub(crate) ca_file: Option<PathBuf>,
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
            return Err(refuse(
                "rediss:// needs TLS: build failover-core with the feature `redis-tls`",
            ));
        }
        if rest.contains('#') {
            // redis-rs takes #insecure as "trust every certificate": not by a word at the end of a URL.
            return Err(refuse(
                "the url has a fragment (#..): percent-encode # in passwords; certificates are always checked",
            ));
        }
        // redis-rs parses rediss:// only in builds with its own TLS, which we do without.
        let plain = match scheme {
            "rediss" | "valkeys" => format!("redis://{rest}"),
            _ => settings.url.clone(),
        };
        let info = plain
            .into_connection_info()
            .map_err(|error| refuse(reason(&error)))?;
        let address = match info.addr() {
            ConnectionAddr::Tcp(host, port) if tls => Address::Tls(host.clone(), *port),
            ConnectionAddr::Tcp(host, port) => Address::Tcp(host.clone(), *port),
            ConnectionAddr::Unix(path) => Address::Unix(path.clone()),
            _ => {
                return Err(refuse(
                    "the url's address is of a kind that is not supported",
                ));
            }
        };
        let mut redis = info.redis_settings().clone();
        if let Some(username) = &settings.username {
            redis = redis.set_username(username);
        }
        if let Some(password) = &settings.password {
            redis = redis.set_password(password);
        }
        if let Some(db) = settings.db {
            redis = redis.set_db(db.into());
        }
        if settings.ca_file.is_some() && !tls {
            return Err(refuse(
                "ca_file is for TLS: the url must begin with rediss://",
            ));
        }
        if redis.db() < 0 {
            return Err(refuse("the database number is negative"));
        }
        if redis.username().is_some() && redis.password().is_none() {
            return Err(refuse("there is a user name without a password"));
        }
        Ok(Self {
            address,
            redis,
            client_name: settings.client_name.clone(),
            ca_file: settings.ca_file.clone(),
        })
    }
}

fn refuse(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, text)
}

/// redis-rs's own words are fixed texts; its details may quote the URL and are left out.
fn reason(error: &redis::RedisError) -> String {
    let text = error.to_string();
    let text = text.split(" - ").next().unwrap_or_default();
    format!("the url cannot be used: {text} (redis://[user:password@]host[:port][/db])")
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
        assert_eq!(target.redis.db(), 3);
        assert_eq!(target.redis.username(), Some("app"));
        assert_eq!(target.redis.password(), Some("s t"));
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
        assert_eq!(target.redis.username(), Some("c"));
        assert_eq!(target.redis.password(), Some("d"));
        assert_eq!(target.redis.db(), 2);
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
