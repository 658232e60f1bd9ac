//! The groups that are searched: small ones, each with the rules, the events and the budget that make its corner
//! interesting, and few enough of them that most are searched to their end.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{Capabilities, Rotating};

use super::event::{Alphabet, Call, Odd, Trouble, weight};
use super::world::{Servers, World};
use crate::config::{
    Breaker, Failback, HealthRules, LameDuck, LameDuckAction, MemberRules, Reconnect, Rules,
    Standby, Startup, StartupPolicy, StartupTally, StartupVerdict, Timeouts,
};
use crate::machine::{MemberId, NewMember};

/// A group and what may befall it.
#[derive(Clone)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) weights: &'static [f64],
    pub(super) rules: Rules,
    pub(super) faults: u8,
    pub(super) calls: u8,
    pub(super) alphabet: Alphabet,
    pub(super) servers: Servers,
    /// Standbys are promoted before it is decided that they are needed.
    pub(super) ahead: bool,
    /// Connections can serve again after a drain.
    pub(super) again: bool,
    /// What was given up may be answered all the same.
    pub(super) late: bool,
    /// Begins with a running group instead of its start.
    pub(super) settled: bool,
}

impl Scenario {
    pub(super) fn world(&self) -> World {
        let member = Arc::new(self.rules.member.clone());
        let members = self
            .weights
            .iter()
            .zip(0..)
            .map(|(value, id)| NewMember {
                id: MemberId(id),
                weight: weight(*value),
                enabled: true,
                rules: member.clone(),
            })
            .collect();
        let mut capabilities = Capabilities::new();
        if self.again {
            capabilities = capabilities.serving_again_after_drain();
        }
        if self.ahead {
            capabilities = capabilities.promoting_ahead();
        }
        let world =
            World::new(Arc::new(self.rules.clone()), capabilities, members, 0).on(self.servers);
        let world = if self.settled {
            world.well()
        } else {
            world.begun()
        };
        world
            .with_late_answers(self.late)
            .limited(self.faults, self.calls)
    }

    fn named(&self, name: &'static str) -> Self {
        let alphabet = Alphabet {
            odd: &[Odd::Rest],
            ..Alphabet::default()
        };
        Self {
            name,
            alphabet,
            ..self.clone()
        }
    }

    fn budget(mut self, faults: u8, calls: u8) -> Self {
        (self.faults, self.calls) = (faults, calls);
        self
    }

    fn ruled(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }

    fn answers(mut self, answers: &'static [Trouble]) -> Self {
        self.alphabet.answers = answers;
        self
    }

    fn active(mut self, heard: &'static [Trouble]) -> Self {
        self.alphabet.active = heard;
        self
    }

    fn others(mut self, heard: &'static [Trouble]) -> Self {
        self.alphabet.others = heard;
        self
    }

    fn draining(mut self, heard: &'static [Trouble]) -> Self {
        self.alphabet.draining = heard;
        self
    }

    fn odd(mut self, odd: &'static [Odd]) -> Self {
        self.alphabet.odd = odd;
        self
    }

    fn callable(mut self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.alphabet.calls.extend(calls);
        self
    }

    /// The same call about each of the members.
    fn each(mut self, members: u32, call: fn(u32) -> Call) -> Self {
        self.alphabet.calls.extend((0..members).map(call));
        self
    }

    fn on(mut self, servers: Servers) -> Self {
        self.servers = servers;
        self
    }

    fn of(mut self, weights: &'static [f64]) -> Self {
        self.weights = weights;
        self
    }
}

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

/// Few distinct durations, so that times meet.
pub(super) fn rules() -> Rules {
    let second = Duration::from_secs(1);
    Rules {
        startup: Startup::One,
        failback: Failback {
            enabled: true,
            grace: 4 * second,
            stable: 2 * second,
            jitter: Duration::ZERO,
        },
        lame_duck: LameDuck {
            action: LameDuckAction::SwitchToPassive,
            drain_window: 2 * second,
        },
        loss_redial: second,
        switch_grace: second,
        member: MemberRules {
            health: HealthRules {
                interval: 8 * second,
                timeout: second,
                probes: 1,
                ..HealthRules::default()
            },
            breaker: Breaker {
                window: 2 * second,
                failure_rate: 0.5,
                min_failures: 10,
            },
            reconnect: Reconnect {
                initial: second,
                max: 2 * second,
            },
            timeouts: Timeouts {
                connect: second,
                prove: second,
                operation: second,
            },
        },
        ..Rules::default()
    }
}

fn unchecked(rules: &mut Rules) {
    rules.member.health.checks = Some(Vec::new());
}

fn counted(rules: &mut Rules) {
    rules.standby = Standby::Count(1);
}

fn counted_unchecked(rules: &mut Rules) {
    counted(rules);
    unchecked(rules);
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

/// All of them.
pub(super) fn scenarios() -> Vec<Scenario> {
    let two = Scenario {
        name: "",
        weights: &[1.0, 0.5],
        rules: rules(),
        faults: 2,
        calls: 0,
        alphabet: Alphabet::default(),
        servers: Servers::Unknown,
        ahead: false,
        again: true,
        late: false,
        settled: true,
    };
    let three = Scenario {
        weights: &[1.0, 0.5, 0.2],
        ..two.clone()
    };
    let one = Scenario {
        weights: &[1.0],
        ..two.clone()
    };
    let mut all = starts(&two, &three);
    all.extend(troubles(&one, &two, &three));
    all.extend(standbys(&three));
    all.extend(oddities(&two));
    all.extend(operators(&two, &three));
    all.extend(configurations(&one, &two, &three));
    all
}

fn starts(two: &Scenario, three: &Scenario) -> Vec<Scenario> {
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
        two.named("start: refused").answers(&[Dead]),
        two.named("start: unfit")
            .answers(&[Unhealthy, ReadOnly, Inconclusive])
            .budget(1, 0),
        two.named("start: silent").odd(&[Odd::Rest, Odd::Silence]),
        two.named("start: all must")
            .answers(&[Dead, Unhealthy])
            .ruled(starting(Startup::All)),
        two.named("start: lazy")
            .answers(&[Dead])
            .ruled(starting(Startup::Lazy)),
        three
            .named("start: majority")
            .answers(&[Dead])
            .ruled(starting(Startup::Majority)),
        three
            .named("start: custom")
            .answers(&[Dead])
            .ruled(starting(Startup::Custom(Arc::new(TwoOrAllThatCome)))),
        two.named("start: called")
            .callable([Call::Switch(1), Call::Remove(0), Call::Close, Call::Mark(0)])
            .ruled(unchecked)
            .budget(0, 2),
    ]
}

fn troubles(one: &Scenario, two: &Scenario, three: &Scenario) -> Vec<Scenario> {
    use Trouble::{
        Dead, Failing, Fine, Inconclusive, LameDuck, ReadOnly, Suspect, Unhealthy, Wavering,
    };
    vec![
        two.named("two: lost")
            .active(&[Dead])
            .answers(&[Dead])
            .ruled(unchecked),
        two.named("two: lost, checked")
            .active(&[Dead])
            .others(&[Dead]),
        two.named("two: crash")
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
            .budget(3, 0),
        two.named("two: verdicts")
            .answers(&[Unhealthy, ReadOnly, Inconclusive]),
        two.named("two: condemned")
            .active(&[Unhealthy, ReadOnly])
            .others(&[Unhealthy])
            .ruled(unchecked),
        two.named("two: suspected")
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
        one.named("one: breaker").active(&[Failing]).budget(2, 0),
        two.named("two: breaker, no grace")
            .active(&[Failing])
            .ruled(|rules| {
                unchecked(rules);
                rules.failback.grace = Duration::ZERO;
            }),
        two.named("two: lame ducks")
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
        three.named("three: lost").active(&[Dead]).ruled(unchecked),
        three
            .named("three: crash")
            .odd(&[Odd::Rest, Odd::Crash])
            .ruled(unchecked)
            .budget(1, 0),
    ]
}

fn standbys(three: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, LameDuck, Unhealthy};
    let counted = three.clone().ruled(counted_unchecked);
    let ahead = Scenario {
        ahead: true,
        ..three.clone().ruled(unchecked)
    };
    vec![
        counted
            .named("three, one standby: lost")
            .active(&[Dead])
            .answers(&[Dead]),
        counted
            .named("three, one standby: others lost")
            .active(&[Dead])
            .others(&[Dead, LameDuck]),
        counted
            .named("three, one standby: crash")
            .odd(&[Odd::Rest, Odd::Crash])
            .answers(&[Dead]),
        counted
            .named("three, no standby: lost")
            .ruled(|rules| rules.standby = Standby::Count(0))
            .active(&[Dead, Unhealthy])
            .answers(&[Dead]),
        counted
            .named("three, two standbys: lost")
            .ruled(|rules| rules.standby = Standby::Count(2))
            .active(&[Dead])
            .others(&[Dead]),
        ahead
            .named("three, ahead: lost")
            .active(&[Dead])
            .answers(&[Dead]),
        ahead
            .named("three, ahead: unfit")
            .active(&[Dead])
            .answers(&[Unhealthy]),
        ahead
            .named("three, ahead, one standby: lost")
            .ruled(counted_unchecked)
            .active(&[Dead])
            .answers(&[Dead]),
        counted
            .named("three on two servers: lost")
            .on(Servers::Fixed(2))
            .active(&[Dead, Unhealthy]),
        counted
            .named("three on two servers: others lost")
            .on(Servers::Fixed(2))
            .others(&[Dead])
            .active(&[Dead]),
        counted
            .named("three on one server: lost")
            .on(Servers::Fixed(1))
            .active(&[Dead])
            .others(&[Dead]),
        counted
            .named("three behind a balancer: lost")
            .on(Servers::Shifting(2))
            .active(&[Dead])
            .others(&[Dead]),
        three
            .named("three on two servers, all: failing")
            .ruled(unchecked)
            .on(Servers::Fixed(2))
            .active(&[Trouble::Failing]),
        three
            .named("three of one weight: lost")
            .ruled(unchecked)
            .active(&[Dead])
            .budget(2, 0)
            .of(&[1.0, 1.0, 1.0]),
        three
            .named("three, rotating: lost")
            .ruled(|rules| {
                unchecked(rules);
                rules.pool = Arc::new(Rotating);
            })
            .active(&[Dead])
            .of(&[1.0, 1.0, 1.0]),
    ]
}

fn oddities(two: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, Failing, LameDuck, Suspect, Unhealthy};
    let late = Scenario {
        late: true,
        ..two.clone()
    };
    vec![
        two.named("two: silent")
            .active(&[Suspect])
            .odd(&[Odd::Rest, Odd::Silence])
            .ruled(unchecked),
        two.named("two: silent, checked")
            .odd(&[Odd::Rest, Odd::Silence]),
        two.named("two: stalled")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Stalled, Odd::Silence])
            .ruled(unchecked)
            .budget(3, 0),
        two.named("two: stalled, refused")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Stalled])
            .answers(&[Dead])
            .ruled(unchecked)
            .budget(3, 0),
        two.named("two: stalled, checked")
            .odd(&[Odd::Rest, Odd::Stalled])
            .answers(&[Unhealthy])
            .budget(2, 0),
        two.named("two: jumps")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Jump])
            .ruled(unchecked),
        two.named("two: a late driver")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Past, Odd::Midway])
            .ruled(unchecked),
        two.named("two: answered twice")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Twice, Odd::Burst])
            .ruled(unchecked),
        two.named("two: mixed batches")
            .active(&[Dead, Unhealthy])
            .odd(&[Odd::Rest, Odd::Mixed, Odd::Burst]),
        two.named("two: an answer and news")
            .active(&[Dead, LameDuck])
            .others(&[Dead])
            .odd(&[Odd::Rest, Odd::Both])
            .ruled(unchecked),
        two.named("two: old connections")
            .active(&[Dead, Unhealthy, LameDuck, Suspect, Failing])
            .odd(&[Odd::Rest, Odd::Old])
            .ruled(unchecked),
        late.named("two: late answers")
            .active(&[Dead])
            .odd(&[Odd::Rest, Odd::Silence])
            .ruled(unchecked),
        late.named("two: late answers, moved")
            .active(&[Dead])
            .callable([Call::Drain(1), Call::Remove(1)])
            .ruled(unchecked)
            .budget(1, 2),
    ]
}

fn operators(two: &Scenario, three: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, Failing, LameDuck, ReadOnly, Unhealthy};
    let plain = two.clone().ruled(unchecked);
    let once = Scenario {
        again: false,
        ..plain.clone()
    };
    vec![
        plain
            .named("two: moved by hand")
            .callable([
                Call::Switch(1),
                Call::Drain(0),
                Call::Drain(1),
                Call::Passive,
                Call::PassiveSteal,
            ])
            .answers(&[Dead])
            .budget(1, 2),
        plain
            .named("two: moved by hand, then lost")
            .callable([Call::Switch(1), Call::Switch(0), Call::Drain(1)])
            .active(&[Dead])
            .budget(1, 2),
        once.named("two, once only: moved by hand")
            .callable([Call::Switch(1), Call::Drain(1)])
            .active(&[Dead])
            .draining(&[Dead])
            .budget(1, 2),
        two.named("two: moved back in a drain")
            .callable([Call::Switch(1), Call::Drain(0), Call::Drain(1)])
            .active(&[Unhealthy])
            .budget(1, 2),
        two.named("two: moved to the unfit")
            .callable([Call::Switch(1), Call::Drain(1)])
            .answers(&[Unhealthy])
            .budget(1, 1),
        plain
            .named("two: moved to the marked")
            .callable([
                Call::Switch(1),
                Call::Drain(1),
                Call::Mark(1),
                Call::Passive,
            ])
            .others(&[Failing, LameDuck])
            .budget(1, 2),
        two.named("two: forced")
            .callable([Call::Force(1), Call::ForceDrain(1), Call::Release])
            .answers(&[Unhealthy, ReadOnly])
            .budget(2, 1),
        plain
            .named("two: forced to the broken")
            .callable([Call::Force(1), Call::ForceDrain(1), Call::Release])
            .others(&[Failing, LameDuck])
            .active(&[Failing])
            .budget(2, 2),
        plain
            .named("two: pinned")
            .callable([Call::Pin, Call::Release])
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: no failback")
            .ruled(|rules| {
                rules.failback.enabled = false;
                rules.loss_redial = Duration::ZERO;
            })
            .active(&[Dead])
            .budget(2, 0),
        plain
            .named("two: marked")
            .callable([Call::Mark(0), Call::Clear(0), Call::Mark(1), Call::Clear(1)])
            .active(&[LameDuck])
            .others(&[LameDuck])
            .budget(1, 2),
        plain
            .named("two: weighed")
            .callable([
                Call::Prefer(0),
                Call::Prefer(1),
                Call::Demote(0),
                Call::Demote(1),
            ])
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: added and removed")
            .callable([Call::Add, Call::AddDisabled])
            .each(3, Call::Remove)
            .each(3, Call::Enable)
            .answers(&[Dead])
            .budget(1, 2),
        plain
            .named("two: disabled")
            .each(2, Call::Disable)
            .each(2, Call::Enable)
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: closed")
            .callable([
                Call::Close,
                Call::Switch(1),
                Call::Drain(1),
                Call::Remove(0),
            ])
            .odd(&[Odd::Rest, Odd::Silence])
            .budget(1, 2),
        three
            .named("three: rehomed")
            .ruled(unchecked)
            .callable([Call::Rehome])
            .active(&[Dead])
            .others(&[Dead])
            .budget(1, 1),
        three
            .named("three, one standby: rehomed")
            .ruled(counted_unchecked)
            .callable([Call::Rehome, Call::Switch(2), Call::Prefer(2)])
            .active(&[Dead])
            .budget(1, 1),
        Scenario {
            ahead: true,
            ..plain.named("two, ahead: moved by hand")
        }
        .callable([Call::Switch(1), Call::Drain(1)])
        .active(&[Dead])
        .budget(2, 1),
    ]
}

fn configurations(one: &Scenario, two: &Scenario, three: &Scenario) -> Vec<Scenario> {
    use Trouble::{Dead, Unhealthy};
    let plain = two.clone().ruled(unchecked);
    vec![
        plain
            .named("two: replaced")
            .each(2, Call::Replace)
            .each(2, Call::KeepAsIs)
            .answers(&[Dead])
            .budget(1, 2),
        two.named("two: replaced, checked")
            .each(2, Call::Replace)
            .answers(&[Unhealthy])
            .budget(1, 1),
        Scenario {
            ahead: true,
            ..plain.named("two, ahead: replaced")
        }
        .each(2, Call::Replace)
        .active(&[Dead])
        .budget(1, 1),
        one.named("one: replaced")
            .ruled(unchecked)
            .each(1, Call::Replace)
            .active(&[Dead])
            .answers(&[Dead])
            .budget(2, 2),
        plain
            .named("two: phased out")
            .each(2, Call::PhaseOut)
            .each(2, Call::PhaseDown)
            .each(2, Call::Enable)
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two, one standby: told of each other")
            .ruled(counted)
            .callable([
                Call::Untold(0, 0),
                Call::Untold(0, 1),
                Call::Untold(1, 0),
                Call::Untold(1, 1),
            ])
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: other rules")
            .callable([Call::Recount, Call::Stay, Call::Reshape])
            .active(&[Dead])
            .budget(1, 2),
        plain
            .named("two: other rules for a member")
            .callable([Call::Calm(0), Call::Calm(1), Call::Retune(1)])
            .active(&[Dead, Trouble::Wavering])
            .answers(&[Dead])
            .budget(2, 1),
        two.named("two: other checks")
            .each(2, Call::Retune)
            .answers(&[Unhealthy])
            .budget(1, 1),
        three
            .named("three, one standby: other rules")
            .ruled(counted_unchecked)
            .callable([Call::Recount, Call::PhaseOut(0), Call::PhaseOut(1)])
            .active(&[Dead])
            .budget(1, 2),
    ]
}
