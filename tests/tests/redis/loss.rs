//! Killed, frozen, reset and half-open: the active goes, the traffic stays.

use std::time::Duration;

use failover_core::api::{Backend, FromOptions};
use failover_core::redis::{FailoverConnection, Redis};
use failover_core::status::Link;
use failover_core::{ErrorKind, Failover, Fate, Reason};
use failover_testkit::server::{Mode, Proxy, RedisServer};
use redis::AsyncCommands;

use crate::fleet::{BOUND, FIRST_IS_QUICK, Fleet, config, timed};

// P154, P46
#[tokio::test]
async fn a_read_survives_the_kill_of_its_server() {
    let mut fleet = Fleet::whole(2, "").await;
    fleet.servers[1].cli(&["SET", "key", "west"]);
    fleet.servers[0].kill();
    let value: String = fleet.client.get("key").await.unwrap();
    assert_eq!(value, "west");
    assert_eq!(
        fleet.moved().await,
        (Some("m0".to_owned()), "m1".to_owned(), Reason::Lost)
    );
}

// P32, P102: down at the start, and back after a whole outage.
#[tokio::test]
async fn a_member_that_was_down_joins_and_a_whole_outage_ends() {
    let servers = vec![RedisServer::start(), RedisServer::start()];
    servers[1].kill();
    let mut fleet = Fleet::over(servers, "").await;
    fleet.servers[1].restart();
    fleet.is_whole().await;
    fleet.servers[0].kill();
    fleet.is_active("m1").await;
    fleet.servers[1].kill();
    fleet
        .until("nobody is active", |status| status.active.is_none())
        .await;
    let error = fleet.client.get::<_, Option<String>>("key").await;
    let error = error.unwrap_err();
    let cause = FailoverConnection::cause(&error).unwrap();
    assert_eq!(cause.kind(), ErrorKind::NoActive);
    assert!(cause.message().contains("m0: ") && cause.message().contains("m1: "));
    fleet.servers[0].restart();
    fleet.is_active("m0").await;
    fleet.servers[1].restart();
    fleet.is_whole().await;
    let _: () = fleet.client.set("key", "back").await.unwrap();
}

// P40, P158: the socket is open, and nobody answers.
#[tokio::test]
async fn a_frozen_active_is_left_after_its_proof_failed() {
    frozen_active_is_left::<Redis>(async |client| Ok(client.clone().get("key").await?)).await;
}

/// The read moves as well, in the time of an operation, a proof and a redial. On a machine that is so busy that this
/// process stood still the proof is asked again and the read may end with its timeout; the traffic moves all the same.
pub(crate) async fn frozen_active_is_left<B: Backend + FromOptions>(
    get: impl AsyncFn(&B::Client) -> Result<Option<String>, Box<dyn std::error::Error>>,
) {
    let more = "[group.timeouts]\noperation = \"60s\"\nprove = \"60s\"\n\
                [[first]]\ntimeouts = { operation = \"100ms\", prove = \"100ms\" }";
    let mut fleet = Fleet::<B>::whole_through(2, more).await;
    fleet.servers[0].freeze();
    let (took, value) = timed(get(&fleet.client)).await;
    // It is found out by who reads.
    let client = fleet.client.clone();
    let reading = async {
        loop {
            let _ = get(&client).await;
        }
    };
    let ((_, to, _), stalled) = tokio::select! {
        moved = fleet.moved_and_stalled() => moved,
        () = reading => unreachable!("it reads for ever"),
    };
    assert_eq!(to, "m1");
    if !stalled {
        assert_eq!(value.unwrap(), None);
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
    assert_eq!(get(&fleet.client).await.unwrap(), None);
    // Thawed, it joins again.
    fleet.servers[0].thaw();
    fleet.is("m0", Link::Standby).await;
}

// P96, P158
#[tokio::test]
async fn a_half_open_socket_is_replaced_and_a_reset_one_does_not_move_the_group() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let proxy = Proxy::start(([127, 0, 0, 1], servers[0].port()))
        .await
        .unwrap();
    let through = format!("redis://{}", proxy.address());
    let config = config(&[through, servers[1].url()], FIRST_IS_QUICK);
    let group = Failover::<Redis>::open_toml(&config).await.unwrap();
    let mut client = group.client();
    let active = || group.status().active.map(|name| name.as_str().to_owned());
    for fault in ["reset", "half-open"] {
        failover_testkit::wait_until(BOUND, "m0 is active", || active().as_deref() == Some("m0"))
            .await;
        let before = group.status().member("m0").unwrap().generation;
        match fault {
            "reset" => proxy.reset_connections().await,
            _ => {
                // Nothing comes through until the old connection is given up; its successor finds an open way.
                proxy.set(Mode::Blackhole).await;
                let timed_out = client.incr::<_, _, i64>("n", 1).await.unwrap_err();
                let cause = FailoverConnection::cause(&timed_out).unwrap();
                assert_eq!(cause.fate(), Some(Fate::MayHaveBeenApplied));
                failover_testkit::wait_until(BOUND, "the old connection is given up", || {
                    group.status().member("m0").unwrap().link == Link::Connecting
                })
                .await;
                proxy.set(Mode::Forward).await;
            }
        }
        failover_testkit::wait_until(BOUND, "a new connection to m0 is active", || {
            let status = group.status();
            let member = status.member("m0").unwrap();
            member.link == Link::Active && member.generation != before
        })
        .await;
        assert_eq!(active().as_deref(), Some("m0"), "after {fault}");
        let _: () = client.set("key", fault).await.unwrap();
        assert_eq!(servers[0].cli(&["GET", "key"]), fault);
    }
    group.close().await;
}

// P163
#[tokio::test]
async fn large_values_under_a_stalled_server_are_bounded_and_move() {
    let more = "[group.timeouts]\noperation = \"200ms\"\nprove = \"200ms\"";
    let mut fleet = Fleet::whole(2, more).await;
    fleet.servers[0].freeze();
    let value = vec![b'x'; 1 << 20];
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..32 {
        let (mut client, value) = (fleet.client.clone(), value.clone());
        tasks.spawn(async move {
            let key = format!("key:{number}");
            timed(client.set::<_, _, ()>(key, value)).await
        });
    }
    while let Some(done) = tasks.join_next().await {
        let (took, _) = done.unwrap();
        assert!(took < Duration::from_secs(3), "{took:?}");
    }
    assert_eq!(fleet.moved().await.1, "m1");
    let _: () = fleet.client.set("after", value).await.unwrap();
}
