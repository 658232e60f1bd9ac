//! Tries what `canonical` claims: worlds with the same number have the same future.
//!
//! Random walks through every scenario collect worlds by their number. Two that meet in one number, by different ways, are
//! then driven by the same events, and must stay the same: the same must be possible in both, and the same must be done and
//! judged. Pairs of different numbers are driven alike, and most of them must be told apart. Ids differ between them, since they are counted from the beginning of
//! each history, so what is done is compared by its kinds and members.

use std::collections::HashMap;

use super::event::{Event, Trouble};
use super::flight::Flight;
use super::scenario::{Scenario, scenarios};
use super::world::World;
use super::{fingerprint, nightly};
use crate::machine::random::Random;
use crate::machine::{Action, MemberId};

/// An event by what it is about, without the numbers that only name things.
#[derive(Debug, PartialEq)]
enum Kind {
    Answer(
        std::mem::Discriminant<Event>,
        std::mem::Discriminant<Flight>,
        String,
    ),
    Heard(std::mem::Discriminant<Event>, MemberId, Trouble),
    Other(Event),
}

fn kind(world: &World, event: Event) -> Kind {
    let discriminant = std::mem::discriminant(&event);
    let flight = |index: usize| std::mem::discriminant(&world.flight[index]);
    let whose = |index: usize| format!("{:?}", world.flight[index].member());
    match event {
        Event::Well(index) | Event::Twice(index) => {
            Kind::Answer(discriminant, flight(index), whose(index))
        }
        Event::Badly(index, trouble) => Kind::Answer(
            discriminant,
            flight(index),
            format!("{} {trouble:?}", whose(index)),
        ),
        Event::Both(index, id, _, trouble) => {
            let about = format!("{} {id:?} {trouble:?}", whose(index));
            Kind::Answer(discriminant, flight(index), about)
        }
        Event::Trouble(id, _, trouble) => Kind::Heard(discriminant, id, trouble),
        other => Kind::Other(other),
    }
}

/// What was done, without the numbers that only name things.
fn shape(actions: &[Action]) -> Vec<String> {
    let named = |action: &Action| match action {
        Action::Connect(id, ..) => format!("connect {id:?}"),
        Action::Prove(id, ..) => format!("prove {id:?}"),
        Action::Arm(id, ..) => format!("arm {id:?}"),
        Action::Promote(id, _, _, from) => format!("promote {id:?} {}", from.is_some()),
        Action::Drain(id, ..) => format!("drain {id:?}"),
        Action::Check(id, ..) => format!("check {id:?}"),
        Action::Activate(id, _) => format!("activate {id:?}"),
        Action::Retire(id, _) => format!("retire {id:?}"),
        Action::Answer(_, answer) => format!("answer {answer:?}"),
        Action::Cancel(_) => "cancel".to_owned(),
        Action::Tell(news) => match news {
            crate::machine::News::Connected(id, _) => format!("connected {id:?}"),
            crate::machine::News::Lost(id, _) => format!("lost {id:?}"),
            crate::machine::News::StandbyArmed(id, _) => format!("armed {id:?}"),
            // How long a move took, and how often all were tried, is for people.
            crate::machine::News::Switched {
                from,
                to,
                reason,
                kind,
                ..
            } => {
                format!("switched {from:?} {to:?} {reason:?} {kind:?}")
            }
            crate::machine::News::AllDown(_) => "all down".to_owned(),
            news => format!("{news:?}"),
        },
        other => format!("{other:?}"),
    };
    actions.iter().map(named).collect()
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(1);
        let mut random = Random::new(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
        usize::try_from(random.ticket() >> 33).unwrap_or(0) % most.max(1)
    }
}

fn walk(scenario: &Scenario, dice: &mut Dice, mut visit: impl FnMut(&World)) {
    let mut world = scenario.world();
    for _ in 0..60 {
        let events = world.enabled(&scenario.alphabet);
        if events.is_empty() {
            return;
        }
        let event = events[dice.below(events.len())];
        assert!(world.happen(event).is_ok(), "{}", scenario.name);
        visit(&world);
    }
}

/// Drives both by the same events for a while, and says where they led apart.
fn stay_the_same(
    scenario: &Scenario,
    one: &World,
    two: &World,
    dice: &mut Dice,
) -> Result<(), String> {
    let (mut one, mut two) = (one.clone(), two.clone());
    let same = fingerprint(&one) == fingerprint(&two);
    for _ in 0..25 {
        let first = one.enabled(&scenario.alphabet);
        let second = two.enabled(&scenario.alphabet);
        let before = format!("{}\n{}", one.portrait(), two.portrait());
        let kinds = |world: &World, events: &[Event]| -> Vec<Kind> {
            events.iter().map(|event| kind(world, *event)).collect()
        };
        if kinds(&one, &first) != kinds(&two, &second) {
            return Err(format!("other things can happen\n{before}"));
        }
        if first.is_empty() {
            return Ok(());
        }
        let index = dice.below(first.len());
        let event = first[index];
        let (done, also) = (one.happen(event), two.happen(second[index]));
        let (done, also) = (done.map(|all| shape(&all)), also.map(|all| shape(&all)));
        if done != also {
            return Err(format!("{event:?} did {done:?} and {also:?}\n{before}"));
        }
        if same && fingerprint(&one) != fingerprint(&two) {
            return Err(format!("{event:?} led to other numbers\n{before}"));
        }
    }
    Ok(())
}

/// Pairs of worlds, met by random walks: of the same number, and of different ones.
fn meet(
    walks: usize,
    dice: &mut Dice,
    mut visit: impl FnMut(&Scenario, &World, &World, bool, &mut Dice),
) {
    for scenario in scenarios() {
        let mut met: HashMap<u64, World> = HashMap::new();
        let mut last: Option<World> = None;
        for _ in 0..walks {
            let (mut twins, mut others) = (Vec::new(), Vec::new());
            walk(&scenario, dice, |world| {
                let number = fingerprint(world);
                let first = met.entry(number).or_insert_with(|| world.clone());
                // The same history again would show nothing.
                let differs =
                    first.machine.now != world.machine.now || first.portrait() != world.portrait();
                if differs && twins.len() < 6 {
                    twins.push((first.clone(), world.clone()));
                }
                if let Some(other) = last.replace(world.clone())
                    && fingerprint(&other) != number
                    && others.len() < 2
                {
                    others.push((other, world.clone()));
                }
            });
            for (one, two) in twins {
                visit(&scenario, &one, &two, true, dice);
            }
            for (one, two) in others {
                visit(&scenario, &one, &two, false, dice);
            }
        }
    }
}

#[test]
fn worlds_with_the_same_number_have_the_same_future() {
    let walks = if nightly() { 2_000 } else { 60 };
    let (mut twins, mut others, mut apart) = (0, 0, 0);
    meet(walks, &mut Dice(7), |scenario, one, two, same, dice| {
        let stayed = stay_the_same(scenario, one, two, dice);
        if same {
            twins += 1;
            if let Err(why) = stayed {
                panic!("{}: {why}", scenario.name);
            }
        } else {
            others += 1;
            apart += usize::from(stayed.is_err());
        }
    });
    println!(
        "{twins} pairs of one number stayed the same; {apart} of {others} other pairs did not"
    );
    assert!(twins > 3_000, "only {twins} pairs were met");
    // Otherwise nothing would be noticed here at all.
    assert!(apart * 2 > others, "{apart} of {others} were told apart");
}
