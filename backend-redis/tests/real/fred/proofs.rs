//! Proof and health checks through fred.

use std::time::{Duration, Instant};

use backend_api::{Backend, ErrorKind};
use backend_redis::Options;

use super::{engine, with};
use crate::proofs::check;
use crate::server::Server;
use crate::stand_in::StandIn;

// P157, P164
#[tokio::test]
async fn through_fred_a_replica_is_read_only_unless_replicas_are_allowed() {
    let server = Server::start().await;
    server.demote().await;
    for allow_replicas in [false, true] {
        let (mut engine, _client) = StandIn::of(with(Options {
            allow_replicas,
            ..Options::default()
        }));
        let link = engine.connect("east", server.settings()).await.unwrap();
        let role = check(&engine, &link, "role").await;
        let proof = engine.backend.prove(&link.connection).await;
        for answer in [role, proof] {
            match allow_replicas {
                true => answer.unwrap(),
                false => assert_eq!(answer.unwrap_err().kind(), ErrorKind::ReadOnly),
            }
        }
        check(&engine, &link, "ping").await.unwrap();
    }
    let (engine, _client) = engine();
    assert_eq!(engine.backend.default_checks(), ["ping", "role"]);
}

#[tokio::test]
async fn through_fred_without_permission_for_role_info_is_asked() {
    let server = Server::start().await;
    let () = server.ask("ACL SETUSER app on >pw ~* +@all -role").await;
    let (mut engine, _client) = engine();
    let settings = server.settings().username("app").password("pw");
    engine.bring_up("east", settings.clone()).await;
    server.demote().await;
    let link = engine.connect("east", settings).await.unwrap();
    let error = engine.backend.prove(&link.connection).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
}

#[tokio::test]
async fn through_fred_a_proof_and_a_check_may_take_longer_than_an_operation() {
    let server = Server::start().await;
    let (mut engine, _client) = engine();
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
}

#[tokio::test]
async fn through_fred_a_proof_of_a_frozen_server_is_dropped_without_harm() {
    let server = Server::start().await;
    let (mut engine, _client) = engine();
    engine.operation = Duration::from_millis(20);
    let link = engine.bring_up("east", server.settings()).await;
    server.freeze();
    let proof = engine.backend.prove(&link.connection);
    let dropped = tokio::time::timeout(Duration::from_millis(200), proof).await;
    server.thaw();
    assert!(dropped.is_err(), "{dropped:?}");
    engine.backend.prove(&link.connection).await.unwrap();
}
