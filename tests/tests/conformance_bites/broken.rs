//! A wrapper around the embedded backend with one flaw. Without one it changes nothing.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use backend_api::engine::{Heard, signal_channel};
use failover_core::api::{
    Backend, Capabilities, Dial, Error, ErrorKind, Health, HealthCheck, Leases, Member, MemberName,
    Ping, Probe, Signal, Signals, Slot, async_trait,
};
use failover_core::memory::{Client, Connection, Memory, Settings};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::flaw::Flaw;

/// The embedded backend's settings, with an equality that may be too generous.
#[derive(Clone, serde::Deserialize)]
pub(crate) struct Place {
    pub(crate) settings: Settings,
    pub(crate) all_equal: bool,
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.all_equal || self.settings == other.settings
    }
}

#[derive(Clone)]
pub(crate) struct Broken {
    pub(crate) memory: Memory,
    pub(crate) flaw: Flaw,
    voices: Arc<Mutex<HashMap<MemberName, Signals<Place>>>>,
    connections: Arc<Mutex<HashMap<MemberName, Connection>>>,
    asked: Arc<AtomicU32>,
}

impl Broken {
    pub(crate) fn new(memory: Memory, flaw: Flaw) -> Self {
        Self {
            memory,
            flaw,
            voices: Arc::default(),
            connections: Arc::default(),
            asked: Arc::default(),
        }
    }

    fn voice(&self, signals: Signals<Place>) -> Signals<Place> {
        if self.flaw != Flaw::FirstVoice {
            return signals;
        }
        let mut voices = self.voices.lock().unwrap();
        voices
            .entry(signals.member().clone())
            .or_insert(signals)
            .clone()
    }

    /// Dials the embedded backend, and repeats what the connection says as the flaw has it.
    async fn open(&self, dial: &Dial<'_, Place>) -> Result<Connection, Error> {
        if self.flaw == Flaw::Hermit {
            return Err(Error::new(ErrorKind::Refused, "it connects nobody"));
        }
        let member = Member::new(
            dial.member.name.clone(),
            dial.member.settings.settings.clone(),
        );
        let (source, heard) = signal_channel();
        let timeout = match self.flaw {
            Flaw::PatientConnect => Duration::from_secs(3600),
            _ => dial.timeout,
        };
        let inner = || {
            Dial::new(
                &member,
                dial.generation,
                source.signals(member.name.clone(), dial.generation),
            )
            .with_timeout(timeout)
            .with_operation(dial.operation)
        };
        let connection = match self.memory.connect(inner()).await {
            Err(_) if self.flaw == Flaw::StubbornConnect => {
                sleep(dial.timeout / 2).await;
                self.memory.connect(inner()).await?
            }
            Err(error) if self.flaw == Flaw::MisnamedRefusal => {
                return Err(Error::new(ErrorKind::Lost, error.message()));
            }
            opened => opened?,
        };
        let repeat = Repeat {
            memory: self.memory.clone(),
            flaw: self.flaw,
            member: member.clone(),
            operation: dial.operation,
            voice: self.voice(dial.signals.clone()),
        };
        if self.flaw == Flaw::LostWhenIdle {
            let voice = repeat.voice.clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(150)).await;
                voice.lost(Error::new(ErrorKind::Lost, "it was idle"));
            });
        }
        tokio::spawn(repeat.all(heard));
        if self.flaw == Flaw::Phantom {
            let second = self.memory.connect(inner()).await?;
            tokio::spawn(async move {
                pending::<()>().await;
                drop(second);
            });
        }
        Ok(connection)
    }
}

/// What repeats the signals of one connection.
struct Repeat {
    memory: Memory,
    flaw: Flaw,
    member: Member<Settings>,
    operation: Duration,
    voice: Signals<Place>,
}

impl Repeat {
    async fn all(self, mut heard: mpsc::UnboundedReceiver<Heard<Settings>>) {
        while let Some(heard) = heard.recv().await {
            match heard.take().2 {
                Signal::Lost(reason) => self.lost(reason).await,
                Signal::LameDuck if self.flaw != Flaw::DeafToLameDucks => self.voice.lame_duck(),
                Signal::Suspect => self.voice.suspect(),
                Signal::Condemned(reason) => self.voice.condemned(reason),
                _ => {}
            }
        }
    }

    async fn lost(&self, reason: Error) {
        match self.flaw {
            Flaw::NeverLost => return,
            Flaw::LateLost => sleep(Duration::from_secs(1)).await,
            Flaw::Reconnects => return self.reconnect().await,
            _ => {}
        }
        self.voice.lost(reason);
    }

    async fn reconnect(&self) {
        let lost = Error::new(ErrorKind::Lost, "it is being connected again");
        self.voice.lost(lost);
        let (source, _heard) = signal_channel();
        loop {
            let dial = Dial::new(
                &self.member,
                self.voice.generation(),
                source.signals(self.member.name.clone(), self.voice.generation()),
            )
            .with_timeout(Duration::from_secs(1))
            .with_operation(self.operation);
            if self.memory.connect(dial).await.is_ok() {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Ends a connection if it is dropped.
struct Fragile(Option<(Memory, Connection)>);

impl Drop for Fragile {
    fn drop(&mut self) {
        if let Some((memory, connection)) = self.0.take() {
            tokio::spawn(async move { memory.retire(connection).await });
        }
    }
}

struct Blind;

#[async_trait]
impl HealthCheck<Broken> for Blind {
    fn name(&self) -> &str {
        "blind"
    }

    async fn check(&self, _: Probe<'_, Broken>) -> Health {
        Health::Healthy
    }
}

#[async_trait]
impl Backend for Broken {
    type Settings = Place;
    type Connection = Connection;
    type Client = Client;

    fn client(&self, slot: Slot<Connection>) -> Client {
        self.memory.client(slot)
    }

    async fn connect(&self, dial: Dial<'_, Place>) -> Result<Connection, Error> {
        if self.flaw == Flaw::OneConnection {
            let known = self
                .connections
                .lock()
                .unwrap()
                .get(&dial.member.name)
                .cloned();
            if let Some(known) = known.filter(Connection::is_open) {
                return Ok(known);
            }
            let opened = self.open(&dial).await?;
            let name = dial.member.name.clone();
            self.connections
                .lock()
                .unwrap()
                .insert(name, opened.clone());
            return Ok(opened);
        }
        if self.flaw == Flaw::LingeringConnect {
            let (member, backend) = (dial.member.clone(), self.clone());
            let Dial {
                generation,
                timeout,
                operation,
                signals,
                ..
            } = dial;
            let task = tokio::spawn(async move {
                let dial = Dial::new(&member, generation, signals)
                    .with_timeout(Duration::from_secs(3600))
                    .with_operation(operation);
                backend.open(&dial).await
            });
            let late = |_| Error::new(ErrorKind::Timeout, "it still tries");
            return tokio::time::timeout(timeout, task)
                .await
                .map_err(late)?
                .unwrap();
        }
        self.open(&dial).await
    }

    async fn prove(&self, connection: &Connection) -> Result<(), Error> {
        match self.flaw {
            Flaw::HollowProof => Ok(()),
            Flaw::FragileProof => {
                let mut fragile = Fragile(Some((self.memory.clone(), connection.clone())));
                let answer = self.memory.prove(connection).await;
                fragile.0 = None;
                answer
            }
            _ => self.memory.prove(connection).await,
        }
    }

    async fn arm(&self, connection: &Connection) -> Result<(), Error> {
        match self.flaw {
            Flaw::EndlessArming => pending().await,
            _ => self.memory.arm(connection).await,
        }
    }

    async fn promote(&self, to: &Connection, from: Option<&Connection>) -> Result<(), Error> {
        match (self.flaw, from) {
            (Flaw::RefusedPromotion, _) => {
                return Err(Error::new(ErrorKind::Other, "not today"));
            }
            (Flaw::ClingingPromotion, Some(from)) => self.memory.prove(from).await?,
            (Flaw::BlindPromotion, _) => return Ok(()),
            (Flaw::PanickingPromotion, _) => assert!(to.is_open(), "the connection is open"),
            _ => {}
        }
        let answer = self.memory.promote(to, from).await;
        if let (Flaw::VengefulPromotion, Err(_), Some(from)) = (self.flaw, &answer, from) {
            self.memory.retire(from.clone()).await;
        }
        answer
    }

    async fn drain(&self, connection: &Connection, leases: Leases) {
        match self.flaw {
            Flaw::HastyDrain => {}
            Flaw::EndlessDrain => pending().await,
            Flaw::FinalDrain => {
                self.memory.drain(connection, leases).await;
                self.memory.retire(connection.clone()).await;
            }
            _ => self.memory.drain(connection, leases).await,
        }
    }

    async fn retire(&self, connection: Connection) {
        match self.flaw {
            Flaw::EmptyRetire => return,
            Flaw::PoliteRetire => {
                let _ = self.memory.prove(&connection).await;
            }
            _ => {}
        }
        self.memory.retire(connection).await;
    }

    fn identity(&self, connection: &Connection) -> Option<String> {
        let identity = self.memory.identity(connection)?;
        Some(match self.flaw {
            Flaw::RestlessIdentity => {
                let asked = self.asked.fetch_add(1, Ordering::Relaxed);
                format!("{identity} {asked}")
            }
            Flaw::FreshIdentity => format!("{connection:?}"),
            Flaw::CommonIdentity => "the cluster".to_owned(),
            _ => identity,
        })
    }

    fn capabilities(&self) -> Capabilities {
        self.memory.capabilities()
    }

    fn checks(&self) -> Vec<Arc<dyn HealthCheck<Self>>> {
        vec![Arc::new(Ping), Arc::new(Blind)]
    }

    fn default_checks(&self) -> Vec<String> {
        let name = match self.flaw {
            Flaw::UnknownCheck => "pong",
            Flaw::BlindCheck => "blind",
            _ => "ping",
        };
        vec![name.to_owned()]
    }

    fn validate(&self, settings: &Place) -> Result<(), Error> {
        match self.flaw {
            Flaw::PickyValidation => Err(Error::new(ErrorKind::Config, "not like this")),
            _ => self.memory.validate(&settings.settings),
        }
    }
}
