//! A backend for a service of one's own. One task owns the socket: it writes requests, hands answers to whoever asked
//! first, and says at once when the socket ends. Ending that task ends the connection: that is all of retiring.
//! Which member is used and when one is dialled again must never come in: that is the engine's.

use std::{collections::VecDeque, convert::Infallible, io, sync::Arc, time::Duration};

use super::client::Client;
use failover_core::api::{Backend, Capabilities, Dial, Signals, Slot, async_trait};
use failover_core::{Error, ErrorKind, Fate};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::{net::TcpStream, task::JoinHandle};

#[derive(Clone, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) address: String,
}

type Request = (String, oneshot::Sender<String>); // a line, and who waits for the answer

/// All clones are the same connection; it is retired when its task was taken.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) operation: Duration,
    requests: mpsc::Sender<Request>,
    driver: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Connection {
    /// One request. An error never repeats it, for it may hold anything.
    pub(crate) async fn ask(&self, line: &str) -> Result<String, Error> {
        let (to, answer) = oneshot::channel();
        let fate = match self.requests.send((format!("{line}\n"), to)).await {
            Err(_) => Fate::NotApplied,
            Ok(()) => match answer.await {
                Ok(answer) => return Ok(answer),
                Err(_) => Fate::MayHaveBeenApplied,
            },
        };
        let error = match *self.driver.lock().await {
            None => Error::new(ErrorKind::Retired, "the connection was retired"),
            Some(_) => Error::new(ErrorKind::Lost, "the connection ended"),
        };
        Err(error.with_fate(fate))
    }
}

/// Runs until the socket ends.
async fn drive(
    mut socket: TcpStream,
    mut requests: mpsc::Receiver<Request>,
    signals: &Signals<Settings>,
) -> io::Result<Infallible> {
    let (reader, mut writer) = socket.split();
    let mut lines = BufReader::new(reader).lines();
    let mut asked: VecDeque<oneshot::Sender<String>> = VecDeque::new();
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(line) if line == "!leaving" => signals.lame_duck(),
                // Whoever stopped waiting keeps the place, or the next would get an answer that is not its own.
                Some(line) => drop(asked.pop_front().map(|to| to.send(line))),
            },
            Some((line, to)) = requests.recv() => {
                asked.push_back(to);
                writer.write_all(line.as_bytes()).await?;
            }
        }
    }
}

pub(crate) struct Lines;

#[async_trait]
impl Backend for Lines {
    type Settings = Settings;
    type Connection = Connection;
    type Client = Client;

    fn client(&self, slot: Slot<Connection>) -> Client {
        Client::new(slot)
    }

    async fn connect(&self, dial: Dial<'_, Settings>) -> Result<Connection, Error> {
        let opening = TcpStream::connect(&dial.member.settings.address);
        let socket = tokio::time::timeout(dial.timeout, opening)
            .await
            .map_err(|_| Error::new(ErrorKind::Timeout, "no answer in time"))?
            .map_err(|cause| Error::new(ErrorKind::Refused, cause.to_string()))?;
        let (requests, received) = mpsc::channel(64);
        let driver = tokio::spawn(async move {
            let Err(cause) = drive(socket, received, &dial.signals).await;
            dial.signals
                .lost(Error::new(ErrorKind::Lost, cause.to_string()));
        });
        Ok(Connection {
            operation: dial.operation,
            requests,
            driver: Arc::new(Mutex::new(Some(driver))),
        })
    }

    async fn prove(&self, connection: &Connection) -> Result<(), Error> {
        connection.ask("PING").await.map(drop)
    }

    async fn retire(&self, connection: Connection) {
        if let Some(driver) = connection.driver.lock().await.take() {
            driver.abort();
            let _ = driver.await; // now the socket is closed, whoever still holds a clone
        }
    }

    fn capabilities(&self) -> Capabilities {
        let none = Capabilities::new();
        none.announcing_lame_duck().serving_again_after_drain()
    }
}
