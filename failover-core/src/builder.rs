//! Putting a group together and opening it.

use std::sync::{Arc, Mutex};

use backend_api::engine::SlotOwner;
use backend_api::{Backend, Error, ErrorKind, HealthCheck};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::config::{GroupConfig, MemberConfig, Rules};
use crate::driver::{Core, Directory, Driver, Parts};
use crate::event::Event;
use crate::group::Failover;
use crate::health::CheckPlan;
use crate::machine::{Machine, NewMember};

/// How many events a slow reader may be behind before it misses some.
const EVENT_MEMORY: usize = 1024;

type Callback = Box<dyn Fn(&Event) + Send + Sync>;

/// Collects what a group is made of. [`Builder::open`] checks all of it before anything is connected.
pub struct Builder<B: Backend> {
    rules: Rules,
    members: Vec<MemberConfig<B::Settings>>,
    checks: Vec<Arc<dyn HealthCheck<B>>>,
    callbacks: Vec<Callback>,
    seed: Option<u64>,
}

impl<B: Backend> Builder<B> {
    pub(crate) fn new() -> Self {
        Self {
            rules: Rules::default(),
            members: Vec::new(),
            checks: Vec::new(),
            callbacks: Vec::new(),
            seed: None,
        }
    }

    /// The rules of the group, with their defaults where nothing is said.
    #[must_use]
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules = rules;
        self
    }

    /// Rules and members at once, as a configuration has them.
    #[must_use]
    pub fn config(mut self, config: GroupConfig<B::Settings>) -> Self {
        self.rules = config.rules;
        self.members = config.members;
        self
    }

    /// One more member, with what it overrides.
    #[must_use]
    pub fn member(mut self, member: MemberConfig<B::Settings>) -> Self {
        self.members.push(member);
        self
    }

    /// A health check of your own, to be named in `check = [".."]` beside the backend's.
    #[must_use]
    pub fn check(mut self, check: impl HealthCheck<B>) -> Self {
        self.checks.push(Arc::new(check));
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

    /// Opens the group: all members are connected and checked in parallel, and this returns when the startup policy is
    /// met and the heaviest available member is active (`lazy`: at once). Dropped before, it leaves nothing open.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] if something does not fit together; nothing was connected then. [`ErrorKind::Startup`] with
    /// every member's reason if the policy cannot be met; everything is closed then.
    pub async fn open(self, backend: B) -> Result<Failover<B>, Error> {
        let (failover, started) = self.start(Arc::new(backend))?;
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

    fn start(
        self,
        backend: Arc<B>,
    ) -> Result<(Failover<B>, oneshot::Receiver<Result<(), Error>>), Error> {
        let mut checks = backend.checks();
        checks.extend(self.checks);
        let mut config = GroupConfig {
            rules: self.rules,
            members: self.members,
        };
        config.complete(&*backend, &checks)?;
        let group: Arc<str> = config.rules.name.as_str().into();
        let rules = Arc::new(config.rules);

        let mut directory = Directory::new();
        let mut members = Vec::new();
        for member in config.members {
            let weight = member.member.weight;
            let plan = CheckPlan::new(&member.rules.health, &checks);
            members.push(NewMember {
                id: directory.insert(member.member, plan, member.rules.timeouts.operation)?,
                weight,
                enabled: member.enabled,
                rules: Arc::new(member.rules),
            });
        }
        let seed = self.seed.unwrap_or_else(|| fastrand::u64(1..));
        let machine = Machine::new(rules.clone(), backend.capabilities(), members, seed);
        let reason = Error::new(
            ErrorKind::NoActive,
            format!("group {group} has no active member yet"),
        );
        let (owner, slot) = SlotOwner::new(rules.unavailable_wait, reason);
        let core = Arc::new(Mutex::new(Core { machine, directory }));
        let (calls, called) = mpsc::unbounded_channel();
        let (events, _) = broadcast::channel(EVENT_MEMORY);
        let (started, starting) = oneshot::channel();
        for callback in self.callbacks {
            call_back(&events, callback);
        }
        let failover = Failover::new(
            group.clone(),
            backend.client(slot.clone()),
            slot,
            core.clone(),
            calls,
            events.downgrade(),
        );
        let driver = Driver::new(Parts {
            backend,
            rules,
            group,
            core,
            checks,
            slot: owner,
            calls: called,
            events,
            started,
        });
        tokio::spawn(driver.run());
        Ok((failover, starting))
    }
}

impl<B: Backend> std::fmt::Debug for Builder<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("rules", &self.rules)
            .field("members", &self.members.len())
            .finish_non_exhaustive()
    }
}

/// Runs a callback for every event, for as long as the group lives.
fn call_back(events: &broadcast::Sender<Event>, callback: Callback) {
    let mut events = events.subscribe();
    tokio::spawn(async move {
        loop {
            let event = match events.recv().await {
                Ok(event) => event,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return,
            };
            let call = std::panic::AssertUnwindSafe(|| callback(&event));
            if std::panic::catch_unwind(call).is_err() {
                tracing::error!(group = &*event.group, "a callback panicked on: {event}");
            }
        }
    });
}
