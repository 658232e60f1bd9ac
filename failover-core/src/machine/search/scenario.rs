//! The groups that are searched: small ones, each with the rules, the events and the budget that make its corner
//! interesting, and few enough of them that most are searched to their end.

mod operator;
mod standby;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use backend_api::Capabilities;

use super::event::{Alphabet, Call, Odd, Trouble, weight};
use super::flight::Servers;
use super::world::World;
use crate::config::{
    Breaker, Failback, HealthRules, LameDuck, LameDuckAction, MemberRules, Reconnect, Rules,
    Standby, Startup, Timeouts,
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

    pub(super) fn named(&self, name: &'static str) -> Self {
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

    pub(super) fn budget(mut self, faults: u8, calls: u8) -> Self {
        (self.faults, self.calls) = (faults, calls);
        self
    }

    pub(super) fn ruled(mut self, change: impl FnOnce(&mut Rules)) -> Self {
        change(&mut self.rules);
        self
    }

    pub(super) fn answers(mut self, answers: &'static [Trouble]) -> Self {
        self.alphabet.answers = answers;
        self
    }

    pub(super) fn active(mut self, heard: &'static [Trouble]) -> Self {
        self.alphabet.active = heard;
        self
    }

    pub(super) fn others(mut self, heard: &'static [Trouble]) -> Self {
        self.alphabet.others = heard;
        self
    }

    pub(super) fn draining(mut self, heard: &'static [Trouble]) -> Self {
        self.alphabet.draining = heard;
        self
    }

    pub(super) fn odd(mut self, odd: &'static [Odd]) -> Self {
        self.alphabet.odd = odd;
        self
    }

    pub(super) fn callable(mut self, calls: impl IntoIterator<Item = Call>) -> Self {
        self.alphabet.calls.extend(calls);
        self
    }

    /// The same call about each of the members.
    pub(super) fn each(mut self, members: u32, call: fn(u32) -> Call) -> Self {
        self.alphabet.calls.extend((0..members).map(call));
        self
    }

    pub(super) fn on(mut self, servers: Servers) -> Self {
        self.servers = servers;
        self
    }

    pub(super) fn of(mut self, weights: &'static [f64]) -> Self {
        self.weights = weights;
        self
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
    let mut all = trouble::starts(&two, &three);
    all.extend(trouble::troubles(&one, &two, &three));
    all.extend(standby::standbys(&three));
    all.extend(standby::oddities(&two));
    all.extend(operator::operators(&two, &three));
    all.extend(operator::configurations(&one, &two, &three));
    all
}
