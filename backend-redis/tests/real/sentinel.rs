//! What is made of a sentinel's word, with a sentinel that says what a test wants. It knows no RESP3, so it is only asked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use backend_api::{ErrorKind, Fate};
use backend_redis::{FailoverConnection, Redis, Settings};
use redis::AsyncCommands;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::server::Server;
use crate::stand_in::StandIn;

const BOUND: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Sentinel {
    port: u16,
    /// The master's port, and the epoch.
    word: Arc<Mutex<(u16, u64)>>,
    asked: Arc<AtomicUsize>,
}

impl Sentinel {
    async fn start(master: &Server, epoch: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let this = Self {
            port: listener.local_addr().unwrap().port(),
            word: Arc::new(Mutex::new((master.port, epoch))),
            asked: Arc::default(),
        };
        let answering = this.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answering.clone().answer(stream));
            }
        });
        this
    }

    fn says(&self, master: &Server, epoch: u64) {
        *self.word.lock().unwrap() = (master.port, epoch);
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    fn settings(&self) -> Settings {
        Settings::sentinel("mymaster", [self.url()])
    }

    async fn is_asked_again(&self) {
        let before = self.asked.load(Ordering::Relaxed);
        let begun = Instant::now();
        while self.asked.load(Ordering::Relaxed) < before + 2 {
            assert!(begun.elapsed() < BOUND, "it is asked again and again");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn answer(self, stream: TcpStream) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let words = command(&mut stream).await?;
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let (port, epoch) = *self.word.lock().unwrap();
            let answer = match words.as_slice() {
                ["HELLO", ..] => "-ERR unknown command 'HELLO'\r\n".to_owned(),
                ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "mymaster"] => {
                    self.asked.fetch_add(1, Ordering::Relaxed);
                    array(&["127.0.0.1", &port.to_string()])
                }
                ["SENTINEL", "MASTER", "mymaster"] => array(&["config-epoch", &epoch.to_string()]),
                _ => "+OK\r\n".to_owned(),
            };
            stream.get_mut().write_all(answer.as_bytes()).await.ok()?;
        }
    }
}

fn array(words: &[&str]) -> String {
    let each = words
        .iter()
        .map(|word| format!("${}\r\n{word}\r\n", word.len()));
    format!("*{}\r\n{}", words.len(), each.collect::<String>())
}

async fn command(stream: &mut BufReader<TcpStream>) -> Option<Vec<String>> {
    async fn number(stream: &mut BufReader<TcpStream>) -> Option<usize> {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        line.get(1..)?.trim_end().parse().ok()
    }
    let mut words = Vec::new();
    for _ in 0..number(stream).await? {
        let length = number(stream).await?;
        let mut word = vec![0; length + 2];
        stream.read_exact(&mut word).await.ok()?;
        words.push(String::from_utf8_lossy(&word[..length]).into_owned());
    }
    Some(words)
}

// A sentinel that was cut off, and comes back with what it knew before: following it would lose every write.
#[tokio::test]
async fn a_word_of_an_older_epoch_is_not_followed_and_one_of_a_newer_is() {
    let (east, west) = (Server::start().await, Server::start().await);
    let sentinel = Sentinel::start(&east, 5).await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    let link = engine.bring_up("east", sentinel.settings()).await;
    engine.activate(&link);
    let _: () = client.set("key", "east").await.unwrap();
    sentinel.says(&west, 4);
    sentinel.is_asked_again().await;
    let value: Option<String> = client.get("key").await.unwrap();
    assert_eq!(value.as_deref(), Some("east"));
    sentinel.says(&west, 6);
    let begun = Instant::now();
    while client
        .get::<_, Option<String>>("key")
        .await
        .unwrap()
        .is_some()
    {
        assert!(begun.elapsed() < BOUND, "it is followed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    engine.retire(&link).await;
}

// The same where another socket is needed: whoever is asked first may be the one that is behind.
#[tokio::test]
async fn a_lost_master_is_not_looked_for_where_a_sentinel_that_is_behind_says() {
    let (east, west) = (Server::start().await, Server::start().await);
    let behind = Sentinel::start(&east, 5).await;
    let current = Sentinel::start(&east, 5).await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    let settings = Settings::sentinel("mymaster", [behind.url(), current.url()]);
    let link = engine.bring_up("east", settings).await;
    behind.says(&west, 4);
    let killed: i64 = east.ask("CLIENT KILL TYPE normal SKIPME yes").await;
    assert_eq!(killed, 1);
    let begun = Instant::now();
    while let Err(error) = client.set::<_, _, ()>("key", "value").await {
        assert!(begun.elapsed() < BOUND, "{error}");
    }
    assert_eq!(east.ask::<i64>("EXISTS key").await, 1);
    assert_eq!(west.ask::<i64>("EXISTS key").await, 0);
    engine.retire(&link).await;
}

#[tokio::test]
async fn what_is_under_way_ends_with_the_socket_to_a_master_that_is_left() {
    let (east, west) = (Server::start().await, Server::start().await);
    let sentinel = Sentinel::start(&east, 5).await;
    let (mut engine, mut client) = StandIn::new(Redis::builder());
    engine.operation = BOUND * 3;
    let link = engine.bring_up("east", sentinel.settings()).await;
    east.freeze();
    let begun = Instant::now();
    let (answer, ()) = tokio::join!(client.set::<_, _, ()>("key", "value"), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        sentinel.says(&west, 6);
    });
    let took = begun.elapsed();
    east.thaw();
    let error = answer.unwrap_err();
    let cause = FailoverConnection::cause(&error).unwrap();
    assert_eq!(cause.fate(), Some(Fate::MayHaveBeenApplied), "{cause:?}");
    assert!(took < BOUND, "{took:?}");
    engine.retire(&link).await;
}

#[tokio::test]
async fn a_server_that_is_no_master_is_not_used_on_a_sentinels_word() {
    let east = Server::start().await;
    let port = east.port.to_string();
    let replica = Server::with(&["--replicaof", "127.0.0.1", &port]).await;
    let sentinel = Sentinel::start(&replica, 1).await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
    let error = engine
        .connect("east", sentinel.settings())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unhealthy);
    assert!(error.message().contains("is no master"), "{error}");
}

#[tokio::test]
async fn sentinels_that_know_nothing_or_are_not_there_are_named() {
    let east = Server::start().await;
    let sentinel = Sentinel::start(&east, 1).await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
    let other = Settings::sentinel("other", [format!("redis://127.0.0.1:{}", sentinel.port)]);
    let error = engine.connect("east", other).await.unwrap_err();
    assert!(
        error
            .message()
            .contains("knows no master of the name other"),
        "{error}"
    );
    let nobody = Settings::sentinel("mymaster", ["redis://127.0.0.1:1"]);
    let error = engine.connect("east", nobody).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(
        error.message().contains("the sentinel 127.0.0.1:1 "),
        "{error}"
    );
}
