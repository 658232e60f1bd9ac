//! The checks of one member and how they are run.

use std::sync::Arc;

use backend_api::{Backend, Error, ErrorKind, Health, HealthCheck, Member, Probe};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, sleep_until, timeout};

use super::policy::Poll;
use crate::config::{Combine, HealthRules};
use crate::machine::Verdict;

/// What one whole check of a member consists of.
pub(crate) struct CheckPlan<B: Backend> {
    checks: Vec<Arc<dyn HealthCheck<B>>>,
    rules: HealthRules,
}

impl<B: Backend> CheckPlan<B> {
    /// Finds the checks that the rules name among those that are known; the names were validated with the
    /// configuration.
    pub(crate) fn new(rules: &HealthRules, known: &[Arc<dyn HealthCheck<B>>]) -> Self {
        let names = rules.checks.as_deref().unwrap_or_default();
        let checks = names
            .iter()
            .filter_map(|name| known.iter().find(|check| check.name() == name))
            .cloned()
            .collect();
        Self {
            checks,
            rules: rules.clone(),
        }
    }

    /// Probes until the policy is sure. Bounded by [`HealthRules::bound`]; cancel-safe.
    pub(crate) async fn run(
        &self,
        backend: &B,
        member: &Member<B::Settings>,
        connection: &B::Connection,
    ) -> (Verdict, Option<Error>) {
        let probe = Probe::new(backend, member, connection, self.rules.timeout);
        let mut poll = Poll::new(self.rules.policy, self.rules.probes);
        let mut reason = None;
        for _ in 0..self.rules.probes {
            let began = Instant::now();
            let healthy = match self.probe(probe).await {
                Health::Healthy => true,
                Health::Unhealthy(error) => {
                    // A replica is a replica: no further probe changes that.
                    if error.kind() == ErrorKind::ReadOnly {
                        return (Verdict::Unhealthy { read_only: true }, Some(error));
                    }
                    reason = Some(error);
                    false
                }
                Health::Inconclusive => return (Verdict::Inconclusive, None),
            };
            match poll.count(healthy) {
                Some(true) => return (Verdict::Healthy, None),
                Some(false) => break,
                None if healthy => {}
                None => sleep_until(began + self.rules.probe_delay).await,
            }
        }
        (Verdict::Unhealthy { read_only: false }, reason)
    }

    /// All checks at once, under one timeout.
    async fn probe(&self, probe: Probe<'_, B>) -> Health {
        let mut running: FuturesUnordered<_> = self
            .checks
            .iter()
            .map(|check| async move {
                let found = timeout(probe.timeout, check.check(probe)).await;
                found.unwrap_or_else(|_elapsed| {
                    let text = format!("no answer within {:?}", probe.timeout);
                    let error = Error::new(ErrorKind::Timeout, text)
                        .with_member(&probe.member.name)
                        .with_operation(format!("check {}", check.name()));
                    Health::Unhealthy(error)
                })
            })
            .collect();
        let mut last = Health::Healthy;
        let mut uncertain = false;
        while let Some(found) = running.next().await {
            match (&found, self.rules.combine) {
                (Health::Inconclusive, _) => uncertain = true,
                (Health::Unhealthy(_), Combine::All) | (Health::Healthy, Combine::Any) => {
                    return found;
                }
                (Health::Healthy, Combine::All) | (Health::Unhealthy(_), Combine::Any) => {
                    last = found;
                }
            }
        }
        if uncertain {
            Health::Inconclusive
        } else {
            last
        }
    }
}
