//! How a redis-server is to be started: what differs from the plain one of [`RedisServer::start`].
//!
//! Settings go into a configuration file and not onto the command line: passwords do not show in the process list, and
//! a failed test's folder tells how its server was set up.

use std::fmt::Write;

use super::RedisServer;
use crate::server::StartError;

/// A redis-server to be started, from [`RedisServer::builder`].
#[derive(Clone, Debug, Default)]
pub struct RedisBuilder {
    pub(super) port: Option<u16>,
    pub(super) password: Option<String>,
    pub(super) newest: bool,
    lines: Vec<String>,
}

impl RedisBuilder {
    /// On this port and no other. Without it: any free one.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = Some(port);
        self
    }

    /// The newest Redis that `tests/servers` has pinned (8.2), whatever PATH has. Without it: the system's, or Debian's 7.0.
    #[must_use]
    pub fn newest(mut self) -> Self {
        self.newest = true;
        self
    }

    /// The default user needs this password. The harness itself uses it too.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.lines.push(format!("requirepass {}", quoted(password)));
        self.password = Some(password.to_owned());
        self
    }

    /// One more user, with rules in Redis' own words (`~* +@all`).
    #[must_use]
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        let secret = quoted(&format!(">{password}"));
        self.lines.push(format!("user {name} on {secret} {rules}"));
        self
    }

    /// A replica of `master` from the start. See [`RedisServer::wait_synced`].
    #[must_use]
    pub fn replica_of(mut self, master: &RedisServer) -> Self {
        if let Some(password) = master.password() {
            self.lines.push(format!("masterauth {}", quoted(password)));
        }
        self.config("replicaof", &format!("127.0.0.1 {}", master.port()))
    }

    /// Any other line of a configuration file: `config("replica-serve-stale-data", "no")`. The last one said counts.
    #[must_use]
    pub fn config(mut self, directive: &str, value: &str) -> Self {
        self.lines.push(format!("{directive} {value}"));
        self
    }

    /// Starts it and waits until it answers.
    ///
    /// # Panics
    ///
    /// When it cannot be started, with what the server printed.
    #[track_caller]
    pub fn start(self) -> RedisServer {
        self.try_start().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Like [`start`](Self::start), for programs that report the reason themselves.
    pub fn try_start(self) -> Result<RedisServer, StartError> {
        RedisServer::open(self)
    }

    /// The whole configuration file.
    pub(super) fn file(&self, port: u16, folder: &str) -> String {
        let mut file = String::from("bind 127.0.0.1\ndaemonize no\n");
        // Nothing is kept unless a test says SAVE: a restarted server is empty, and quick. And a replica need not wait
        // five seconds for others to join its first copy.
        file.push_str("save \"\"\nappendonly no\nrepl-diskless-sync-delay 0\n");
        let _ = writeln!(file, "port {port}\ndir {}", quoted(folder));
        for line in &self.lines {
            let _ = writeln!(file, "{line}");
        }
        file
    }
}

/// As a configuration file wants a word that may hold blanks, quotes or a hash sign.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}
