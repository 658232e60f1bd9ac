//! Checks that a configuration names, several at once, and what follows when one of them fails.

use std::time::Duration;

use failover_core::redis::Redis;
use failover_core::{Failover, Reason, Status};
use failover_testkit::server::{Mode, RedisServer};
use failover_testkit::wait_until;
use redis::AsyncCommands;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::fleet::{BOUND, Fleet, config, timed};
use crate::replication::Replicated;

/// The REST interface of a cluster whose databases are at these ports, and which calls the first of them available or not.
async fn interface(ports: [u16; 2]) -> (u16, watch::Sender<&'static str>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (first, now) = watch::channel("200 OK");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let now = now.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut request).await {
                    let request = String::from_utf8_lossy(&request[..length]).into_owned();
                    let database = |uid: usize| {
                        let port = ports[uid];
                        format!(
                            r#"{{"uid":{uid},"endpoints":[{{"addr":["127.0.0.1"],"port":{port}}}]}}"#
                        )
                    };
                    let (status, body) = match () {
                        () if request.contains("fields=") => {
                            ("200 OK", format!("[{},{}]", database(0), database(1)))
                        }
                        () if request.contains("/bdbs/0/") => (*now.borrow(), String::new()),
                        () => ("200 OK", String::new()),
                    };
                    let length = body.len();
                    let answer =
                        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{body}");
                    if stream.write_all(answer.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, first)
}

// P160, F61: the database answers and is a master; that it is behind only its cluster knows.
#[tokio::test]
async fn ping_role_and_lag_aware_together_move_the_group() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let ports = [servers[0].port(), servers[1].port()];
    let (rest, first) = interface(ports).await;
    let checks = r#"["ping", "role", "lag", "write-read", "lag-aware"]"#;
    let mut text = format!("[group.health]\ninterval = \"50ms\"\ncheck = {checks}\n");
    for (place, server) in servers.iter().enumerate() {
        let (weight, url) = (2 - place, server.url());
        text += &format!(
            "[[member]]\nname = \"m{place}\"\nweight = {weight}\nurl = \"{url}\"\nrest_url = \"http://127.0.0.1:{rest}\"\n\
             rest_username = \"u\"\nrest_password = \"hunter2\"\n"
        );
    }
    let group = Failover::<Redis>::open_toml(&text).await.unwrap();
    let active = || group.status().active.map(|name| name.as_str().to_owned());
    assert_eq!(active().as_deref(), Some("m0"));
    assert_eq!(servers[0].cli(&["EXISTS", "failover:check:m0"]), "1");
    first.send("503 Service Unavailable").unwrap();
    wait_until(BOUND, "the group leaves what is behind", || {
        active().as_deref() == Some("m1")
    })
    .await;
    let status = || format!("{:?}", group.status());
    wait_until(BOUND, "the status says why", || {
        status().contains("unavailable: 503")
    })
    .await;
    assert!(!status().contains("hunter2"), "{}", status());
    group.close().await;
}

// P160: without its setting the check fails, and says what is missing.
#[tokio::test]
async fn lag_aware_without_a_rest_url_says_so() {
    let server = RedisServer::start();
    let text = config(
        &[server.url()],
        "[group.health]\ncheck = [\"ping\", \"lag-aware\"]",
    );
    let error = Failover::<Redis>::open_toml(&text).await.unwrap_err();
    assert!(error.to_string().contains("needs rest_url"), "{error}");
}

// F60: the link to the master is silent. Bytes show at once, time when it has passed; nobody else is blamed.
#[tokio::test]
async fn a_replica_that_falls_behind_is_unhealthy_until_it_has_caught_up() {
    for thresholds in [
        "lag_bytes = 1000\nlag_time = \"1h\"",
        "lag_time = \"200ms\"",
    ] {
        let more = format!(
            "[backend]\nallow_replicas = true\n{thresholds}\n\
             [group.health]\ninterval = \"20ms\"\nprobes = 1\ncheck = [\"ping\", \"lag\"]"
        );
        let Replicated { fleet, proxy, .. } = Replicated::with(&more).await;
        fleet.is_whole().await;
        let is = |wanted: bool| {
            move |status: &Status| {
                let healthy = |name: &str| status.member(name).unwrap().healthy;
                healthy("m1") == Some(wanted) && healthy("m0") == Some(true)
            }
        };
        fleet.until("both are well", is(true)).await;
        proxy.set(Mode::Blackhole).await;
        fleet.servers[0].cli(&["SET", "key", &"x".repeat(5000)]);
        fleet.until("the replica is behind", is(false)).await;
        let status = format!("{:?}", fleet.group.status());
        assert!(status.contains("the replica"), "{status}");
        proxy.set(Mode::Forward).await;
        fleet.until("the replica has caught up", is(true)).await;
    }
}

// P156: the write that is refused is answered by the next active, and the move takes no check to be due.
#[tokio::test]
async fn a_rejected_write_moves_the_group_within_milliseconds() {
    let mut times = Vec::new();
    for _ in 0..3 {
        let mut fleet = Fleet::whole(2, "[group.health]\ninterval = \"1h\"").await;
        fleet.servers[0].make_replica_of(&fleet.servers[1]);
        let (took, count) = timed(fleet.client.incr::<_, _, i64>("n", 1)).await;
        assert_eq!(count.unwrap(), 1);
        assert_eq!(fleet.moved().await.1, "m1");
        times.push(took);
    }
    // From the write that was refused to its answer from the other member. The best of three: the machine is shared.
    let best = times.iter().min().unwrap();
    assert!(*best < Duration::from_millis(50), "{times:?}");
}

// P156: nobody writes, and the role check finds it.
#[tokio::test]
async fn a_demotion_is_found_by_the_role_check() {
    let mut fleet = Fleet::whole(2, "[group.health]\ninterval = \"20ms\"").await;
    fleet.servers[0].make_replica_of(&fleet.servers[1]);
    let (took, moved) = timed(fleet.moved()).await;
    assert_eq!(
        moved,
        (Some("m0".to_owned()), "m1".to_owned(), Reason::Health)
    );
    assert!(took < Duration::from_secs(1), "{took:?}");
}
