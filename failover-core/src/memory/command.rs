//! What can be asked of a server, and the keys and values it keeps.
//!
//! A command knows how it is called, whether it changes anything, and what it does. How it travels, and what
//! happens to it on the way, is [`Connection`](super::Connection)'s.

use std::collections::HashMap;

use backend_api::{Error, ErrorKind};

/// Keys and values of one server.
#[derive(Debug, Default)]
pub(super) struct Store(HashMap<String, String>);

impl Store {
    pub(super) fn get(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    pub(super) fn set(&mut self, key: String, value: String) {
        self.0.insert(key, value);
    }

    pub(super) fn del(&mut self, key: &str) -> bool {
        self.0.remove(key).is_some()
    }

    /// Counts up; what is absent counts from zero.
    pub(super) fn incr(&mut self, key: &str) -> Result<i64, Error> {
        let before = match self.0.get(key) {
            None => 0,
            Some(value) => value.parse::<i64>().map_err(|_| refusal("not a number"))?,
        };
        let after = before
            .checked_add(1)
            .ok_or_else(|| refusal("at its limit"))?;
        self.0.insert(key.to_owned(), after.to_string());
        Ok(after)
    }
}

/// The caller's own mistake: it says nothing about the server, which answered. Neither key nor value is named, since
/// errors end up in logs.
fn refusal(what: &str) -> Error {
    Error::new(ErrorKind::Other, format!("the value is {what}"))
}

pub(super) trait Command: Clone + Send + Sync + 'static {
    type Answer: Send + 'static;
    const NAME: &'static str;
    /// Whether it changes something, so that it must not run twice unasked.
    const WRITES: bool;
    /// Whether the faults of operations apply to it. A ping is answered whatever the operations do.
    const CAN_FAIL: bool = true;

    fn run(self, store: &mut Store) -> Result<Self::Answer, Error>;
}

#[derive(Clone)]
pub(super) struct Get(pub(super) String);

impl Command for Get {
    type Answer = Option<String>;
    const NAME: &'static str = "GET";
    const WRITES: bool = false;

    fn run(self, store: &mut Store) -> Result<Option<String>, Error> {
        Ok(store.get(&self.0))
    }
}

#[derive(Clone)]
pub(super) struct Set(pub(super) String, pub(super) String);

impl Command for Set {
    type Answer = ();
    const NAME: &'static str = "SET";
    const WRITES: bool = true;

    fn run(self, store: &mut Store) -> Result<(), Error> {
        store.set(self.0, self.1);
        Ok(())
    }
}

#[derive(Clone)]
pub(super) struct Incr(pub(super) String);

impl Command for Incr {
    type Answer = i64;
    const NAME: &'static str = "INCR";
    const WRITES: bool = true;

    fn run(self, store: &mut Store) -> Result<i64, Error> {
        store.incr(&self.0)
    }
}

#[derive(Clone)]
pub(super) struct Del(pub(super) String);

impl Command for Del {
    type Answer = bool;
    const NAME: &'static str = "DEL";
    const WRITES: bool = true;

    fn run(self, store: &mut Store) -> Result<bool, Error> {
        Ok(store.del(&self.0))
    }
}

#[derive(Clone)]
pub(super) struct PingServer;

impl Command for PingServer {
    type Answer = ();
    const NAME: &'static str = "PING";
    const WRITES: bool = false;
    const CAN_FAIL: bool = false;

    fn run(self, _: &mut Store) -> Result<(), Error> {
        Ok(())
    }
}
