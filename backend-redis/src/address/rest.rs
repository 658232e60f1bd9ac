//! Where the REST interface of a member's Redis Enterprise cluster is, and as whom it is asked.
//!
//! The credentials are in this value and nowhere else: no error quotes them, and it has no Debug.

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;

use crate::settings::Settings;

/// The port on which Redis Enterprise has its REST interface.
const PORT: u16 = 9443;

/// Where the REST interface is, and as whom it is asked. No Debug: it holds a password.
#[derive(Clone)]
pub(crate) struct Rest {
    pub(crate) tls: bool,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What stands before the paths of the interface.
    pub(crate) prefix: String,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) ca_file: Option<PathBuf>,
}

/// Without anything secret.
impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the REST interface at {}:{}", self.host, self.port)
    }
}

impl Rest {
    /// `None` where the settings have no `rest_url`. The error never quotes it: there may be a password in it.
    pub(crate) fn of(settings: &Settings) -> Result<Option<Self>, &'static str> {
        let Some(url) = &settings.rest_url else {
            let alone = settings.rest_username.is_some()
                || settings.rest_password.is_some()
                || settings.rest_ca_file.is_some();
            return match alone {
                true => Err("rest_username, rest_password and rest_ca_file need rest_url"),
                false => Ok(None),
            };
        };
        const URL: &str = "rest_url cannot be used: write https://host or https://host:port";
        let uri: Uri = url.parse().map_err(|_quotes| URL)?;
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(URL),
        };
        let authority = uri.authority().ok_or(URL)?;
        if authority.as_str().contains('@') {
            return Err("rest_url has a user in it: use rest_username and rest_password");
        }
        if uri.query().is_some() {
            return Err("rest_url has a query (?..): write https://host or https://host:port");
        }
        if settings.rest_ca_file.is_some() && !tls {
            return Err("rest_ca_file is for TLS: rest_url must begin with https://");
        }
        let authorization = match (&settings.rest_username, &settings.rest_password) {
            (None, None) => None,
            (Some(name), Some(_)) if name.contains(':') => {
                return Err("rest_username has a colon, which HTTP's credentials cannot have");
            }
            (Some(name), Some(password)) => {
                let text = format!("Basic {}", STANDARD.encode(format!("{name}:{password}")));
                let value = HeaderValue::from_str(&text).map_err(|_quotes| URL)?;
                Some(value).map(|mut value| {
                    value.set_sensitive(true);
                    value
                })
            }
            _ => return Err("rest_username and rest_password go together"),
        };
        let host = authority.host();
        Ok(Some(Self {
            tls,
            host: host.trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(PORT),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            authorization,
            ca_file: settings.rest_ca_file.clone(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P160
    #[test]
    fn a_url_that_cannot_be_used_is_refused_without_being_quoted() {
        let plain = || Settings::new("redis://h");
        for (settings, expected) in [
            (plain().rest_url("hunter2"), "cannot be used"),
            (plain().rest_url("ftp://hunter2"), "cannot be used"),
            (plain().rest_url("https://a:hunter2@h"), "has a user in it"),
            (plain().rest_url("https://h/?hunter2"), "has a query"),
            (plain().rest_credentials("a", "hunter2"), "need rest_url"),
            (
                plain()
                    .rest_url("https://h")
                    .rest_credentials("a:b", "hunter2"),
                "has a colon",
            ),
            (
                plain().rest_url("http://h").rest_ca_file("/ca"),
                "is for TLS",
            ),
        ] {
            let text = Rest::of(&settings).err().expect(expected);
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("hunter") && !format!("{settings:?}").contains("hunter"));
        }
        let rest = Rest::of(&plain().rest_url("https://h/prefix/"))
            .unwrap()
            .unwrap();
        assert_eq!((rest.port, rest.prefix.as_str()), (9443, "/prefix"));
        let rest = Rest::of(&plain().rest_url("https://[::1]:1"))
            .unwrap()
            .unwrap();
        assert_eq!((rest.host.as_str(), rest.port), ("::1", 1));
    }
}
