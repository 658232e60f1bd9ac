//! What servers say about themselves: replicas, demotions, loading, credentials, databases.

use std::time::Duration;

use failover_core::redis::Redis;
use failover_core::status::Link;
use failover_core::{ErrorKind, Failover, Reason};
use failover_testkit::server::RedisServer;
use redis::AsyncCommands;

use crate::fleet::{Fleet, config};

// P157
#[tokio::test]
async fn a_replica_is_not_promoted_even_when_its_master_dies() {
    let master = RedisServer::start();
    let replica = RedisServer::builder().replica_of(&master).start();
    replica.wait_synced();
    let fleet = Fleet::over(vec![master, replica], "").await;
    fleet
        .until("the replica is known as one", |status| {
            status.member("m1").unwrap().read_only
        })
        .await;
    fleet.servers[0].kill();
    fleet
        .until("nobody is active", |status| status.active.is_none())
        .await;
    let refused = fleet.group.force_switch_to("m1").await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotEligible);
    // Once somebody makes it a master, it is taken.
    fleet.servers[1].make_master();
    fleet.is_active("m1").await;
}

// P156
#[tokio::test]
async fn a_demoted_active_is_left_at_once_and_its_writes_run_elsewhere() {
    let mut fleet = Fleet::whole(2, "[group.health]\ninterval = \"1h\"").await;
    let (west, east) = (&fleet.servers[1], &fleet.servers[0]);
    east.make_replica_of(west);
    // No check is due: it is the write that finds out, and it succeeds nevertheless.
    let count: i64 = fleet.client.incr("n", 1).await.unwrap();
    assert_eq!(count, 1);
    assert_eq!(
        fleet.moved().await,
        (Some("m0".to_owned()), "m1".to_owned(), Reason::Health)
    );
    assert_eq!(fleet.servers[1].cli(&["GET", "n"]), "1");
}

// P156
#[tokio::test]
async fn a_loading_server_is_no_active_until_it_has_loaded() {
    let servers = vec![RedisServer::start(), RedisServer::start()];
    servers[0].restart_loading(Duration::from_secs(2));
    let fleet = Fleet::over(servers, "").await;
    assert_eq!(fleet.active().as_deref(), Some("m1"));
    fleet.is("m0", Link::Standby).await;
}

// P161, P11
#[tokio::test]
async fn no_password_and_a_wrong_password_are_told_apart_in_the_startup_error() {
    let server = RedisServer::builder().password("correct-horse").start();
    let url = |password: &str| format!("redis://{password}127.0.0.1:{}", server.port());
    let urls = [url(""), url(":battery-staple@")];
    let opened = Failover::<Redis>::open_toml(&config(&urls, "")).await;
    let error = opened.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Startup);
    let text = error.to_string();
    assert!(text.contains("m0: ") && text.contains("m1: "), "{text}");
    assert!(text.contains("password"), "{text}");
    assert!(!text.contains("battery-staple"), "{text}");
    let reasons: Vec<_> = text.split("; ").collect();
    assert_ne!(
        reasons[0].split_once("m0: ").unwrap().1,
        reasons[1].split_once("m1: ").unwrap().1
    );
}

// P162
#[tokio::test]
async fn each_member_has_a_database_of_its_own() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let urls = [
        format!("{}/3", servers[0].url().trim_end_matches('/')),
        format!("{}/5", servers[1].url().trim_end_matches('/')),
    ];
    let group = Failover::<Redis>::open_toml(&config(&urls, ""))
        .await
        .unwrap();
    let mut client = group.client();
    let _: () = client.set("key", "three").await.unwrap();
    // The heavier one is active as soon as it can be; the other may still be on its way.
    failover_testkit::wait_until(crate::fleet::BOUND, "m1 stands by", || {
        group.status().standbys().count() == 1
    })
    .await;
    group.switch_to("m1").await.unwrap();
    let _: () = client.set("key", "five").await.unwrap();
    assert_eq!(servers[1].cli(&["GET", "key"]), "");
    assert!(servers[1].cli(&["INFO", "keyspace"]).contains("db5:keys=1"));
}
