//! A look at a nats-server from outside: who is connected, who has subscribed, what the server says about itself.
//!
//! For tests that wait until something is so: each look is a round trip of its own, never what an earlier one found.
//!
//! Never to come in: anything that changes the server.

use std::io;
use std::thread;
use std::time::Instant;

use serde_json::Value;

use super::{LOOK, NatsServer, POLL, wire};

impl NatsServer {
    /// The INFO with which it greets a new connection, as JSON.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    #[track_caller]
    pub fn info(&self) -> String {
        let info = self.try_info();
        info.unwrap_or_else(|error| panic!("INFO of {}: {error}", self.seat.name))
    }

    /// What its monitoring endpoint says on `path`, such as `/varz` or `/jsz?streams=1`: JSON.
    ///
    /// # Panics
    ///
    /// When the server does not answer with a status of 200.
    #[track_caller]
    pub fn monitor(&self, path: &str) -> String {
        let body = wire::get(self.seat.monitor, path, LOOK);
        body.unwrap_or_else(|error| panic!("{path} of {}: {error}", self.seat.name))
    }

    /// How many clients are connected. Routes are not clients.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    #[track_caller]
    pub fn connections(&self) -> usize {
        self.clients().len()
    }

    /// What the server knows about every client that is connected, each as a line of JSON: `name`, `ip`, `port`,
    /// `pending_bytes`, `subscriptions_list` and more.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    #[track_caller]
    pub fn clients(&self) -> Vec<String> {
        self.client_list().iter().map(Value::to_string).collect()
    }

    /// How many subscriptions of this server's own clients have exactly this `subject`.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    #[track_caller]
    pub fn subscriptions(&self, subject: &str) -> usize {
        let list = self.client_list();
        let subjects = list
            .iter()
            .filter_map(|client| client["subscriptions_list"].as_array());
        subjects.flatten().filter(|it| *it == subject).count()
    }

    /// Whether a message on `subject`, published here, would go to anybody: to a client of this server, or to a node that
    /// has said that it has one. A subscription becomes known to other nodes some time after its own server has it.
    ///
    /// # Panics
    ///
    /// When the server does not answer.
    #[track_caller]
    pub fn has_interest(&self, subject: &str) -> bool {
        let local = self.ask(&format!("/subsz?subs=1&limit=1&test={subject}"));
        if local["total"].as_u64().is_some_and(|total| total > 0) {
            return true;
        }
        let remote = self.ask("/routez?subs=1");
        let routes = remote["routes"].as_array().into_iter().flatten();
        let subjects = routes.filter_map(|route| route["subscriptions_list"].as_array());
        let mut patterns = subjects.flatten().filter_map(Value::as_str);
        patterns.any(|pattern| wire::matches(pattern, subject))
    }

    #[track_caller]
    fn client_list(&self) -> Vec<Value> {
        let mut answer = self.ask("/connz?subs=1&limit=100000");
        match answer["connections"].take() {
            Value::Array(clients) => clients,
            _ => Vec::new(),
        }
    }

    #[track_caller]
    fn ask(&self, path: &str) -> Value {
        let text = self.monitor(path);
        wire::json(&text).unwrap_or_else(|error| panic!("{path} of {}: {error}", self.seat.name))
    }

    /// The look is a connection. It is gone when this returns, so that it is never counted as a client.
    pub(super) fn try_info(&self) -> io::Result<String> {
        let deadline = Instant::now() + LOOK;
        let info = wire::info(self.seat.client, LOOK)?;
        let own = format!("/connz?cid={}", wire::json(&info)?["client_id"]);
        while wire::json(&wire::get(self.seat.monitor, &own, LOOK)?)?["num_connections"] != 0 {
            if Instant::now() > deadline {
                return Err(io::Error::other("the look at INFO stays connected"));
            }
            thread::sleep(POLL);
        }
        Ok(info)
    }
}
