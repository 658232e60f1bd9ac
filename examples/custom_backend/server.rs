//! A tiny server for the example, with a hand to hurt it: it can be killed, frozen, and told to leave.
//!
//! The protocol is one line per request and one per answer, in order:
//!
//! ```text
//! PING             +
//! GET key          +value     (empty if there is none)
//! SET key value    +
//! anything else    -
//!                  !leaving   (not an answer: the server is about to shut down)
//! ```
//!
//! What must never come in: anything of the failover engine's. This could as well be another process.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

/// What the hand has done to it.
#[derive(Clone, Copy, Default)]
struct Mood {
    frozen: bool,
    leaving: bool,
}

#[derive(Default)]
struct Shared {
    data: Mutex<HashMap<String, String>>,
    mood: watch::Sender<Mood>,
    connections: AtomicUsize,
}

/// The process, as it were: dropped, it ends like one that is killed.
struct Process {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    process: tokio::sync::Mutex<Option<Process>>,
}

impl Server {
    /// A server on a free port of this machine.
    pub(crate) async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        let process = tokio::sync::Mutex::new(Some(Process::run(listener, &shared)));
        Ok(Self {
            address,
            shared,
            process,
        })
    }

    /// Starts it again where it was, with the data it had.
    pub(crate) async fn restart(&self) -> std::io::Result<()> {
        let listener = TcpListener::bind(self.address).await?;
        self.shared.mood.send_replace(Mood::default());
        *self.process.lock().await = Some(Process::run(listener, &self.shared));
        Ok(())
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// No farewell: when this returns all connections are closed and the port refuses.
    pub(crate) async fn kill(&self) {
        if let Some(Process { stop, task }) = self.process.lock().await.take() {
            let _ = stop.send(());
            let _ = task.await;
        }
    }
}

/// For those who hurt it in earnest: the conformance test.
#[cfg(test)]
impl Server {
    /// Connections stay open, and nothing is answered.
    pub(crate) fn freeze(&self) {
        self.shared.mood.send_modify(|mood| mood.frozen = true);
    }

    pub(crate) fn thaw(&self) {
        self.shared.mood.send_modify(|mood| mood.frozen = false);
    }

    /// Tells everybody that it is about to shut down, and serves on.
    pub(crate) fn leave(&self) {
        self.shared.mood.send_modify(|mood| mood.leaving = true);
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // What the task owns, the listener and the connections, ends with it.
        if let Some(process) = self.process.get_mut() {
            process.task.abort();
        }
    }
}

impl Process {
    fn run(listener: TcpListener, shared: &Arc<Shared>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(accept(listener, shared.clone(), stopped));
        Self { stop, task }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            Ok((socket, _)) = listener.accept() => {
                connections.spawn(serve(socket, shared.clone()));
            }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Counts a connection for as long as its task lives.
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) -> std::io::Result<()> {
    shared.connections.fetch_add(1, Ordering::SeqCst);
    let counted = Counted(shared);
    let shared = &counted.0;
    let (reader, mut writer) = socket.split();
    let mut lines = BufReader::new(reader).lines();
    let mut moods = shared.mood.subscribe();
    let mut told = false;
    loop {
        let mood = *moods.borrow_and_update();
        if mood.leaving && !mood.frozen && !told {
            told = true;
            writer.write_all(b"!leaving\n").await?;
        }
        tokio::select! {
            biased;
            _ = moods.changed() => {}
            line = lines.next_line(), if !mood.frozen => match line? {
                Some(line) => writer.write_all(shared.answer(&line).as_bytes()).await?,
                None => return Ok(()),
            },
        }
    }
}

impl Shared {
    fn answer(&self, line: &str) -> String {
        let mut data = self.data.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words = line.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("PING"), None, None) => "+\n".to_owned(),
            (Some("GET"), Some(key), None) => {
                format!("+{}\n", data.get(key).map_or("", String::as_str))
            }
            (Some("SET"), Some(key), Some(value)) => {
                data.insert(key.to_owned(), value.to_owned());
                "+\n".to_owned()
            }
            _ => "-\n".to_owned(),
        }
    }
}
