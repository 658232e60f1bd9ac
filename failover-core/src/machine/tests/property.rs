//! Long random histories of groups of all sizes and rules, with jitter: the invariants at each step, and recovery at the
//! end. A history is a list of numbers, each resolved against what can happen at that moment, so that shrinking one
//! leaves a history.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Capabilities, Pool, Rotating, Weighted};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::config::{
    Failback, LameDuckAction, Rules, Standby, Startup, StartupPolicy, StartupTally, StartupVerdict,
};
use crate::machine::search::{Alphabet, Call, Event, Servers, World, nightly, weight};
use crate::machine::{MemberId, NewMember};

/// Numbers that say which of its few values each setting has; see [`Group::rules`].
#[derive(Clone, Debug)]
struct Group {
    weights: Vec<u8>,
    standby: Option<u32>,
    redial: u8,
    action: u8,
    failback: bool,
    grace: u8,
    stable: u8,
    checked: bool,
    startup: u8,
    rotating: bool,
    patient: bool,
    serves_again: bool,
    promotes_ahead: bool,
    late: bool,
    servers: u8,
    /// Zero: no jitter, and some rules are exact.
    seed: u64,
}

fn group() -> impl Strategy<Value = Group> {
    let rules = (
        proptest::option::of(0_u32..4),
        0_u8..3,
        0_u8..4,
        any::<bool>(),
        0_u8..3,
        0_u8..3,
        any::<bool>(),
        any::<bool>(),
    );
    let rest = (
        0_u8..5,
        any::<bool>(),
        any::<bool>(),
        prop_oneof![Just(0), any::<u64>()],
        0_u8..6,
        any::<bool>(),
        any::<bool>(),
    );
    (vec(1_u8..4, 1..=6), rules, rest).prop_map(|(weights, rules, rest)| Group {
        weights,
        standby: rules.0,
        redial: rules.1,
        action: rules.2,
        failback: rules.3,
        grace: rules.4,
        stable: rules.5,
        checked: rules.6,
        patient: rules.7,
        startup: rest.0,
        rotating: rest.1,
        serves_again: rest.2,
        seed: rest.3,
        servers: rest.4,
        promotes_ahead: rest.5,
        late: rest.6,
    })
}

/// As many as a user may want, but for one.
struct AllButOne;

impl StartupPolicy for AllButOne {
    fn decide(&self, tally: StartupTally) -> StartupVerdict {
        if tally.available + 1 >= tally.total {
            StartupVerdict::Ready
        } else if tally.failed > 1 {
            StartupVerdict::Fail
        } else {
            StartupVerdict::Wait
        }
    }
}

impl Group {
    fn rules(&self) -> Rules {
        let millis =
            |values: [u64; 3], which: u8| Duration::from_millis(values[usize::from(which)]);
        let mut rules = Rules {
            startup: match self.startup {
                0 => Startup::One,
                1 => Startup::Majority,
                2 => Startup::All,
                3 => Startup::Custom(Arc::new(AllButOne)),
                _ => Startup::Lazy,
            },
            standby: self.standby.map_or(Standby::All, Standby::Count),
            pool: if self.rotating {
                Arc::new(Rotating) as Arc<dyn Pool>
            } else {
                Arc::new(Weighted)
            },
            failback: Failback {
                enabled: self.failback,
                grace: millis([0, 5_000, 30_000], self.grace),
                stable: millis([0, 1_500, 10_000], self.stable),
                ..Failback::default()
            },
            loss_redial: millis([0, 50, 1_000], self.redial),
            ..Rules::default()
        };
        rules.lame_duck.action = match self.action {
            0 => LameDuckAction::None,
            1 => LameDuckAction::SwitchToPassive,
            2 => LameDuckAction::DrainToPassive,
            _ => LameDuckAction::PassiveOnly,
        };
        if !self.checked {
            rules.member.health.checks = Some(Vec::new());
        }
        if self.patient {
            rules.member.reconnect.max = Duration::from_secs(1);
            rules.member.breaker.min_failures = 20;
            rules.member.health.interval = Duration::from_secs(5);
        }
        rules
    }

    fn world(&self) -> World {
        let rules = Arc::new(self.rules());
        let member = Arc::new(rules.member.clone());
        let members = self
            .weights
            .iter()
            .zip(0..)
            .map(|(value, id)| NewMember {
                id: MemberId(id),
                weight: weight(f64::from(*value)),
                enabled: true,
                rules: member.clone(),
            })
            .collect();
        let mut capabilities = Capabilities::new();
        if self.serves_again {
            capabilities = capabilities.serving_again_after_drain();
        }
        if self.promotes_ahead {
            capabilities = capabilities.promoting_ahead();
        }
        let servers = match self.servers {
            0..3 => Servers::Unknown,
            3 => Servers::Fixed(1),
            4 => Servers::Fixed(2),
            _ => Servers::Shifting(2),
        };
        World::new(rules, capabilities, members, self.seed)
            .on(servers)
            .with_late_answers(self.late)
            .begun()
    }
}

/// Most of what happens is good, or nothing would ever get far enough to go wrong in an interesting way. Now and then two
/// things come in one batch.
fn choose(world: &World, alphabet: &Alphabet, draw: u16) -> Vec<Event> {
    let mut events = world.enabled(alphabet);
    let good = |event: &Event| {
        matches!(
            event,
            Event::Well(_) | Event::Burst | Event::Wait | Event::Rest
        )
    };
    match draw % 8 {
        0..5 => events.retain(good),
        5 | 6 => events.retain(|event| !matches!(event, Event::Call(_))),
        _ => events.retain(|event| !matches!(event, Event::Call(Call::Close)) || draw > 60_000),
    }
    let pick = |draw: u16| events.get(usize::from(draw) % events.len().max(1)).copied();
    let first = pick(draw / 8);
    let second = pick((draw / 8).wrapping_mul(31)).filter(|_| draw.is_multiple_of(11));
    first.into_iter().chain(second).collect()
}

/// Lets a history happen, then nothing but good. `tell` hears each step.
fn live(group: &Group, draws: &[u16], mut tell: impl FnMut(String)) -> Result<(), String> {
    let mut world = group.world();
    let size = u32::try_from(group.weights.len()).unwrap_or(0);
    let calls = [
        Call::all(size + 2),
        Call::reload(size + 2),
        Call::told(size + 2),
    ]
    .concat();
    let alphabet = Alphabet::all(calls);
    for draw in draws {
        let events = choose(&world, &alphabet, *draw);
        if !events.is_empty() {
            let happened = world.happen_at_once(&events);
            let actions = happened.map_err(|broken| format!("{broken}, by {events:?}"))?;
            tell(format!(
                "{events:?}\n   => {actions:?}\n   {}",
                world.portrait()
            ));
        }
    }
    world.recovers()
}

fn check(group: &Group, draws: &[u16]) -> Result<(), TestCaseError> {
    live(group, draws, drop).map_err(|broken| {
        let mut history = Vec::new();
        let _ = live(group, draws, |step| history.push(step));
        let last = history.split_off(history.len().saturating_sub(12));
        TestCaseError::fail(format!("{broken}\n{}", last.join("\n")))
    })
}

proptest! {
    // Every run of the day searches the same histories, so that a failure is of the change; the night draws new ones,
    // more and longer, and records what it finds.
    #![proptest_config(ProptestConfig {
        cases: if nightly() { 60_000 } else { 4_000 },
        rng_seed: if nightly() { RngSeed::Random } else { RngSeed::Fixed(7) },
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_histories_keep_the_invariants_and_recover(
        group in group(),
        draws in vec(any::<u16>(), 0..if nightly() { 1_500 } else { 400 }),
    ) {
        check(&group, &draws)?;
    }
}
