//! What a `[[member]]` table holds beyond the engine's own keys.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use backend_api::duration;
use serde::Deserialize;

use crate::target::{Auth, Target};

/// Where one member is, and as whom to speak to it.
///
/// One way of authentication: a credentials file, a token, a user with a password, or an nkey. User and password, or the
/// token, can stand in the URL as well.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub(crate) url: Option<String>,
    pub(crate) urls: Vec<String>,
    pub(crate) credentials_file: Option<PathBuf>,
    pub(crate) token: Option<String>,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) nkey: Option<String>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) cert_file: Option<PathBuf>,
    pub(crate) key_file: Option<PathBuf>,
    pub(crate) tls_first: bool,
    pub(crate) client_name: Option<String>,
    pub(crate) probe_subject: Option<String>,
    pub(crate) inbox_prefix: Option<String>,
    #[serde(deserialize_with = "duration::optional")]
    pub(crate) ping_interval: Option<Duration>,
}

impl Settings {
    /// `nats://[user:password@]host[:port]`, or `tls://..` where TLS is demanded.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: Some(url.into()),
            ..Self::default()
        }
    }

    /// Several servers that are one member: a dial tries them in this order and takes the first that answers.
    pub fn of_urls(urls: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            urls: urls.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// A file with a user's JWT and nkey seed. Read at every dial.
    #[must_use]
    pub fn credentials_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.credentials_file = Some(path.into());
        self
    }

    /// The token of a server that knows one.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// A user and the password.
    #[must_use]
    pub fn user(mut self, username: impl Into<String>, password: impl Into<String>) -> Self {
        self.username = Some(username.into());
        self.password = Some(password.into());
        self
    }

    /// The seed of an nkey, which begins with `SU`.
    #[must_use]
    pub fn nkey(mut self, seed: impl Into<String>) -> Self {
        self.nkey = Some(seed.into());
        self
    }

    /// A file with the certificates (PEM) that vouch for the server. Read at every dial. Default: the system's.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// The client's own certificate and its key (PEM). Read at every dial.
    #[must_use]
    pub fn client_certificate(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.cert_file = Some(cert.into());
        self.key_file = Some(key.into());
        self
    }

    /// TLS before the server has said a word (`handshake_first` on the server). Default: no.
    #[must_use]
    pub fn tls_first(mut self, first: bool) -> Self {
        self.tls_first = first;
        self
    }

    /// What the server's monitoring calls the connections. Default: nothing.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// The subject to which proofs and health checks send a request. Nobody needs to answer: that nobody is there is the
    /// server's answer. The user must be allowed to publish to it. Default: `_FAILOVER.PROBE`.
    #[must_use]
    pub fn probe_subject(mut self, subject: impl Into<String>) -> Self {
        self.probe_subject = Some(subject.into());
        self
    }

    /// How the subjects begin at which answers arrive. The user must be allowed to subscribe to `<prefix>.>`.
    /// Default: `_INBOX`.
    #[must_use]
    pub fn inbox_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.inbox_prefix = Some(prefix.into());
        self
    }

    /// The client's own PINGs: the last resort against a server that went silent, behind the engine's proofs and checks.
    /// Default: 1 s.
    #[must_use]
    pub fn ping_interval(mut self, interval: Duration) -> Self {
        self.ping_interval = Some(interval);
        self
    }

    /// Another server, reached as this one is: how servers that are told of become members.
    pub(crate) fn at(&self, url: String) -> Self {
        let mut other = Self {
            url: Some(url),
            urls: Vec::new(),
            ..self.clone()
        };
        // Who the URL names is named beside it there.
        match Target::parse(self).map(|target| target.auth) {
            Ok(Auth::User(user, password)) => {
                other.username = Some(user);
                other.password = Some(password);
            }
            Ok(Auth::Token(token)) => other.token = Some(token),
            _ => {}
        }
        other
    }
}

/// What they mean is compared, not how it is written: a user in the URL or beside it, a port that is given or the usual one.
impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        match (Target::parse(self), Target::parse(other)) {
            (Ok(one), Ok(another)) => one == another,
            // Neither is ever dialled.
            _ => self.url == other.url && self.urls == other.urls,
        }
    }
}

/// By hand: no secret, and no URL, which may hold one.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = |value: &Option<String>| value.as_ref().map(|_| "***");
        let mut out = f.debug_struct("Settings");
        match Target::parse(self) {
            Ok(target) => out.field("addresses", &format_args!("{}", target.shown())),
            Err(_) => out.field("addresses", &format_args!("<not usable>")),
        };
        out.field("credentials_file", &self.credentials_file)
            .field("token", &secret(&self.token))
            .field("username", &self.username)
            .field("password", &secret(&self.password))
            .field("nkey", &secret(&self.nkey))
            .field("ca_file", &self.ca_file)
            .field("cert_file", &self.cert_file)
            .field("client_name", &self.client_name)
            .field("probe_subject", &self.probe_subject)
            .field("ping_interval", &self.ping_interval)
            .finish_non_exhaustive()
    }
}
