//! Operations: bounds, outcomes, fates, and which of them run again.

use super::*;

/// A group of two whose second member takes over after a while.
async fn takes_over(mut bench: Bench, after: Duration) -> (Bench, tokio::time::Instant) {
    let west = bench.dial("west").await.unwrap();
    tokio::time::sleep(after).await;
    bench.activate(&west);
    (bench, Instant::now())
}

#[tokio::test(start_paused = true)]
async fn operations_do_what_they_say_on_the_active() {
    let mut bench = Bench::new();
    let (_east, tally) = bench.active("east").await;
    let client = bench.client.clone();
    assert_eq!(client.get("key").await.unwrap(), None);
    client.set("key", "41").await.unwrap();
    assert_eq!(client.incr("key").await.unwrap(), 42);
    assert_eq!(client.get("key").await.unwrap().as_deref(), Some("42"));
    assert!(client.del("key").await.unwrap());
    assert!(!client.del("key").await.unwrap());
    client.ping().await.unwrap();
    let east = bench.server("east");
    assert_eq!((east.operations(), tally.totals()), (7, (7, 0)));

    client.set("key", "text").await.unwrap();
    let error = client.incr("key").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "east: INCR: the value is not a number (it was not applied)"
    );
    assert_eq!(tally.totals(), (9, 0));
    client.set("key", &i64::MAX.to_string()).await.unwrap();
    assert_eq!(kind(client.incr("key").await), ErrorKind::Other);
}

#[tokio::test(start_paused = true)]
async fn without_an_active_a_write_was_not_applied() {
    let bench = Bench::new();
    let begun = Instant::now();
    let error = bench.client.set("key", "value").await.unwrap_err();
    assert_eq!(begun.elapsed(), SECOND);
    assert_eq!(error.to_string(), "SET: nobody yet (it was not applied)");
    assert_eq!(bench.client.get("key").await.unwrap_err().fate(), None);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_timed_out_may_have_been_applied_and_does_not_run_again() {
    let mut bench = Bench::new();
    let (_east, tally) = bench.active("east").await;
    bench.server("east").freeze();
    let begun = Instant::now();
    let error = bench.client.incr("key").await.unwrap_err();
    assert_eq!(begun.elapsed(), SECOND / 2);
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    assert_eq!(tally.totals(), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_operation_timeout_is_the_one_of_the_dial() {
    let mut bench = Bench::new();
    bench.operation = 7 * MILLI;
    let (owner, slot) = SlotOwner::new(Duration::ZERO, Error::new(ErrorKind::NoActive, "nobody"));
    (bench.owner, bench.client) = (owner, bench.memory.client(slot));
    let (_east, _) = bench.active("east").await;
    bench.server("east").freeze();
    let begun = Instant::now();
    assert_eq!(kind(bench.client.get("key").await), ErrorKind::Timeout);
    assert_eq!(begun.elapsed(), 7 * MILLI);
}

#[tokio::test(start_paused = true)]
async fn a_read_runs_again_on_the_next_active() {
    for fault in [Server::freeze, Server::kill, Server::reset_connections] {
        let mut bench = Bench::new();
        let (_east, tally) = bench.active("east").await;
        let (east, west) = (bench.server("east"), bench.server("west"));
        west.set("key", "west");
        east.set_latency(2 * MILLI);
        let client = bench.client.clone();
        let reading = tokio::spawn(async move { client.get("key").await });
        tokio::task::yield_now().await;
        fault(&east);
        let (_bench, moved) = takes_over(bench, SECOND).await;
        assert_eq!(soon(reading).await.unwrap().as_deref(), Some("west"));
        assert_eq!(moved.elapsed(), Duration::ZERO);
        assert_eq!((tally.totals(), west.operations()), ((0, 1), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_in_flight_does_not_run_again() {
    let mut bench = Bench::new();
    let (_east, tally) = bench.active("east").await;
    let (east, west) = (bench.server("east"), bench.server("west"));
    east.set_latency(2 * MILLI);
    let client = bench.client.clone();
    let writing = tokio::spawn(async move { client.incr("key").await });
    tokio::task::yield_now().await;
    east.kill();
    let (_bench, _) = takes_over(bench, SECOND / 2).await;
    let error = soon(writing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    assert_eq!((tally.totals(), west.operations()), ((0, 1), 0));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_never_left_runs_again() {
    for fault in [Server::kill, |east: &Server| east.set_read_only(true)] {
        let mut bench = Bench::new();
        let (_east, _) = bench.active("east").await;
        let west = bench.server("west");
        fault(&bench.server("east"));
        let client = bench.client.clone();
        let writing = tokio::spawn(async move { client.incr("key").await });
        let (_bench, _) = takes_over(bench, SECOND / 2).await;
        assert_eq!(soon(writing).await.unwrap(), 1);
        assert_eq!(west.get("key").as_deref(), Some("1"));
    }
}

#[tokio::test(start_paused = true)]
async fn where_nothing_else_becomes_active_the_wait_is_bounded_and_the_cause_is_told() {
    let mut bench = Bench::new();
    let (_east, _) = bench.active("east").await;
    bench.server("east").kill();
    let begun = Instant::now();
    let error = bench.client.incr("key").await.unwrap_err();
    assert_eq!(begun.elapsed(), SECOND);
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::Lost, Some(Fate::NotApplied))
    );
    assert_eq!(error.member().unwrap().as_str(), "east");
}

#[tokio::test(start_paused = true)]
async fn a_read_that_timed_out_waits_for_the_verdict_and_longer_only_without_an_active() {
    let mut bench = Bench::new();
    let (_east, _) = bench.active("east").await;
    bench.owner.set_verdict_within(SECOND / 5);
    bench.server("east").freeze();
    let begun = Instant::now();
    let error = bench.client.get("key").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(begun.elapsed(), SECOND / 2 + SECOND / 5);

    let client = bench.client.clone();
    let reading = start(async move { client.get("key").await }).await;
    tokio::time::sleep(SECOND / 2 + SECOND / 10).await;
    let reason = Error::new(ErrorKind::NoActive, "east: lost");
    bench.owner.clear(reason);
    let (_bench, _) = takes_over(bench, SECOND / 2).await;
    assert_eq!(soon(reading).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn an_operation_does_not_follow_a_flapping_group_for_ever() {
    let mut bench = Bench::new();
    let (east, _) = bench.active("east").await;
    bench.server("east").kill();
    let client = bench.client.clone();
    let begun = Instant::now();
    let reading = tokio::spawn(async move { client.get("key").await });
    while !reading.is_finished() && begun.elapsed() < 10 * SECOND {
        bench.activate(&east);
        tokio::time::sleep(SECOND / 4).await;
    }
    assert!(begun.elapsed() <= 2 * SECOND);
    assert_eq!(kind(soon(reading).await), ErrorKind::Lost);
}

#[tokio::test(start_paused = true)]
async fn failing_operations_are_failures_of_the_member_and_do_nothing() {
    let mut bench = Bench::new();
    let (connection, tally) = bench.active("east").await;
    let east = bench.server("east");
    let client = bench.client.clone();
    east.fail_next_operations(2);
    let begun = Instant::now();
    let error = client.set("key", "value").await.unwrap_err();
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::Unhealthy, Some(Fate::NotApplied))
    );
    client.ping().await.unwrap();
    bench.memory.prove(&connection).await.unwrap();
    assert_eq!(kind(client.get("key").await), ErrorKind::Unhealthy);
    assert_eq!(client.get("key").await.unwrap(), None);
    assert_eq!(tally.totals(), (2, 2));
    east.fail_operations(true);
    for _ in 0..3 {
        assert_eq!(kind(client.get("key").await), ErrorKind::Unhealthy);
    }
    east.fail_operations(false);
    client.get("key").await.unwrap();
    assert_eq!((tally.totals(), begun.elapsed()), ((3, 5), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn an_operation_on_a_retired_connection_says_nothing_about_the_member() {
    let mut bench = Bench::new();
    let (east, tally) = bench.active("east").await;
    bench.server("east").freeze();
    let client = bench.client.clone();
    let writing = start(async move { client.incr("key").await }).await;
    let west = bench.dial("west").await.unwrap();
    bench.activate(&west);
    bench.memory.retire(east).await;
    let error = soon(writing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retired);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    assert_eq!(tally.totals(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_operation_is_no_outcome() {
    let mut bench = Bench::new();
    let (_east, tally) = bench.active("east").await;
    bench.server("east").freeze();
    assert!(
        tokio::time::timeout(MILLI, bench.client.get("key"))
            .await
            .is_err()
    );
    assert_eq!(tally.totals(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_loop_of_operations_leaves_others_their_turn() {
    let mut bench = Bench::new();
    let (_east, _) = bench.active("east").await;
    let client = bench.client.clone();
    let looping = tokio::spawn(async move {
        for _ in 0..10_000 {
            client.incr("key").await.unwrap();
        }
    });
    tokio::task::yield_now().await;
    assert!(bench.server("east").operations() > 0);
    assert!(!looping.is_finished());
    soon(looping).await;
}
