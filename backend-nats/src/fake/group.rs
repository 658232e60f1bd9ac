//! A group without an engine: a test makes every decision.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use backend_api::engine::{Heard, SignalSource, SlotOwner, signal_channel};
use backend_api::{Backend as _, Dial, Error, ErrorKind, Generation, Member, Notice, Signal};
use tokio::sync::mpsc::UnboundedReceiver;

use super::Server;
use crate::{Connection, FailoverClient, Nats, Settings};

pub(crate) struct Group {
    pub(crate) nats: Arc<Nats>,
    pub(crate) client: FailoverClient,
    owner: SlotOwner<Connection>,
    source: SignalSource<Settings>,
    heard: UnboundedReceiver<Heard<Settings>>,
    said: BTreeMap<Generation, Vec<Signal<Settings>>>,
    generations: u64,
    /// `timeouts.operation`.
    pub(crate) operation: Duration,
}

impl Group {
    /// Operations wait so long for an active.
    pub(crate) fn new(nats: Nats, wait: Duration) -> Self {
        let reason = Error::new(ErrorKind::NoActive, "nobody is active");
        let (owner, slot) = SlotOwner::new(wait, reason);
        let (source, heard) = signal_channel();
        Self {
            client: nats.client(slot),
            nats: Arc::new(nats),
            owner,
            source,
            heard,
            said: BTreeMap::new(),
            generations: 0,
            operation: Duration::from_secs(60),
        }
    }

    pub(crate) async fn connect(&mut self, server: &Server) -> Connection {
        self.generations += 1;
        let member = Member::new(format!("m{}", server.number), Settings::new(server.url()));
        let generation = Generation(self.generations);
        let signals = self.source.signals(member.name.clone(), generation);
        let dial = Dial::new(&member, generation, signals)
            .with_timeout(super::BOUND)
            .with_operation(self.operation);
        self.nats.connect(dial).await.unwrap()
    }

    /// The traffic moves.
    pub(crate) fn activate(&mut self, connection: &Connection) {
        let (member, generation) = (connection.member(), connection.generation());
        self.owner.activate(member, generation, connection, || {});
    }

    /// Promoted, and active.
    pub(crate) async fn moves_to(&mut self, to: &Connection, from: Option<&Connection>) {
        self.nats.promote(to, from).await.unwrap();
        self.activate(to);
    }

    /// What a connection has said so far.
    pub(crate) fn said(&mut self, connection: &Connection) -> &[Signal<Settings>] {
        while let Ok(heard) = self.heard.try_recv() {
            let (_, generation, signal) = heard.take();
            self.said.entry(generation).or_default().push(signal);
        }
        self.said.entry(connection.generation()).or_default()
    }

    pub(crate) fn is_lame_duck(&mut self, connection: &Connection) -> bool {
        let said = self.said(connection);
        said.iter().any(|signal| matches!(signal, Signal::LameDuck))
    }

    /// The words of a notice, if there was one of this kind.
    pub(crate) fn notice(&mut self, connection: &Connection, kind: &str) -> Option<String> {
        self.said(connection)
            .iter()
            .find_map(|signal| match signal {
                Signal::Notice(Notice { what, text, .. }) if *what == kind => Some(text.clone()),
                _ => None,
            })
    }
}
