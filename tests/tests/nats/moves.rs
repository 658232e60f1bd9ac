//! What planned moves do to subscriptions, for every delivery mode.

use std::time::Duration;

use failover_core::nats::{Dedupe, Delivery};
use failover_core::status::Link;
use failover_testkit::server::Flavour;
use failover_testkit::wait_until;
use futures_util::StreamExt as _;

use crate::fleet::{BOUND, CALM, Fleet, plain};
use crate::load::{Ledger, Publisher, Reader};

const RATE: u64 = 10_000;
/// A drain ends by itself.
const WINDOW: Duration = Duration::from_secs(60);

/// Switches and drains to and fro under load from the third node, and says what the subscription made of it.
async fn story(fleet: &mut Fleet, delivery: Delivery, queue: bool) -> (Ledger, u64) {
    let subscription = if queue {
        fleet
            .client
            .queue_subscribe_with("load", "workers", delivery)
            .await
            .unwrap()
    } else {
        fleet.client.subscribe_with("load", delivery).await.unwrap()
    };
    fleet.known_everywhere("load").await;
    let reader = Reader::start(subscription);
    let publisher = Publisher::start(plain(&fleet.cluster[2]).await, "load", RATE);
    publisher.more(200).await;
    for (target, drains) in [("m1", false), ("m0", true), ("m1", true), ("m0", false)] {
        if drains {
            fleet.group.drain_to(target, WINDOW).await.unwrap();
        } else {
            fleet.group.switch_to(target).await.unwrap();
        }
        assert_eq!(fleet.moved().await.1, target);
        publisher.more(RATE / 20).await;
        // Behind the hand-over nobody listens at the old one.
        let old = if target == "m0" { 1 } else { 0 };
        if !matches!(delivery, Delivery::Mirrored { .. }) {
            wait_until(BOUND, "the old one is left", || {
                fleet.cluster[old].subscriptions("load") == 0
            })
            .await;
        }
        assert_eq!(fleet.cluster[1 - old].subscriptions("load"), 1);
    }
    let published = publisher.stop().await;
    (reader.stop(published).await, published)
}

// N20, N21
#[tokio::test(flavor = "multi_thread")]
async fn at_least_once_loses_nothing_on_planned_moves() {
    let mut fleet = Fleet::whole(3, CALM).await;
    let (ledger, published) = story(&mut fleet, Delivery::default(), false).await;
    assert_eq!(ledger.lost(published), [0_u64; 0], "of {published}");
}

// N34
#[tokio::test(flavor = "multi_thread")]
async fn with_a_dedupe_nothing_is_doubled_either() {
    let mut fleet = Fleet::whole(3, CALM).await;
    for dedupe in [Dedupe::Header, Dedupe::Content] {
        let delivery = Delivery::at_least_once(dedupe);
        let (ledger, published) = story(&mut fleet, delivery, false).await;
        assert_eq!(
            (ledger.lost(published).len(), ledger.duplicated),
            (0, 0),
            "{dedupe:?}"
        );
    }
}

// N31
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_group_loses_and_doubles_nothing() {
    let mut fleet = Fleet::whole(3, CALM).await;
    let (ledger, published) = story(&mut fleet, Delivery::default(), true).await;
    assert_eq!((ledger.lost(published).len(), ledger.duplicated), (0, 0));
}

// N32
#[tokio::test(flavor = "multi_thread")]
async fn ordered_reorders_nothing() {
    let mut fleet = Fleet::whole(3, CALM).await;
    let (ledger, published) = story(&mut fleet, Delivery::ordered(Dedupe::Header), false).await;
    assert_eq!(
        (
            ledger.lost(published).len(),
            ledger.duplicated,
            ledger.reordered
        ),
        (0, 0, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_once_doubles_and_reorders_nothing() {
    let mut fleet = Fleet::whole(3, CALM).await;
    let (ledger, published) = story(&mut fleet, Delivery::AtMostOnce, false).await;
    assert_eq!((ledger.duplicated, ledger.reordered), (0, 0));
    // A gap of two round trips for each of four moves; the bound leaves room for a busy machine.
    let lost = ledger.lost(published).len();
    assert!(lost < 4 * 1000, "{lost} of {published}");
}

#[tokio::test(flavor = "multi_thread")]
async fn mirrored_loses_and_doubles_nothing_on_planned_moves() {
    let mut fleet = Fleet::whole(3, CALM).await;
    for dedupe in [Dedupe::Header, Dedupe::Content] {
        let (ledger, published) = story(&mut fleet, Delivery::mirrored(dedupe), false).await;
        assert_eq!(
            (ledger.lost(published).len(), ledger.duplicated),
            (0, 0),
            "{dedupe:?}"
        );
    }
}

/// The same promises on the oldest servers.
#[tokio::test(flavor = "multi_thread")]
async fn servers_of_2_9_lose_nothing_either() {
    let mut fleet = Fleet::of(Flavour::V2_9, 3, CALM).await;
    let (ledger, published) =
        story(&mut fleet, Delivery::at_least_once(Dedupe::Header), false).await;
    assert_eq!((ledger.lost(published).len(), ledger.duplicated), (0, 0));
    let (ledger, published) = story(&mut fleet, Delivery::default(), true).await;
    assert_eq!((ledger.lost(published).len(), ledger.duplicated), (0, 0));
}

// N20: a round trip works, and a fresh standby is elsewhere.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_drain_the_old_one_stands_by_or_another_does() {
    let fleet = Fleet::whole(3, "[group]\nstandby = 1").await;
    fleet.group.drain_to_passive(WINDOW).await.unwrap();
    let active = fleet.active();
    assert_ne!(active, "m0");
    fleet.client.flush().await.unwrap();
    fleet.is_whole().await;
    let status = fleet.group.status();
    assert!(
        status
            .standbys()
            .all(|member| member.name != active.as_str())
    );
}

// N21, N22, N29
#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_way_gets_its_one_answer_over_a_drain() {
    let fleet = Fleet::whole(3, "[group.timeouts]\noperation = \"3s\"").await;
    let answerer = plain(&fleet.cluster[2]).await;
    let mut asked = answerer.subscribe("slow").await.unwrap();
    answerer.flush().await.unwrap();
    fleet.known_everywhere("slow").await;
    let asking = tokio::spawn({
        let client = fleet.client.clone();
        async move { client.request("slow", "?".into()).await }
    });
    let question = asked.next().await.unwrap();
    fleet
        .group
        .drain_to("m1", Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(fleet.active(), "m1");
    fleet.is("m0", Link::Draining).await;
    for answer in ["first", "second"] {
        answerer
            .publish(question.reply.clone().unwrap(), answer.into())
            .await
            .unwrap();
    }
    let answer = asking.await.unwrap().unwrap();
    assert_eq!(answer.payload, "first");
    // Answered, there is nothing left to wait for.
    fleet.is("m0", Link::Standby).await;
}

/// Without an answer the window ends on time, and the request with it.
// N22
#[tokio::test(flavor = "multi_thread")]
async fn a_drain_ends_with_its_window() {
    let fleet = Fleet::whole(3, "[group.timeouts]\noperation = \"30s\"").await;
    let answerer = plain(&fleet.cluster[2]).await;
    let _asked = answerer.subscribe("silent").await.unwrap();
    answerer.flush().await.unwrap();
    fleet.known_everywhere("silent").await;
    let asking = tokio::spawn({
        let client = fleet.client.clone();
        async move { client.request("silent", "?".into()).await }
    });
    wait_until(BOUND, "the request is under way", || {
        fleet.cluster[0].monitor("/varz").contains("\"in_msgs\"")
    })
    .await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let begun = std::time::Instant::now();
    fleet
        .group
        .drain_to("m1", Duration::from_millis(300))
        .await
        .unwrap();
    let error = asking.await.unwrap().unwrap_err();
    assert!(
        (250..2000).contains(&begun.elapsed().as_millis()),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(error.kind(), failover_core::ErrorKind::Retired, "{error}");
    assert_eq!(error.fate(), Some(failover_core::Fate::MayHaveBeenApplied));
}

/// The manual way: one subscription is drained in order, then the traffic moves.
#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_can_be_drained_by_hand() {
    let fleet = Fleet::whole(3, CALM).await;
    // On the same server, behind the same route: what this one has got was sent to the other one as well.
    let witness = plain(&fleet.cluster[0]).await;
    let mut witnessed = witness.subscribe("load").await.unwrap();
    witness.flush().await.unwrap();
    let mut subscription = fleet.client.subscribe("load").await.unwrap();
    fleet.known_everywhere("load").await;
    let publisher = Publisher::start(plain(&fleet.cluster[2]).await, "load", RATE);
    for _ in 0..500 {
        let message = tokio::time::timeout(BOUND, witnessed.next()).await;
        message.expect("more is published").unwrap();
    }
    drop((witnessed, witness));
    wait_until(BOUND, "only the group listens", || {
        fleet.cluster[0].subscriptions("load") == 1
    })
    .await;
    subscription.drain(BOUND).await.unwrap();
    assert_eq!(fleet.cluster[0].subscriptions("load"), 0);
    fleet.group.switch_to("m1").await.unwrap();
    let mut expected = 1;
    while let Some(message) = subscription.next().await {
        assert_eq!(message.payload, expected.to_string().as_bytes());
        expected += 1;
    }
    assert!(expected > 500, "{expected}");
    assert_eq!(fleet.cluster[1].subscriptions("load"), 0);
    publisher.stop().await;
}

// N50
#[tokio::test(flavor = "multi_thread")]
async fn unsubscribe_after_goes_on_counting() {
    let fleet = Fleet::whole(3, "").await;
    // What both connections of a move deliver counts once.
    let delivery = Delivery::at_least_once(Dedupe::Content);
    let mut subscription = fleet.client.subscribe_with("load", delivery).await.unwrap();
    subscription.unsubscribe_after(20);
    fleet.known_everywhere("load").await;
    let publisher = plain(&fleet.cluster[2]).await;
    for (from, target) in [(1, "m1"), (9, "m0")] {
        for number in from..from + 8 {
            publisher
                .publish("load", number.to_string().into())
                .await
                .unwrap();
            let message = subscription.next().await.unwrap();
            assert_eq!(message.payload, number.to_string().as_bytes());
        }
        fleet.group.switch_to(target).await.unwrap();
    }
    fleet.known_everywhere("load").await;
    for number in 17..=30 {
        publisher
            .publish("load", number.to_string().into())
            .await
            .unwrap();
    }
    for number in 17..=20 {
        assert_eq!(
            subscription.next().await.unwrap().payload,
            number.to_string().as_bytes()
        );
    }
    assert!(
        subscription.next().await.is_none(),
        "the twentieth was the last"
    );
    wait_until(BOUND, "nobody listens", || {
        fleet
            .cluster
            .nodes()
            .iter()
            .all(|node| node.subscriptions("load") == 0)
    })
    .await;
}
