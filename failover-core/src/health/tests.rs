//! Probes and their combination, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use backend_api::engine::signal_channel;
use backend_api::{
    Backend, Dial, Error, ErrorKind, Generation, Health, HealthCheck, Member, Probe, async_trait,
};
use tokio::time::{Instant, sleep};

use super::CheckPlan;
use crate::config::{Combine, HealthRules, ProbePolicy};
use crate::machine::Verdict;
use crate::memory::{Connection, Memory, Settings, World};

const SICK: Verdict = Verdict::Unhealthy { read_only: false };

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What a probe says, and how long it takes to.
#[derive(Clone, Copy)]
enum Say {
    Well(u64),
    Sick(u64),
    Replica,
    Unsure,
}

/// Says one thing after another, the last one for ever.
struct Script {
    name: &'static str,
    lines: Vec<Say>,
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl HealthCheck<Memory> for Script {
    fn name(&self) -> &str {
        self.name
    }

    async fn check(&self, _: Probe<'_, Memory>) -> Health {
        let index = self.asked.fetch_add(1, Ordering::Relaxed);
        let say = self.lines[index.min(self.lines.len() - 1)];
        let sick = |kind| Health::Unhealthy(Error::new(kind, format!("{} said so", self.name)));
        match say {
            Say::Well(takes) => {
                sleep(ms(takes)).await;
                Health::Healthy
            }
            Say::Sick(takes) => {
                sleep(ms(takes)).await;
                sick(ErrorKind::Unhealthy)
            }
            Say::Replica => sick(ErrorKind::ReadOnly),
            Say::Unsure => Health::Inconclusive,
        }
    }
}

struct Report {
    verdict: Verdict,
    error: Option<Error>,
    /// How often each check was asked.
    asked: Vec<usize>,
    took: Duration,
}

async fn run(rules: HealthRules, scripts: &[(&'static str, &[Say])]) -> Report {
    let asked: Vec<Arc<AtomicUsize>> = scripts.iter().map(|_| Arc::default()).collect();
    let known: Vec<Arc<dyn HealthCheck<Memory>>> = scripts
        .iter()
        .zip(&asked)
        .map(|(&(name, lines), asked)| {
            let script = Script {
                name,
                lines: lines.to_vec(),
                asked: asked.clone(),
            };
            Arc::new(script) as Arc<dyn HealthCheck<Memory>>
        })
        .collect();
    let names = scripts.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rules = HealthRules {
        checks: Some(names),
        ..rules
    };
    let plan = CheckPlan::new(&rules, &known);
    let backend = World::new().backend();
    let member = Member::new("a", Settings::at("a"));
    let connection = connect(&backend, &member).await;
    let began = Instant::now();
    let (verdict, error) = plan.run(&backend, &member, &connection).await;
    Report {
        verdict,
        error,
        asked: asked.iter().map(|it| it.load(Ordering::Relaxed)).collect(),
        took: began.elapsed(),
    }
}

async fn connect(backend: &Memory, member: &Member<Settings>) -> Connection {
    let (source, _heard) = signal_channel();
    let dial = Dial {
        member,
        generation: Generation(1),
        timeout: ms(100),
        operation: ms(100),
        signals: source.signals(member.name.clone(), Generation(1)),
    };
    backend.connect(dial).await.expect("a fresh server")
}

fn rules(policy: ProbePolicy, probes: u32) -> HealthRules {
    HealthRules {
        policy,
        probes,
        timeout: ms(500),
        probe_delay: ms(100),
        ..HealthRules::default()
    }
}

#[tokio::test(start_paused = true)]
async fn no_probe_is_made_that_cannot_change_the_verdict() {
    use ProbePolicy::{All, Any, Majority};
    let (well, sick) = (Say::Well(0), Say::Sick(0));
    for (policy, lines, verdict, probes) in [
        // P130
        (Any, &[well, sick, sick][..], Verdict::Healthy, 1),
        (Any, &[sick, well, sick], Verdict::Healthy, 2),
        (Any, &[sick, sick, sick], SICK, 3),
        // P131
        (All, &[sick, well, well], SICK, 1),
        (All, &[well, sick, well], SICK, 2),
        (All, &[well, well, well], Verdict::Healthy, 3),
        // P132
        (Majority, &[well, well, sick], Verdict::Healthy, 2),
        (Majority, &[sick, sick, well], SICK, 2),
        (Majority, &[sick, well, well], Verdict::Healthy, 3),
        (Majority, &[well, sick, sick], SICK, 3),
    ] {
        let report = run(rules(policy, 3), &[("it", lines)]).await;
        assert_eq!((report.verdict, report.asked[0]), (verdict, probes));
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_success_the_next_probe_starts_at_once() {
    let report = run(
        rules(ProbePolicy::All, 3),
        &[("it", &[Say::Well(7), Say::Well(7), Say::Well(7)])],
    )
    .await;
    assert_eq!(report.took, ms(21));
}

#[tokio::test(start_paused = true)]
async fn after_a_failure_it_starts_the_delay_after_the_last_began() {
    // Not after it ended: 30 of the 100 ms have passed by then.
    let lines = [Say::Sick(30), Say::Sick(30), Say::Well(5)];
    let report = run(rules(ProbePolicy::Any, 3), &[("it", &lines)]).await;
    assert_eq!(report.took, ms(205));
    // One that took longer than the delay is followed at once.
    let lines = [Say::Sick(150), Say::Well(5)];
    let report = run(rules(ProbePolicy::Any, 3), &[("it", &lines)]).await;
    assert_eq!(report.took, ms(155));
}

#[tokio::test(start_paused = true)]
async fn the_last_failure_waits_for_nothing() {
    let report = run(rules(ProbePolicy::Any, 1), &[("it", &[Say::Sick(30)])]).await;
    assert_eq!(report.took, ms(30));
    assert_eq!(report.error.unwrap().message(), "it said so");
}

#[tokio::test(start_paused = true)]
async fn every_probe_has_the_timeout_to_itself() {
    let lines = [Say::Well(900), Say::Well(900)];
    let report = run(rules(ProbePolicy::Majority, 3), &[("it", &lines)]).await;
    assert_eq!((report.verdict, report.took), (SICK, ms(1000)));
    let error = report.error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(error.to_string(), "a: check it: no answer within 500ms");

    let lines = [Say::Well(400), Say::Well(400)];
    let report = run(rules(ProbePolicy::Majority, 3), &[("it", &lines)]).await;
    assert_eq!((report.verdict, report.took), (Verdict::Healthy, ms(800)));
}

#[tokio::test(start_paused = true)]
async fn the_whole_stays_within_its_bound() {
    for policy in [ProbePolicy::All, ProbePolicy::Majority, ProbePolicy::Any] {
        for probes in 1..=5 {
            for line in [Say::Well(10_000), Say::Sick(499), Say::Sick(1)] {
                let rules = rules(policy, probes);
                let bound = rules.bound();
                let report = run(rules, &[("it", &[line])]).await;
                assert!(report.took <= bound, "{:?} > {bound:?}", report.took);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_inconclusive_probe_ends_the_check_without_a_verdict() {
    // P137
    let lines = [Say::Sick(0), Say::Unsure, Say::Sick(0)];
    let report = run(rules(ProbePolicy::Any, 3), &[("it", &lines)]).await;
    assert_eq!(report.verdict, Verdict::Inconclusive);
    assert_eq!(report.asked, [2]);
    assert!(report.error.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_replica_is_a_replica_at_the_first_probe() {
    let lines = [Say::Replica, Say::Well(0), Say::Well(0)];
    let report = run(rules(ProbePolicy::Any, 3), &[("it", &lines)]).await;
    assert_eq!(report.verdict, Verdict::Unhealthy { read_only: true });
    assert_eq!(report.asked, [1]);
}

#[tokio::test(start_paused = true)]
async fn checks_run_side_by_side_and_are_combined() {
    use Combine::{All, Any};
    let (well, sick, unsure) = (Say::Well(5), Say::Sick(5), Say::Unsure);
    for (combine, one, two, verdict) in [
        (All, well, well, Verdict::Healthy),
        (All, well, sick, SICK),
        (All, well, unsure, Verdict::Inconclusive),
        (All, unsure, sick, SICK),
        (Any, well, sick, Verdict::Healthy),
        (Any, sick, sick, SICK),
        (Any, unsure, well, Verdict::Healthy),
        (Any, unsure, sick, Verdict::Inconclusive),
    ] {
        let rules = HealthRules {
            combine,
            ..rules(ProbePolicy::All, 1)
        };
        let report = run(rules, &[("one", &[one]), ("two", &[two])]).await;
        assert_eq!(report.verdict, verdict);
        assert!(report.took <= ms(5), "{:?}", report.took);
    }
}

#[tokio::test(start_paused = true)]
async fn what_decides_early_waits_for_no_other_check() {
    let rules = HealthRules {
        combine: Combine::All,
        ..rules(ProbePolicy::All, 1)
    };
    let report = run(
        rules,
        &[("slow", &[Say::Well(400)]), ("quick", &[Say::Sick(3)])],
    )
    .await;
    assert_eq!((report.verdict, report.took), (SICK, ms(3)));
    assert_eq!(report.error.unwrap().message(), "quick said so");
}

#[tokio::test(start_paused = true)]
async fn without_checks_a_member_is_healthy() {
    // P22
    let report = run(rules(ProbePolicy::Majority, 3), &[]).await;
    assert_eq!((report.verdict, report.took), (Verdict::Healthy, ms(0)));
}
