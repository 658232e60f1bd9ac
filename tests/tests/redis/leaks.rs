//! Nothing leaks: after `close()`, and after the last handle and client are gone, no task and no socket is left.

use std::time::Duration;

use failover_core::Failover;
use failover_core::redis::Redis;
use failover_testkit::server::RedisServer;
use failover_testkit::wait_until;
use redis::AsyncCommands;

use crate::fleet::{BOUND, Fleet, config};

fn tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

fn sockets(servers: &[RedisServer]) -> usize {
    servers.iter().map(|server| server.clients().len()).sum()
}

// P118
#[tokio::test]
async fn after_close_no_task_and_no_socket_is_left_although_clients_are_held() {
    let before = tasks();
    let mut fleet = Fleet::whole(3, "").await;
    let mut client = fleet.client.clone();
    // A dedicated socket too, and a blocked one.
    redis::cmd("WATCH")
        .arg("k")
        .exec_async(&mut client)
        .await
        .unwrap();
    let mut blocked = fleet.client.clone();
    let pop = tokio::spawn(async move { blocked.blpop::<_, (String, String)>("q", 0.0).await });
    wait_until(BOUND, "five sockets are open", || {
        sockets(&fleet.servers) == 5
    })
    .await;
    fleet.group.close().await;
    assert!(pop.await.unwrap().is_err());
    // The servers see it a moment later than we do.
    wait_until(BOUND, "no socket is open", || sockets(&fleet.servers) == 0).await;
    wait_until(BOUND, "no task is left", || tasks() == before).await;
    assert!(client.get::<_, Option<String>>("k").await.is_err());
    assert!(fleet.client.get::<_, Option<String>>("k").await.is_err());
    fleet.group.close().await;
}

// P118
#[tokio::test]
async fn after_the_last_handle_and_client_are_dropped_nothing_is_left() {
    let before = tasks();
    let fleet = Fleet::whole(2, "").await;
    let Fleet {
        servers,
        group,
        mut client,
        events,
    } = fleet;
    drop(events);
    drop(group);
    // A client keeps the group alive.
    let _: () = client.set("key", "value").await.unwrap();
    assert_eq!(sockets(&servers), 2);
    drop(client);
    wait_until(BOUND, "no socket is open", || sockets(&servers) == 0).await;
    wait_until(BOUND, "no task is left", || tasks() == before).await;
}

// P29
#[tokio::test]
async fn a_failed_startup_closes_everything() {
    let before = tasks();
    let servers = [RedisServer::start(), RedisServer::start()];
    servers[1].kill();
    let urls: Vec<_> = servers.iter().map(RedisServer::url).collect();
    let config = config(&urls, "[group]\nstartup = \"all\"");
    Failover::<Redis>::open_toml(&config).await.unwrap_err();
    wait_until(BOUND, "no socket is open", || sockets(&servers[..1]) == 0).await;
    wait_until(BOUND, "no task is left", || tasks() == before).await;
}

// P118: a kill and a long outage leave nothing behind either.
#[tokio::test]
async fn kills_and_restarts_leave_one_socket_for_each_member() {
    let fleet = Fleet::whole(2, "").await;
    for _ in 0..3 {
        let active = usize::from(fleet.active().as_deref() == Some("m1"));
        fleet.servers[active].kill();
        fleet.is_active(["m1", "m0"][active]).await;
        fleet.servers[active].restart();
        fleet.is_whole().await;
    }
    wait_until(BOUND, "each member has one socket", || {
        fleet
            .servers
            .iter()
            .all(|server| server.clients().len() == 1)
    })
    .await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(sockets(&fleet.servers), 2);
}
