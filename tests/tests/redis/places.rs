//! Where a server can be: behind a name that is looked up at every dial, at an IPv6 address, behind a Unix socket.

use failover_core::Failover;
use failover_core::redis::Redis;
use failover_testkit::server::{Proxy, RedisServer};
use failover_testkit::wait_until;
use redis::AsyncCommands;

use crate::fleet::{BOUND, config};

async fn serves(url: &str) {
    let group = Failover::<Redis>::open_toml(&config(&[url.to_owned()], ""))
        .await
        .unwrap_or_else(|error| panic!("{url}: {error}"));
    let _: () = group.client().set("key", "value").await.unwrap();
    group.close().await;
}

/// By name, at the loopback of IPv6 through a way that ends at the server's, and on the newest server.
#[tokio::test]
async fn names_and_ipv6_addresses_are_reached() {
    let server = RedisServer::start();
    serves(&format!("redis://localhost:{}", server.port())).await;
    let newest = RedisServer::builder().newest().start();
    serves(&format!("redis://localhost:{}", newest.port())).await;
    let listener = tokio::net::TcpListener::bind("[::1]:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let target = server.port();
    let relay = tokio::spawn(async move {
        loop {
            let (mut from, _) = listener.accept().await.unwrap();
            let mut to = tokio::net::TcpStream::connect(("127.0.0.1", target))
                .await
                .unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut from, &mut to).await });
        }
    });
    serves(&format!("redis://{address}")).await;
    relay.abort();
}

/// The server moves to another address behind its name, as it does behind a name service: here a way in front of it that
/// leads elsewhere from one dial to the next. Nothing of the old answer is kept.
#[tokio::test]
async fn where_a_name_leads_is_asked_at_every_dial() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::start(([127, 0, 0, 1], servers[0].port()))
        .await
        .unwrap();
    let url = format!("redis://localhost:{}", proxy.address().port());
    let more = "[group.reconnect]\ninitial = \"20ms\"\nmax = \"50ms\"\n[group.unavailable]\nwait = \"10s\"";
    let group = Failover::<Redis>::open_toml(&config(&[url], more))
        .await
        .unwrap();
    let mut client = group.client();
    let _: () = client.set("where", "first").await.unwrap();
    servers[1].cli(&["SET", "where", "second"]);
    let port = proxy.address().port();
    drop(proxy);
    let listener = wait_for_port(port).await;
    let second = servers[1].port();
    let relay = tokio::spawn(async move {
        loop {
            let (mut from, _) = listener.accept().await.unwrap();
            let mut to = tokio::net::TcpStream::connect(("127.0.0.1", second))
                .await
                .unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut from, &mut to).await });
        }
    });
    wait_until(BOUND, "it is active again", || {
        group.status().active.is_some()
    })
    .await;
    let found: String = client.get("where").await.unwrap();
    assert_eq!(found, "second");
    group.close().await;
    relay.abort();
}

async fn wait_for_port(port: u16) -> tokio::net::TcpListener {
    let deadline = tokio::time::Instant::now() + BOUND;
    loop {
        match tokio::net::TcpListener::bind(("127.0.0.1", port)).await {
            Ok(listener) => return listener,
            Err(error) => assert!(tokio::time::Instant::now() < deadline, "{error}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}
