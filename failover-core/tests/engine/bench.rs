//! The bench that the tests stand on: a world of servers, a group over them, and a log of everything it said.

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use failover_core::Failover;
use failover_core::api::{Error, Generation};
use failover_core::config::{GroupConfig, NewMember, Rules};
use failover_core::event::{Event, EventKind, Kind, Reason};
use failover_core::memory::{Memory, Server, Settings, World};
use failover_core::status::{Link, MemberStatus};

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Lets virtual time pass.
pub(crate) async fn after(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Lets everything happen that needs no time.
pub(crate) async fn settle() {
    after(ms(1)).await;
}

/// Asserts that a future is still waiting after some time, and gives it back.
pub(crate) async fn pends<F: Future>(future: F, time: Duration) -> std::pin::Pin<Box<F>>
where
    F::Output: std::fmt::Debug,
{
    let mut future = Box::pin(future);
    if let Ok(output) = tokio::time::timeout(time, &mut future).await {
        panic!("it did not wait: {output:?}");
    }
    future
}

type Builder = failover_core::Builder<Memory>;
type Log = Arc<Mutex<Vec<Event>>>;

/// A group that is about to be opened. Members are named like their servers, the first one being the heaviest.
pub(crate) struct Setup {
    pub(crate) world: World,
    pub(crate) memory: Memory,
    pub(crate) builder: Builder,
    members: Vec<NewMember<Settings>>,
    rules: Rules,
    log: Log,
}

impl Setup {
    pub(crate) fn new(names: &[&str]) -> Self {
        let world = World::new();
        let mut setup = Self::empty(&world);
        for (index, name) in names.iter().enumerate() {
            let weight = f64::from(u32::try_from(names.len() - index).unwrap());
            setup = setup.member(member(name).weight(weight));
        }
        setup
    }

    /// Without members yet, over servers that are there already.
    pub(crate) fn empty(world: &World) -> Self {
        let log = Log::default();
        let writer = log.clone();
        let builder = Failover::builder()
            .seed(0)
            .on_event(move |event| writer.lock().unwrap().push(event.clone()));
        Self {
            world: world.clone(),
            memory: world.backend(),
            builder,
            members: Vec::new(),
            rules: Rules::default(),
            log,
        }
    }

    pub(crate) fn server(&self, name: &str) -> Server {
        self.world.server(name)
    }

    pub(crate) fn member(mut self, member: NewMember<Settings>) -> Self {
        self.members.push(member);
        self
    }

    pub(crate) fn rules(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }

    pub(crate) fn build(mut self, change: impl FnOnce(Builder) -> Builder) -> Self {
        self.builder = change(self.builder);
        self
    }

    pub(crate) async fn try_open(self) -> Result<Group, Error> {
        let Self {
            world,
            memory,
            builder,
            members,
            rules,
            log,
        } = self;
        let config = GroupConfig::builder()
            .rules(|own| *own = rules)
            .members(members)
            .build()?;
        let failover = builder.open(memory.clone(), config).await?;
        Ok(Group {
            failover,
            world,
            memory,
            log,
        })
    }

    pub(crate) async fn open(self) -> Group {
        self.try_open().await.expect("the group opens")
    }

    /// Opens, and gives the standbys their moment.
    pub(crate) async fn open_whole(self) -> Group {
        let group = self.open().await;
        settle().await;
        assert!(!group.status().degraded, "{:?}", group.status());
        group
    }

    /// Opening fails; nothing is left.
    pub(crate) async fn fails(self) -> Error {
        let world = self.world.clone();
        let error = match self.try_open().await {
            Ok(group) => panic!("it opened: {:?}", group.status()),
            Err(error) => error,
        };
        nothing_is_left(&world).await;
        error
    }
}

/// A member on the server of its own name.
pub(crate) fn member(name: &str) -> NewMember<Settings> {
    NewMember::new(name, Settings::at(name))
}

/// A group that runs.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) failover: Failover<Memory>,
    pub(crate) world: World,
    pub(crate) memory: Memory,
    log: Log,
}

impl Deref for Group {
    type Target = Failover<Memory>;

    fn deref(&self) -> &Self::Target {
        &self.failover
    }
}

/// A move of traffic as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: Option<String>,
    pub(crate) to: String,
    pub(crate) reason: Reason,
    pub(crate) kind: Kind,
}

pub(crate) fn moved(from: &str, to: &str, reason: Reason, kind: Kind) -> Move {
    Move {
        from: Some(from.to_owned()),
        to: to.to_owned(),
        reason,
        kind,
    }
}

impl Group {
    pub(crate) fn server(&self, name: &str) -> Server {
        self.world.server(name)
    }

    pub(crate) fn active(&self) -> Option<String> {
        self.status().active.map(|name| name.to_string())
    }

    #[track_caller]
    pub(crate) fn assert_active(&self, name: &str) {
        assert_eq!(self.active().as_deref(), Some(name), "{:#?}", self.told());
    }

    #[track_caller]
    pub(crate) fn member(&self, name: &str) -> MemberStatus {
        let status = self.status();
        status.member(name).expect("there is such a member").clone()
    }

    #[track_caller]
    pub(crate) fn link(&self, name: &str) -> Link {
        self.member(name).link
    }

    #[track_caller]
    pub(crate) fn generation(&self, name: &str) -> Generation {
        self.member(name).generation.expect("it is connected")
    }

    pub(crate) fn standbys(&self) -> Vec<String> {
        self.status()
            .standbys()
            .map(|member| member.name.to_string())
            .collect()
    }

    /// Everything that was told so far.
    pub(crate) fn told(&self) -> Vec<EventKind> {
        let log = self.log.lock().unwrap();
        log.iter().map(|event| event.kind.clone()).collect()
    }

    /// How often something was told.
    pub(crate) fn count(&self, is: impl Fn(&EventKind) -> bool) -> usize {
        self.told().iter().filter(|kind| is(kind)).count()
    }

    /// Forgets what was told.
    pub(crate) fn hush(&self) {
        self.log.lock().unwrap().clear();
    }

    /// The moves of traffic that were told, the first active aside.
    pub(crate) fn moves(&self) -> Vec<Move> {
        let moves = self.told().into_iter().filter_map(|kind| match kind {
            EventKind::Switched {
                from,
                to,
                reason,
                kind,
                ..
            } if reason != Reason::Startup => Some(Move {
                from: from.map(|name| name.to_string()),
                to: to.to_string(),
                reason,
                kind,
            }),
            _ => None,
        });
        moves.collect()
    }

    /// What the last move took.
    pub(crate) fn took(&self) -> Duration {
        let took = |kind: &EventKind| match kind {
            EventKind::Switched { took, .. } => Some(*took),
            _ => None,
        };
        self.told().iter().rev().find_map(took).expect("a move")
    }

    /// Waits until a member is active, for so long at most; says how long that took.
    #[track_caller]
    pub(crate) fn until_active<'a>(
        &'a self,
        name: &'a str,
        most: Duration,
    ) -> impl Future<Output = Duration> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let began = tokio::time::Instant::now();
            let mut events = self.events();
            while self.active().as_deref() != Some(name) {
                let left = most.saturating_sub(began.elapsed());
                let next = tokio::time::timeout(left, events.next()).await;
                let told = || format!("{caller}: {name} is not active: {:#?}", self.told());
                assert!(matches!(next, Ok(Some(_))), "{}", told());
            }
            began.elapsed()
        }
    }

    /// Closes the group and asserts that nothing of it is left.
    pub(crate) async fn end(self) {
        self.failover.close().await;
        let Self {
            failover, world, ..
        } = self;
        nothing_is_left(&world).await;
        drop(failover);
    }
}

/// No task of anybody's runs, and every connection was retired, once.
pub(crate) async fn nothing_is_left(world: &World) {
    // Tasks that were told to end need a turn to do so; time need not pass for it.
    let mut tasks = usize::MAX;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
        tasks = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        if tasks == 0 {
            break;
        }
        // With several threads, another one may be about to let go of a task that is done.
        std::thread::yield_now();
    }
    assert_eq!(tasks, 0, "tasks are left");
    for server in world.servers() {
        assert_eq!(server.unretired(), 0, "connections are left: {server:?}");
        assert_eq!(server.retired_again(), 0, "retired twice: {server:?}");
    }
}
