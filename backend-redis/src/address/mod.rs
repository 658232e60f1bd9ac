//! Where something is: what errors, logs and events call a member. No secret is in it.
//!
//! `url` reads the member's URL into it, `rest` is where the REST interface of Redis Enterprise is.

use std::fmt;
use std::path::PathBuf;

#[cfg(feature = "lag-aware")]
mod rest;
mod url;

#[cfg(feature = "lag-aware")]
pub(crate) use rest::Rest;
pub(crate) use url::read;

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

impl Address {
    pub(crate) fn new(tls: bool, host: String, port: u16) -> Self {
        match tls {
            true => Self::Tls(host, port),
            false => Self::Tcp(host, port),
        }
    }
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
