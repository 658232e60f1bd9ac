//! Planned moves: everything is on the new member before, and nothing on the old one after.

use std::time::Duration;

use backend_api::Backend;
use backend_redis::Delivery;
use tokio::sync::oneshot;

use super::*;

// P159: over several switches, there and back, and added in between.
#[tokio::test]
async fn subscriptions_are_on_the_new_member_and_gone_from_the_old_over_and_over() {
    let mut pair = pair().await;
    let mut messages = pair.client.subscribe(["news", "sport"]).await.unwrap();
    messages.psubscribe(["w*"]).await.unwrap();
    messages.ssubscribe(["shard"]).await.unwrap();
    let mut wanted = vec!["news".to_owned(), "sport".to_owned()];
    let (mut from, mut to) = (pair.on_east.clone(), pair.on_west.clone());
    for round in 0..4 {
        let servers = if from.name == "east" {
            (&pair.east, &pair.west)
        } else {
            (&pair.west, &pair.east)
        };
        promote(&pair.engine, &to, Some(&from)).await.unwrap();
        // Before traffic moves; and the old one is still heard.
        let there = (wanted.clone(), vec!["shard".to_owned()], 1);
        assert_eq!(subscribed(servers.1).await, there, "round {round}");
        assert_eq!(subscribed(servers.0).await, there, "round {round}");
        let leases = pair.engine.activate(&to).1;
        drain(&pair.engine.backend, &from, leases).await;
        assert_eq!(subscribed(servers.0).await, (vec![], vec![], 0));
        // The connection itself stands by, without a socket for subscriptions.
        servers.0.clients_become(1).await;
        servers.1.clients_become(2).await;
        let _: i64 = servers.1.ask("PUBLISH news n").await;
        comes(&mut messages, "n", &format!("{}:news", to.name)).await;
        let _: i64 = servers.1.ask("PUBLISH wind w").await;
        comes(&mut messages, "w", &format!("{}:wind", to.name)).await;
        let _: i64 = servers.1.ask("SPUBLISH shard s").await;
        comes(&mut messages, "s", &format!("{}:shard", to.name)).await;
        let more = format!("x{round}");
        messages.subscribe([more.clone()]).await.unwrap();
        wanted.push(more);
        std::mem::swap(&mut from, &mut to);
    }
    messages.unsubscribe(["sport", "x0", "x1", "x2", "x3"]);
    messages.punsubscribe(["w*"]);
    messages.sunsubscribe(["shard"]);
    subscribed_becomes(&pair.east, &["news"], 0).await;
    drop(messages);
    subscribed_becomes(&pair.east, &[], 0).await;
}

// F50: a publisher that never stops, on the old member until it is left and on the new one from the move on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_move_loses_nothing_of_either_side() {
    let mut pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    let (mut from, mut to) = (pair.on_east.clone(), pair.on_west.clone());
    for round in 0..4 {
        let (old, new) = match from.name {
            "east" => (pair.east.port, pair.west.port),
            _ => (pair.west.port, pair.east.port),
        };
        let (stop_old, stopped) = oneshot::channel();
        let on_old = tokio::spawn(publish(old, format!("{round}-old"), stopped));
        tokio::time::sleep(Duration::from_millis(20)).await;
        promote(&pair.engine, &to, Some(&from)).await.unwrap();
        let (stop_new, stopped) = oneshot::channel();
        let on_new = tokio::spawn(publish(new, format!("{round}-new"), stopped));
        let leases = pair.engine.activate(&to).1;
        tokio::time::sleep(Duration::from_millis(20)).await;
        stop_old.send(()).unwrap();
        let sent_old = on_old.await.unwrap();
        // At once: what the old server still has in its buffers must come before the end of the drain.
        drain(&pair.engine.backend, &from, leases).await;
        stop_new.send(()).unwrap();
        let sent_new = on_new.await.unwrap();
        assert!(sent_old > 0 && sent_new > 0);
        let (mut of_old, mut of_new) = (0, 0);
        for _ in 0..sent_old + sent_new {
            let (text, _place) = next(&mut messages).await;
            let (count, tag) = if text.contains("old") {
                (&mut of_old, "old")
            } else {
                (&mut of_new, "new")
            };
            let expected = format!("{round}-{tag}-{count}");
            assert_eq!(text, expected, "in order, and none is missing");
            *count += 1;
        }
        nothing_comes(&mut messages).await;
        assert_eq!((of_old, of_new), (sent_old, sent_new));
        std::mem::swap(&mut from, &mut to);
    }
}

/// Publishes until it is told to stop, at least once, and says how many there were. Somebody listens to each.
async fn publish(port: u16, tag: String, mut stop: oneshot::Receiver<()>) -> usize {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}")).unwrap();
    let mut link = client.get_multiplexed_async_connection().await.unwrap();
    let mut sent = 0;
    loop {
        let mut command = redis::cmd("PUBLISH");
        command.arg("news").arg(format!("{tag}-{sent}"));
        let heard: i64 = command.query_async(&mut link).await.unwrap();
        assert_eq!(heard, 1, "{tag}-{sent}");
        sent += 1;
        if stop.try_recv().is_ok() {
            return sent;
        }
    }
}

// F50: one source at a time: the old one's messages end where the new one's begin.
#[tokio::test]
async fn at_most_once_hears_one_member_at_a_time() {
    let pair = pair().await;
    let mut once = pair.client.messages(Delivery::AtMostOnce);
    once.subscribe(["news"]).await.unwrap();
    let mut least = pair.client.subscribe(["news"]).await.unwrap();
    let _: i64 = pair.east.ask("PUBLISH news 1").await;
    comes(&mut once, "1", "east:news").await;
    comes(&mut least, "1", "east:news").await;
    promote(&pair.engine, &pair.on_west, Some(&pair.on_east))
        .await
        .unwrap();
    // Both are subscribed: what replicas do with a message.
    let _: i64 = pair.east.ask("PUBLISH news 2").await;
    let _: i64 = pair.west.ask("PUBLISH news 2").await;
    comes(&mut once, "2", "west:news").await;
    let mut both = [next(&mut least).await.1, next(&mut least).await.1];
    both.sort();
    assert_eq!(both, ["east:news", "west:news"]);
    nothing_comes(&mut once).await;
    // The new one died before the old one was left: the old one counts again.
    pair.engine.retire(&pair.on_west).await;
    let _: i64 = pair.east.ask("PUBLISH news 3").await;
    comes(&mut once, "3", "east:news").await;
}

// F50: the same server through a newer connection: no overlap there.
#[tokio::test]
async fn a_connection_replaced_on_the_same_member_doubles_nothing() {
    let mut pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    let newer = pair.engine.connect("east", pair.east.settings()).await;
    let newer = newer.unwrap();
    promote(&pair.engine, &newer, Some(&pair.on_east))
        .await
        .unwrap();
    let heard: i64 = pair.east.ask("PUBLISH news 1").await;
    assert_eq!(heard, 2);
    comes(&mut messages, "1", "east:news").await;
    nothing_comes(&mut messages).await;
    pair.engine.activate(&newer);
    pair.engine.retire(&pair.on_east).await;
    let _: i64 = pair.east.ask("PUBLISH news 2").await;
    comes(&mut messages, "2", "east:news").await;
}

// F51: a thousand of them while traffic goes there and back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_races_a_switch_is_on_the_new_side_or_gone() {
    let mut pair = pair().await;
    let messages = pair.client.messages(Delivery::AtLeastOnce);
    let subscriptions = messages.subscriptions();
    let racing = tokio::spawn(async move {
        for number in 0..1000 {
            let name = format!("c{number:03}");
            subscriptions.subscribe([name.clone()]).await.unwrap();
            if number % 2 == 0 {
                subscriptions.unsubscribe([name]);
            }
        }
    });
    let (mut from, mut to) = (pair.on_east.clone(), pair.on_west.clone());
    let mut moves = 0;
    while !racing.is_finished() {
        switch(&mut pair.engine, &from, &to).await;
        std::mem::swap(&mut from, &mut to);
        moves += 1;
    }
    racing.await.unwrap();
    assert!(moves > 3, "{moves}");
    let odd: Vec<String> = (0..1000)
        .filter(|number| number % 2 == 1)
        .map(|number| format!("c{number:03}"))
        .collect();
    let odd: Vec<&str> = odd.iter().map(String::as_str).collect();
    let (on, off) = match from.name {
        "east" => (&pair.east, &pair.west),
        _ => (&pair.west, &pair.east),
    };
    subscribed_becomes(on, &odd, 0).await;
    subscribed_becomes(off, &[], 0).await;
    for name in [odd[0], odd[odd.len() - 1]] {
        let heard: i64 = on.ask(&format!("PUBLISH {name} x")).await;
        assert_eq!(heard, 1);
    }
}

// F51: a promotion that is dropped half-way leaves nothing on the server, and the entry where it was.
#[tokio::test]
async fn a_promotion_that_was_given_up_has_not_happened() {
    let pair = pair().await;
    let mut messages = pair.client.subscribe(["news"]).await.unwrap();
    let (to, from) = (&pair.on_west.connection, &pair.on_east.connection);
    for milliseconds in [0, 1, 20] {
        pair.west.freeze();
        let promoting = pair.engine.backend.promote(to, Some(from));
        let time = Duration::from_millis(milliseconds);
        assert!(tokio::time::timeout(time, promoting).await.is_err());
        pair.west.thaw();
        subscribed_becomes(&pair.west, &[], 0).await;
        pair.west.clients_become(1).await;
    }
    let _: i64 = pair.east.ask("PUBLISH news 1").await;
    comes(&mut messages, "1", "east:news").await;
}
