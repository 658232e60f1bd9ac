//! How a group begins and ends.

use failover_core::nats::{Nats, Settings};
use failover_core::{ErrorKind, EventKind, Failover};
use failover_testkit::server::{Flavour, NatsCluster, NatsServer};
use failover_testkit::wait_until;

use crate::fleet::{BOUND, Fleet, config, say};

fn nowhere() -> String {
    "nats://127.0.0.1:1".to_owned()
}

// N1
#[tokio::test(flavor = "multi_thread")]
async fn when_all_are_bad_the_error_names_them() {
    let urls = [nowhere(), "nats://127.0.0.1:2".to_owned()];
    let error = Failover::<Nats>::open_toml(&config(&urls, ""))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Startup);
    for part in ["m0", "127.0.0.1:1 refuses", "m1", "127.0.0.1:2 refuses"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    // Also where they are one member.
    let one =
        "[[member]]\nname = \"all\"\nurls = [\"nats://127.0.0.1:1\", \"nats://127.0.0.1:2\"]\n";
    let error = Failover::<Nats>::open_toml(one).await.unwrap_err();
    for part in ["127.0.0.1:1 refuses", "127.0.0.1:2 refuses"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

// N2
#[tokio::test(flavor = "multi_thread")]
async fn one_bad_and_one_good_connects() {
    let server = NatsServer::start();
    let group = Failover::<Nats>::open_toml(&config(&[nowhere(), server.url()], ""))
        .await
        .unwrap();
    group.client().flush().await.unwrap();
    assert_eq!(group.status().active.unwrap(), "m1");
    group.close().await;
    // The same for the addresses of one member.
    let one = format!(
        "[[member]]\nname = \"all\"\nurls = [\"{}\", \"{}\"]\n",
        nowhere(),
        server.url()
    );
    let group = Failover::<Nats>::open_toml(&one).await.unwrap();
    group.client().flush().await.unwrap();
    group.close().await;
}

// N5, N7
#[tokio::test(flavor = "multi_thread")]
async fn both_sides_are_told_of_and_closed_once() {
    let cluster = NatsCluster::start(2);
    let fleet = Fleet::over(cluster, "").await;
    let mut events = fleet.group.events();
    fleet.group.switch_to("m1").await.unwrap();
    fleet.is_whole().await;
    fleet.group.close().await;
    let mut told = Vec::new();
    while let Some(event) = events.next().await {
        told.push(match event.kind {
            EventKind::Switched { from, to, .. } => format!("{} to {to}", from.unwrap()),
            EventKind::DrainStarted { member, .. } => format!("{member} ends"),
            EventKind::DrainEnded { member, kept } => format!("{member} ended, kept {kept}"),
            EventKind::StandbyArmed { member, .. } => format!("{member} stands by"),
            EventKind::Closed => "closed".to_owned(),
            EventKind::Degraded | EventKind::WholeAgain => continue,
            other => panic!("{other}"),
        });
    }
    let shown: Vec<&str> = told
        .iter()
        .map(String::as_str)
        .filter(|line| !line.contains("end"))
        .collect();
    assert_eq!(shown, ["m0 to m1", "m0 stands by", "closed"], "{told:?}");
    for node in fleet.cluster.nodes() {
        wait_until(BOUND, "no connection is left", || node.connections() == 0).await;
    }
    fleet.group.close().await;
}

/// A server that was down joins, and traffic goes back to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_late_takes_part() {
    let servers = [NatsServer::start(), NatsServer::start()];
    servers[0].kill();
    let urls: Vec<_> = servers.iter().map(NatsServer::url).collect();
    let more = "[group.failback]\nstable = \"100ms\"\njitter = \"0s\"\ngrace = \"0s\"\n[group.reconnect]\nmax = \"100ms\"";
    let group = Failover::<Nats>::open_toml(&config(&urls, more))
        .await
        .unwrap();
    let mut subscription = group.client().subscribe("load").await.unwrap();
    servers[0].restart();
    wait_until(BOUND, "it is active", || {
        group
            .status()
            .active
            .as_ref()
            .is_some_and(|active| *active == "m0")
    })
    .await;
    wait_until(BOUND, "the subscription is there", || {
        servers[0].subscriptions("load") == 1
    })
    .await;
    say(&servers[0], "load", "here").await;
    let message = tokio::time::timeout(BOUND, subscription.next())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(message.payload, "here");
    group.close().await;
}

/// The proof needs a subject that may be published to, and the error says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_is_forbidden_is_explained() {
    let server = NatsServer::builder()
        .user("app", "pw", "publish: \"allowed.>\", subscribe: \">\"")
        .start();
    let member = |more: &str| {
        let url = server.url();
        format!(
            "[[member]]\nname = \"east\"\nurl = \"{url}\"\nusername = \"app\"\npassword = \"pw\"\n{more}"
        )
    };
    let error = Failover::<Nats>::open_toml(&member("")).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("probe_subject") && text.contains("_FAILOVER.PROBE"),
        "{text}"
    );
    assert!(!text.contains("\"pw\""), "{text}");
    let group = Failover::<Nats>::open_toml(&member("probe_subject = \"allowed.probe\""))
        .await
        .unwrap();
    group.client().flush().await.unwrap();
    group.close().await;
}

/// Only what the server says of the probe itself speaks against the connection: neither a refused subject that begins like
/// it, nor a subscription to it.
#[tokio::test(flavor = "multi_thread")]
async fn what_else_is_forbidden_speaks_against_no_probe() {
    for flavour in [Flavour::Newest, Flavour::V2_9] {
        let denied =
            "publish: { deny: [ \"health.check\", \"closed\" ] }, subscribe: { deny: \"health\" }";
        let server = NatsServer::builder()
            .flavour(flavour)
            .user("app", "pw", denied)
            .start();
        let open = async |probe: &str| {
            let url = format!("nats://app:pw@{}", server.address());
            let member = format!(
                "[[member]]\nname = \"east\"\nurl = \"{url}\"\nprobe_subject = \"{probe}\""
            );
            Failover::<Nats>::open_toml(&member).await
        };
        let text = open("closed").await.unwrap_err().to_string();
        assert!(text.contains("forbids the probe"), "{flavour:?}: {text}");
        let group = open("health").await.unwrap();
        let (client, mut events) = (group.client(), group.events());
        client.publish("health.check", "".into()).await.unwrap();
        let _nothing = client.subscribe("health").await.unwrap();
        let mut refused = 0;
        while refused < 2 {
            let event = tokio::time::timeout(BOUND, events.next()).await;
            if let EventKind::Notice { what, .. } = event.unwrap().unwrap().kind {
                assert_eq!(what, "forbidden");
                refused += 1;
            }
        }
        client.flush().await.unwrap();
        group.close().await;
    }
}

#[test]
fn settings_are_checked_before_anything_is_connected() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for (member, expected) in [
        ("uri = \"nats://h\"", "unknown key `uri`"),
        ("url = \"http://h\"", "a url cannot be used"),
        (
            "url = \"nats://h\"\nping_interval = \"5\"",
            "is not a duration",
        ),
        ("urls = []", "there is no url"),
    ] {
        let text = format!("[[member]]\nname = \"east\"\n{member}\n");
        let error = runtime
            .block_on(Failover::<Nats>::open_toml(&text))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    assert!(format!("{:?}", Settings::new("nats://u:hunter2@h")).contains("h:4222"));
}
