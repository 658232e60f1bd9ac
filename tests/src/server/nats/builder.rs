//! How a nats-server is to be started: what differs from the plain one of [`NatsServer::start`].
//!
//! All of it goes into a configuration file, as with Redis. The same settings serve a lone server and every node of a
//! cluster; what each has of its own (ports, name, routes) is its [`Seat`].

use std::path::Path;
use std::time::Duration;

use super::{NatsCluster, NatsServer};
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
    lame_duck_duration: Duration,
    lame_duck_grace_period: Duration,
    token: Option<String>,
    users: Vec<User>,
    system_user: Option<User>,
    tls: Option<(Certificates, bool)>,
    lines: Vec<String>,
}

/// One who may connect: with what, and what is allowed then.
#[derive(Clone, Debug)]
struct User {
    name: String,
    /// None: the name is the public key of an nkey.
    password: Option<String>,
    permissions: String,
}

impl User {
    fn line(&self) -> String {
        let who = match &self.password {
            Some(password) => format!(
                "user: {}, password: {}",
                quoted(&self.name),
                quoted(password)
            ),
            None => format!("nkey: {}", self.name),
        };
        match self.permissions.as_str() {
            "" => format!("{{ {who} }}"),
            allowed => format!("{{ {who}, permissions: {{ {allowed} }} }}"),
        }
    }
}

/// What one server has of its own.
#[derive(Clone, Debug)]
pub(super) struct Seat {
    pub(super) name: String,
    pub(super) client: u16,
    pub(super) monitor: u16,
    pub(super) cluster: Option<Routes>,
}

/// Where a node listens for the others of its cluster, and whom it dials itself, again and again.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    pub(super) cluster: String,
    pub(super) port: u16,
    pub(super) to: Vec<u16>,
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
        self.config("write_deadline", &time(deadline))
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

    /// The whole configuration file.
    pub(super) fn file(&self, seat: &Seat, folder: &Path) -> String {
        let mut lines = vec![
            format!("server_name: {}", quoted(&seat.name)),
            format!("listen: \"127.0.0.1:{}\"", seat.client),
            format!("http: \"127.0.0.1:{}\"", seat.monitor),
            format!("lame_duck_duration: {}", time(self.lame_duck_duration)),
            format!(
                "lame_duck_grace_period: {}",
                time(self.lame_duck_grace_period)
            ),
        ];
        if let Some(address) = &self.client_advertise {
            lines.push(format!("client_advertise: {}", quoted(address)));
        }
        if let Some(routes) = &seat.cluster {
            lines.push(self.cluster(routes));
        }
        if self.jetstream {
            let store = quoted(&folder.to_string_lossy());
            lines.push(format!(
                "jetstream {{ store_dir: {store}, max_mem: 64MB, max_file: 256MB }}"
            ));
        }
        lines.extend(self.authorization());
        if let Some((certificates, clients)) = &self.tls {
            let file = |path: &Path| quoted(&path.to_string_lossy());
            lines.push(format!(
                "tls {{ cert_file: {}, key_file: {}, ca_file: {}, verify: {clients} }}",
                file(&certificates.server_file()),
                file(&certificates.server_key_file()),
                file(&certificates.ca_file()),
            ));
        }
        lines.extend_from_slice(&self.lines);
        lines.join("\n") + "\n"
    }

    fn cluster(&self, routes: &Routes) -> String {
        let to: Vec<_> = routes
            .to
            .iter()
            .map(|port| format!("\"nats://127.0.0.1:{port}\""))
            .collect();
        format!(
            "cluster {{ name: {}, listen: \"127.0.0.1:{}\", no_advertise: {}, routes: [ {} ] }}",
            quoted(&routes.cluster),
            routes.port,
            !self.routes_advertise,
            to.join(", ")
        )
    }

    fn authorization(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(token) = &self.token {
            lines.push(format!("authorization {{ token: {} }}", quoted(token)));
        }
        if !self.users.is_empty() {
            let users: Vec<_> = self.users.iter().map(User::line).collect();
            lines.push(format!(
                "authorization {{ users: [ {} ] }}",
                users.join(", ")
            ));
        }
        if let Some(user) = &self.system_user {
            lines.push(format!(
                "accounts {{ SYSTEM {{ users: [ {} ] }} }}",
                user.line()
            ));
            lines.push("system_account: SYSTEM".to_owned());
        }
        lines
    }
}

/// As a configuration file wants a text.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn time(duration: Duration) -> String {
    format!("\"{}ms\"", duration.as_millis())
}
