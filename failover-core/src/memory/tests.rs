//! Every fault does what it says, seen from where an engine stands, in virtual time.

mod backend;
mod client;
mod faults;

use std::future::Future;
use std::time::Duration;

use backend_api::engine::{Heard, SignalSource, SlotOwner, Tally, signal_channel};
use backend_api::{
    Backend, Dial, Error, ErrorKind, Fate, Generation, Health, HealthCheck, Member, Probe, Signal,
};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

/// An engine's place, without an engine.
struct Bench {
    world: World,
    memory: Memory,
    source: SignalSource<Settings>,
    heard: mpsc::UnboundedReceiver<Heard<Settings>>,
    owner: SlotOwner<Connection>,
    client: Client,
    dialled: u64,
    operation: Duration,
}

impl Bench {
    fn new() -> Self {
        let world = World::new();
        let memory = world.backend();
        let (source, heard) = signal_channel();
        let (owner, slot) = SlotOwner::new(SECOND, Error::new(ErrorKind::NoActive, "nobody yet"));
        Self {
            client: memory.client(slot),
            world,
            memory,
            source,
            heard,
            owner,
            dialled: 0,
            operation: SECOND / 2,
        }
    }

    fn server(&self, at: &str) -> Server {
        self.world.server(at)
    }

    /// Dials a member that is called like its server.
    async fn dial(&mut self, at: &str) -> Result<Connection, Error> {
        self.dialled += 1;
        let member = Member::new(at, Settings::at(at));
        let generation = Generation(self.dialled);
        let dial = Dial::new(
            &member,
            generation,
            self.source.signals(member.name.clone(), generation),
        )
        .with_timeout(2 * SECOND)
        .with_operation(self.operation);
        self.memory.connect(dial).await
    }

    fn activate(&mut self, connection: &Connection) -> Tally<Connection> {
        let generation = Generation(self.dialled);
        let member = connection.member().clone();
        self.owner
            .activate(&member, generation, connection, || {})
            .0
    }

    async fn active(&mut self, at: &str) -> (Connection, Tally<Connection>) {
        let connection = self.dial(at).await.unwrap();
        let tally = self.activate(&connection);
        (connection, tally)
    }

    /// What the connections said since the last look.
    fn said(&mut self) -> Vec<Signal<Settings>> {
        std::iter::from_fn(|| self.heard.try_recv().ok())
            .map(|heard| heard.take().2)
            .collect()
    }

    async fn status(&self, connection: &Connection) -> Health {
        let member = Member::new("any", Settings::at("any"));
        let probe = Probe::new(&self.memory, &member, connection, SECOND);
        Status.check(probe).await
    }
}

/// Whether it has not ended after a long time.
async fn hangs<T>(future: impl Future<Output = T>) -> bool {
    tokio::time::timeout(3600 * SECOND, future).await.is_err()
}

/// What a task answers, which it must do in time.
async fn soon<T>(task: tokio::task::JoinHandle<T>) -> T {
    let answer = tokio::time::timeout(3600 * SECOND, task).await;
    answer.expect("it ended").unwrap()
}

/// Runs something to the point where it waits.
async fn start<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    let task = tokio::spawn(future);
    tokio::time::sleep(MILLI).await;
    task
}

fn kind<T: std::fmt::Debug>(answer: Result<T, Error>) -> ErrorKind {
    answer.unwrap_err().kind()
}
