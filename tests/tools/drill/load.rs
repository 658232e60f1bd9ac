//! The traffic on a group while it is hurt, and what is kept of it: the second seam, beside [`Service`].
//!
//! Some clients ask and are answered ([`calls`](crate::calls)), others listen ([`nats`](crate::nats)). The course of a
//! round is the same for both; what a gap is, and what is counted, each says for itself. No server is handled here.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use failover_core::Failover;
use serde::Serialize;

use crate::args::Args;
use crate::rounds::Round;
use crate::scenario::{Scenario, Service};

/// Traffic that goes on until it is stopped.
pub(crate) trait Load<S: Service>: Send + Sync + Sized {
    type Record: Record;

    /// Begins. When it returns the group is served.
    fn start(
        service: &Arc<S>,
        group: &Failover<S::Backend>,
        args: &Args,
    ) -> impl Future<Output = Result<Self, String>> + Send;

    /// Whether the group was served after `since`, by another member than `but` where that can be told from what came.
    fn served(&self, since: Instant, but: Option<usize>) -> bool;

    /// Ends it, and waits for what is still under way.
    fn stop(self) -> impl Future<Output = Result<Self::Record, String>> + Send;
}

/// The moments of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moments {
    /// Just before the fault, or the order to move.
    pub(crate) fault: Instant,
    /// From here on a standby can be armed: just before servers are started again, or the order to move.
    pub(crate) restored: Instant,
    /// The group said that its traffic had moved.
    pub(crate) moved: Instant,
    /// The group had its active and all standbys again.
    pub(crate) whole: Instant,
    /// The member that was active before.
    pub(crate) old: usize,
}

/// What was recorded in one round.
pub(crate) trait Record: Sized {
    /// All rounds together, as the report has it.
    type Sum: Serialize;

    /// For how long the group was not served; `None` if it never was again.
    fn gap(&self, scenario: Scenario, moments: &Moments) -> Option<Duration>;

    /// The longest pause within the time from `from` to `to`.
    fn calm(&self, from: Instant, to: Instant) -> Option<Duration>;

    fn sum(rounds: &[Round<Self>]) -> Self::Sum;

    /// The sum for people: what each line is about, and what it says.
    fn lines(sum: &Self::Sum) -> Vec<(&'static str, String)>;

    /// What the load was, in half a sentence.
    fn load(args: &Args) -> String;

    /// What the gap is, in half a sentence.
    fn about_gap(scenario: Scenario) -> &'static str;

    /// Details on stderr, for `--trace`.
    fn trace(&self, _moments: &Moments) {}
}
