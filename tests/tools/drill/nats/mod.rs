//! NATS: a cluster of three real nats-servers, and a stream of numbered messages that a group listens to.
//!
//! The group's members are the three nodes. The active is `n1`, which is what is hurt, and `n2` stands by first. A plain
//! client publishes on `n0`, which nothing happens to unless everything goes down: so a message has to cross the cluster,
//! as it does for most listeners, and what is lost is lost on the listener's side.
//!
//! - [`options`]: what is asked for on the command line.
//! - [`stream`]: the load: who publishes and who listens.
//! - [`ledger`]: from numbers in the order of their arrival to what was lost, doubled and out of order.
//! - [`record`]: the figures of the report.

mod ledger;
pub(crate) mod options;
mod publish;
mod record;
mod stream;
#[cfg(test)]
mod tests;

use failover_core::nats::Nats as Backend;
use failover_testkit::server::{NatsCluster, NatsServer};
use serde_json::Value;

use crate::scenario::{Fault, Service};
use stream::Stream;

const MEMBERS: [&str; 3] = ["n0", "n1", "n2"];
/// The node of the publisher is the last choice.
const WEIGHTS: [&str; 3] = ["0.25", "1.0", "0.5"];
/// Where the plain client publishes.
const PUBLISHER: usize = 0;
/// As the servers call the group's connections.
const CLIENT: &str = "drill";

/// What `--tuned` adds: a member is asked for a sign of life every 50 ms, and given up when there was none within another
/// 50 ms; and where one node of a cluster is as good as another, a lost connection moves the traffic without a redial.
/// Sensible between hosts of one region; anything much shorter condemns members for a pause of a process or a
/// retransmission.
const TUNED: &str = r#"
[group.timeouts]
connect = "500ms"
prove = "50ms"
operation = "100ms"

[group.health]
interval = "50ms"
timeout = "50ms"
probes = 1

[group.loss]
redial = "0s"

[group.reconnect]
initial = "10ms"
max = "1s"
"#;

pub(crate) struct Nats {
    cluster: NatsCluster,
}

impl Nats {
    /// Where the plain client goes.
    fn publisher_url(&self) -> String {
        self.cluster[PUBLISHER].url()
    }
}

impl Service for Nats {
    type Backend = Backend;
    type Load = Stream;
    const NAME: &'static str = "nats";
    const ANNOUNCES: bool = true;

    fn start() -> Result<Self, String> {
        let cluster = NatsServer::builder().try_start_cluster(MEMBERS.len());
        let cluster = cluster.map_err(|error| error.to_string())?;
        Ok(Self { cluster })
    }

    fn members(&self) -> &[&'static str] {
        &MEMBERS
    }

    fn config(&self, tuned: bool) -> String {
        let mut toml = String::from("[group]\nname = \"drill\"\n");
        if tuned {
            toml.push_str(TUNED);
        }
        for ((name, weight), url) in MEMBERS.iter().zip(WEIGHTS).zip(self.cluster.urls()) {
            toml.push_str(&format!(
                "\n[[member]]\nname = \"{name}\"\nweight = {weight}\nurl = \"{url}\"\nclient_name = \"{CLIENT}\"\n"
            ));
        }
        toml
    }

    fn inflict(&self, fault: Fault, member: usize) {
        match fault {
            Fault::Kill => self.cluster[member].kill(),
            Fault::Freeze => self.cluster[member].freeze(),
            Fault::LameDuck => self.cluster[member].lame_duck(),
            Fault::ReadOnly => unreachable!("it has no replicas"),
        }
    }

    fn heal(&self, fault: Fault, member: usize) {
        match fault {
            Fault::Kill | Fault::LameDuck => self.cluster[member].restart(),
            Fault::Freeze => self.cluster[member].thaw(),
            Fault::ReadOnly => {}
        }
    }

    fn settle(&self) {
        self.cluster.wait_formed();
    }

    fn accepted(&self) -> Option<usize> {
        let accepted = |node: &std::sync::Arc<NatsServer>| {
            let all = node.monitor("/connz?state=all&limit=100000");
            let all: Value = serde_json::from_str(&all).ok()?;
            let ours = all["connections"].as_array()?.iter();
            Some(ours.filter(|one| one["name"] == CLIENT).count())
        };
        self.cluster.nodes().iter().map(accepted).sum()
    }
}
