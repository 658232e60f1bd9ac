//! The configuration file of one nats-server: its [`NatsBuilder`]'s settings, and its seat.
//!
//! Never to come in: a default. What is not said in the settings is the server's own choice.

use std::path::Path;
use std::time::Duration;

use super::builder::{NatsBuilder, User};

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

impl NatsBuilder {
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

/// As a configuration file wants a text.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(super) fn time(duration: Duration) -> String {
    format!("\"{}ms\"", duration.as_millis())
}
