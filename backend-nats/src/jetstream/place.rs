//! Which cluster a connection is in: what positions are compared by before they are used again.
//!
//! Never to come in: what follows when two differ. That is the caller's [`OnOtherCluster`](super::OnOtherCluster).

use std::fmt;
use std::sync::Arc;

use async_nats::ServerInfo;
use backend_api::{Error, ErrorKind, Fate};

use crate::connection::Connection;

/// The cluster, or the lone server, where something was read or published. Cheap to clone; shown as users know it.
#[derive(Clone, PartialEq, Eq)]
pub struct Cluster(Arc<Named>);

#[derive(PartialEq, Eq)]
struct Named {
    domain: Option<String>,
    place: Place,
}

#[derive(PartialEq, Eq)]
enum Place {
    Cluster(String),
    /// Its configured name, or its address: an id would change with each restart, and what it stores does not.
    Lone(String),
}

impl Cluster {
    pub(super) fn of(connection: &Connection) -> Self {
        Self::told(connection.server_info(), &connection.address().to_string())
    }

    fn told(info: &ServerInfo, address: &str) -> Self {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let place = match some(&info.cluster) {
            Some(cluster) => Place::Cluster(cluster),
            // Without a name in its configuration it takes its id for one.
            None if !info.server_name.is_empty() && info.server_name != info.server_id => {
                Place::Lone(info.server_name.clone())
            }
            None => Place::Lone(address.to_owned()),
        };
        Self(Arc::new(Named {
            domain: some(&info.domain),
            place,
        }))
    }

    /// The error of what must not go on in `here`, after it began in this one.
    pub(super) fn moved(&self, here: &Self, what: &str, cure: &str, fate: Option<Fate>) -> Error {
        let error = Error::new(
            ErrorKind::Moved,
            format!("{what} {self}, and the traffic is on {here} now: {cure}"),
        );
        match fate {
            Some(fate) => error.with_fate(fate),
            None => error,
        }
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.place {
            Place::Cluster(name) => write!(f, "cluster {name:?}")?,
            Place::Lone(name) => write!(f, "server {name:?}")?,
        }
        match &self.0.domain {
            Some(domain) => write!(f, " (domain {domain:?})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(cluster: &str, name: &str, id: &str, domain: &str) -> Cluster {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let info = ServerInfo {
            cluster: some(cluster),
            server_name: name.to_owned(),
            server_id: id.to_owned(),
            domain: some(domain),
            ..ServerInfo::default()
        };
        Cluster::told(&info, "h:4222")
    }

    #[test]
    fn the_nodes_of_a_cluster_are_one_place_and_its_name_is_what_counts() {
        assert_eq!(told("east", "n0", "A", ""), told("east", "n1", "B", ""));
        assert_ne!(told("east", "n0", "A", ""), told("west", "n0", "A", ""));
        assert_ne!(told("east", "n0", "A", ""), told("east", "n0", "A", "hub"));
    }

    #[test]
    fn a_lone_server_is_its_name_or_its_address_over_restarts() {
        assert_eq!(told("", "lone", "A", ""), told("", "lone", "B", ""));
        assert_ne!(told("", "lone", "A", ""), told("", "other", "A", ""));
        assert_eq!(told("", "A", "A", ""), told("", "B", "B", ""));
        assert_eq!(told("", "A", "A", "").to_string(), "server \"h:4222\"");
        assert_eq!(
            told("east", "n0", "A", "hub").to_string(),
            "cluster \"east\" (domain \"hub\")"
        );
    }
}
