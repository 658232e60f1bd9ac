//! The order over moves, and what is carried over: on servers whose every answer is decided here.

use std::time::Duration;

use backend_api::{Backend as _, Leases, Signal};
use futures_util::FutureExt as _;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::fake::{BOUND, Group, Log, Server, until};
use crate::{Carry, Connection, FailoverClient, Nats, NatsBuilder, keeping};

/// Two servers, and the traffic on the first.
struct Two {
    log: Log,
    group: Group,
    servers: [Server; 2],
    old: Connection,
    new: Connection,
}

impl Two {
    async fn start(carry: Carry, wait: Duration, operation: Duration) -> Self {
        Self::of(Nats::builder().carry(carry), wait, operation).await
    }

    async fn of(nats: NatsBuilder, wait: Duration, operation: Duration) -> Self {
        let log = Log::default();
        let servers = [Server::start(0, &log).await, Server::start(1, &log).await];
        let mut group = Group::new(nats.build().unwrap(), wait);
        group.operation = operation;
        let old = group.connect(&servers[0]).await;
        let new = group.connect(&servers[1]).await;
        group.moves_to(&old, None).await;
        Self {
            log,
            group,
            servers,
            old,
            new,
        }
    }

    async fn moves(&mut self) {
        self.group.moves_to(&self.new, Some(&self.old)).await;
    }

    /// What the servers were handed so far.
    fn handed(&self) -> Vec<(u8, u64)> {
        let all = self.log.of("load");
        let number = |text: &String| text.parse().unwrap();
        all.iter()
            .map(|(server, text)| (*server, number(text)))
            .collect()
    }

    fn handed_to(&self, server: u8) -> Vec<u64> {
        let all = self.handed();
        let there = all.iter().filter(|(other, _)| *other == server);
        there.map(|(_, number)| *number).collect()
    }

    /// More than sockets take.
    async fn publish_many(&self) {
        for number in 1..=MANY {
            let payload = format!("{number}|{}", "x".repeat(100_000));
            self.group
                .client
                .publish("load", payload.into())
                .await
                .unwrap();
        }
    }
}

/// Of a hundred kilobytes each.
const MANY: u64 = 200;
const LONG: Duration = Duration::from_secs(60);
/// Longer than anything in here would wait for a server by itself, apart from the time of an operation.
const WHILE: Duration = Duration::from_millis(600);

fn publish(client: &FailoverClient, number: u64) -> JoinHandle<()> {
    let client = client.clone();
    tokio::spawn(async move {
        let payload = number.to_string().into();
        client.publish("load", payload).await.unwrap();
    })
}

/// It has all left, and its server is slow: that is no reason to overtake it.
// F65
#[tokio::test(flavor = "multi_thread")]
async fn nothing_newer_goes_out_before_a_slow_server_has_answered() {
    for carry in [Carry::Unsent, Carry::Unconfirmed] {
        let mut two = Two::start(carry, LONG, LONG).await;
        two.servers[0].reads(false);
        publish(&two.group.client, 1).await.unwrap();
        two.moves().await;
        let newer = publish(&two.group.client, 2);
        sleep(WHILE).await;
        assert_eq!(two.handed(), [], "{carry:?}");
        two.servers[0].reads(true);
        newer.await.unwrap();
        two.group.client.flush().await.unwrap();
        assert_eq!(two.handed(), [(0, 1), (1, 2)], "{carry:?}");
    }
}

/// However long the engine takes to end the old one.
// F65
#[tokio::test(flavor = "multi_thread")]
async fn what_did_not_leave_goes_first_whenever_its_connection_ends() {
    let mut two = Two::start(Carry::Unsent, LONG, LONG).await;
    two.servers[0].reads(false);
    two.publish_many().await;
    two.moves().await;
    let newer = publish(&two.group.client, MANY + 1);
    sleep(WHILE).await;
    assert_eq!(two.handed_to(1), [0_u64; 0]);
    two.group.nats.retire(two.old.clone()).await;
    newer.await.unwrap();
    two.group.client.flush().await.unwrap();
    goes_on_in_order(&two);
}

/// Also where nobody publishes any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_flush_waits_for_what_is_older_wherever_it_was_published() {
    let mut two = Two::start(Carry::Unsent, LONG, LONG).await;
    two.servers[0].reads(false);
    two.publish_many().await;
    two.moves().await;
    let (client, old) = (two.group.client.clone(), two.old.clone());
    let (flushed, ()) = tokio::join!(client.flush(), async {
        sleep(WHILE).await;
        two.group.nats.retire(old).await;
    });
    flushed.unwrap();
    let handed = two.handed_to(1);
    assert_eq!(handed, (handed[0]..=MANY).collect::<Vec<_>>());
}

/// Who waits until the client takes a message, when the traffic moves.
#[tokio::test(flavor = "multi_thread")]
async fn a_publish_that_waits_for_the_client_keeps_its_place() {
    let nats = Nats::builder().client_capacity(16);
    let mut two = Two::of(nats, LONG, LONG).await;
    two.servers[0].reads(false);
    let client = two.group.client.clone();
    let publishing = tokio::spawn(async move {
        for number in 1..=MANY + 1 {
            let payload = format!("{number}|{}", "x".repeat(100_000));
            client.publish("load", payload.into()).await.unwrap();
        }
    });
    sleep(WHILE).await;
    assert!(!publishing.is_finished(), "the client takes no more");
    two.moves().await;
    two.group.nats.retire(two.old.clone()).await;
    publishing.await.unwrap();
    two.group.client.flush().await.unwrap();
    goes_on_in_order(&two);
}

/// There and back while somebody publishes all the time, at whatever moment.
// N30
#[tokio::test(flavor = "multi_thread")]
async fn planned_moves_hand_everything_over_in_order() {
    for carry in [Carry::Unsent, Carry::Unconfirmed] {
        let mut two = Two::start(carry, LONG, LONG).await;
        let client = two.group.client.clone();
        let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
        let publishing = tokio::spawn(async move {
            let mut number = 0;
            while stopped.try_recv().is_err() {
                for _ in 0..10 {
                    number += 1;
                    publish(&client, number).await.unwrap();
                }
                sleep(Duration::from_micros(100)).await;
            }
            number
        });
        for _ in 0..10 {
            sleep(Duration::from_millis(5)).await;
            two.moves().await;
            // The engine is slow to tell.
            sleep(Duration::from_millis(5)).await;
            two.group.nats.drain(&two.old, Leases::none()).await;
            std::mem::swap(&mut two.old, &mut two.new);
        }
        stop.send(()).unwrap();
        let published: u64 = publishing.await.unwrap();
        two.group.client.flush().await.unwrap();
        let handed: Vec<u64> = two.handed().iter().map(|(_, number)| *number).collect();
        assert_eq!(handed, (1..=published).collect::<Vec<_>>(), "{carry:?}");
        assert!(two.handed_to(1).len() > 10, "it was there as well");
    }
}

/// All is ready, and the engine takes its time: the old one is the active until then.
// F65
#[tokio::test(flavor = "multi_thread")]
async fn what_is_published_before_a_late_move_goes_first_as_well() {
    let mut two = Two::start(Carry::Unsent, LONG, LONG).await;
    two.group
        .nats
        .promote(&two.new, Some(&two.old))
        .await
        .unwrap();
    publish(&two.group.client, 1).await.unwrap();
    until("it is there", || two.handed() == [(0, 1)]).await;
    two.servers[0].reads(false);
    publish(&two.group.client, 2).await.unwrap();
    two.group.activate(&two.new);
    let newer = publish(&two.group.client, 3);
    let draining = tokio::spawn({
        let (nats, old) = (two.group.nats.clone(), two.old.clone());
        async move { nats.drain(&old, Leases::none()).await }
    });
    sleep(WHILE).await;
    assert_eq!(two.handed(), [(0, 1)]);
    two.servers[0].reads(true);
    newer.await.unwrap();
    draining.await.unwrap();
    two.group.client.flush().await.unwrap();
    assert_eq!(two.handed(), [(0, 1), (0, 2), (1, 3)]);
}

/// What the client takes from somebody who has waited for it is behind the rest, and so before the question.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_is_over_when_nobody_waits_for_the_client() {
    let two = Two::of(Nats::builder().client_capacity(16), LONG, LONG).await;
    two.servers[0].reads(false);
    let client = two.group.client.clone();
    let publishing = tokio::spawn(async move {
        for number in 1..=MANY {
            let payload = format!("{number}|{}", "x".repeat(100_000));
            let published = tokio::time::timeout(WHILE, client.publish("load", payload.into()));
            if published.await.is_err() {
                break;
            }
        }
    });
    until("the client takes no more", || {
        two.old.outbound().queue().waiting
    })
    .await;
    two.old.outbound().close();
    assert!(two.old.outbound().turn_over().now_or_never().is_none());
    publishing.await.unwrap();
    tokio::time::timeout(BOUND, two.old.outbound().turn_over())
        .await
        .unwrap();
}

/// The new one was promoted and never got the traffic: what was published goes on on the old one.
#[tokio::test(flavor = "multi_thread")]
async fn where_the_new_one_ends_before_the_traffic_came_the_old_one_goes_on() {
    let two = Two::start(Carry::Unsent, LONG, LONG).await;
    publish(&two.group.client, 1).await.unwrap();
    two.group
        .nats
        .promote(&two.new, Some(&two.old))
        .await
        .unwrap();
    let waiting = publish(&two.group.client, 2);
    two.group.nats.retire(two.new.clone()).await;
    waiting.await.unwrap();
    two.group.client.flush().await.unwrap();
    assert_eq!(two.handed(), [(0, 1), (0, 2)]);
}

/// Somebody who never got the traffic, or has it no more, waits for its turn and takes it from nobody.
#[tokio::test(flavor = "multi_thread")]
async fn who_has_the_traffic_is_neither_settled_nor_ended() {
    let mut two = Two::start(Carry::Unsent, LONG, Duration::from_millis(100)).await;
    publish(&two.group.client, 1).await.unwrap();
    keeping::catch_up(&two.new, &two.group.nats.shared);
    sleep(WHILE).await;
    assert!(!two.group.nats.shared.pending.is_clear_for(&two.new));
    publish(&two.group.client, 2).await.unwrap();
    assert!(two.group.said(&two.old).is_empty());
    until("it is there", || two.handed() == [(0, 1), (0, 2)]).await;
}

/// The rest of the messages, in order and to the last, at the new one.
fn goes_on_in_order(two: &Two) {
    let handed = two.handed_to(1);
    assert!(handed.len() > 1, "it was more than sockets take");
    let all: Vec<u64> = (handed[0]..=MANY + 1).collect();
    assert_eq!(handed, all);
}

/// Nobody ends the old one, and its server stays silent. So it is ended here: what the client still had for it can be published
/// on the new one then, and not by both.
// F65
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_server_is_waited_for_as_long_as_an_operation_may_take() {
    let mut two = Two::start(Carry::Unsent, LONG, Duration::from_millis(300)).await;
    two.servers[0].reads(false);
    two.publish_many().await;
    two.moves().await;
    publish(&two.group.client, MANY + 1).await.unwrap();
    let lost = two
        .group
        .said(&two.old)
        .iter()
        .any(|it| matches!(it, Signal::Lost(_)));
    assert!(lost, "the engine is told");
    tokio::time::timeout(BOUND, async {
        while two.group.client.flush().await.is_err() {}
    })
    .await
    .unwrap();
    goes_on_in_order(&two);
    // What had left comes late, as far as it arrives; nothing comes twice.
    two.servers[0].reads(true);
    sleep(WHILE).await;
    let first = two.handed_to(1)[0];
    assert!(two.handed_to(0).iter().all(|number| *number < first));
}

/// Whether it still sends what it has cannot be known: it is not published late, and not twice.
// F65
#[tokio::test(flavor = "multi_thread")]
async fn what_a_connection_has_that_cannot_be_ended_is_dropped_and_told() {
    let mut two = Two::start(Carry::Unsent, LONG, LONG).await;
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (stands, standing) = tokio::sync::oneshot::channel();
    two.old.spawn(async move {
        let _ = stands.send(());
        let _ = held.recv();
    });
    standing.await.unwrap();
    for number in 1..=5 {
        publish(&two.group.client, number).await.unwrap();
    }
    two.moves().await;
    let newer = publish(&two.group.client, 6);
    two.group.nats.retire(two.old.clone()).await;
    newer.await.unwrap();
    two.group.client.flush().await.unwrap();
    assert_eq!(two.handed(), [(1, 6)]);
    let told = two
        .group
        .notice(&two.old, "carry_late")
        .expect("it is told");
    assert!(told.starts_with("5 published messages"), "{told}");
    drop(release);
}

/// The move is called off, after something was carried over for it: the old one does not overtake that either.
// F65
#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_is_called_off_keeps_the_order_too() {
    let mut two = Two::start(Carry::Unsent, LONG, LONG).await;
    let third = Server::start(2, &two.log).await;
    let last = two.group.connect(&third).await;
    two.servers[0].reads(false);
    two.publish_many().await;
    two.group.nats.retire(two.old.clone()).await;
    // Half of a promotion.
    two.servers[1].reads(false);
    let pending = &two.group.nats.shared.pending;
    pending.carry_to(&two.new, LONG).await.unwrap();
    two.group.moves_to(&last, Some(&two.old)).await;
    let newer = publish(&two.group.client, MANY + 1);
    sleep(WHILE).await;
    assert_eq!(two.handed_to(2), [0_u64; 0]);
    two.servers[1].reads(true);
    newer.await.unwrap();
    two.group.client.flush().await.unwrap();
    let handed = two.handed_to(1);
    assert_eq!(handed, (handed[0]..=MANY).collect::<Vec<_>>());
    assert_eq!(two.handed_to(2), [MANY + 1]);
    assert_eq!(two.handed().last(), Some(&(2, MANY + 1)));
}

/// Whoever published it has long been told that nobody is there.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_waited_for_too_long_is_dropped_and_told() {
    let wait = Duration::from_millis(50);
    let mut two = Two::start(Carry::Unconfirmed, wait, LONG).await;
    two.servers[0].answers(false);
    for number in 1..=3 {
        publish(&two.group.client, number).await.unwrap();
    }
    two.group.nats.retire(two.old.clone()).await;
    sleep(wait + Duration::from_millis(300)).await;
    two.moves().await;
    publish(&two.group.client, 4).await.unwrap();
    two.group.client.flush().await.unwrap();
    assert_eq!(two.handed_to(1), [4]);
    let told = two
        .group
        .notice(&two.new, "carry_expired")
        .expect("it is told");
    assert!(told.starts_with("3 published messages"), "{told}");
}

/// The server has it all and says nothing, and is gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_left_is_not_published_again() {
    let mut two = Two::start(Carry::Unsent, LONG, LONG).await;
    two.servers[0].answers(false);
    for number in 1..=10 {
        publish(&two.group.client, number).await.unwrap();
    }
    until("all of it has left", || two.handed_to(0).len() == 10).await;
    two.servers[0].hang_up();
    two.moves().await;
    publish(&two.group.client, 11).await.unwrap();
    two.group.client.flush().await.unwrap();
    assert_eq!(two.handed_to(1), [11]);
}
