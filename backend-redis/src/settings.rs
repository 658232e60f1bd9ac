//! What a `[[member]]` table holds beyond the engine's own keys.

use std::path::PathBuf;

use serde::Deserialize;

/// Where one member is, and as whom to speak to it: one server (`url`), the master that sentinels tell of (`sentinels` and
/// `master`), or a cluster (`urls`).
///
/// User name, password and database can stand in the URL or beside it; those beside it win.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default)]
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) urls: Vec<String>,
    #[serde(default)]
    pub(crate) sentinels: Vec<String>,
    #[serde(default)]
    pub(crate) master: Option<String>,
    #[serde(default)]
    pub(crate) sentinel_username: Option<String>,
    #[serde(default)]
    pub(crate) sentinel_password: Option<String>,
    #[serde(default)]
    pub(crate) tls: bool,
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
            ..Self::nowhere()
        }
    }

    /// The master of this name, wherever the sentinels say that it is (feature `redis-sentinel` of failover-core). Each
    /// sentinel is a URL, `redis://[user[:password]@]host[:port]` or `rediss://..`; the port is 26379 unless it says another.
    pub fn sentinel<S: Into<String>>(
        master: impl Into<String>,
        sentinels: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            master: Some(master.into()),
            sentinels: sentinels.into_iter().map(Into::into).collect(),
            ..Self::nowhere()
        }
    }

    /// A Redis Cluster (feature `redis-cluster` of failover-core), by the URLs of some of its nodes; the others are found
    /// through them.
    pub fn cluster<S: Into<String>>(urls: impl IntoIterator<Item = S>) -> Self {
        Self {
            urls: urls.into_iter().map(Into::into).collect(),
            ..Self::nowhere()
        }
    }

    /// What it says about the servers of a member, without saying where they are.
    #[cfg(feature = "sentinel")]
    pub(crate) fn server(&self) -> Self {
        Self {
            username: self.username.clone(),
            password: self.password.clone(),
            db: self.db,
            client_name: self.client_name.clone(),
            ca_file: self.ca_file.clone(),
            ..Self::nowhere()
        }
    }

    fn nowhere() -> Self {
        Self {
            url: String::new(),
            urls: Vec::new(),
            sentinels: Vec::new(),
            master: None,
            sentinel_username: None,
            sentinel_password: None,
            tls: false,
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

    /// The user that the sentinels know. Default: the one in each sentinel's URL, or none.
    #[must_use]
    pub fn sentinel_username(mut self, username: impl Into<String>) -> Self {
        self.sentinel_username = Some(username.into());
        self
    }

    /// The password that the sentinels want, which is not the one of the servers. Default: the one in each URL, or none.
    #[must_use]
    pub fn sentinel_password(mut self, password: impl Into<String>) -> Self {
        self.sentinel_password = Some(password.into());
        self
    }

    /// The servers that sentinels tell of speak TLS; for others the URL says so. Default: no.
    #[must_use]
    pub fn tls(mut self, tls: bool) -> Self {
        self.tls = tls;
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
