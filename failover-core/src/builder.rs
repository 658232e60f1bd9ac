//! Putting a group together and opening it.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use backend_api::engine::SlotOwner;
use backend_api::{Backend, Error, ErrorKind, FromOptions, HealthCheck, Pool};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::config::{self, GroupConfig, Known, Source};
use crate::driver::{Core, Directory, Driver, Parts, guard};
use crate::event::{Event, Events, Sink};
use crate::group::{Failover, Inner};
use crate::health::CheckPlan;
use crate::machine::Machine;
use crate::reload::Origin;

/// What a verdict on a failing connection takes beside its proof: the way there and back, and where it is found unfit, the
/// proof of the standby that replaces it.
const VERDICT_MARGIN: Duration = Duration::from_millis(100);

/// Answers when startup is complete, or has failed.
type Starting = oneshot::Receiver<Result<(), Error>>;

type Callback = Box<dyn Fn(&Event) + Send + Sync>;

/// Collects what a group is made of beside its configuration, and opens it. Everything is checked before anything is
/// connected.
pub struct Builder<B: Backend> {
    checks: Vec<Arc<dyn HealthCheck<B>>>,
    known: Known,
    callbacks: Vec<Callback>,
    seed: Option<u64>,
    #[cfg(feature = "watch")]
    watch: bool,
}

impl<B: Backend> Builder<B> {
    pub(crate) fn new() -> Self {
        Self {
            checks: Vec::new(),
            known: Known::new(),
            callbacks: Vec::new(),
            seed: None,
            #[cfg(feature = "watch")]
            watch: false,
        }
    }

    /// A health check of your own, to be named in `check = [".."]` beside the backend's.
    #[must_use]
    pub fn check(mut self, check: impl HealthCheck<B>) -> Self {
        self.known = self.known.check(check.name());
        self.checks.push(Arc::new(check));
        self
    }

    /// A pool of your own, to be named in `pool = ".."`.
    #[must_use]
    pub fn pool(mut self, pool: impl Pool) -> Self {
        self.known = self.known.pool(Arc::new(pool));
        self
    }

    /// Called for every event, in a task of its own, one event after another. It may call control operations (spawn what
    /// awaits); a panic in it is reported and harms nothing. A callback that holds a handle of the group keeps it open.
    #[must_use]
    pub fn on_event(mut self, callback: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.callbacks.push(Box::new(callback));
        self
    }

    /// The seed of all jitter; zero means none. Default: random. For tests.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Whether a group that is opened from a file watches it: see [`Failover::watch`]. Default: no.
    #[cfg(feature = "watch")]
    #[must_use]
    pub fn watch(mut self, watch: bool) -> Self {
        self.watch = watch;
        self
    }

    /// Opens the group: all members are connected and checked in parallel, and this returns when the startup policy is
    /// met and the heaviest available member is active (`lazy`: at once). Dropped before, it leaves nothing open.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if something does not fit together; nothing was connected then. [`ErrorKind::Startup`] with
    /// every member's reason if the policy cannot be met; everything is closed then.
    pub async fn open(
        self,
        backend: B,
        config: GroupConfig<B::Settings>,
    ) -> Result<Failover<B>, Error> {
        let origin = Origin::new(self.known.clone());
        self.open_as(backend, config, origin).await
    }

    async fn open_as(
        self,
        backend: B,
        config: GroupConfig<B::Settings>,
        origin: Origin,
    ) -> Result<Failover<B>, Error> {
        let (failover, started) = self.start(Arc::new(backend), config, origin)?;
        match started.await {
            Ok(Ok(())) => Ok(failover),
            Ok(Err(error)) => {
                failover.close().await;
                Err(error)
            }
            Err(_) => Err(Error::new(
                ErrorKind::Closed,
                "the engine ended before startup was complete",
            )),
        }
    }

    /// [`open`](Self::open) with the configuration in a TOML text; the backend is made from its `[backend]` table.
    ///
    /// # Errors
    /// As for [`open`](Self::open); errors in the text name line and column.
    pub async fn open_toml(self, text: &str) -> Result<Failover<B>, Error>
    where
        B: FromOptions,
    {
        let source = Source::new("configuration", text);
        let loaded = config::read::<B>(source, &config::environment, &self.known)?;
        let mut origin = Origin::new(self.known.clone());
        origin.text(loaded.options);
        self.open_as(loaded.backend, loaded.group, origin).await
    }

    /// [`open`](Self::open) with the configuration in a TOML file. Relative secret files are looked for beside it.
    ///
    /// # Errors
    /// As for [`open`](Self::open); errors in the file name file, line and column.
    pub async fn open_file(self, path: impl AsRef<Path>) -> Result<Failover<B>, Error>
    where
        B: FromOptions,
    {
        let path = path.as_ref();
        let loaded = config::read_file::<B>(path, &self.known)?;
        let mut origin = Origin::new(self.known.clone());
        origin.text(loaded.options);
        origin.file(path, loaded.footprint);
        #[cfg(feature = "watch")]
        let watch = self.watch;
        let failover = self.open_as(loaded.backend, loaded.group, origin).await?;
        #[cfg(feature = "watch")]
        if watch {
            failover.watch()?;
        }
        Ok(failover)
    }

    fn start(
        self,
        backend: Arc<B>,
        mut config: GroupConfig<B::Settings>,
        origin: Origin,
    ) -> Result<(Failover<B>, Starting), Error> {
        config.check(&*backend, &self.known)?;
        let mut checks = backend.checks();
        checks.extend(self.checks);
        let defaults = backend.default_checks();
        config.rules.member.health.name_checks(&defaults);
        for member in &mut config.members {
            member.rules.health.name_checks(&defaults);
        }
        let group: Arc<str> = config.rules.name.as_str().into();
        guard(&mut config.rules);
        let rules = Arc::new(config.rules);

        let mut directory = Directory::new();
        let mut members = Vec::new();
        let mut proof = rules.member.timeouts.prove;
        for member in config.members {
            proof = proof.max(member.rules.timeouts.prove);
            let plan = CheckPlan::new(&member.rules.health, &checks);
            members.push(directory.insert(member, plan)?);
        }
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(1..));
        let machine = Machine::new(rules.clone(), backend.capabilities(), members, seed);
        let reason = Error::new(
            ErrorKind::NoActive,
            format!("group {group} has no active member yet"),
        );
        let (owner, slot) = SlotOwner::new(rules.unavailable_wait, reason);
        owner.set_verdict_within(proof.saturating_add(VERDICT_MARGIN));
        let core = Arc::new(Mutex::new(Core {
            machine,
            directory,
            rules,
        }));
        let (calls, called) = mpsc::unbounded_channel();
        let events = Arc::<Sink>::default();
        let (started, starting) = oneshot::channel();
        let mut callbacks = JoinSet::new();
        for callback in self.callbacks {
            let events = Events::new(group.clone(), Some(&events));
            call_back(&mut callbacks, events, callback);
        }
        let failover = Failover::new(Inner {
            group: group.clone(),
            backend: backend.clone(),
            client: backend.client(slot.clone()),
            slot,
            core: core.clone(),
            origin: Arc::new(origin),
            calls,
            events: Arc::downgrade(&events),
        });
        let driver = Driver::new(Parts {
            backend,
            group,
            core,
            checks,
            known: self.known,
            slot: owner,
            calls: called,
            events,
            callbacks,
            started,
        });
        tokio::spawn(driver.run());
        Ok((failover, starting))
    }
}

impl<B: Backend> std::fmt::Debug for Builder<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("known", &self.known)
            .finish_non_exhaustive()
    }
}

/// Runs a callback for every event, for as long as the group lives.
fn call_back(callbacks: &mut JoinSet<()>, mut events: Events, callback: Callback) {
    callbacks.spawn(async move {
        while let Some(event) = events.next().await {
            let call = std::panic::AssertUnwindSafe(|| callback(&event));
            if std::panic::catch_unwind(call).is_err() {
                tracing::error!(group = &*event.group, "a callback panicked on: {event}");
            }
        }
    });
}
