//! For this crate's tests: servers whose every byte a test decides on, and a group without an engine.
//!
//! A real server answers when it likes. Here a test says when a server reads, when it answers, and what it says of itself, so
//! that an order of events is tested as an order, and no machine is too slow for it. What only real servers show is tested
//! on real servers, under `tests/`.

mod group;
mod protocol;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

pub(crate) use group::Group;

/// The longest that anything may take on a busy machine.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

/// What all servers of a test were handed: server, subject, payload, in this order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<(u8, String, String)>>>);

impl Log {
    fn note(&self, server: u8, subject: &str, payload: &str) {
        let entry = (server, subject.to_owned(), payload.to_owned());
        lock(&self.0).push(entry);
    }

    /// What was published to a subject, and where.
    pub(crate) fn of(&self, subject: &str) -> Vec<(u8, String)> {
        let log = lock(&self.0);
        let of_it = log.iter().filter(|(_, to, _)| to == subject);
        of_it
            .map(|(server, _, payload)| (*server, payload.clone()))
            .collect()
    }
}

/// Waits for something. Polls, since what is waited for happens at several places.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let waited = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let waited = tokio::time::timeout(BOUND, waited).await;
    assert!(waited.is_ok(), "waited in vain for {what}");
}

/// A server on a free port of 127.0.0.1. Dropped, it takes nobody any more.
pub(crate) struct Server {
    pub(crate) number: u8,
    port: u16,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

pub(super) struct Shared {
    number: u8,
    port: u16,
    log: Log,
    mode: watch::Sender<Mode>,
    subscriptions: Mutex<Vec<protocol::Subscribed>>,
    scripts: Mutex<HashMap<String, Script>>,
}

/// What it sends to the reply subject of a request: the reply subject of each message, and its payload. One that begins as a
/// header does is one.
type Script = Box<dyn Fn(&str) -> Vec<(String, String)> + Send>;

/// What it does at present.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mode {
    reads: bool,
    answers: bool,
    lame_duck: bool,
    /// How often it has hung up.
    hung_up: u32,
}

impl Server {
    pub(crate) async fn start(number: u8, log: &Log) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            number,
            port,
            log: log.clone(),
            mode: watch::Sender::new(Mode {
                reads: true,
                answers: true,
                lame_duck: false,
                hung_up: 0,
            }),
            subscriptions: Mutex::default(),
            scripts: Mutex::default(),
        });
        let serving = shared.clone();
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(protocol::serve(socket, serving.clone()));
            }
        });
        Self {
            number,
            port,
            shared,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Whether it reads what comes. What it has not read stays in the socket, and then in the client.
    pub(crate) fn reads(&self, reads: bool) {
        self.shared.mode.send_modify(|mode| mode.reads = reads);
    }

    /// Whether it answers requests. What it does not answer now it never does.
    pub(crate) fn answers(&self, answers: bool) {
        self.shared.mode.send_modify(|mode| mode.answers = answers);
    }

    /// Says to whoever connects from here on that it is about to shut down.
    pub(crate) fn is_lame_duck(&self) {
        self.shared.mode.send_modify(|mode| mode.lame_duck = true);
    }

    /// Closes every connection.
    pub(crate) fn hang_up(&self) {
        self.shared.mode.send_modify(|mode| mode.hung_up += 1);
    }

    /// Answers requests to this subject by what they ask.
    pub(crate) fn script(
        &self,
        subject: &str,
        answers: impl Fn(&str) -> Vec<(String, String)> + Send + 'static,
    ) {
        lock(&self.shared.scripts).insert(subject.to_owned(), Box::new(answers));
    }

    /// Sends a message to every subscription of this subject.
    pub(crate) fn deliver(&self, subject: &str, payload: &str) {
        for subscribed in lock(&self.shared.subscriptions).iter() {
            subscribed.deliver(subject, "", payload);
        }
    }

    /// How many subscriptions of this subject it knows.
    pub(crate) fn subscriptions(&self, subject: &str) -> usize {
        let all = lock(&self.shared.subscriptions);
        all.iter().filter(|it| it.subject == subject).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
