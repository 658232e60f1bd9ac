//! What a `[[member]]` table holds beyond the engine's own keys.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

/// Where one member is, and as whom to speak to it.
///
/// User name, password and database can stand in the URL or beside it; those beside it win.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) username: Option<String>,
    #[serde(default)]
    pub(crate) password: Option<String>,
    #[serde(default)]
    pub(crate) db: Option<u32>,
    #[serde(default)]
    pub(crate) client_name: Option<String>,
    #[serde(default)]
    pub(crate) ca_file: Option<PathBuf>,
    #[serde(default)]
    pub(crate) rest_url: Option<String>,
    #[serde(default)]
    pub(crate) rest_username: Option<String>,
    #[serde(default)]
    pub(crate) rest_password: Option<String>,
    #[serde(default)]
    pub(crate) rest_ca_file: Option<PathBuf>,
}

impl Settings {
    /// `redis://[user[:password]@]host[:port][/db]`, `rediss://..` for TLS (feature `redis-tls` or `fred-tls`
    /// of failover-core, which is `tls` here), or `unix:///path/to/socket`.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            username: None,
            password: None,
            db: None,
            client_name: None,
            ca_file: None,
            rest_url: None,
            rest_username: None,
            rest_password: None,
            rest_ca_file: None,
        }
    }

    /// The user of the server's access list. Default: the one in the URL, or the server's default user.
    #[must_use]
    pub fn username(mut self, username: impl Into<String>) -> Self {
        self.username = Some(username.into());
        self
    }

    /// The password. Default: the one in the URL, or none.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// The number of the database. Default: the one in the URL, or 0.
    #[must_use]
    pub fn db(mut self, db: u32) -> Self {
        self.db = Some(db);
        self
    }

    /// What `CLIENT LIST` on the server calls the connections. Default: nothing.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = Some(name.into());
        self
    }

    /// A file with the certificates (PEM) that vouch for a `rediss://` server. Read at every dial. Default: the system's.
    #[must_use]
    pub fn ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.ca_file = Some(path.into());
        self
    }

    /// Where the REST interface of this member's Redis Enterprise cluster is: `https://host[:port]`, port 9443 if none is
    /// given. For the check `lag-aware` (feature `redis-lag-aware` of failover-core). Default: none, and that check fails.
    #[must_use]
    pub fn rest_url(mut self, url: impl Into<String>) -> Self {
        self.rest_url = Some(url.into());
        self
    }

    /// As whom the REST interface is asked. Default: as nobody.
    #[must_use]
    pub fn rest_credentials(
        mut self,
        username: impl Into<String>,
        password: impl Into<String>,
    ) -> Self {
        self.rest_username = Some(username.into());
        self.rest_password = Some(password.into());
        self
    }

    /// A file with the certificates (PEM) that vouch for the REST interface. Default: the system's.
    #[must_use]
    pub fn rest_ca_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.rest_ca_file = Some(path.into());
        self
    }
}

/// By hand: neither the password nor the URL, which may hold one.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Settings");
        match crate::target::Target::parse(self) {
            Ok(target) => out.field("address", &format_args!("{}", target.address)),
            Err(_) => out.field("address", &format_args!("<not usable>")),
        };
        out.field("username", &self.username)
            .field("password", &self.password.as_ref().map(|_| "***"))
            .field("db", &self.db)
            .field("client_name", &self.client_name)
            .field("ca_file", &self.ca_file)
            .field("rest_url", &self.rest_url.as_ref().map(|_| "***"))
            .field("rest_username", &self.rest_username)
            .field("rest_password", &self.rest_password.as_ref().map(|_| "***"))
            .field("rest_ca_file", &self.rest_ca_file)
            .finish()
    }
}
