//! A world: the servers that a test can reach, by address.
//!
//! It takes the place of a network. There is deliberately no world that belongs to everybody: two tests in one
//! process, each with its own, can call their servers the same and never meet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Memory, Server};

/// Servers by address. Cheap to clone; all clones are the same world.
#[derive(Clone, Debug, Default)]
pub struct World {
    servers: Arc<Mutex<BTreeMap<String, Server>>>,
}

impl World {
    /// A world without servers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The server at an address. The first call for an address creates it, up and without a fault; so does the first
    /// dial of a member whose settings name it.
    pub fn server(&self, at: &str) -> Server {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = servers.get(at) {
            return server.clone();
        }
        let server = Server::new(at);
        servers.insert(at.to_owned(), server.clone());
        server
    }

    /// All servers there are so far, by address.
    pub fn servers(&self) -> Vec<Server> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.values().cloned().collect()
    }

    /// A backend whose members are the servers of this world. The same as [`Memory::new`].
    pub fn backend(&self) -> Memory {
        Memory::new(self)
    }
}
