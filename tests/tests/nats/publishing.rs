//! What is published while connections end: carried over, in order, or refused.

use std::time::Duration;

use failover_core::nats::{Ask, FailoverClient};
use failover_core::{ErrorKind, Fate, Reason};
use failover_testkit::wait_until;
use futures_util::StreamExt as _;

use crate::fleet::{BOUND, CALM, Fleet, plain};
use crate::load::Ledger;

/// Publishes numbers of so many digits through the group until told to stop; how many it were, and the errors.
fn publish(
    client: FailoverClient,
    pause: Duration,
    digits: usize,
) -> (
    tokio::sync::oneshot::Sender<()>,
    tokio::task::JoinHandle<(u64, Vec<String>)>,
) {
    let (stop, mut stopped) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(async move {
        let (mut number, mut errors) = (0_u64, Vec::new());
        while stopped.try_recv().is_err() {
            for _ in 0..10 {
                number += 1;
                if let Err(error) = client
                    .publish("load", format!("{number:0digits$}").into())
                    .await
                {
                    errors.push(error.to_string());
                }
            }
            tokio::time::sleep(pause).await;
        }
        // Many and large ones take longer than one operation may.
        let flushed = async { while client.flush().await.is_err() {} };
        tokio::time::timeout(BOUND, flushed).await.unwrap();
        (number, errors)
    });
    (stop, task)
}

/// The last that was published arrives for sure; what comes twice or late comes soon after it.
async fn read(subscriber: &mut async_nats::Subscriber, ledger: &mut Ledger, published: u64) {
    loop {
        let patience = if ledger.has(published) {
            Duration::from_millis(300)
        } else {
            BOUND
        };
        match tokio::time::timeout(patience, subscriber.next()).await {
            Ok(Some(message)) => ledger.note(&message.payload),
            _ => break,
        }
    }
}

// N30
#[tokio::test(flavor = "multi_thread")]
async fn planned_moves_lose_and_double_no_publish() {
    for carry in ["unsent", "unconfirmed"] {
        let more =
            format!("[backend]\ncarry = \"{carry}\"\n{CALM}[group.unavailable]\nwait = \"60s\"");
        let fleet = Fleet::whole(3, &more).await;
        let reader = plain(&fleet.cluster[2]).await;
        let mut subscriber = reader.subscribe("load").await.unwrap();
        reader.flush().await.unwrap();
        fleet.known_everywhere("load").await;
        let (stop, publishing) = publish(fleet.client.clone(), Duration::from_millis(1), 1);
        for target in ["m1", "m0", "m1", "m0"] {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if target == "m1" {
                fleet.group.switch_to(target).await.unwrap();
            } else {
                fleet
                    .group
                    .drain_to(target, Duration::from_secs(60))
                    .await
                    .unwrap();
            }
        }
        stop.send(()).unwrap();
        let (published, errors) = publishing.await.unwrap();
        assert!(errors.is_empty(), "{errors:?}");
        let mut ledger = Ledger::default();
        read(&mut subscriber, &mut ledger, published).await;
        assert_eq!(
            (ledger.lost(published).len(), ledger.duplicated),
            (0, 0),
            "{carry}"
        );
        // Two servers tell the third: what was published last on the one and first on the other may meet there. That they
        // are handed it in order is tested where servers can be asked for it, beside the source.
    }
}

/// The server takes nothing more, and is then gone: what certainly never left goes to the next, once and in order.
// N30
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_what_had_left_and_nothing_else() {
    for (carry, loses, doubles) in [
        ("none", true, false),
        ("unsent", true, false),
        ("unconfirmed", false, true),
    ] {
        let more = format!("[backend]\ncarry = \"{carry}\"\n[group.unavailable]\nwait = \"5s\"");
        let mut fleet = Fleet::whole(3, &more).await;
        let reader = plain(&fleet.cluster[2]).await;
        let mut subscriber = reader.subscribe("load").await.unwrap();
        reader.flush().await.unwrap();
        fleet.known_everywhere("load").await;
        let (stop, publishing) = publish(fleet.client.clone(), Duration::ZERO, 1);
        tokio::time::sleep(Duration::from_millis(100)).await;
        fleet.cluster[0].freeze();
        tokio::time::sleep(Duration::from_millis(20)).await;
        fleet.cluster[0].kill();
        assert_eq!(fleet.moved().await.1, "m1");
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.send(()).unwrap();
        let (published, errors) = publishing.await.unwrap();
        let mut ledger = Ledger::default();
        read(&mut subscriber, &mut ledger, published).await;
        let lost = ledger.lost(published);
        println!(
            "{carry}: published {published}, lost {}, doubled {}, errors {}",
            lost.len(),
            ledger.duplicated,
            errors.len()
        );
        if !loses {
            assert!(lost.is_empty(), "{carry}: {} lost", lost.len());
        }
        if !doubles {
            assert_eq!(ledger.duplicated, 0, "{carry}");
        }
        if carry != "none" {
            assert!(errors.is_empty(), "{carry}: {errors:?}");
            // What is lost had left: one piece, and nothing of what came later.
            if let (Some(first), Some(last)) = (lost.first(), lost.last()) {
                assert_eq!(last - first + 1, lost.len() as u64, "{carry}: {lost:?}");
            }
        }
    }
}

/// The old active is not dead and takes no more: what it still has goes to the new one, before anything newer. Whether the
/// connection counts as lost, its member as unhealthy, or somebody moves the traffic by hand.
///
/// Only the first member has short times, and none of the others is ever left: what had left a connection is its server's, and
/// that of one which is only slow would come late.
// N30
#[tokio::test(flavor = "multi_thread")]
async fn what_a_frozen_active_still_had_goes_first() {
    for (first, reason) in [
        // The client's own pings find it.
        ("", Reason::Lost),
        (
            "ping_interval = \"60s\"\nhealth = { interval = \"50ms\", timeout = \"2s\", probes = 1 }",
            Reason::Health,
        ),
        ("ping_interval = \"60s\"", Reason::Manual),
    ] {
        let more = format!(
            "[backend]\nclient_capacity = 256\n\
             [group.timeouts]\nprove = \"60s\"\noperation = \"60s\"\n[group.loss]\nredial = \"0s\"\n\
             [group.health]\ninterval = \"600s\"\ntimeout = \"60s\"\n[group.unavailable]\nwait = \"60s\"\n\
             [[first]]\n{first}"
        );
        let mut fleet = Fleet::whole(3, &more).await;
        let reader = plain(&fleet.cluster[2]).await;
        let mut subscriber = reader.subscribe("load").await.unwrap();
        reader.flush().await.unwrap();
        fleet.known_everywhere("load").await;
        let (stop, publishing) = publish(fleet.client.clone(), Duration::ZERO, 40_000);
        tokio::time::sleep(Duration::from_millis(50)).await;
        fleet.cluster[0].freeze();
        if reason == Reason::Manual {
            // Until it takes no more.
            tokio::time::sleep(Duration::from_millis(300)).await;
            fleet.group.switch_to("m1").await.unwrap();
        }
        assert_eq!(
            fleet.moved().await,
            (Some("m0".into()), "m1".into(), reason)
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.send(()).unwrap();
        let (published, errors) = publishing.await.unwrap();
        assert!(errors.is_empty(), "{errors:?}");
        let mut ledger = Ledger::default();
        read(&mut subscriber, &mut ledger, published).await;
        assert_eq!(fleet.active(), "m1");
        let lost = ledger.lost(published);
        let (Some(first), Some(last)) = (lost.first(), lost.last()) else {
            panic!("{reason:?}: it had read all of it, and stood still only then");
        };
        assert_eq!(last - first + 1, lost.len() as u64, "{reason:?}: {lost:?}");
        assert_eq!(ledger.duplicated, 0, "{reason:?}");
        // Two servers tell the third: what the old one had passed on may come late there. What the new one was given does not.
        assert_eq!(ledger.reordered_beyond(*last), 0, "{reason:?}");
    }
}

/// What has left makes room, and nobody who waits for that has to be told.
#[tokio::test(flavor = "multi_thread")]
async fn a_burst_beyond_the_limit_waits_for_the_socket_only() {
    let fleet = Fleet::whole(
        1,
        "[backend]\ncarry_limit = 16\n[group.timeouts]\noperation = \"10s\"",
    )
    .await;
    let begun = std::time::Instant::now();
    for _ in 0..2000 {
        fleet.client.publish("load", "x".into()).await.unwrap();
    }
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_ring_fails_the_publish_and_says_that_it_was_not_published() {
    let more = "[backend]\ncarry = \"unconfirmed\"\ncarry_limit = 100\n[group.timeouts]\noperation = \"100ms\"\nprove = \"20s\"\n\
                [group.health]\ninterval = \"60s\"";
    let fleet = Fleet::whole(3, more).await;
    fleet.cluster[0].freeze();
    let mut published = 0;
    let error = loop {
        match fleet.client.publish("load", "x".into()).await {
            Ok(()) => published += 1,
            Err(error) => break error,
        }
        assert!(published <= 100);
    };
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::Timeout, Some(Fate::NotApplied)),
        "{error}"
    );
    assert!(
        error.to_string().contains("wait until the server confirms"),
        "{error}"
    );
    fleet.cluster[0].thaw();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_cannot_be_published_is_the_callers_mistake() {
    let fleet = Fleet::whole(1, "").await;
    let too_large = vec![0_u8; 2 << 20];
    let error = fleet
        .client
        .publish("load", too_large.into())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::Unsupported, Some(Fate::NotApplied)),
        "{error}"
    );
    let error = fleet
        .client
        .publish("not a subject", "x".into())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(
        fleet
            .group
            .status()
            .member("m0")
            .unwrap()
            .operations
            .failure,
        0
    );
}

/// Over a kill a request fails at once and says what is known, or is asked again where that does no harm.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_over_a_kill_fails_at_once_or_is_asked_again() {
    let fleet = Fleet::whole(3, "[group.timeouts]\noperation = \"5s\"").await;
    let answerer = plain(&fleet.cluster[2]).await;
    let mut asked = answerer.subscribe("slow").await.unwrap();
    answerer.flush().await.unwrap();
    fleet.known_everywhere("slow").await;
    let ask = |idempotent| {
        let client = fleet.client.clone();
        tokio::spawn(async move {
            client
                .request_with("slow", "?".into(), Ask::new().idempotent(idempotent))
                .await
        })
    };
    let (once, again) = (ask(false), ask(true));
    for _ in 0..2 {
        asked.next().await.unwrap();
    }
    let killed = std::time::Instant::now();
    fleet.cluster[0].kill();
    let error = once.await.unwrap().unwrap_err();
    assert!(
        killed.elapsed() < Duration::from_secs(1),
        "{:?}",
        killed.elapsed()
    );
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::Lost, Some(Fate::MayHaveBeenApplied)),
        "{error}"
    );
    let question = tokio::time::timeout(BOUND, asked.next())
        .await
        .unwrap()
        .unwrap();
    answerer
        .publish(question.reply.unwrap(), "late".into())
        .await
        .unwrap();
    assert_eq!(again.await.unwrap().unwrap().payload, "late");
    fleet.is_active("m1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_nobody_hears_says_so_at_once() {
    let fleet = Fleet::whole(1, "").await;
    let error = fleet
        .client
        .request("nobody", "?".into())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.fate()),
        (ErrorKind::Unhealthy, Some(Fate::NotApplied)),
        "{error}"
    );
    assert_eq!(
        fleet
            .group
            .status()
            .member("m0")
            .unwrap()
            .operations
            .failure,
        0
    );
    wait_until(BOUND, "the member stays", || fleet.active() == "m0").await;
}
