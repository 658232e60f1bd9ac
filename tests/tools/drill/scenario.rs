//! What can happen to a group, and what a backend has to offer so that it can be drilled.
//!
//! This is the seam: another backend is one more [`Service`] with its [`Load`] and an arm in `main`; another scenario is one more
//! [`Scenario`], and a [`Fault`] where servers have to do something new. A scenario says nothing about how a server is
//! hurt, and a service nothing about when.

use std::future::Future;

use failover_core::api::{Backend, FromOptions};

use crate::load::Load;

/// The course of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    Kill,
    Freeze,
    Switch,
    Drain,
    Outage,
    LameDuck,
    /// The active is killed, comes back, and the traffic returns to it by itself.
    Failback,
    /// The active becomes a replica while it runs.
    Readonly,
    /// Who listens is what is looked at, through several moves.
    Pubsub,
}

impl Scenario {
    const ALL: [Self; 9] = [
        Self::Kill,
        Self::Freeze,
        Self::Switch,
        Self::Drain,
        Self::Outage,
        Self::LameDuck,
        Self::Failback,
        Self::Readonly,
        Self::Pubsub,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Freeze => "freeze",
            Self::Switch => "switch",
            Self::Drain => "drain",
            Self::Outage => "outage",
            Self::LameDuck => "lame-duck",
            Self::Failback => "failback",
            Self::Readonly => "readonly",
            Self::Pubsub => "pubsub",
        }
    }

    /// What a group is configured to do beside its service's settings, so that the drill ends while somebody is watching:
    /// by default a member is not chosen again within a minute of a failover away from it.
    pub(crate) fn rules(self) -> &'static str {
        match self {
            Self::Failback => {
                "\n[group.failback]\ngrace = \"2s\"\nstable = \"1s\"\njitter = \"0s\"\n"
            }
            _ => "",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("the scenarios are {names}")
        })
    }
}

/// What is done to a server, and undone later.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The process ends; healed, it is started again with the data it had.
    Kill,
    /// The process stands still; healed, it goes on.
    Freeze,
    /// The server refuses writes from now on and keeps what it has; healed, it takes them again.
    ReadOnly,
    /// The process tells its clients that it is about to shut down, and does so; healed, it is started again.
    LameDuck,
}

/// What one call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Reads: interrupted, it may run again elsewhere.
    Get,
    /// Counts up: interrupted, its fate may be unknown.
    Incr,
}

impl Op {
    pub(crate) fn parse(name: &str) -> Result<Self, &'static str> {
        match name {
            "get" => Ok(Self::Get),
            "incr" => Ok(Self::Incr),
            _ => Err("a call is get or incr"),
        }
    }
}

/// One kind of service with its servers, one for each member, numbered from zero in the declared order.
pub(crate) trait Service: Send + Sync + Sized + 'static {
    type Backend: Backend + FromOptions;
    /// The traffic that is put on a group.
    type Load: Load<Self>;

    /// As the command line and the report call it.
    const NAME: &'static str;

    /// The client library, as `--driver` and the report call it; for a backend with more than one.
    const DRIVER: Option<&'static str> = None;

    /// Whether its servers say so before they shut down.
    const ANNOUNCES: bool = false;

    /// Whether a server of it can become read-only.
    const REPLICATES: bool = false;

    /// Starts the servers. They end with the value.
    fn start() -> Result<Self, String>;

    /// The names of the members.
    fn members(&self) -> &[&'static str];

    /// The group's configuration. Not tuned: the defaults, and nothing besides.
    fn config(&self, tuned: bool) -> String;

    /// Blocks until the fault has happened; panics if it cannot be caused.
    fn inflict(&self, fault: Fault, member: usize);

    /// Blocks until the server answers again; panics if it does not.
    fn heal(&self, fault: Fault, member: usize);

    /// Blocks until the servers, all of which answer, are as they were after their start.
    fn settle(&self) {}

    /// How many connections of groups its servers have accepted since they were started, where that is known. Blocks.
    fn accepted(&self) -> Option<usize> {
        None
    }

    /// How many writes its servers have applied since they were first started, where that is known. Blocks.
    fn writes(&self) -> Option<usize> {
        None
    }
}

/// A service that is asked and answers.
pub(crate) trait Answers: Service {
    /// One call. It says which member answered: the servers hold data by which that can be told.
    fn call(
        client: <Self::Backend as Backend>::Client,
        op: Op,
    ) -> impl Future<Output = Result<usize, String>> + Send;
}
