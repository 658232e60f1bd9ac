//! Long random histories of groups of all sizes and rules, with jitter: the invariants at each step, and recovery at the
//! end. A history is a list of numbers, each resolved against what can happen at that moment, so that shrinking one
//! leaves a history.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Capabilities, Pool, Rotating, Weighted};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::config::{Failback, LameDuckAction, Rules, Standby, Startup};
use crate::machine::search::{Alphabet, Call, Event, Servers, World, nightly, weight};
use crate::machine::{MemberId, NewMember};

#[derive(Clone, Debug)]
struct Group {
    weights: Vec<u8>,
    standby: Option<u32>,
    redial: bool,
    action: u8,
    failback: bool,
    grace: u8,
    checked: bool,
    startup: u8,
    rotating: bool,
    serves_again: bool,
    promotes_ahead: bool,
    servers: u8,
    seed: u64,
}

fn group() -> impl Strategy<Value = Group> {
    let rules = (
        proptest::option::of(0_u32..4),
        any::<bool>(),
        0_u8..4,
        any::<bool>(),
        0_u8..3,
        any::<bool>(),
    );
    let rest = (
        0_u8..4,
        any::<bool>(),
        any::<bool>(),
        any::<u64>(),
        0_u8..6,
        any::<bool>(),
    );
    (vec(1_u8..4, 1..=6), rules, rest).prop_map(|(weights, rules, rest)| Group {
        weights,
        standby: rules.0,
        redial: rules.1,
        action: rules.2,
        failback: rules.3,
        grace: rules.4,
        checked: rules.5,
        startup: rest.0,
        rotating: rest.1,
        serves_again: rest.2,
        servers: rest.4,
        promotes_ahead: rest.5,
        seed: rest.3,
    })
}

impl Group {
    fn rules(&self) -> Rules {
        let mut rules = Rules {
            startup: match self.startup {
                0 => Startup::One,
                1 => Startup::Majority,
                2 => Startup::All,
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
                grace: Duration::from_secs([0, 5, 60][usize::from(self.grace)]),
                ..Failback::default()
            },
            ..Rules::default()
        };
        rules.lame_duck.action = match self.action {
            0 => LameDuckAction::None,
            1 => LameDuckAction::SwitchToPassive,
            2 => LameDuckAction::DrainToPassive,
            _ => LameDuckAction::PassiveOnly,
        };
        if !self.redial {
            rules.loss_redial = Duration::ZERO;
        }
        if !self.checked {
            rules.member.health.checks = Some(Vec::new());
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
            .begun()
    }
}

/// Most of what happens is good, or nothing would ever get far enough to go wrong in an interesting way.
fn choose(world: &World, alphabet: &Alphabet, draw: u16) -> Option<Event> {
    let mut events = world.enabled(alphabet);
    let good = |event: &Event| matches!(event, Event::Well(_) | Event::Burst | Event::Wait);
    match draw % 8 {
        0..5 => events.retain(good),
        5 | 6 => events.retain(|event| !matches!(event, Event::Call(_))),
        _ => events.retain(|event| !matches!(event, Event::Call(Call::Close)) || draw > 60_000),
    }
    if events.is_empty() {
        return None;
    }
    Some(events[usize::from(draw / 8) % events.len()])
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
        if let Some(event) = choose(&world, &alphabet, *draw) {
            let actions = world.happen(event)?;
            tell(format!(
                "{event:?}\n   => {actions:?}\n   {}",
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
