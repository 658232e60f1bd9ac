//! What a target has to offer: servers, what can be done to them, a workload, and what the servers kept in the end. The seam
//! for further targets: one more file here, and one more arm in [`main`](crate).
//!
//! What must never come in: what is the same for all targets, such as the network's faults.

mod calls;
pub(crate) mod fred;
pub(crate) mod nats;
pub(crate) mod pair;
pub(crate) mod redis;
mod servers;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use failover_core::Failover;
use failover_core::api::{Backend, FromOptions};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::kinds::FaultKind;
use crate::log::{Clock, Log, Logs};
use crate::record::{Heard, Kind, Member, Micros, OperationId, Target as Name, Turn};

/// How a fault is to be done, beyond its kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Harm {
    pub(crate) kind: FaultKind,
    pub(crate) member: usize,
    /// From the plan: decides what the kind leaves open.
    pub(crate) twist: u64,
    pub(crate) lasts: Duration,
}

/// The workload, while it runs.
#[derive(Default)]
pub(crate) struct Load {
    pub(crate) workers: JoinSet<Log>,
    pub(crate) listeners: Vec<JoinHandle<Heard>>,
}

/// What workers and listeners share.
#[derive(Clone)]
pub(crate) struct Course {
    pub(crate) logs: Logs,
    pub(crate) clock: Clock,
    pub(crate) length: Duration,
    /// No new operation once it is true.
    pub(crate) over: watch::Receiver<bool>,
    /// What has not ended then never will.
    pub(crate) give_up: std::time::Instant,
}

/// How often each operation was applied, in the shape of the logs.
#[derive(Debug)]
pub(crate) struct Applied(Vec<Vec<u8>>);

impl Applied {
    pub(crate) fn new(logs: &Logs) -> Self {
        let of = |worker| vec![0; logs.count(worker) as usize];
        Self((0..logs.workers()).map(of).collect())
    }

    /// Operations that no log has are nobody's.
    pub(crate) fn add(&mut self, id: OperationId, times: u32) {
        let log = self.0.get_mut(usize::from(id.worker));
        if let Some(count) = log.and_then(|log| log.get_mut(id.number as usize)) {
            *count = count.saturating_add(times.min(255) as u8);
        }
    }

    pub(crate) fn take(self) -> Vec<Vec<u8>> {
        self.0
    }
}

/// See the [module](self). Members are numbered in the declared order.
pub(crate) trait Target: Send + Sync + Sized + 'static {
    type Backend: Backend + FromOptions;

    const NAME: Name;
    const MEMBERS: &'static [&'static str];
    /// How many logs its workload writes.
    const WORKERS: u16;

    /// Starts the servers, which end with the value. Blocks.
    fn start() -> Result<Self, String>;

    /// Where a member's server listens, on 127.0.0.1.
    fn port(&self, member: usize) -> u16;

    /// The group's configuration, with each member behind this port. Another number is another configuration of the same
    /// group; zero is the one that it opens with.
    fn config(&self, ports: &[u16], variant: u64) -> String;

    /// The workload's share of the servers: what must be there before the group is opened.
    fn prepare(&self) -> impl Future<Output = Result<(), String>> + Send {
        async { Ok(()) }
    }

    /// Does a fault to a server.
    fn begin(
        self: &Arc<Self>,
        harm: Harm,
        course: &Course,
    ) -> impl Future<Output = Result<(), String>> + Send;

    /// Ends a fault. The server answers when this returns.
    fn heal(
        self: &Arc<Self>,
        harm: Harm,
        course: &Course,
    ) -> impl Future<Output = Result<(), String>> + Send;

    /// What an operator does once the server can be reached again.
    fn afterwards(
        self: &Arc<Self>,
        _harm: Harm,
        _course: &Course,
    ) -> impl Future<Output = Result<(), String>> + Send {
        async { Ok(()) }
    }

    /// Starts the workload.
    fn load(
        self: &Arc<Self>,
        group: &Failover<Self::Backend>,
        course: &Course,
    ) -> impl Future<Output = Result<Load, String>> + Send;

    /// What the servers kept, once all faults are over and nothing is written any more.
    fn kept(
        self: &Arc<Self>,
        course: &Course,
    ) -> impl Future<Output = Result<Applied, String>> + Send;

    /// Times in which a member could not serve although no fault was done to it: as a replica, say.
    fn unfit(&self, _length: Micros) -> Vec<(Member, Range<Micros>)> {
        Vec::new()
    }

    /// How the histories of the servers' data went.
    fn turns(&self) -> Vec<Turn> {
        Vec::new()
    }

    /// Kinds whose calls may take another time than the patience of a run.
    fn patience() -> BTreeMap<Kind, Micros> {
        BTreeMap::new()
    }
}

/// The servers' calls block, and panic where something cannot be done.
pub(crate) async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(act).await;
    done.map_err(|error| match error.try_into_panic() {
        Ok(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            text.unwrap_or_else(|| "the servers cannot be handled".to_owned())
        }
        Err(error) => error.to_string(),
    })
}
