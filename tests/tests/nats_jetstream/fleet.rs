//! A cluster or two, a group over their nodes, and a stream.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{self, stream};
use failover_core::nats::{FailoverClient, Nats};
use failover_core::{Failover, Status};
use failover_testkit::server::{Flavour, NatsCluster, NatsServer};
use failover_testkit::wait_until;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::block_in_place;

/// The longest that anything here may take: an election on a busy machine.
pub(crate) const BOUND: Duration = Duration::from_secs(40);

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

pub(crate) struct Fleet {
    pub(crate) group: Failover<Nats>,
    pub(crate) client: FailoverClient,
    pub(crate) clusters: Vec<NatsCluster>,
    nodes: Vec<Arc<NatsServer>>,
    _alone: MutexGuard<'static, ()>,
}

impl Fleet {
    /// One cluster; its nodes are `m0`, `m1`, `m2`, and `m0` is the heaviest.
    pub(crate) async fn one(flavour: Flavour) -> Self {
        Self::over(1, flavour).await
    }

    /// Two clusters with a member each of which traffic may go: `m0` is in the first, `m1` in the second.
    pub(crate) async fn two() -> Self {
        Self::over(2, Flavour::Newest).await
    }

    /// Servers in no cluster.
    pub(crate) async fn lone(count: usize) -> Self {
        let alone = ONE_AT_A_TIME.lock().await;
        let start = || Arc::new(NatsServer::builder().jetstream().start());
        let nodes = block_in_place(|| (0..count).map(|_| start()).collect());
        Self::of(Vec::new(), nodes, alone).await
    }

    async fn over(count: usize, flavour: Flavour) -> Self {
        let alone = ONE_AT_A_TIME.lock().await;
        let clusters: Vec<_> = block_in_place(|| {
            let builder = NatsServer::builder().jetstream().flavour(flavour);
            (0..count)
                .map(|_| builder.clone().start_cluster(3))
                .collect()
        });
        let nodes: Vec<_> = match clusters.as_slice() {
            [one] => one.nodes().to_vec(),
            more => more.iter().map(|it| it.nodes()[0].clone()).collect(),
        };
        Self::of(clusters, nodes, alone).await
    }

    async fn of(
        clusters: Vec<NatsCluster>,
        nodes: Vec<Arc<NatsServer>>,
        alone: MutexGuard<'static, ()>,
    ) -> Self {
        // A connection that the traffic has left is read to its end, however long a busy machine takes for that.
        let mut text = "[group.unavailable]\nwait = \"20s\"\n[group.failback]\nenabled = false\n\
                        [group.timeouts]\nswitch_grace = \"60s\"\n"
            .to_owned();
        for (place, node) in nodes.iter().enumerate() {
            let (weight, url) = (1.0 / (place + 1) as f64, node.url());
            text +=
                &format!("[[member]]\nname = \"m{place}\"\nweight = {weight}\nurl = \"{url}\"\n");
        }
        let group = Failover::<Nats>::open_toml(&text).await.unwrap();
        let client = group.client();
        let fleet = Self {
            group,
            client,
            clusters,
            nodes,
            _alone: alone,
        };
        fleet.is_whole().await;
        fleet
    }

    pub(crate) fn active(&self) -> Option<String> {
        let active = self.group.status().active;
        active.map(|name| name.as_str().to_owned())
    }

    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&Status) -> bool) {
        wait_until(BOUND, what, || condition(&self.group.status())).await;
    }

    pub(crate) async fn is_whole(&self) {
        let count = self.nodes.len() - 1;
        self.until("every other member stands by", |status| {
            status.active.is_some() && status.standbys().count() == count
        })
        .await;
    }

    /// The server that carries the traffic.
    pub(crate) fn active_node(&self) -> Arc<NatsServer> {
        let active = self.active().expect("an active");
        let place: usize = active[1..].parse().unwrap();
        self.nodes[place].clone()
    }

    /// Kills the active, and returns when another one is.
    pub(crate) async fn kill_active(&self) -> Arc<NatsServer> {
        let (before, node) = (self.active(), self.active_node());
        block_in_place(|| node.kill());
        self.moved_from(before).await;
        node
    }

    /// A planned move to the next member, whatever it went through before.
    pub(crate) async fn switch(&self) {
        let active = self.active().expect("an active");
        let place: usize = active[1..].parse().unwrap();
        let next = format!("m{}", (place + 1) % self.nodes.len());
        self.group.switch_to(next.as_str()).await.unwrap();
    }

    pub(crate) async fn moved_from(&self, before: Option<String>) {
        self.until("another active", |status| {
            let now = status.active.as_ref().map(|name| name.as_str().to_owned());
            now.is_some() && now != before
        })
        .await;
    }

    /// Starts a node again, and returns when the cluster and the group are what they were.
    pub(crate) async fn heal(&self, node: &NatsServer) {
        block_in_place(|| {
            node.restart();
            self.clusters.iter().for_each(NatsCluster::wait_formed);
        });
        self.is_whole().await;
    }

    /// The node of a name that a server told.
    pub(crate) fn node(&self, name: &str) -> &NatsServer {
        let node = self.nodes.iter().find(|node| node.name() == name);
        node.expect("a node of that name")
    }

    /// A client past the group, on a node of this cluster that runs: what is really there.
    pub(crate) async fn outside(&self, cluster: usize) -> jetstream::Context {
        let nodes = match self.clusters.get(cluster) {
            Some(cluster) => cluster.nodes(),
            None => &self.nodes[cluster..=cluster],
        };
        let urls: Vec<_> = nodes
            .iter()
            .filter(|node| node.is_running())
            .map(|node| node.url())
            .collect();
        let client = async_nats::connect(urls).await.unwrap();
        jetstream::new(client)
    }

    /// A stream `S` for `s.>`, on all three nodes of a cluster.
    pub(crate) async fn stream(&self, cluster: usize) -> jetstream::Context {
        let outside = self.outside(cluster).await;
        let config = stream::Config {
            name: "S".to_owned(),
            subjects: vec!["s.>".to_owned()],
            num_replicas: if self.clusters.is_empty() { 1 } else { 3 },
            ..Default::default()
        };
        eventually(|| outside.create_stream(config.clone())).await;
        outside
    }
}

/// What a cluster that elects its leaders refuses for a while.
pub(crate) async fn eventually<T, E: std::fmt::Debug, F: Future<Output = Result<T, E>>>(
    mut what: impl FnMut() -> F,
) -> T {
    let deadline = tokio::time::Instant::now() + BOUND;
    loop {
        match what().await {
            Ok(done) => return done,
            Err(error) if tokio::time::Instant::now() > deadline => panic!("{error:?}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}

/// Within the bound, or the test fails with what was awaited.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future)
        .await
        .unwrap_or_else(|_elapsed| panic!("in vain: {what}"))
}
