//! What the engine asks of the backend: proofs, checks, promotions, the end of connections, delays and panics.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use backend_api::{Capabilities, FromOptions};

use super::*;

#[tokio::test(start_paused = true)]
async fn retiring_ends_every_clone_and_what_runs_on_it() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    let kept = connection.clone();
    east.freeze();
    let running = start({
        let connection = connection.clone();
        async move { connection.incr("key").await }
    })
    .await;
    assert_eq!((east.open_connections(), east.unretired()), (1, 1));
    bench.memory.retire(connection).await;
    let error = soon(running).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retired);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    let error = kept.incr("key").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::Retired, Some(Fate::NotApplied))
    );
    assert_eq!(
        (east.open_connections(), east.unretired(), east.retired()),
        (0, 0, 1)
    );
    // What it has left behind says nothing any more.
    east.kill();
    assert!(bench.said().is_empty());
    assert_eq!(east.retired_again(), 0);
    bench.memory.retire(kept).await;
    assert_eq!((east.retired(), east.retired_again()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_connection_dropped_unretired_stays_visible() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    drop(bench.dial("east").await.unwrap());
    assert_eq!((east.open_connections(), east.unretired()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_dial_given_up_leaves_nothing() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    east.freeze();
    assert!(
        tokio::time::timeout(SECOND, bench.dial("east"))
            .await
            .is_err()
    );
    east.thaw();
    tokio::time::sleep(SECOND).await;
    assert_eq!(
        (
            east.dials(),
            east.connections_ever(),
            east.open_connections()
        ),
        (1, 0, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn the_status_check_sees_what_a_proof_does_not() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    assert!(matches!(bench.status(&connection).await, Health::Healthy));
    east.set_unhealthy(Some("disk full"));
    bench.memory.prove(&connection).await.unwrap();
    let Health::Unhealthy(reason) = bench.status(&connection).await else {
        panic!()
    };
    assert_eq!(reason.kind(), ErrorKind::Unhealthy);
    assert_eq!(reason.to_string(), "east: status: disk full");
    east.set_unhealthy(None);
    east.set_inconclusive(true);
    assert!(matches!(
        bench.status(&connection).await,
        Health::Inconclusive
    ));
    east.kill();
    let Health::Unhealthy(reason) = bench.status(&connection).await else {
        panic!()
    };
    assert_eq!(reason.kind(), ErrorKind::Lost);
    assert_eq!((east.checks(), east.proofs()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn failing_proofs_do_not_touch_operations() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    east.fail_proofs(Some("loading"));
    assert_eq!(
        kind(bench.memory.prove(&connection).await),
        ErrorKind::Unhealthy
    );
    assert!(matches!(
        bench.status(&connection).await,
        Health::Unhealthy(_)
    ));
    connection.incr("key").await.unwrap();
    east.fail_proofs(None);
    bench.memory.prove(&connection).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_read_only_server_is_neither_proven_nor_written_to() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    east.set_read_only(true);
    assert_eq!(
        kind(bench.memory.prove(&connection).await),
        ErrorKind::ReadOnly
    );
    let Health::Unhealthy(reason) = bench.status(&connection).await else {
        panic!()
    };
    assert_eq!(reason.kind(), ErrorKind::ReadOnly);
    connection.get("key").await.unwrap();
    assert!(bench.said().is_empty());
    let error = connection.set("key", "value").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::ReadOnly, Some(Fate::NotApplied))
    );
    assert!(
        matches!(&bench.said()[..], [Signal::Condemned(reason)] if reason.kind() == ErrorKind::ReadOnly)
    );
    assert_eq!(east.get("key"), None);
}

#[tokio::test(start_paused = true)]
async fn promotions_are_refused_or_remembered() {
    let mut bench = Bench::new();
    let (east, west) = (
        bench.dial("east").await.unwrap(),
        bench.dial("west").await.unwrap(),
    );
    bench.memory.arm(&west).await.unwrap();
    bench.memory.promote(&east, None).await.unwrap();
    bench.server("west").refuse_promotion(true);
    assert_eq!(
        kind(bench.memory.promote(&west, Some(&east)).await),
        ErrorKind::Unhealthy
    );
    bench.server("west").refuse_promotion(false);
    bench.memory.promote(&west, Some(&east)).await.unwrap();
    let promoted = |from: Option<&str>, to: &str| Promotion {
        from: from.map(Into::into),
        to: to.into(),
    };
    let expected = [promoted(None, "east"), promoted(Some("east"), "west")];
    assert_eq!(bench.memory.promotions(), expected);
    assert_eq!(
        (
            bench.server("west").armed(),
            bench.server("west").promoted()
        ),
        (1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_with_its_leases() {
    let mut bench = Bench::new();
    let (east, _) = bench.active("east").await;
    let lease = bench.client.lease().await.unwrap();
    let leases = bench
        .owner
        .clear(Error::new(ErrorKind::NoActive, "moved"))
        .unwrap();
    assert!(hangs(bench.memory.drain(&east, leases.clone())).await);
    drop(lease);
    bench.memory.drain(&east, leases).await;
    assert_eq!(bench.server("east").drained(), 2);
}

type Act<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

fn act<'a>(bench: &'a mut Bench, connection: &'a Connection, method: Method) -> Act<'a> {
    Box::pin(async move {
        match method {
            Method::Connect => drop(bench.dial("east").await),
            Method::Prove => drop(bench.memory.prove(connection).await),
            Method::Arm => drop(bench.memory.arm(connection).await),
            Method::Promote => drop(bench.memory.promote(connection, None).await),
            Method::Drain => {
                bench.activate(connection);
                let leases = bench.owner.clear(Error::new(ErrorKind::NoActive, "moved"));
                bench.memory.drain(connection, leases.unwrap()).await;
            }
            Method::Retire => bench.memory.retire(connection.clone()).await,
            Method::Check => drop(bench.status(connection).await),
        }
    })
}

const METHODS: [Method; 7] = [
    Method::Connect,
    Method::Prove,
    Method::Arm,
    Method::Promote,
    Method::Drain,
    Method::Check,
    Method::Retire,
];

#[tokio::test(start_paused = true)]
async fn every_method_can_be_slow_alone() {
    for slow in METHODS {
        let mut bench = Bench::new();
        let connection = bench.dial("east").await.unwrap();
        bench.server("east").set_delay(slow, 30 * MILLI);
        for method in METHODS {
            let begun = Instant::now();
            act(&mut bench, &connection, method).await;
            let expected = if method == slow {
                30 * MILLI
            } else {
                Duration::ZERO
            };
            assert_eq!(
                begun.elapsed(),
                expected,
                "{method:?} while {slow:?} is slow"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn death_interrupts_a_slow_method() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    for method in [
        Method::Connect,
        Method::Prove,
        Method::Arm,
        Method::Promote,
        Method::Check,
    ] {
        let connection = bench.dial("east").await.unwrap();
        east.set_delay(method, Duration::MAX);
        let next = east.clone();
        let killing = start(async move {
            tokio::time::sleep(SECOND).await;
            next.kill();
            next.heal();
        })
        .await;
        let begun = Instant::now();
        assert!(
            !hangs(act(&mut bench, &connection, method)).await,
            "{method:?}"
        );
        assert!(begun.elapsed() <= SECOND, "{method:?}");
        soon(killing).await;
    }
    assert!(!connection.is_open());
}

#[tokio::test(start_paused = true)]
async fn every_method_can_panic_alone_and_recover() {
    use futures_catch::catch;
    for broken in METHODS {
        let mut bench = Bench::new();
        let connection = bench.dial("east").await.unwrap();
        bench.server("east").set_panic(broken, true);
        for method in METHODS {
            let panicked = catch(AssertUnwindSafe(act(&mut bench, &connection, method))).await;
            assert_eq!(
                panicked,
                method == broken,
                "{method:?} while {broken:?} panics"
            );
        }
        bench.server("east").set_panic(broken, false);
        assert!(!catch(AssertUnwindSafe(act(&mut bench, &connection, broken))).await);
    }
}

/// Polls under `catch_unwind`, as an engine does.
mod futures_catch {
    use super::*;

    pub(super) async fn catch(act: AssertUnwindSafe<Act<'_>>) -> bool {
        let mut act = act.0;
        std::future::poll_fn(move |context| {
            let polled = std::panic::catch_unwind(AssertUnwindSafe(|| act.as_mut().poll(context)));
            match polled {
                Ok(polled) => polled.map(|()| false),
                Err(_) => std::task::Poll::Ready(true),
            }
        })
        .await
    }
}

#[test]
fn worlds_do_not_meet_and_options_make_one() {
    let (one, other) = (World::new(), World::new());
    one.server("east").set("key", "value");
    assert_eq!(one.server("east").get("key").as_deref(), Some("value"));
    assert_eq!(other.server("east").get("key"), None);
    assert_eq!(one.servers().len(), 1);
    let made = Memory::from_options(Options::default()).unwrap();
    assert!(made.world().servers().is_empty());
}

#[test]
fn settings_are_strict() {
    let parse = |text: &str| toml::from_str::<Settings>(text);
    assert_eq!(parse("at = \"east\"").unwrap(), Settings::at("east"));
    assert!(parse("at = \"east\"\nport = 1").is_err());
    assert!(parse("").is_err());
    assert!(toml::from_str::<Options>("replay = true").is_err());
    let memory = World::new().backend();
    assert_eq!(kind(memory.validate(&Settings::at(""))), ErrorKind::Config);
    memory.validate(&Settings::at("east")).unwrap();
}

#[test]
fn the_default_check_is_one_it_has_and_capabilities_are_as_set() {
    let memory = World::new().backend();
    let names: Vec<String> = memory
        .checks()
        .iter()
        .map(|check| check.name().to_owned())
        .collect();
    assert_eq!(names, ["ping", "status"]);
    assert_eq!(memory.default_checks(), ["status"]);
    let usual = memory.capabilities();
    assert!(usual.announces_lame_duck() && usual.serves_again_after_drain());
    assert!(!usual.discovers_members());
    let bare = memory.with_capabilities(Capabilities::new());
    assert_eq!(bare.capabilities(), Capabilities::new());
}
