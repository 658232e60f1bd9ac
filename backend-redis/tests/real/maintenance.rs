//! Announced maintenance: a server that pushes, played by a few lines of RESP3.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Backend, Signal};
use backend_redis::{Redis, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, broadcast};

use crate::server::Server;
use crate::stand_in::StandIn;

/// Knows HELLO and how to be asked for notices; everything else is PONG.
struct Pushing {
    port: u16,
    push: broadcast::Sender<&'static [u8]>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Pushing {
    /// `answer` is what it says to CLIENT; nothing at all if that is empty.
    async fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (push, _) = broadcast::channel(8);
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (pushes, log) = (push.clone(), asked.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut pushes, log) = (pushes.subscribe(), log.clone());
                tokio::spawn(async move {
                    let mut bytes = [0; 4096];
                    loop {
                        tokio::select! {
                            read = stream.read(&mut bytes) => {
                                let Ok(length @ 1..) = read else { return };
                                let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
                                for command in text.split_inclusive('*').filter(|text| text.len() > 2) {
                                    let said = match () {
                                        () if command.contains("HELLO") => "%1\r\n+proto\r\n:3\r\n",
                                        () if command.contains("MAINT") => answer,
                                        () if command.contains("CLIENT") => "+OK\r\n",
                                        () => "+PONG\r\n",
                                    };
                                    log.lock().await.push(command.to_owned());
                                    stream.write_all(said.as_bytes()).await.unwrap();
                                }
                            }
                            pushed = pushes.recv() => stream.write_all(pushed.unwrap()).await.unwrap(),
                        }
                    }
                });
            }
        });
        Self { port, push, asked }
    }

    fn settings(&self) -> Settings {
        Settings::new(format!("redis://127.0.0.1:{}", self.port))
    }

    async fn was_asked(&self) -> bool {
        let asked = self.asked.lock().await;
        asked
            .iter()
            .any(|command| command.contains("MAINT_NOTIFICATIONS"))
    }
}

// F63
#[tokio::test]
async fn announced_maintenance_makes_a_lame_duck() {
    for push in [
        b">4\r\n+MOVING\r\n:1\r\n:15\r\n_\r\n".as_slice(),
        b">4\r\n$9\r\nMIGRATING\r\n:2\r\n:15\r\n*1\r\n$1\r\n1\r\n",
        b">4\r\n+FAILING_OVER\r\n:3\r\n:15\r\n*1\r\n$1\r\n1\r\n",
    ] {
        let server = Pushing::start("+OK\r\n").await;
        let (mut engine, _client) = StandIn::new(Redis::builder().maintenance_notices(true));
        assert!(engine.backend.capabilities().announces_lame_duck());
        let _link = engine.connect("east", server.settings()).await.unwrap();
        assert!(server.was_asked().await);
        server.push.send(push).unwrap();
        let heard = engine.hear().await;
        assert!(matches!(heard, Signal::LameDuck), "{heard:?}");
    }
}

// F63: the end of a connection is told behind whatever came before it.
#[tokio::test]
async fn maintenance_that_is_over_means_nothing() {
    let server = Pushing::start("+OK\r\n").await;
    let (mut engine, _client) = StandIn::new(Redis::builder().maintenance_notices(true));
    let _link = engine.connect("east", server.settings()).await.unwrap();
    for push in [
        b">3\r\n+MIGRATED\r\n:0\r\n*1\r\n$1\r\n1\r\n".as_slice(),
        b">3\r\n+FAILED_OVER\r\n:1\r\n*1\r\n$1\r\n1\r\n",
        b"nonsense",
    ] {
        server.push.send(push).unwrap();
    }
    let heard = engine.hear().await;
    assert!(matches!(heard, Signal::Lost(_)), "{heard:?}");
}

// F63
#[tokio::test]
async fn without_the_option_nothing_is_asked_and_nothing_is_heard() {
    let server = Pushing::start("+OK\r\n").await;
    let (mut engine, _client) = StandIn::new(Redis::builder());
    assert!(!engine.backend.capabilities().announces_lame_duck());
    let link = engine.connect("east", server.settings()).await.unwrap();
    server
        .push
        .send(b">4\r\n+MOVING\r\n:1\r\n:15\r\n_\r\n")
        .unwrap();
    // Whatever came before the end of the connection would be heard before it.
    server.push.send(b"nonsense").unwrap();
    let heard = engine.hear().await;
    assert!(matches!(heard, Signal::Lost(_)), "{heard:?}");
    assert!(!server.was_asked().await);
    engine.retire(&link).await;
}

// F63
#[tokio::test]
async fn a_server_without_notices_is_used_without() {
    let (mut engine, mut client) = StandIn::new(Redis::builder().maintenance_notices(true));
    engine.operation = Duration::from_millis(200);
    let server = Server::start().await;
    engine.bring_up("east", server.settings()).await;
    let () = redis::AsyncCommands::set(&mut client, "k", 1)
        .await
        .unwrap();
    for answer in ["-NOPERM no\r\n", ""] {
        let server = Pushing::start(answer).await;
        let began = std::time::Instant::now();
        let _link = engine.connect("west", server.settings()).await.unwrap();
        assert!(began.elapsed() < Duration::from_millis(800));
    }
}
