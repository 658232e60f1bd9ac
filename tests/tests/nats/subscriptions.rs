//! What one subscription promises whoever holds it: how it begins, and how it ends.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use failover_core::ErrorKind;
use failover_core::nats::{Dedupe, Delivery, Subscription};
use failover_testkit::wait_until;
use futures_util::FutureExt as _;

use crate::fleet::{BOUND, Fleet, plain, say};

async fn next(subscription: &mut Subscription) -> Option<String> {
    let message = tokio::time::timeout(BOUND, subscription.next()).await;
    let message = message.expect("a message or the end")?;
    Some(String::from_utf8(message.payload.to_vec()).unwrap())
}

async fn reads(subscription: &mut Subscription, expected: &[&str]) {
    for payload in expected {
        assert_eq!(next(subscription).await.as_deref(), Some(*payload));
    }
}

/// Streams may be read on after their end, by `select!` in a loop for one.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_group_is_an_end_for_good() {
    let fleet = Fleet::whole(1, "").await;
    let mut subscription = fleet.client.subscribe("load").await.unwrap();
    fleet.group.close().await;
    for _ in 0..3 {
        assert_eq!(next(&mut subscription).await, None);
    }
}

/// A subscription with three messages that nobody has read.
async fn unread(fleet: &Fleet) -> Subscription {
    let subscription = fleet.client.subscribe("load").await.unwrap();
    for payload in ["1", "2", "3"] {
        say(&fleet.cluster[0], "load", payload).await;
    }
    fleet.client.flush().await.unwrap();
    subscription
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_that_is_dropped_ends_with_what_is_here() {
    let fleet = Fleet::whole(1, "[group.health]\ninterval = \"600s\"").await;
    let mut subscription = unread(&fleet).await;
    // Between its UNSUB and the answer, which cannot come meanwhile, on a connection that lives on.
    fleet.cluster[0].freeze();
    assert!(subscription.drain(BOUND).now_or_never().is_none());
    fleet.cluster[0].thaw();
    reads(&mut subscription, &["1", "2", "3"]).await;
    assert_eq!(next(&mut subscription).await, None);
    subscription.drain(BOUND).await.unwrap();
    assert_eq!(next(&mut subscription).await, None);
    wait_until(BOUND, "the server has unsubscribed", || {
        fleet.cluster[0].subscriptions("load") == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_that_gets_no_answer_ends_with_what_is_here() {
    let fleet = Fleet::whole(1, "").await;
    let mut subscription = unread(&fleet).await;
    fleet.cluster[0].freeze();
    let error = subscription.drain(Duration::from_millis(50)).await;
    let error = error.expect_err("it stands still");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    reads(&mut subscription, &["1", "2", "3"]).await;
    assert_eq!(next(&mut subscription).await, None);
    fleet.cluster[0].thaw();
}

/// What no server takes is refused before anybody waits for an active, with the client's own words, and stands in the way
/// of no promotion.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_subscribed_to_is_refused_while_nobody_is_active() {
    let fleet = Fleet::whole(1, "[group.unavailable]\nwait = \"60s\"").await;
    let other = plain(&fleet.cluster[0]).await;
    for outage in [false, true] {
        if outage {
            fleet.cluster[0].kill();
            fleet
                .until("nobody is active", |status| status.active.is_none())
                .await;
        }
        for subject in ["a..b", "", ".a", "a.", "a b", "a\tb"] {
            let words = other.subscribe(subject).await.unwrap_err();
            let refused = tokio::time::timeout(BOUND, fleet.client.subscribe(subject)).await;
            let error = refused.expect("at once").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let expected = format!("{subject:?} cannot be subscribed to: {words}");
            assert_eq!(error.message(), expected);
        }
        for queue in ["", "a b", "a\n"] {
            let words = other.queue_subscribe("load", queue.to_owned()).await;
            let words = words.unwrap_err();
            let refused = fleet.client.queue_subscribe("load", queue);
            let refused = tokio::time::timeout(BOUND, refused).await;
            let error = refused.expect("at once").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let expected = format!("\"load\" cannot be subscribed to: {words}");
            assert_eq!(error.message(), expected);
        }
    }
    fleet.cluster[0].restart();
    fleet.client.flush().await.unwrap();
}

// N33
#[tokio::test(flavor = "multi_thread")]
async fn a_standby_that_stands_still_fails_no_mirrored_subscription() {
    // Nothing but the subscription finds out.
    let more = "[group.timeouts]\noperation = \"3s\"\n[group.health]\ninterval = \"60s\"";
    let fleet = Fleet::whole(3, more).await;
    fleet.cluster[2].freeze();
    let delivery = Delivery::mirrored(Dedupe::Content);
    let subscribing = fleet.client.subscribe_with("load", delivery);
    let subscribed = tokio::time::timeout(Duration::from_secs(2), subscribing).await;
    let mut subscription = subscribed.expect("the others' answers are enough").unwrap();
    for node in 0..2 {
        assert_eq!(fleet.cluster[node].subscriptions("load"), 1, "{node}");
    }
    say(&fleet.cluster[0], "load", "1").await;
    reads(&mut subscription, &["1"]).await;
    // Afterwards it is mirrored there as well.
    fleet.cluster[2].thaw();
    fleet.is_whole().await;
    wait_until(BOUND, "the standby has it", || {
        fleet.cluster[2].subscriptions("load") == 1
    })
    .await;
    assert_eq!(fleet.active(), "m0");
    say(&fleet.cluster[2], "load", "2").await;
    reads(&mut subscription, &["2"]).await;
}

// N50: what the reader never sees is not counted, so the server cannot count for it.
#[tokio::test(flavor = "multi_thread")]
async fn unsubscribe_after_counts_what_is_delivered() {
    let fleet = Fleet::whole(1, "").await;
    let delivery = Delivery::at_least_once(Dedupe::Header);
    let mut subscription = fleet.client.subscribe_with("load", delivery).await.unwrap();
    subscription.unsubscribe_after(3);
    let publisher = plain(&fleet.cluster[0]).await;
    for payload in ["1", "1", "1", "1", "2", "3", "4"] {
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, payload);
        let sent = publisher.publish_with_headers("load", headers, payload.into());
        sent.await.unwrap();
    }
    reads(&mut subscription, &["1", "2", "3"]).await;
    // Also where nobody reads on.
    wait_until(BOUND, "the server has unsubscribed", || {
        fleet.cluster[0].subscriptions("load") == 0
    })
    .await;
    assert_eq!(next(&mut subscription).await, None);
}
