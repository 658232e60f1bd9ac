//! What can happen to a group, and what a backend has to offer so that it can be drilled.
//!
//! This is the seam: another backend is one more [`Service`] and its arm in `main`; another scenario is one more
//! [`Scenario`], and a [`Fault`] where servers have to do something new. A scenario says nothing about how a server is
//! hurt, and a service nothing about when.

use std::future::Future;

use failover_core::api::{Backend, FromOptions};

/// The course of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scenario {
    Kill,
    Freeze,
    Switch,
    Drain,
    Outage,
}

impl Scenario {
    const ALL: [Self; 5] = [
        Self::Kill,
        Self::Freeze,
        Self::Switch,
        Self::Drain,
        Self::Outage,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Freeze => "freeze",
            Self::Switch => "switch",
            Self::Drain => "drain",
            Self::Outage => "outage",
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

    /// As the command line and the report call it.
    const NAME: &'static str;

    /// The client library, as `--driver` and the report call it.
    const DRIVER: &'static str;

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

    /// One call. It says which member answered: the servers hold data by which that can be told.
    fn call(
        client: <Self::Backend as Backend>::Client,
        op: Op,
    ) -> impl Future<Output = Result<usize, String>> + Send;
}
