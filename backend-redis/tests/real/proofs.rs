//! Proof and health checks against servers in the states that matter.

use std::time::{Duration, Instant};

use backend_api::{Backend, Error, ErrorKind, Health, Member, Probe};
use backend_redis::{Redis, Settings};
use redis::AsyncCommands;

use crate::server::Server;
use crate::stand_in::{Link, StandIn};

pub(crate) async fn check<B: Backend<Settings = Settings>>(
    engine: &StandIn<B>,
    link: &Link<B::Connection>,
    name: &str,
) -> Result<(), Error> {
    let member = Member::new(link.name, Settings::new("redis://h"));
    let checks = engine.backend.checks();
    let check = checks.iter().find(|check| check.name() == name).unwrap();
    let probe = Probe::new(
        &engine.backend,
        &member,
        &link.connection,
        Duration::from_secs(1),
    );
    match check.check(probe).await {
        Health::Healthy => Ok(()),
        Health::Unhealthy(reason) => Err(reason),
        Health::Inconclusive => panic!("inconclusive"),
    }
}

// P157
#[tokio::test]
async fn a_replica_is_read_only_unless_replicas_are_allowed() {
    let server = Server::start().await;
    server.demote().await;
    for allowed in [false, true] {
        let (mut engine, _client) = StandIn::new(Redis::builder().allow_replicas(allowed));
        let link = engine.connect("east", server.settings()).await.unwrap();
        let role = check(&engine, &link, "role").await;
        let proof = engine.backend.prove(&link.connection).await;
        for answer in [role, proof] {
            match allowed {
                true => answer.unwrap(),
                false => assert_eq!(answer.unwrap_err().kind(), ErrorKind::ReadOnly),
            }
        }
        check(&engine, &link, "ping").await.unwrap();
    }
    let (engine, _client) = StandIn::new(Redis::builder());
    assert_eq!(engine.backend.default_checks(), ["ping", "role"]);
}

#[tokio::test]
async fn without_permission_for_role_info_is_asked() {
    let server = Server::start().await;
    let () = server.ask("ACL SETUSER app on >pw ~* +@all -role").await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
    let settings = server.settings().username("app").password("pw");
    engine.bring_up("east", settings.clone()).await;
    server.demote().await;
    let link = engine.connect("east", settings).await.unwrap();
    let error = engine.backend.prove(&link.connection).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
}

/// A server that loads its data for a good while yet, and the file that it loads: the caller's, to be removed.
pub(crate) async fn loading() -> (Server, std::path::PathBuf) {
    let mut first = Server::with(&["--dbfilename", "dump.rdb"]).await;
    let () = first.ask("DEBUG POPULATE 50000").await;
    let () = first.ask("SAVE").await;
    let dump = first.directory.join("dump.rdb");
    let copy =
        std::env::temp_dir().join(format!("loading-{}-{}.rdb", std::process::id(), first.port));
    std::fs::copy(dump, &copy).unwrap();
    first.kill();
    let directory = copy.parent().unwrap().to_str().unwrap();
    let name = copy.file_name().unwrap().to_str().unwrap();
    let slow = Server::with(&[
        "--dir",
        directory,
        "--dbfilename",
        name,
        "--key-load-delay",
        "100",
        // How often it answers while it loads.
        "--loading-process-events-interval-bytes",
        "1024",
    ])
    .await;
    (slow, copy)
}

// P156
#[tokio::test]
async fn a_loading_server_is_unhealthy() {
    let (slow, file) = loading().await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
    let link = engine.connect("east", slow.settings()).await.unwrap();
    let proof = engine.backend.prove(&link.connection).await.unwrap_err();
    let ping = check(&engine, &link, "ping").await.unwrap_err();
    std::fs::remove_file(file).unwrap();
    for error in [proof, ping] {
        assert_eq!(error.kind(), ErrorKind::Unhealthy, "{error}");
        assert!(error.message().contains("LOADING"), "{error}");
    }
}

#[tokio::test]
async fn a_proof_and_a_check_may_take_longer_than_an_operation() {
    let server = Server::start().await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    engine.operation = Duration::from_millis(50);
    let link = engine.bring_up("east", server.settings()).await;
    let slow = async {
        tokio::time::sleep(Duration::from_millis(30)).await;
        let before = Instant::now();
        let proof = engine.backend.prove(&link.connection);
        let (ping, role) = (check(&engine, &link, "ping"), check(&engine, &link, "role"));
        let (proof, ping, role) = tokio::join!(proof, ping, role);
        (before.elapsed(), [proof, ping, role])
    };
    let ((), (took, answers)) = tokio::join!(server.ask("DEBUG SLEEP 0.4"), slow);
    assert!(took > engine.operation, "{took:?}");
    for answer in answers {
        answer.unwrap();
    }
    let () = client.set("k", 1).await.unwrap();
}

#[tokio::test]
async fn a_proof_of_a_frozen_server_lasts_until_it_is_dropped_and_harms_nothing() {
    let server = Server::start().await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
    engine.operation = Duration::from_millis(20);
    let link = engine.bring_up("east", server.settings()).await;
    server.freeze();
    let proof = engine.backend.prove(&link.connection);
    let dropped = tokio::time::timeout(Duration::from_millis(200), proof).await;
    server.thaw();
    assert!(dropped.is_err(), "{dropped:?}");
    engine.backend.prove(&link.connection).await.unwrap();
}
