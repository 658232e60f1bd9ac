//! P153 through fred: blocking commands have clients of their own and end with the member they are on.

use std::time::{Duration, Instant};

use backend_api::{Error, ErrorKind, Fate, Signal};
use backend_redis::{Fred, FredClient, Replay};
use fred::interfaces::{KeysInterface, ListInterface};

use super::{pair, replay};
use crate::stand_in::Pair;

async fn pop(client: &FredClient) -> Result<(String, String), Error> {
    client
        .run_blocking(|client| async move { client.blpop("q", 0.0).await })
        .await
}

/// Waits until a pop blocks on the server.
async fn blocks(pair: &Pair<Fred>) {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        let list: String = pair.east.ask("CLIENT LIST").await;
        if list.contains("cmd=blpop") {
            return;
        }
        assert!(Instant::now() < deadline, "nobody blocks: {list}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// P153, P164
#[tokio::test]
async fn through_fred_a_pop_holds_nobody_up_and_ends_with_its_member() {
    let mut pair = pair(replay(Replay::All)).await;
    let popping = tokio::spawn({
        let client = pair.client.clone();
        async move { pop(&client).await }
    });
    blocks(&pair).await;
    let before = Instant::now();
    let _: () = pair
        .client
        .run(|client| async move { client.set("k", 1, None, None, false).await })
        .await
        .unwrap();
    assert!(before.elapsed() < Duration::from_millis(200));
    pair.move_west();
    pair.engine.retire(&pair.on_east).await;
    let error = popping.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Retired);
    assert_eq!(error.fate(), Some(Fate::MayHaveBeenApplied));
    pair.east.clients_become(0).await;
}

#[tokio::test]
async fn through_fred_a_pop_waits_longer_than_an_operation_and_its_client_is_kept() {
    let pair = Pair::over(Fred::new(), Duration::from_millis(50)).await;
    let client = pair.client.clone();
    for _ in 0..2 {
        let (popped, ()) = tokio::join!(pop(&client), async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            let () = pair.east.ask("RPUSH q v").await;
        });
        assert_eq!(popped.unwrap(), ("q".to_owned(), "v".to_owned()));
        pair.east.clients_become(2).await;
    }
}

#[tokio::test]
async fn through_fred_a_pop_that_gets_nothing_in_its_own_time_is_no_failure() {
    let mut pair = pair(Fred::new()).await;
    let (tally, _) = pair.engine.activate(&pair.on_east.clone());
    let nothing: Result<(String, String), _> = pair
        .client
        .run_blocking(|client| async move { client.blpop("q", 0.05).await })
        .await;
    let error = nothing.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Timeout,
        "so fred calls it: {error}"
    );
    assert_eq!(tally.totals(), (1, 0));
}

#[tokio::test]
async fn through_fred_a_pop_that_is_given_up_pops_nothing_afterwards() {
    let pair = pair(Fred::new()).await;
    let client = pair.client.clone();
    let popping = tokio::spawn(async move { pop(&client).await });
    blocks(&pair).await;
    popping.abort();
    pair.east.clients_become(1).await;
    let () = pair.east.ask("RPUSH q v").await;
    assert_eq!(pair.east.ask::<i64>("LLEN q").await, 1);
}

// P156, P164
#[tokio::test]
async fn through_fred_a_demotion_ends_a_pop_and_it_waits_on_the_next() {
    let mut pair = pair(replay(Replay::Never)).await;
    let popping = tokio::spawn({
        let client = pair.client.clone();
        async move { pop(&client).await }
    });
    blocks(&pair).await;
    pair.east.demote().await;
    assert!(matches!(pair.engine.hear().await, Signal::Condemned(_)));
    pair.move_west();
    let () = pair.west.ask("RPUSH q v").await;
    assert_eq!(popping.await.unwrap().unwrap().1, "v");
}

#[tokio::test]
async fn through_fred_a_pop_whose_client_does_not_open_says_that_nothing_was_sent() {
    let pair = Pair::over(replay(Replay::All), Duration::from_millis(100)).await;
    pair.east.freeze();
    let error = pop(&pair.client).await.unwrap_err();
    pair.east.thaw();
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert_eq!(error.fate(), Some(Fate::NotApplied), "{error}");
}
