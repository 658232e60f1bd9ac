//! Servers that become members by themselves, and servers that are known under two names.

use failover_core::nats::Nats;
use failover_core::status::Link;
use failover_core::{EventKind, Failover};
use failover_testkit::server::{NatsCluster, NatsServer};
use failover_testkit::wait_until;

use crate::fleet::{BOUND, config, say};

const DISCOVER: &str = "[backend]\ndiscover = true\ndiscover_interval = \"100ms\"\n[group.failback]\njitter = \"0s\"\n\
                        [group.reconnect]\nmax = \"200ms\"\n";

async fn seeded(cluster: &NatsCluster) -> Failover<Nats> {
    let text = format!(
        "{DISCOVER}[[member]]\nname = \"seed\"\nurl = \"{}\"\n",
        cluster[0].url()
    );
    Failover::<Nats>::open_toml(&text).await.unwrap()
}

fn names(group: &Failover<Nats>) -> Vec<String> {
    group
        .status()
        .members
        .iter()
        .map(|member| member.name.to_string())
        .collect()
}

/// One member is configured; its cluster's other servers join, and it stays itself.
#[tokio::test(flavor = "multi_thread")]
async fn the_servers_of_a_cluster_become_members() {
    let mut cluster = NatsCluster::start(3);
    let group = seeded(&cluster).await;
    let mut subscription = group.client().subscribe("load").await.unwrap();
    wait_until(BOUND, "all have joined", || names(&group).len() == 3).await;
    for node in &cluster.nodes()[1..] {
        let name = node.address();
        let status = group.status();
        let member = status
            .member(&name)
            .unwrap_or_else(|| panic!("{name}: {:?}", names(&group)));
        assert!(member.discovered);
    }
    assert!(
        group.status().member(&cluster[0].address()).is_none(),
        "the seed is there once"
    );
    wait_until(BOUND, "one stands by", || {
        group.status().standbys().count() == 1
    })
    .await;
    let added = cluster.add_node();
    wait_until(BOUND, "the new one has joined", || {
        group.status().member(&added.address()).is_some()
    })
    .await;
    // The seed dies; what was discovered carries on, and the seed is not forgotten.
    cluster[0].kill();
    wait_until(BOUND, "a discovered one is active", || {
        group
            .status()
            .active
            .as_ref()
            .is_some_and(|active| *active != "seed")
    })
    .await;
    let active = group.status().active.unwrap();
    let node = cluster
        .nodes()
        .iter()
        .find(|node| active == node.address().as_str())
        .unwrap();
    wait_until(BOUND, "the subscription is there", || {
        node.subscriptions("load") == 1
    })
    .await;
    say(node, "load", "here").await;
    let message = tokio::time::timeout(BOUND, subscription.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(message.payload, "here");
    assert!(group.status().member("seed").is_some());
    cluster[0].restart();
    cluster.wait_formed();
    wait_until(BOUND, "the seed is connected again", || {
        let status = group.status();
        matches!(
            status.member("seed").unwrap().link,
            Link::Standby | Link::Active | Link::Cold
        )
    })
    .await;
    group.close().await;
}

/// A server that has left for good is no member any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_leaves_is_dropped() {
    let mut cluster = NatsCluster::start(3);
    let group = seeded(&cluster).await;
    let mut events = group.events();
    wait_until(BOUND, "all have joined", || names(&group).len() == 3).await;
    let gone = cluster[2].address();
    cluster.remove(2);
    let removed = loop {
        let event = tokio::time::timeout(BOUND, events.next())
            .await
            .expect("it leaves")
            .unwrap();
        if let EventKind::MemberRemoved {
            member, discovered, ..
        } = event.kind
        {
            assert!(discovered);
            break member;
        }
    };
    assert_eq!(removed, gone.as_str());
    assert_eq!(names(&group).len(), 2);
    group.close().await;
}

/// Which server the client is on.
async fn server(group: &Failover<Nats>) -> String {
    let lease = group.client().lease().await.unwrap();
    lease.connection().server_info().server_id.clone()
}

// N3
#[tokio::test(flavor = "multi_thread")]
async fn with_one_server_active_and_standby_share_it() {
    let node = NatsServer::start();
    let urls = [node.url(), format!("nats://localhost:{}", node.port())];
    let group = Failover::<Nats>::open_toml(&config(&urls, "[group]\nstandby = 1"))
        .await
        .unwrap();
    wait_until(BOUND, "the other name stands by", || {
        group
            .status()
            .standbys()
            .any(|member| member.healthy == Some(true))
    })
    .await;
    let before = server(&group).await;
    group.switch_to_passive().await.unwrap();
    assert_eq!(server(&group).await, before);
    group.close().await;
}

// N4, N6
#[tokio::test(flavor = "multi_thread")]
async fn with_two_servers_they_are_never_the_same() {
    let nodes = [NatsServer::start(), NatsServer::start()];
    // The second name is the first server's as well, and heavier than the other server's.
    let urls = [
        nodes[0].url(),
        format!("nats://localhost:{}", nodes[0].port()),
        nodes[1].url(),
    ];
    let more = "[group]\nstandby = 1\n[group.failback]\nenabled = false\njitter = \"0s\"";
    let group = Failover::<Nats>::open_toml(&config(&urls, more))
        .await
        .unwrap();
    let mut before = String::new();
    for round in 0..4 {
        wait_until(BOUND, "the other server stands by", || {
            let status = group.status();
            let elsewhere = status.active.as_ref().is_some_and(|active| *active == "m2");
            let mut ready = status
                .standbys()
                .filter(|member| member.healthy == Some(true));
            ready.any(|member| (member.name == "m2") != elsewhere)
        })
        .await;
        if round == 2 {
            let standby = |group: &Failover<Nats>| group.status().member("m2").unwrap().generation;
            let first = standby(&group);
            group.rehome_standby().await.unwrap();
            wait_until(BOUND, "it has a new connection", || {
                standby(&group) != first
            })
            .await;
            continue;
        }
        let now = server(&group).await;
        assert_ne!(now, before, "round {round}");
        before = now;
        group.switch_to_passive().await.unwrap();
    }
    group.close().await;
}
