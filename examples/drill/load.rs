//! The load: a call at every tick, whether the previous one has ended or not.
//!
//! A loop that waits for its answer would stop calling exactly when it matters, and count one late call where a service
//! with many users has thousands (what is known as coordinated omission).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use failover_core::api::Backend;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::MissedTickBehavior;

use crate::scenario::{Op, Service};

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) ended: Instant,
    /// The member that answered, or what went wrong.
    pub(crate) answer: Result<usize, String>,
}

/// Calls that go on until [`stop`](Self::stop).
pub(crate) struct Load {
    calls: Arc<Mutex<Vec<Call>>>,
    stop: oneshot::Sender<()>,
    ticks: JoinHandle<()>,
}

impl Load {
    pub(crate) fn start<S: Service>(
        client: <S::Backend as Backend>::Client,
        op: Op,
        every: Duration,
    ) -> Self {
        let calls = Arc::default();
        let (stop, stopped) = oneshot::channel();
        let ticks = tokio::spawn(tick::<S>(client, op, every, Arc::clone(&calls), stopped));
        Self { calls, stop, ticks }
    }

    /// Whether any call up to now is one of these.
    pub(crate) fn any(&self, which: impl Fn(&Call) -> bool) -> bool {
        // From the end: it is the recent ones that are asked for.
        lock(&self.calls).iter().rev().any(which)
    }

    /// No further call; all calls, once the last has ended.
    pub(crate) async fn stop(self) -> Result<Vec<Call>, String> {
        drop(self.stop);
        let ended = self.ticks.await;
        ended.map_err(|error| format!("the load broke down: {error}"))?;
        Ok(std::mem::take(&mut *lock(&self.calls)))
    }
}

async fn tick<S: Service>(
    client: <S::Backend as Backend>::Client,
    op: Op,
    every: Duration,
    calls: Arc<Mutex<Vec<Call>>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut ticks = tokio::time::interval(every);
    // A stalled process does not make up for the calls that it missed: that burst would be no load but a fault.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            _ = ticks.tick() => {}
        }
        let (client, calls) = (client.clone(), calls.clone());
        under_way.spawn(async move {
            let answer = S::call(client, op).await;
            let ended = Instant::now();
            lock(&calls).push(Call { ended, answer });
        });
        while under_way.try_join_next().is_some() {}
    }
    while under_way.join_next().await.is_some() {}
}

fn lock(calls: &Mutex<Vec<Call>>) -> MutexGuard<'_, Vec<Call>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}
