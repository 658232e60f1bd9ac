//! An engine's place without an engine: the contract is tried from exactly where the engine stands.
//!
//! It dials, hears, fills the slot and retires as an engine would, one step at a time and only when told to. What must
//! never come in: a decision, or a second try that could hide a first failure.

use backend_api::engine::{Heard, SignalSource, SlotOwner, signal_channel};
use failover_core::api::{
    Backend, Dial, Error, ErrorKind, Generation, Leases, Member, MemberName, Signal, Slot,
};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::suite::{Check, Must, failed, within};
use super::{Bounds, Harness};

type SettingsOf<H> = <<H as Harness>::Backend as Backend>::Settings;
type ConnectionOf<H> = <<H as Harness>::Backend as Backend>::Connection;

/// A connection with the numbers under which it was dialled.
pub(super) struct Link<C> {
    pub(super) member: MemberName,
    pub(super) generation: Generation,
    pub(super) connection: C,
}

impl<C: Clone> Clone for Link<C> {
    fn clone(&self) -> Self {
        Self {
            member: self.member.clone(),
            generation: self.generation,
            connection: self.connection.clone(),
        }
    }
}

/// One thing heard, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) what: &'static str,
    pub(super) member: MemberName,
    pub(super) generation: Generation,
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} {}", self.what, self.member, self.generation)
    }
}

pub(super) struct Stage<'h, H: Harness> {
    pub(super) harness: &'h H,
    pub(super) bounds: Bounds,
    pub(super) backend: H::Backend,
    pub(super) slot: Slot<ConnectionOf<H>>,
    client: <H::Backend as Backend>::Client,
    owner: SlotOwner<ConnectionOf<H>>,
    source: SignalSource<SettingsOf<H>>,
    heard: mpsc::UnboundedReceiver<Heard<SettingsOf<H>>>,
    dialled: u64,
}

/// How long a client waits for another active after its own ended. There never is another one here.
const WAIT: Duration = Duration::from_millis(50);

impl<'h, H: Harness> Stage<'h, H> {
    pub(super) fn new(harness: &'h H) -> Self {
        let backend = harness.backend();
        let (source, heard) = signal_channel();
        let nobody = Error::new(ErrorKind::NoActive, "the suite has no active now");
        let (owner, slot) = SlotOwner::new(WAIT, nobody);
        Self {
            harness,
            bounds: harness.bounds(),
            client: backend.client(slot.clone()),
            backend,
            slot,
            owner,
            source,
            heard,
            dialled: 0,
        }
    }

    /// One dial, with whatever time the backend takes for it.
    pub(super) async fn dial(
        &mut self,
        name: &str,
        member: &H::Member,
    ) -> Result<Link<ConnectionOf<H>>, Error> {
        self.dialled += 1;
        let generation = Generation(self.dialled);
        let member = Member::new(name, self.harness.settings(member));
        let dial = Dial::new(
            &member,
            generation,
            self.source.signals(member.name.clone(), generation),
        )
        .with_timeout(self.bounds.connect)
        .with_operation(self.bounds.operation);
        let connection = self.backend.connect(dial).await?;
        Ok(Link {
            member: member.name,
            generation,
            connection,
        })
    }

    /// A connection to a member that is well: anything but success is a failure of the behaviour.
    pub(super) async fn connect(
        &mut self,
        name: &str,
        member: &H::Member,
    ) -> Check<Link<ConnectionOf<H>>> {
        let bound = self.bounds.connect + self.bounds.slack;
        let dial = self.dial(name, member);
        let link = within(bound, "connecting to a member that is well", dial)
            .await?
            .must("connecting to a member that is well")?;
        self.prove(&link)
            .await
            .must("the proof of a new connection")?;
        Ok(link)
    }

    /// A proof, dropped at its deadline as the engine drops it.
    pub(super) async fn prove(&self, link: &Link<ConnectionOf<H>>) -> Result<(), Error> {
        let bound = self.bounds.prove;
        let proof = self.backend.prove(&link.connection);
        match tokio::time::timeout(bound, proof).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(Error::new(
                ErrorKind::Timeout,
                format!("no answer within {bound:?}"),
            )),
        }
    }

    /// Makes a connection the active one; the leases are those of the one before.
    pub(super) fn activate(&mut self, link: &Link<ConnectionOf<H>>) -> Option<Leases> {
        let (_tally, leases) =
            self.owner
                .activate(&link.member, link.generation, &link.connection, || {});
        leases
    }

    /// One operation on the active connection, which must end, one way or the other.
    pub(super) async fn operate(&self) -> Check<Result<(), Error>> {
        let bound = self.bounds.operation * 2 + self.bounds.notice + WAIT;
        within(bound, "an operation", self.harness.operate(&self.client)).await
    }

    /// Ends a connection, which must not take long.
    pub(super) async fn retire(&self, link: Link<ConnectionOf<H>>) -> Check {
        let bound = self.bounds.retire + self.bounds.slack;
        within(bound, "retiring", self.backend.retire(link.connection)).await
    }

    /// Everything that is said in the next `time`.
    pub(super) async fn listen(&mut self, time: Duration) -> Vec<Said> {
        let until = Instant::now() + time;
        let mut all = Vec::new();
        while let Ok(Some(heard)) = timeout_at(until, self.heard.recv()).await {
            all.push(said(heard));
        }
        all
    }

    /// Waits until `link` says `what`, within the time that it has for that. Returns what else was said before.
    pub(super) async fn hear(
        &mut self,
        what: &'static str,
        link: &Link<ConnectionOf<H>>,
    ) -> Check<Vec<Said>> {
        let bound = self.bounds.lost + self.bounds.slack;
        let until = Instant::now() + bound;
        let mut others = Vec::new();
        loop {
            let Ok(Some(heard)) = timeout_at(until, self.heard.recv()).await else {
                let instead = match others.is_empty() {
                    true => "nothing".to_owned(),
                    false => list(&others),
                };
                return Err(failed(format_args!(
                    "within {bound:?} there was {instead}, and no {what} of {} {}",
                    link.member, link.generation
                )));
            };
            let said = said(heard);
            let wanted = said.what == what
                && said.member == link.member
                && said.generation == link.generation;
            if wanted {
                return Ok(others);
            }
            others.push(said);
        }
    }
}

fn said<S>(heard: Heard<S>) -> Said {
    let (member, generation, signal) = heard.take();
    let what = match signal {
        Signal::Lost(_) => LOST,
        Signal::Suspect => "suspect",
        Signal::Condemned(_) => "condemned",
        Signal::LameDuck => LAME_DUCK,
        Signal::Discovered(_) => DISCOVERED,
        Signal::Notice(_) => "notice",
        _ => "something new",
    };
    Said {
        what,
        member,
        generation,
    }
}

pub(super) const LOST: &str = "lost";
pub(super) const LAME_DUCK: &str = "lame duck";
pub(super) const DISCOVERED: &str = "discovered";

pub(super) fn list(all: &[Said]) -> String {
    let all: Vec<String> = all.iter().map(Said::to_string).collect();
    all.join(", ")
}
