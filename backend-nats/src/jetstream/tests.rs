//! What an ordered reader makes of what its consumers send: on servers whose every answer is decided here.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use backend_api::ErrorKind;
use serde_json::json;

use super::{OnOtherCluster, PullConsumer};
use crate::fake::{BOUND, Group, Log, Server};
use crate::{Connection, Nats};

const INFO: &str = "$JS.API.STREAM.INFO.S";
const CREATE: &str = "$JS.API.CONSUMER.CREATE.S";
const NEXT: &str = "$JS.API.CONSUMER.MSG.NEXT.S.C";

/// Two servers in two clusters with what looks like the same stream, and the traffic on the first.
struct Two {
    log: Log,
    group: Group,
    servers: [Server; 2],
    old: Connection,
    new: Connection,
}

/// A message: its number in the stream, and the one at its consumer.
fn message(stream: u64, consumer: u64) -> (String, String) {
    let reply = format!("$JS.ACK.S.C.1.{stream}.{consumer}.1700000000000000000.0");
    (reply, stream.to_string())
}

/// The consumer has nothing more, and has sent so many.
fn idle(last: u64) -> (String, String) {
    let headers = format!("NATS/1.0 100 Idle Heartbeat\r\nNats-Last-Consumer: {last}\r\n\r\n");
    (String::new(), headers)
}

/// Says so each time: the last goes on for ever.
fn in_turn<T: Clone>(all: Vec<T>) -> impl Fn() -> T {
    let at = AtomicUsize::new(0);
    move || all[at.fetch_add(1, Ordering::Relaxed).min(all.len() - 1)].clone()
}

impl Two {
    async fn start() -> Self {
        let log = Log::default();
        let servers = [Server::start(0, &log).await, Server::start(1, &log).await];
        let mut group = Group::new(Nats::new(), BOUND);
        let old = group.connect(&servers[0]).await;
        let new = group.connect(&servers[1]).await;
        group.moves_to(&old, None).await;
        let two = Self {
            log,
            group,
            servers,
            old,
            new,
        };
        for server in 0..2 {
            two.has(server, vec![3]);
        }
        two
    }

    /// A server has three messages, and its consumers have so many at first, one after the other.
    fn has(&self, server: usize, pending: Vec<u64>) {
        self.servers[server].script(INFO, |asked| {
            let mut state = json!({ "last_seq": 3 });
            if asked.contains("subjects_filter") {
                state["subjects"] = json!({ "s": 3 });
            }
            let info = json!({ "created": "2024-01-01T00:00:00Z", "state": state });
            vec![(String::new(), info.to_string())]
        });
        let pending = in_turn(pending);
        self.servers[server].script(CREATE, move |_| {
            let info = json!({ "name": "C", "num_pending": pending(), "config": {} });
            vec![(String::new(), info.to_string())]
        });
    }

    /// What a server's consumers send, one after the other.
    fn sends(&self, server: usize, consumers: Vec<Vec<(String, String)>>) {
        let next = in_turn(consumers);
        self.servers[server].script(NEXT, move |_| next());
    }

    async fn reads(&self, on_other_cluster: OnOtherCluster) -> PullConsumer {
        let reader = self.group.client.ordered_consumer("S");
        let reader = reader.heartbeat(Duration::from_secs(60));
        reader
            .on_other_cluster(on_other_cluster)
            .open()
            .await
            .unwrap()
    }

    async fn moves(&mut self) {
        self.group.moves_to(&self.new, Some(&self.old)).await;
    }
}

async fn next(reader: &mut PullConsumer) -> Result<u64, ErrorKind> {
    let next = tokio::time::timeout(BOUND, reader.next()).await;
    let next = next.expect("something comes").expect("an open group");
    let next = next.map(|message| message.info().stream_sequence);
    next.map_err(|error| error.kind())
}

/// A consumer that begins too early sends what was read before.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_is_not_delivered_again() {
    let mut two = Two::start().await;
    two.sends(0, vec![vec![message(1, 1), message(2, 2)], vec![]]);
    two.sends(1, vec![vec![message(2, 1), message(3, 2)], vec![]]);
    let mut reader = two.reads(OnOtherCluster::SamePositions).await;
    assert_eq!(next(&mut reader).await, Ok(1));
    assert_eq!(next(&mut reader).await, Ok(2));
    two.moves().await;
    assert_eq!(next(&mut reader).await, Ok(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gap_is_noticed_and_read_anew() {
    let two = Two::start().await;
    let whole = || vec![message(2, 1), message(3, 2)];
    for gap in [
        vec![message(1, 1), message(3, 3)],
        vec![message(1, 1), idle(2)],
    ] {
        two.sends(0, vec![gap, whole(), vec![]]);
        let mut reader = two.reads(OnOtherCluster::Refuse).await;
        for number in 1..=3 {
            assert_eq!(next(&mut reader).await, Ok(number));
        }
    }
}

/// Also where the stream there looks like the same, which one that was restored from a backup does.
#[tokio::test(flavor = "multi_thread")]
async fn a_position_is_not_used_in_another_cluster() {
    let mut two = Two::start().await;
    two.sends(0, vec![vec![message(1, 1)], vec![]]);
    two.sends(1, vec![vec![message(2, 1)], vec![]]);
    let mut reader = two.reads(OnOtherCluster::Refuse).await;
    assert_eq!(next(&mut reader).await, Ok(1));
    two.moves().await;
    assert_eq!(next(&mut reader).await, Err(ErrorKind::Moved));
    assert_eq!(two.log.of(CREATE).len(), 1, "none is made in the other");
}

/// N54: its first messages arrive a moment later, and were never read.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_on_a_server_that_is_behind_does_not_make_the_stream_empty() {
    let two = Two::start().await;
    two.has(0, vec![0, 3]);
    let all = || vec![message(1, 1), message(2, 2), message(3, 3)];
    two.sends(0, vec![all(), vec![]]);
    let mut reader = two.reads(OnOtherCluster::Refuse).await;
    for number in 1..=3 {
        assert_eq!(next(&mut reader).await, Ok(number));
    }
    assert_eq!(two.log.of(CREATE).len(), 2);
}
