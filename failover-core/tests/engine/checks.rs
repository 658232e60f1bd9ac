//! Checks as a group runs them: when, how many, and what their verdicts change.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use failover_core::api::{Error, ErrorKind, Health, HealthCheck, MemberName, Probe, async_trait};
use failover_core::config::Combine;
use failover_core::event::EventKind;
use failover_core::memory::{Memory, Method};
use tokio::time::Instant;

use crate::bench::{Group, Setup, after, ms, secs, settle};

type Answer = dyn Fn(usize, &MemberName) -> (Duration, Health) + Send + Sync;

/// A check of the test's own: it notes when it is asked, and answers by number.
struct Own {
    name: &'static str,
    asked: Arc<Mutex<Vec<(Instant, MemberName)>>>,
    answer: Box<Answer>,
}

impl Own {
    fn new(
        name: &'static str,
        answer: impl Fn(usize, &MemberName) -> (Duration, Health) + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            asked: Arc::default(),
            answer: Box::new(answer),
        }
    }
}

#[async_trait]
impl HealthCheck<Memory> for Own {
    fn name(&self) -> &str {
        self.name
    }

    async fn check(&self, probe: Probe<'_, Memory>) -> Health {
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push((Instant::now(), probe.member.name.clone()));
            asked.len() - 1
        };
        let (takes, health) = (self.answer)(number, &probe.member.name);
        after(takes).await;
        health
    }
}

fn sick() -> Health {
    Health::Unhealthy(Error::new(ErrorKind::Unhealthy, "my own reason"))
}

fn verdicts(group: &Group) -> Vec<(String, bool)> {
    let changes = group.told().into_iter().filter_map(|kind| match kind {
        EventKind::HealthChanged {
            member, healthy, ..
        } => Some((member.to_string(), healthy)),
        _ => None,
    });
    changes.collect()
}

/// Checks by these names, one probe each.
fn checked_by(names: &[&str], checks: &[&str], combine: Combine) -> Setup {
    let checks = checks.iter().map(|&name| name.to_owned()).collect();
    Setup::new(names).rules(move |rules| {
        let health = &mut rules.member.health;
        health.checks = Some(checks);
        health.combine = combine;
        health.probes = 1;
    })
}

#[tokio::test(start_paused = true)]
async fn zero_probes_are_refused() {
    // P133
    let setup = Setup::new(&["a"]).rules(|rules| rules.member.health.probes = 0);
    let error = setup.fails().await;
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.to_string().contains("probes"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_check_is_refused_with_the_nearest_name() {
    let setup = checked_by(&["a"], &["statsu"], Combine::All);
    let error = setup.fails().await;
    assert_eq!(error.kind(), ErrorKind::Config);
    let text = error.to_string();
    assert!(
        text.contains("statsu") && text.contains("`status`"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn checks_are_combined_and_ones_own_are_among_them() {
    // All of them, or any one of them.
    for (combine, active) in [(Combine::All, "b"), (Combine::Any, "a")] {
        let own = Own::new("mine", |_, member| {
            let health = if *member == "a" {
                sick()
            } else {
                Health::Healthy
            };
            (ms(0), health)
        });
        let group = checked_by(&["a", "b"], &["status", "mine"], combine)
            .build(|builder| builder.check(own))
            .open()
            .await;
        group.assert_active(active);
        if combine == Combine::All {
            let reason = group.member("a").last_error.unwrap();
            assert_eq!(reason, "my own reason");
        }
        group.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_check_that_errors_or_panics_is_a_failure_and_comes_again() {
    // P135
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("a").set_panic(Method::Check, true);
    after(secs(2)).await;
    group.assert_active("b");
    assert_eq!(group.member("a").healthy, Some(false));
    let reason = group.member("a").last_error.unwrap();
    assert!(reason.contains("panicked"), "{reason}");
    let before = group.server("a").checks();
    after(secs(5)).await;
    assert_eq!(group.server("a").checks(), before + 5);
    group.server("a").set_panic(Method::Check, false);
    after(secs(2)).await;
    assert_eq!(group.member("a").healthy, Some(true));
    // P140
    assert_eq!(
        verdicts(&group),
        [("a".to_owned(), false), ("a".to_owned(), true)]
    );
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_of_an_older_connection_does_not_overwrite_a_newer_one() {
    // P136: the first answer is bad news, and comes long after its connection was replaced.
    let own = Own::new("mine", |number, _| match number {
        0 => (ms(0), Health::Healthy),
        1 => (ms(300), sick()),
        _ => (ms(0), Health::Healthy),
    });
    let group = checked_by(&["a"], &["mine"], Combine::All)
        .build(|builder| builder.check(own))
        .open_whole()
        .await;
    after(ms(1100)).await;
    group.server("a").reset_connections();
    after(secs(3)).await;
    assert_eq!(group.member("a").healthy, Some(true));
    assert_eq!(verdicts(&group), []);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn inconclusive_changes_nothing() {
    // P137: neither a healthy member nor an unhealthy one.
    let group = Setup::new(&["a", "b"]).open_whole().await;
    group.server("b").set_unhealthy(Some("disk full"));
    after(secs(2)).await;
    group.server("b").set_unhealthy(None);
    for name in ["a", "b"] {
        group.server(name).set_inconclusive(true);
    }
    after(secs(30)).await;
    assert_eq!(group.member("a").healthy, Some(true));
    assert_eq!(group.member("b").healthy, Some(false));
    group.assert_active("a");
    assert_eq!(verdicts(&group), [("b".to_owned(), false)]);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_start_with_nothing_but_inconclusive_checks_is_bounded() {
    // P137
    let setup = Setup::new(&["a", "b"]);
    for name in ["a", "b"] {
        setup.server(name).set_inconclusive(true);
    }
    let began = Instant::now();
    let group = setup.open().await;
    assert!(began.elapsed() <= secs(6), "{:?}", began.elapsed());
    group.assert_active("a");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn checks_keep_their_interval() {
    let own = Own::new("mine", |_, _| (ms(200), Health::Healthy));
    let asked = own.asked.clone();
    let began = Instant::now();
    let group = checked_by(&["a"], &["mine"], Combine::All)
        .build(|builder| builder.check(own))
        .open_whole()
        .await;
    after(secs(10)).await;
    let times: Vec<Duration> = asked
        .lock()
        .unwrap()
        .iter()
        .map(|(at, _)| *at - began)
        .collect();
    // From start to start, however long they take.
    let expected: Vec<Duration> = (0..=10).map(secs).collect();
    assert_eq!(times, expected);
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn checks_are_spread_by_jitter() {
    // P139
    let own = Own::new("mine", |_, _| (ms(0), Health::Healthy));
    let asked = own.asked.clone();
    let names: Vec<String> = (0..20).map(|index| format!("m{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let began = Instant::now();
    let group = checked_by(&names, &["mine"], Combine::All)
        .build(|builder| builder.check(own).seed(7))
        .open_whole()
        .await;
    after(secs(60)).await;
    let asked = asked.lock().unwrap().clone();
    for name in &names {
        let times: Vec<Duration> = asked
            .iter()
            .filter(|(_, member)| member == name)
            .map(|(at, _)| *at - began)
            .collect();
        assert!((54..=68).contains(&times.len()), "{}", times.len());
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        for gap in gaps {
            assert!((ms(900)..=ms(1102)).contains(&gap), "{gap:?}");
        }
    }
    // They began together. In the last ten seconds they have drifted apart.
    let late = asked.iter().filter(|(at, _)| *at - began > secs(50));
    let mut bins = [0; 10];
    for (at, _) in late {
        let millis = (*at - began).as_millis() % 1000;
        bins[usize::try_from(millis / 100).unwrap()] += 1;
    }
    let all: usize = bins.iter().sum();
    assert!(bins.iter().all(|count| *count * 3 < all), "{bins:?}");
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn only_changes_are_events() {
    // P140
    let group = Setup::new(&["a", "b"]).open_whole().await;
    for _ in 0..3 {
        group.server("b").set_unhealthy(Some("first"));
        after(secs(10)).await;
        group.server("b").set_unhealthy(Some("another reason"));
        after(secs(10)).await;
        group.server("b").set_unhealthy(None);
        after(secs(10)).await;
    }
    let changes = verdicts(&group);
    assert_eq!(changes.len(), 6);
    for (index, (member, healthy)) in changes.iter().enumerate() {
        assert_eq!((member.as_str(), *healthy), ("b", index % 2 == 1));
    }
    group.end().await;
}

#[tokio::test(start_paused = true)]
async fn one_condemned_member_makes_all_be_checked_now() {
    let group = Setup::new(&["a", "b", "c"])
        .rules(|rules| rules.member.health.interval = secs(3600))
        .open_whole()
        .await;
    after(secs(1)).await;
    let before = group.server("c").checks();
    group.server("a").set_read_only(true);
    group.client().set("k", "v").await.unwrap();
    settle().await;
    assert!(group.server("c").checks() > before);
    group.end().await;
}
