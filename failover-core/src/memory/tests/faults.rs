//! What happens to servers and their connections.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_killed_server_loses_its_connections_at_once_and_keeps_its_data() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let (one, two) = (
        bench.dial("east").await.unwrap(),
        bench.dial("east").await.unwrap(),
    );
    one.set("key", "value").await.unwrap();
    east.kill();
    let said = bench.said();
    assert_eq!(said.len(), 2);
    for signal in said {
        let Signal::Lost(reason) = signal else {
            panic!("{signal:?}")
        };
        assert_eq!(reason.kind(), ErrorKind::Lost);
        assert_eq!(reason.to_string(), "east: the server was killed");
    }
    assert!(!one.is_open() && !two.is_open() && !east.is_up());
    assert_eq!((east.open_connections(), east.unretired()), (0, 2));

    let start = Instant::now();
    assert_eq!(kind(bench.dial("east").await), ErrorKind::Refused);
    assert_eq!(start.elapsed(), Duration::ZERO);
    east.start();
    assert_eq!(kind(one.get("key").await), ErrorKind::Lost);
    let new = bench.dial("east").await.unwrap();
    assert_eq!(new.get("key").await.unwrap().as_deref(), Some("value"));
    assert_eq!((east.dials(), east.connections_ever()), (4, 3));
    assert!(bench.said().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_frozen_server_answers_nothing_until_the_thaw() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    east.freeze();
    assert!(hangs(connection.get("key")).await);
    assert!(hangs(bench.memory.prove(&connection)).await);
    assert!(hangs(bench.memory.promote(&connection, None)).await);
    assert!(hangs(bench.status(&connection)).await);
    let begun = Instant::now();
    assert_eq!(kind(bench.dial("east").await), ErrorKind::Timeout);
    assert_eq!(begun.elapsed(), 2 * SECOND);
    assert!(connection.is_open() && bench.said().is_empty());

    let asked = start({
        let connection = connection.clone();
        async move { connection.incr("key").await }
    })
    .await;
    east.thaw();
    assert_eq!(soon(asked).await.unwrap(), 1);
    bench.memory.prove(&connection).await.unwrap();
    bench.dial("east").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dial_that_waits_for_the_thaw_gets_through_or_dies_with_the_server() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    for killed in [false, true] {
        east.freeze();
        let next = east.clone();
        let later = start(async move {
            tokio::time::sleep(SECOND).await;
            if killed {
                next.kill();
                next.start();
            } else {
                next.thaw();
            }
        })
        .await;
        let begun = Instant::now();
        let dialled = bench.dial("east").await;
        assert!(begun.elapsed() <= SECOND);
        soon(later).await;
        match killed {
            false => assert!(dialled.is_ok()),
            true => assert_eq!(kind(dialled), ErrorKind::Lost),
        }
    }
    assert_eq!(east.open_connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_a_frozen_server_was_sent_is_done_at_the_thaw_unless_it_dies_first() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    east.freeze();
    assert!(hangs(connection.incr("thawed")).await);
    assert_eq!(east.get("thawed"), None);
    east.thaw();
    assert_eq!(east.get("thawed").as_deref(), Some("1"));

    east.freeze();
    assert!(hangs(connection.incr("killed")).await);
    east.kill();
    east.start();
    // Death ends the freeze, and a thaw finds nothing to do.
    let new = bench.dial("east").await.unwrap();
    new.ping().await.unwrap();
    east.thaw();
    assert_eq!(east.get("killed"), None);
}

#[tokio::test(start_paused = true)]
async fn reset_connections_are_lost_and_new_ones_work() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    east.reset_connections();
    assert!(matches!(bench.said()[..], [Signal::Lost(_)]));
    assert!(!connection.is_open());
    assert!(bench.dial("east").await.unwrap().is_open());
}

#[tokio::test(start_paused = true)]
async fn half_open_connections_hang_and_hear_nothing() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let old = bench.dial("east").await.unwrap();
    east.blackhole_connections();
    let new = bench.dial("east").await.unwrap();
    new.ping().await.unwrap();
    assert!(hangs(old.incr("key")).await);
    assert!(hangs(bench.memory.prove(&old)).await);
    east.announce_lame_duck();
    assert!(matches!(bench.said()[..], [Signal::LameDuck]));
    east.kill();
    assert!(matches!(bench.said()[..], [Signal::Lost(_)]));
    assert!(old.is_open() && !new.is_open());
    assert_eq!((east.open_connections(), east.get("key")), (1, None));

    // Retiring is this end's own act.
    let waiting = start({
        let old = old.clone();
        async move { old.ping().await }
    })
    .await;
    bench.memory.retire(old).await;
    assert_eq!(kind(soon(waiting).await), ErrorKind::Retired);
    assert_eq!(east.open_connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn latency_is_one_round_trip_of_everything() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    east.set_latency(10 * MILLI);
    let begun = Instant::now();
    let connection = bench.dial("east").await.unwrap();
    assert_eq!(begun.elapsed(), 10 * MILLI);
    bench.memory.prove(&connection).await.unwrap();
    assert_eq!(begun.elapsed(), 20 * MILLI);
    connection.incr("key").await.unwrap();
    assert_eq!(begun.elapsed(), 30 * MILLI);

    // Dead before it arrived, and dead before the answer did.
    for (after, done) in [(4, "1"), (6, "2")] {
        let connection = bench.dial("east").await.unwrap();
        let asked = tokio::spawn(async move { connection.incr("key").await });
        tokio::time::sleep(after * MILLI).await;
        east.kill();
        let error = soon(asked).await.unwrap_err();
        assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
        assert_eq!(east.get("key").as_deref(), Some(done));
        east.start();
    }
}

#[tokio::test(start_paused = true)]
async fn swallowed_answers_belong_to_requests_that_were_carried_out() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    east.swallow_answers(true);
    assert!(hangs(connection.incr("key")).await);
    assert!(hangs(bench.memory.prove(&connection)).await);
    assert_eq!(east.get("key").as_deref(), Some("1"));
    east.swallow_answers(false);
    assert_eq!(connection.incr("key").await.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn refusals_of_dials_leave_connections_alone() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    for (fault, expected) in [
        (
            Server::set_unresolvable as fn(&Server, bool),
            ErrorKind::Refused,
        ),
        (Server::refuse_dials, ErrorKind::Refused),
        (Server::set_auth_refused, ErrorKind::Auth),
    ] {
        fault(&east, true);
        let error = bench.dial("east").await.unwrap_err();
        assert_eq!(error.kind(), expected);
        assert!(error.to_string().starts_with("east: connect: "), "{error}");
        connection.ping().await.unwrap();
        fault(&east, false);
        bench.dial("east").await.unwrap();
    }
    assert_eq!((east.dials(), east.connections_ever()), (7, 4));
}

#[tokio::test(start_paused = true)]
async fn a_lame_duck_tells_everybody_and_serves_on() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    let connection = bench.dial("east").await.unwrap();
    east.announce_lame_duck();
    assert!(matches!(bench.said()[..], [Signal::LameDuck]));
    connection.incr("key").await.unwrap();
    bench.dial("east").await.unwrap();
    assert!(matches!(bench.said()[..], [Signal::LameDuck]));
    east.clear_lame_duck();
    bench.dial("east").await.unwrap();
    assert!(bench.said().is_empty());

    // A frozen process says it when it can.
    let later = bench.dial("east").await.unwrap();
    east.freeze();
    east.announce_lame_duck();
    assert!(bench.said().is_empty());
    east.thaw();
    // The first one has said so before, and says nothing twice.
    assert_eq!(bench.said().len(), 2);
    // A process that was started again is no lame duck.
    east.kill();
    east.start();
    assert!(!later.is_open());
    bench.said();
    bench.dial("east").await.unwrap();
    assert!(bench.said().is_empty());
}

#[tokio::test(start_paused = true)]
async fn members_are_told_as_they_are() {
    let mut bench = Bench::new();
    let _connection = bench.dial("east").await.unwrap();
    let members = [Member::new("west", Settings::at("west"))];
    bench.server("east").tell_members(&members);
    let said = bench.said();
    let [Signal::Discovered(told)] = &said[..] else {
        panic!("{said:?}")
    };
    assert_eq!(told[..], members);
}

#[tokio::test(start_paused = true)]
async fn healing_takes_back_everything() {
    let mut bench = Bench::new();
    let east = bench.server("east");
    east.set_unhealthy(Some("told so"));
    east.set_read_only(true);
    east.fail_operations(true);
    east.set_unresolvable(true);
    east.set_delay(Method::Connect, Duration::MAX);
    east.set_panic(Method::Prove, true);
    east.kill();
    east.heal();
    let connection = bench.dial("east").await.unwrap();
    bench.memory.prove(&connection).await.unwrap();
    assert!(matches!(bench.status(&connection).await, Health::Healthy));
    connection.incr("key").await.unwrap();
}
