//! A cluster and a group over it.

use std::time::Duration;

use failover_core::nats::{FailoverClient, Nats};
use failover_core::status::Link;
use failover_core::{EventKind, Events, Failover, Reason, Status};
use failover_testkit::server::{Flavour, NatsCluster, NatsServer, Proxy};
use failover_testkit::wait_until;

/// The longest that anything here may take on a busy machine.
pub(crate) const BOUND: Duration = Duration::from_secs(10);

/// For planned moves: what is promised of them holds within the times of the configuration, and no machine is too busy for
/// these.
pub(crate) const CALM: &str = "[group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\nswitch_grace = \"60s\"\n\
                               [group.health]\ntimeout = \"60s\"\n";

/// Members are called by their place: `m0` is the heaviest.
pub(crate) fn config(urls: &[String], more: &str) -> String {
    config_of("m", urls, more)
}

/// The same with another letter than `m`: connections have threads of that name, which some tests count. What `more` has
/// behind a line `[[first]]` belongs to the first member alone: the others wait as long as a busy machine needs.
fn config_of(letter: &str, urls: &[String], more: &str) -> String {
    let (more, first) = more.split_once("[[first]]").unwrap_or((more, ""));
    // A standby is armed anew at once, where a test says nothing about it.
    let spread = if more.contains("[group.failback]") {
        ""
    } else {
        "[group.failback]\njitter = \"0s\"\n"
    };
    let mut text = format!("{more}\n{spread}");
    for (place, url) in urls.iter().enumerate() {
        let weight = 1.0 / (place + 1) as f64;
        // Nor is it for these to end a connection.
        let calm = if more.contains(CALM) {
            "ping_interval = \"60s\"\n"
        } else {
            ""
        };
        let own = if place == 0 { first } else { "" };
        text += &format!(
            "[[member]]\nname = \"{letter}{place}\"\nweight = {weight}\nurl = \"{url}\"\n{calm}{own}\n"
        );
    }
    text
}

pub(crate) struct Fleet {
    pub(crate) cluster: NatsCluster,
    pub(crate) group: Failover<Nats>,
    pub(crate) client: FailoverClient,
    pub(crate) events: Events,
    standbys: usize,
}

impl Fleet {
    /// A cluster of so many nodes, and a group over them that is whole: every other member stands by, or as many as
    /// `standby` in `more` says.
    pub(crate) async fn whole(nodes: usize, more: &str) -> Self {
        Self::over(NatsCluster::start(nodes), more).await
    }

    /// The same with servers of a kind.
    pub(crate) async fn of(flavour: Flavour, nodes: usize, more: &str) -> Self {
        Self::over(
            NatsServer::builder().flavour(flavour).start_cluster(nodes),
            more,
        )
        .await
    }

    pub(crate) async fn over(cluster: NatsCluster, more: &str) -> Self {
        Self::named("m", cluster, more).await
    }

    /// The same with members that are called by another letter.
    pub(crate) async fn named(letter: &str, cluster: NatsCluster, more: &str) -> Self {
        let urls = cluster.urls();
        Self::reached(letter, cluster, &urls, more).await
    }

    /// The same with members that are reached through proxies, in the order of the nodes.
    pub(crate) async fn through(proxies: &[Proxy], cluster: NatsCluster, more: &str) -> Self {
        let url = |proxy: &Proxy| format!("nats://{}", proxy.address());
        let urls: Vec<String> = proxies.iter().map(url).collect();
        Self::reached("m", cluster, &urls, more).await
    }

    async fn reached(letter: &str, cluster: NatsCluster, urls: &[String], more: &str) -> Self {
        let group = Failover::<Nats>::open_toml(&config_of(letter, urls, more))
            .await
            .unwrap();
        let (client, events) = (group.client(), group.events());
        let standbys = if more.contains("standby = 1") {
            1
        } else {
            urls.len() - 1
        };
        let fleet = Self {
            cluster,
            group,
            client,
            events,
            standbys,
        };
        fleet.is_whole().await;
        fleet
    }

    pub(crate) async fn is_whole(&self) {
        self.until("the group is whole", |status| {
            let ready = status
                .standbys()
                .filter(|member| member.healthy == Some(true));
            status.active.is_some() && ready.count() >= self.standbys
        })
        .await;
    }

    pub(crate) fn active(&self) -> String {
        let active = self.group.status().active;
        active
            .map(|name| name.as_str().to_owned())
            .unwrap_or_default()
    }

    /// The node of the member that is active.
    pub(crate) fn active_node(&self) -> usize {
        self.active().trim_start_matches('m').parse().unwrap()
    }

    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&Status) -> bool) {
        wait_until(BOUND, what, || condition(&self.group.status())).await;
    }

    pub(crate) async fn is_active(&self, name: &str) {
        self.until(&format!("{name} is active"), |status| {
            status.active.as_ref().is_some_and(|active| *active == name)
        })
        .await;
    }

    pub(crate) async fn is(&self, name: &str, link: Link) {
        self.until(&format!("{name} is {link:?}"), |status| {
            status
                .member(name)
                .is_some_and(|member| member.link == link)
        })
        .await;
    }

    /// The next event that is looked for.
    pub(crate) async fn event<T>(
        &mut self,
        what: &str,
        mut find: impl FnMut(EventKind) -> Option<T>,
    ) -> T {
        let mut others = Vec::new();
        let looking = async {
            loop {
                let event = self.events.next().await.expect("an open group");
                others.push(format!("{:?}", event.kind));
                if let Some(found) = find(event.kind) {
                    return found;
                }
            }
        };
        // All of it is bounded: events that go on and on without this one are no reason to wait on.
        let found = tokio::time::timeout(BOUND, looking).await;
        found.unwrap_or_else(|_| panic!("waited in vain for {what}, heard {others:#?}"))
    }

    /// The next move: from, to and why.
    pub(crate) async fn moved(&mut self) -> (Option<String>, String, Reason) {
        let name = |name: &failover_core::api::MemberName| name.as_str().to_owned();
        self.event("a move", |event| match event {
            EventKind::Switched {
                from, to, reason, ..
            } => Some((from.as_ref().map(name), name(&to), reason)),
            _ => None,
        })
        .await
    }

    /// Waits until every node of the cluster knows of the subject.
    pub(crate) async fn known_everywhere(&self, subject: &str) {
        for node in self.cluster.nodes() {
            wait_until(BOUND, "the node knows of the subject", || {
                node.has_interest(subject)
            })
            .await;
        }
    }
}

/// One in front of each node.
pub(crate) async fn proxies(cluster: &NatsCluster) -> Vec<Proxy> {
    let mut proxies = Vec::new();
    for node in cluster.nodes() {
        let address: std::net::SocketAddr = ([127, 0, 0, 1], node.port()).into();
        proxies.push(Proxy::start(address).await.unwrap());
    }
    proxies
}

/// A client of async-nats, as others have it.
pub(crate) async fn plain(node: &NatsServer) -> async_nats::Client {
    async_nats::connect(node.url()).await.unwrap()
}

/// Publishes something; when this returns the server has it.
pub(crate) async fn say(node: &NatsServer, subject: &'static str, payload: &'static str) {
    let client = plain(node).await;
    client.publish(subject, payload.into()).await.unwrap();
    let answer = client.request("nobody.listens", "".into()).await;
    assert!(answer.is_err(), "{answer:?}");
}
