//! All servers are gone, and come back.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use failover_core::nats::Nats;
use failover_core::{EventKind, Failover};
use failover_testkit::server::NatsServer;
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, config, say};

// N41, N42: and every subscription is there again.
#[tokio::test(flavor = "multi_thread")]
async fn afterwards_there_is_one_active_and_a_standby_elsewhere() {
    // Nothing but the outage and the move at the end makes the group less than whole, however slow the machine is.
    let more = "[group]\nstandby = 1\n[group.reconnect]\nmax = \"200ms\"\n[group.failback]\nenabled = false\njitter = \"0s\"\n\
                [group.health]\ntimeout = \"60s\"\n[group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\nswitch_grace = \"60s\"";
    let mut fleet = Fleet::whole(3, more).await;
    let mut subscription = fleet.client.subscribe("load").await.unwrap();
    let mut told = fleet.group.events();
    for node in fleet.cluster.nodes() {
        node.kill();
    }
    fleet
        .until("nobody is active", |status| status.active.is_none())
        .await;
    fleet
        .event("a whole round in vain", |event| {
            matches!(event, EventKind::AllMembersDown { .. }).then_some(())
        })
        .await;
    for node in fleet.cluster.nodes() {
        node.restart();
    }
    fleet.is_whole().await;
    fleet.cluster.wait_formed();
    let status = fleet.group.status();
    assert_eq!(status.standbys().count(), 1);
    assert!(
        status
            .standbys()
            .all(|member| Some(&member.name) != status.active.as_ref())
    );
    // The standby is usable.
    fleet.group.switch_to_passive().await.unwrap();
    fleet.known_everywhere("load").await;
    say(&fleet.cluster[2], "load", "back").await;
    let message = tokio::time::timeout(BOUND, subscription.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(message.payload, "back");
    fleet.group.close().await;
    let (mut degraded, mut whole) = (0, 0);
    while let Some(event) = told.next().await {
        match event.kind {
            EventKind::Degraded => degraded += 1,
            EventKind::WholeAgain => whole += 1,
            _ => {}
        }
    }
    // The outage once; the switch at the end re-arms a standby, which may be told as well.
    assert!(
        (1..=2).contains(&degraded) && degraded - whole <= 1,
        "{degraded} {whole}"
    );
}

/// Counts who comes, and sends everybody away.
struct Counter {
    address: SocketAddr,
    dials: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Counter {
    async fn at(port: u16) -> Self {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let (dials, open, most) = (
            Arc::<AtomicUsize>::default(),
            Arc::<AtomicUsize>::default(),
            Arc::<AtomicUsize>::default(),
        );
        let task = tokio::spawn({
            let (dials, open, most) = (dials.clone(), open.clone(), most.clone());
            async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    dials.fetch_add(1, Ordering::Relaxed);
                    let now = open.fetch_add(1, Ordering::Relaxed) + 1;
                    most.fetch_max(now, Ordering::Relaxed);
                    let open = open.clone();
                    tokio::spawn(async move {
                        // Long enough that two loops would meet.
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        drop(stream);
                        open.fetch_sub(1, Ordering::Relaxed);
                    });
                }
            }
        });
        Self {
            address,
            dials,
            open,
            most,
            task,
        }
    }
}

// N40, N43: counted at the sockets, where the servers were.
#[tokio::test(flavor = "multi_thread")]
async fn one_loop_dials_while_nothing_is_connected() {
    let servers = [NatsServer::start(), NatsServer::start()];
    let urls: Vec<_> = servers.iter().map(NatsServer::url).collect();
    let more = "[group]\nstandby = 1\n[group.reconnect]\ninitial = \"20ms\"\nmax = \"50ms\"\n[group.unavailable]\nwait = \"30s\"";
    let group = Failover::<Nats>::open_toml(&config(&urls, more))
        .await
        .unwrap();
    wait_until(BOUND, "the group is whole", || {
        group.status().standbys().count() == 1
    })
    .await;
    for server in &servers {
        server.kill();
    }
    wait_until(BOUND, "nobody is active", || {
        group.status().active.is_none()
    })
    .await;
    let counters = [
        Counter::at(servers[0].port()).await,
        Counter::at(servers[1].port()).await,
    ];
    let dials = |counter: &Counter| counter.dials.load(Ordering::Relaxed);
    wait_until(BOUND * 2, "both are dialled, again and again", || {
        counters.iter().all(|counter| dials(counter) >= 20)
    })
    .await;
    for counter in &counters {
        assert_eq!(
            counter.most.load(Ordering::Relaxed),
            1,
            "{}: at most one dial at a time",
            counter.address
        );
        assert!(counter.open.load(Ordering::Relaxed) <= 1);
        counter.task.abort();
    }
    wait_until(BOUND, "the ports are free", || {
        counters
            .iter()
            .all(|counter| std::net::TcpListener::bind(counter.address).is_ok())
    })
    .await;
    servers[0].restart();
    group.client().flush().await.unwrap();
    group.close().await;
}
