//! A proxy that can eat replies: the request reaches the server, its answer never comes back. It can also answer a SUBSCRIBE
//! itself, as no server does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use backend_redis::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Proxy {
    port: u16,
    eating: Arc<AtomicBool>,
    hostile: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let eating = Arc::new(AtomicBool::new(false));
        let hostile = Arc::new(AtomicBool::new(false));
        let shared = (eating.clone(), hostile.clone());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
                let (eating, hostile) = shared.clone();
                tokio::spawn(forward(client, server, eating, hostile));
            }
        });
        Self {
            port,
            eating,
            hostile,
            task,
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new(format!("redis://127.0.0.1:{}", self.port))
    }

    /// From here on a connection ends where its next reply would have come.
    pub(crate) fn eat_replies(&self) {
        self.eating.store(true, Ordering::SeqCst);
    }
}

impl Proxy {
    /// Whether a SUBSCRIBE is answered with arrays in arrays, so deep that whoever follows them has no stack left.
    pub(crate) fn nest_answers(&self, hostile: bool) {
        self.hostile.store(hostile, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(
    mut client: TcpStream,
    mut server: TcpStream,
    eating: Arc<AtomicBool>,
    hostile: Arc<AtomicBool>,
) {
    let (mut asked, mut answered) = ([0; 4096], [0; 4096]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => match read {
                Ok(length) if length > 0 => {
                    let asks = asked[..length].windows(9).any(|word| word == b"SUBSCRIBE");
                    if asks && hostile.load(Ordering::SeqCst) {
                        if client.write_all(&b"*1\r\n".repeat(200_000)).await.is_err() {
                            return;
                        }
                    } else {
                        server.write_all(&asked[..length]).await.unwrap();
                    }
                }
                _ => return,
            },
            read = server.read(&mut answered) => match read {
                Ok(length) if length > 0 && !eating.load(Ordering::SeqCst) => {
                    if client.write_all(&answered[..length]).await.is_err() {
                        return;
                    }
                }
                _ => return,
            },
        }
    }
}
