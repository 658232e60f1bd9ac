//! How a nats-server is to be started: what differs from the plain one of [`NatsServer::start`].
//!
//! All of it goes into a configuration file, as with Redis. The same settings serve a lone server and every node of a
//! cluster; what each has of its own (ports, name, routes) stands with the file itself, in `config`.

use std::time::Duration;

use super::{NatsCluster, NatsServer, config};
use crate::server::{Certificates, StartError};

/// Which nats-server. Both are pinned by `tests/servers`; what is on PATH is never taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flavour {
    /// The newest one.
    #[default]
    Newest,
    /// 2.9, the oldest to get along with.
    V2_9,
}

impl Flavour {
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Newest => "nats-server",
            Self::V2_9 => "nats-server-2.9",
        }
    }

    /// Route connections between two nodes of one cluster: from 2.10 on a pool of three and one for the system account.
    pub(super) fn routes_per_peer(self) -> usize {
        match self {
            Self::Newest => 4,
            Self::V2_9 => 1,
        }
    }
}

/// A nats-server or a cluster to be started, from [`NatsServer::builder`].
#[derive(Clone, Debug)]
pub struct NatsBuilder {
    pub(super) port: Option<u16>,
    pub(super) flavour: Flavour,
    pub(super) jetstream: bool,
    pub(super) routes_advertise: bool,
    pub(super) client_advertise: Option<String>,
    pub(super) lame_duck_duration: Duration,
    pub(super) lame_duck_grace_period: Duration,
    pub(super) token: Option<String>,
    pub(super) users: Vec<User>,
    pub(super) system_user: Option<User>,
    pub(super) tls: Option<(Certificates, bool)>,
    pub(super) lines: Vec<String>,
}

/// One who may connect: with what, and what is allowed then.
#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) name: String,
    /// None: the name is the public key of an nkey.
    pub(super) password: Option<String>,
    pub(super) permissions: String,
}

impl Default for NatsBuilder {
    fn default() -> Self {
        Self {
            port: None,
            flavour: Flavour::default(),
            jetstream: false,
            routes_advertise: true,
            client_advertise: None,
            // The shortest that a server accepts.
            lame_duck_duration: Duration::from_secs(30),
            lame_duck_grace_period: Duration::from_millis(100),
            token: None,
            users: Vec::new(),
            system_user: None,
            tls: None,
            lines: Vec::new(),
        }
    }
}

impl NatsBuilder {
    /// Clients connect on this port and no other. Without it: any free one. Only for a lone server.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// Which server program. Without it: the newest.
    #[must_use]
    pub fn flavour(mut self, flavour: Flavour) -> Self {
        self.flavour = flavour;
        self
    }

    /// With JetStream. What it stores is in the server's folder: a restart keeps it, the end of the server removes it.
    #[must_use]
    pub fn jetstream(mut self) -> Self {
        self.jetstream = true;
        self
    }

    /// Over which time a lame duck sends its clients away. 30 s without it, which is also the least that a server accepts.
    #[must_use]
    pub fn lame_duck_duration(mut self, duration: Duration) -> Self {
        self.lame_duck_duration = duration;
        self
    }

    /// How long a lame duck waits before it sends the first client away; less than its duration. 100 ms without it. Zero
    /// means the server's own default of 10 s.
    #[must_use]
    pub fn lame_duck_grace_period(mut self, period: Duration) -> Self {
        self.lame_duck_grace_period = period;
        self
    }

    /// Everybody needs this token. A server takes either a token or users.
    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// One who may connect with a password, with permissions in the server's own words (`publish: { deny: "a.>" }`); none
    /// allow everything. Naming the same user again replaces the earlier one.
    #[must_use]
    pub fn user(self, name: &str, password: &str, permissions: &str) -> Self {
        self.admit(name, Some(password), permissions)
    }

    /// One who may connect with an nkey, of which this is the public key (`U...`). Permissions as with
    /// [`user`](Self::user).
    #[must_use]
    pub fn nkey(self, public: &str, permissions: &str) -> Self {
        self.admit(public, None, permissions)
    }

    /// Without the user, or the nkey, of this name: what [`NatsServer::reload_with`] is for.
    #[must_use]
    pub fn revoke(mut self, name: &str) -> Self {
        self.users.retain(|user| user.name != name);
        self
    }

    /// A user of the system account, which hears and asks what the server does (`$SYS.>`).
    #[must_use]
    pub fn system_user(mut self, name: &str, password: &str) -> Self {
        self.system_user = Some(User {
            name: name.to_owned(),
            password: Some(password.to_owned()),
            permissions: String::new(),
        });
        self
    }

    /// Clients must speak TLS.
    #[must_use]
    pub fn tls(mut self, certificates: &Certificates) -> Self {
        self.tls = Some((certificates.clone(), false));
        self
    }

    /// Clients must speak TLS and show a certificate of the same authority.
    #[must_use]
    pub fn mutual_tls(mut self, certificates: &Certificates) -> Self {
        self.tls = Some((certificates.clone(), true));
        self
    }

    /// Nodes do not tell clients about each other. Without it they do, in `connect_urls`.
    #[must_use]
    pub fn no_routes_advertise(mut self) -> Self {
        self.routes_advertise = false;
        self
    }

    /// The `host:port` that clients are told instead of the real one: that of a proxy, say.
    #[must_use]
    pub fn client_advertise(mut self, address: &str) -> Self {
        self.client_advertise = Some(address.to_owned());
        self
    }

    /// The largest message in bytes. 1 MiB without it.
    #[must_use]
    pub fn max_payload(self, bytes: u32) -> Self {
        self.config("max_payload", &bytes.to_string())
    }

    /// How long the server tries to write to a client that does not read, before it cuts it off. 10 s without it.
    #[must_use]
    pub fn write_deadline(self, deadline: Duration) -> Self {
        self.config("write_deadline", &config::time(deadline))
    }

    /// Any other line of a configuration file: `config("ping_interval", "\"2s\"")`. The last one said counts.
    #[must_use]
    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.lines.push(format!("{key}: {value}"));
        self
    }

    /// Starts a lone server and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it cannot be started, with what the server printed.
    #[track_caller]
    pub fn start(self) -> NatsServer {
        self.try_start().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`start`](Self::start), for programs that report the reason themselves.
    pub fn try_start(self) -> Result<NatsServer, StartError> {
        NatsServer::open(&self)
    }

    /// Starts a cluster of so many nodes, and waits until all of them answer and know each other.
    ///
    /// # Panics
    ///
    /// When one of them cannot be started, or does not join, with what it printed.
    #[track_caller]
    pub fn start_cluster(self, nodes: usize) -> NatsCluster {
        self.try_start_cluster(nodes)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`start_cluster`](Self::start_cluster), for programs that report the reason themselves.
    pub fn try_start_cluster(self, nodes: usize) -> Result<NatsCluster, StartError> {
        NatsCluster::open(&self, nodes)
    }

    pub(super) fn speaks_tls(&self) -> bool {
        self.tls.is_some()
    }

    fn admit(mut self, name: &str, password: Option<&str>, permissions: &str) -> Self {
        self = self.revoke(name);
        self.users.push(User {
            name: name.to_owned(),
            password: password.map(str::to_owned),
            permissions: permissions.to_owned(),
        });
        self
    }
}
