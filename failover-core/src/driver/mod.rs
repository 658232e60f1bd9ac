//! The one task that owns the machine: it takes what happened, lets the machine decide, and does what that says.
//!
//! It decides nothing itself. Operations of the application never come through here; they take leases from the slot.
//! The machine and the members' names are behind a mutex only so that `status()` can look at them: the driver holds it
//! while the machine decides, never across an await.

mod act;
mod answer;
mod directory;
mod discover;
mod finish;
mod guard;
mod listen;
mod message;
mod reload;
mod running;
mod sample;

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use backend_api::engine::{Heard, SignalSource, SlotOwner};
use backend_api::{Backend, Error, Generation, Leases, Member, Signal, Signals};
use futures_util::FutureExt as _;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

pub(crate) use directory::Directory;
pub(crate) use guard::{guard, guarded};
use message::Answered;
pub use message::Moved;
pub(crate) use message::{Call, Control};
use running::Errands;
use sample::Sampler;

use crate::config::{GroupConfig, Known, MemberConfig, Rules};
use crate::event::{Event, EventKind, Sink};
use crate::health::CheckPlan;
use crate::machine::{Input, Machine, MemberId, Request, RequestId, Time};

/// What the driver decides on, and `status()` looks at.
pub(crate) struct Core<B: Backend> {
    pub(crate) machine: Machine,
    pub(crate) directory: Directory<B>,
    /// As they are now: a new configuration may change them.
    pub(crate) rules: Arc<Rules>,
}

impl<B: Backend> Core<B> {
    /// Why a move to this member came to nothing. Of one that was taken out meanwhile, its connection says nothing.
    fn cause_of_abort(&self, to: MemberId) -> Option<Error> {
        let stays = self.machine.takes_part(to);
        self.directory.cause(to).filter(|_| stays)
    }
}

/// A shared core. A panic inside the machine would be a bug there; what it left behind can still be looked at.
pub(crate) fn lock<B: Backend>(core: &Mutex<Core<B>>) -> MutexGuard<'_, Core<B>> {
    core.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What a driver is made of.
pub(crate) struct Parts<B: Backend> {
    pub(crate) backend: Arc<B>,
    pub(crate) group: Arc<str>,
    pub(crate) core: Arc<Mutex<Core<B>>>,
    pub(crate) checks: Vec<Arc<dyn backend_api::HealthCheck<B>>>,
    pub(crate) known: Known,
    pub(crate) slot: SlotOwner<B::Connection>,
    pub(crate) calls: mpsc::UnboundedReceiver<Call<B>>,
    pub(crate) events: Arc<Sink>,
    pub(crate) callbacks: JoinSet<()>,
    pub(crate) started: oneshot::Sender<Result<(), Error>>,
}

/// One open connection.
struct Line<B: Backend> {
    member: MemberId,
    connection: B::Connection,
    /// The voice through which a failing operation makes the connection suspect.
    signals: Signals<B::Settings>,
    /// Operations that began while it was active, over all its turns.
    leases: Vec<Leases>,
    /// The members that it told of last; empty if it never did.
    told: Vec<Member<B::Settings>>,
}

/// A connection that is being dialled. It may speak before `connect` has returned it: of a lame duck, or of its end.
struct Voice<B: Backend> {
    signals: Signals<B::Settings>,
    early: Vec<Signal<B::Settings>>,
}

impl<B: Backend> Voice<B> {
    fn new(signals: Signals<B::Settings>) -> Self {
        Self {
            signals,
            early: Vec::new(),
        }
    }
}

/// See the [module](self).
pub(crate) struct Driver<B: Backend> {
    backend: Arc<B>,
    group: Arc<str>,
    core: Arc<Mutex<Core<B>>>,
    checks: Vec<Arc<dyn backend_api::HealthCheck<B>>>,
    known: Known,
    slot: SlotOwner<B::Connection>,
    calls: mpsc::UnboundedReceiver<Call<B>>,
    events: Arc<Sink>,
    callbacks: JoinSet<()>,
    started: Option<oneshot::Sender<Result<(), Error>>>,

    began: Instant,
    lines: HashMap<Generation, Line<B>>,
    /// Connections that are being dialled.
    voices: HashMap<Generation, Voice<B>>,
    /// The connection that carried traffic last, for the next promotion; it may be retired.
    last_active: Option<(Generation, B::Connection)>,
    sampler: Sampler<B::Connection>,
    tasks: JoinSet<()>,
    running: Errands,
    /// Never cancelled: what it retires must be gone.
    retiring: JoinSet<()>,
    answers: mpsc::UnboundedSender<Answered<B>>,
    inbox: mpsc::UnboundedReceiver<Answered<B>>,
    source: SignalSource<B::Settings>,
    heard: mpsc::UnboundedReceiver<Heard<B::Settings>>,
    callers: HashMap<RequestId, answer::Caller>,
    /// New configurations, each to be looked at when the one before it is applied.
    reloads: VecDeque<reload::Order<B>>,
    discovery: discover::Discovery,
    #[cfg(feature = "watch")]
    watching: JoinSet<()>,
    next_request: u64,
    abandoned: bool,
    /// Operations fail from here on, though connections are still being ended.
    closing: bool,
}

impl<B: Backend> Driver<B> {
    pub(crate) fn new(parts: Parts<B>) -> Self {
        let (answers, inbox) = mpsc::unbounded_channel();
        let (source, heard) = backend_api::engine::signal_channel();
        let sampler = Sampler::new(&lock(&parts.core).rules);
        parts.slot.set_overdue(sampler.overdue());
        Self {
            backend: parts.backend,
            group: parts.group,
            core: parts.core,
            checks: parts.checks,
            known: parts.known,
            slot: parts.slot,
            calls: parts.calls,
            events: parts.events,
            callbacks: parts.callbacks,
            started: Some(parts.started),
            began: Instant::now(),
            lines: HashMap::new(),
            voices: HashMap::new(),
            last_active: None,
            sampler,
            tasks: JoinSet::new(),
            running: Errands::default(),
            retiring: JoinSet::new(),
            answers,
            inbox,
            source,
            heard,
            callers: HashMap::new(),
            reloads: VecDeque::new(),
            discovery: discover::Discovery::default(),
            #[cfg(feature = "watch")]
            watching: JoinSet::new(),
            next_request: 0,
            abandoned: false,
            closing: false,
        }
    }

    /// Runs until the group is closed and nothing of it is left.
    pub(crate) async fn run(mut self) {
        let served = AssertUnwindSafe(self.serve()).catch_unwind().await;
        if served.is_err() {
            self.dismantle();
        }
        self.finish().await;
    }

    async fn serve(&mut self) {
        let mut batch = Vec::new();
        self.step(&mut batch);
        while !lock(&self.core).machine.is_closed() {
            let due = self.listen(&mut batch).await;
            // Most wake-ups are ticks in which nothing ended. The machine says when it wants to look again by itself.
            if due || !batch.is_empty() {
                self.step(&mut batch);
            }
            while let Some(order) = self.reloads.pop_front() {
                self.reload(order, &mut batch);
                self.step(&mut batch);
            }
            while self.discover(&mut batch) {
                self.step(&mut batch);
            }
        }
    }

    /// Lets the machine decide on a batch, and does what it says.
    fn step(&mut self, batch: &mut Vec<Input>) {
        let core = self.core.clone();
        let mut core = lock(&core);
        let now = self.now();
        let actions = core.machine.handle(now, batch.drain(..));
        for action in actions {
            self.act(&mut core, action);
        }
        if self.closing {
            self.slot.close();
        } else {
            self.explain_absence(&core);
        }
        drop(core);
        while self.tasks.try_join_next().is_some() {}
        while self.retiring.try_join_next().is_some() {}
    }

    fn now(&self) -> Time {
        Time::default() + self.began.elapsed()
    }

    fn instant(&self, time: Time) -> Instant {
        self.began + Duration::from_micros(time.0)
    }

    fn emit(&self, kind: EventKind) {
        let event = Event {
            group: self.group.clone(),
            at: self.began.elapsed(),
            kind,
        };
        log(&event);
        self.events.send(&event);
    }

    fn request(&mut self, request: Request, caller: answer::Caller) -> Input {
        self.next_request += 1;
        let id = RequestId(self.next_request);
        self.callers.insert(id, caller);
        Input::Request(id, request)
    }

    /// The checks of a member that is added, once it has passed what a configuration has to pass.
    fn plan(
        &self,
        rules: &Rules,
        config: &mut MemberConfig<B::Settings>,
    ) -> Result<CheckPlan<B>, Error> {
        let alone = GroupConfig {
            rules: rules.clone(),
            members: vec![MemberConfig {
                enabled: true,
                ..config.clone()
            }],
        };
        guarded("the backend", || {
            alone.check(&*self.backend, &self.known)?;
            let health = &mut config.rules.health;
            health.name_checks(&self.backend.default_checks());
            Ok(CheckPlan::new(health, &self.checks))
        })?
    }
}

fn log(event: &Event) {
    use EventKind as K;
    let group = &*event.group;
    match &event.kind {
        K::Degraded | K::AllMembersDown { .. } | K::Stalled | K::ReloadFailed { .. } => {
            tracing::warn!(group, "{event}");
        }
        K::Lost { member, .. }
        | K::DialFailed { member, .. }
        | K::BreakerChanged { member, .. }
        | K::LameDuck { member, .. }
        | K::ReplacementFailed { member, .. }
        | K::Notice { member, .. }
        | K::HealthChanged { member, .. } => {
            tracing::warn!(group, member = member.as_str(), "{event}");
        }
        K::Connected { member, .. }
        | K::StandbyArmed { member, .. }
        | K::DrainStarted { member, .. }
        | K::DrainEnded { member, .. } => {
            tracing::debug!(group, member = member.as_str(), "{event}");
        }
        K::Replaced { member }
        | K::MemberAdded { member, .. }
        | K::MemberRemoved { member, .. } => {
            tracing::info!(group, member = member.as_str(), "{event}");
        }
        K::Switched { to, .. } | K::SwitchAborted { to, .. } => {
            tracing::info!(group, member = to.as_str(), "{event}");
        }
        K::WholeAgain | K::Missed { .. } | K::ConfigReloaded { .. } | K::Closed => {
            tracing::info!(group, "{event}");
        }
    }
}
