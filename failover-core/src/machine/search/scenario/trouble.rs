//! What goes wrong: at the start, with the active, and with those beside it.

use std::sync::Arc;
use std::time::Duration;

use super::{Scenario, unchecked};
use crate::config::{LameDuckAction, Rules, Startup, StartupPolicy, StartupTally, StartupVerdict};
use crate::machine::search::event::{Call, Odd, Trouble};

/// Ready with two of three, or as soon as nobody is pending.
struct TwoOrAllThatCome;

impl StartupPolicy for TwoOrAllThatCome {
    fn decide(&self, tally: StartupTally) -> StartupVerdict {
        match (tally.available, tally.pending()) {
            (2.., _) | (1, 0) => StartupVerdict::Ready,
            (0, 0) => StartupVerdict::Fail,
            _ => StartupVerdict::Wait,
        }
    }
}

fn on_lame_duck(action: LameDuckAction) -> impl FnOnce(&mut Rules) {
    move |rules| {
        unchecked(rules);
        rules.lame_duck.action = action;
    }
}

fn starting(startup: Startup) -> impl FnOnce(&mut Rules) {
    move |rules| {
        unchecked(rules);
        rules.startup = startup;
    }
}

pub(super) fn starts(two: &Scenario, three: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, Inconclusive, ReadOnly, Unhealthy};
    let two = Scenario {
        settled: false,
        ..two.clone()
    };
    let three = Scenario {
        settled: false,
        ..three.clone()
    };
    vec![
        two.named("start: refused").budget(3, 0).answers(&[Dead]),
        two.named("start: unfit")
            .answers(&[Unhealthy, ReadOnly, Inconclusive])
            .budget(2, 0),
        two.named("start: silent").odd(&[Odd::Rest, Odd::Silence]),
        two.named("start: all must")
            .budget(3, 0)
            .answers(&[Dead, Unhealthy])
            .ruled(starting(Startup::All)),
        two.named("start: lazy")
            .budget(3, 0)
            .answers(&[Dead])
            .ruled(starting(Startup::Lazy)),
        three
            .named("start: majority")
            .budget(3, 0)
            .answers(&[Dead])
            .ruled(starting(Startup::Majority)),
        three
            .named("start: custom")
            .budget(3, 0)
            .answers(&[Dead])
            .ruled(starting(Startup::Custom(Arc::new(TwoOrAllThatCome)))),
        two.named("start: called")
            .callable([Call::Switch(1), Call::Remove(0), Call::Close, Call::Mark(0)])
            .ruled(unchecked)
            .budget(0, 2),
    ]
}

pub(super) fn troubles(one: &Scenario, two: &Scenario, three: &Scenario) -> Vec<Scenario> {
    use Trouble::{
        Dead, Failing, Fine, Inconclusive, LameDuck, ReadOnly, Suspect, Unhealthy, Wavering,
    };
    vec![
        two.named("two: lost")
            .budget(3, 0)
            .active(&[Dead])
            .answers(&[Dead])
            .ruled(unchecked),
        two.named("two: lost, checked")
            .active(&[Dead])
            .others(&[Dead]),
        two.named("two: crash")
            .budget(3, 0)
            .odd(&[Odd::Rest, Odd::Crash])
            .answers(&[Dead])
            .ruled(unchecked),
        one.named("one: down again and again")
            .active(&[Dead])
            .answers(&[Dead])
            .ruled(unchecked)
            .budget(4, 0),
        two.named("two: lost, no grace")
            .active(&[Dead])
            .others(&[Dead])
            .ruled(|rules| {
                unchecked(rules);
                rules.loss_redial = Duration::ZERO;
                rules.failback.grace = Duration::ZERO;
            }),
        two.named("two: lost again and again")
            .active(&[Dead])
            .ruled(|rules| {
                unchecked(rules);
                rules.loss_redial = Duration::ZERO;
            })
            .budget(4, 0),
        two.named("two: verdicts")
            .answers(&[Unhealthy, ReadOnly, Inconclusive]),
        two.named("two: condemned")
            .budget(3, 0)
            .active(&[Unhealthy, ReadOnly])
            .others(&[Unhealthy])
            .ruled(unchecked),
        two.named("two: suspected")
            .budget(3, 0)
            .active(&[Suspect])
            .answers(&[Dead, Unhealthy])
            .ruled(unchecked),
        two.named("two: breaker")
            .active(&[Failing, Wavering, Fine])
            .odd(&[Odd::Rest, Odd::Midway])
            .ruled(unchecked)
            .budget(3, 0),
        two.named("two: breaker, checked")
            .active(&[Failing])
            .others(&[Failing])
            .draining(&[Failing]),
        one.named("one: breaker").active(&[Failing]).budget(3, 0),
        two.named("two: breaker, no grace")
            .budget(3, 0)
            .active(&[Failing])
            .ruled(|rules| {
                unchecked(rules);
                rules.failback.grace = Duration::ZERO;
            }),
        two.named("two: lame ducks")
            .budget(3, 0)
            .active(&[LameDuck])
            .others(&[LameDuck])
            .draining(&[LameDuck])
            .ruled(unchecked),
        two.named("two: lame ducks that nobody leaves")
            .active(&[LameDuck, Dead])
            .ruled(on_lame_duck(LameDuckAction::None)),
        two.named("two: passive only")
            .active(&[LameDuck, Dead])
            .others(&[LameDuck])
            .ruled(on_lame_duck(LameDuckAction::PassiveOnly)),
        two.named("two: drained lame ducks")
            .active(&[LameDuck])
            .draining(&[Dead])
            .ruled(on_lame_duck(LameDuckAction::DrainToPassive)),
        three
            .named("three: lost")
            .budget(3, 0)
            .active(&[Dead])
            .ruled(unchecked),
        three
            .named("three: crash")
            .odd(&[Odd::Rest, Odd::Crash])
            .ruled(unchecked)
            .budget(2, 0),
    ]
}
