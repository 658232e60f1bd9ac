//! The groups that are searched: small ones, each with the rules and the calls that make its corner interesting.

use std::sync::Arc;
use std::time::Duration;

use backend_api::Capabilities;

use super::event::{Call, weight};
use super::world::{Servers, World};
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
    pub(super) callable: Vec<Call>,
    pub(super) servers: Servers,
    /// Standbys are promoted before it is decided that they are needed.
    pub(super) ahead: bool,
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
        let mut capabilities = Capabilities::new().serving_again_after_drain();
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
        world.limited(self.faults, self.calls)
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

fn unchecked(mut rules: Rules) -> Rules {
    rules.member.health.checks = Some(Vec::new());
    rules
}

fn counted(mut rules: Rules) -> Rules {
    rules.standby = Standby::Count(1);
    rules
}

/// All of them.
pub(super) fn scenarios() -> Vec<Scenario> {
    let plain = Scenario {
        name: "two, from the start",
        weights: &[1.0, 0.5],
        rules: rules(),
        faults: 3,
        calls: 0,
        callable: Vec::new(),
        servers: Servers::Unknown,
        ahead: false,
        settled: false,
    };
    let settled = Scenario {
        name: "two, running",
        settled: true,
        ..plain.clone()
    };
    let three = Scenario {
        name: "three, running",
        weights: &[1.0, 0.5, 0.2],
        faults: 2,
        ..settled.clone()
    };
    vec![
        plain.clone(),
        Scenario {
            name: "two, lazy and unchecked",
            rules: Rules {
                startup: Startup::Lazy,
                ..unchecked(rules())
            },
            ..plain.clone()
        },
        Scenario {
            name: "two, all must start",
            rules: Rules {
                startup: Startup::All,
                ..unchecked(rules())
            },
            ..plain.clone()
        },
        settled.clone(),
        Scenario {
            name: "two, unchecked, no redial",
            rules: Rules {
                loss_redial: Duration::ZERO,
                ..unchecked(rules())
            },
            faults: 4,
            ..settled.clone()
        },
        Scenario {
            name: "two, called",
            faults: 1,
            calls: 2,
            callable: Call::all(2),
            ..settled.clone()
        },
        Scenario {
            name: "two, counted, called",
            rules: counted(unchecked(rules())),
            faults: 2,
            calls: 2,
            callable: Call::all(2),
            ..settled.clone()
        },
        three.clone(),
        Scenario {
            name: "three, promoting ahead",
            ahead: true,
            ..three.clone()
        },
        Scenario {
            name: "three, counted, promoting ahead",
            rules: counted(unchecked(rules())),
            faults: 3,
            ahead: true,
            ..three.clone()
        },
        Scenario {
            name: "two, promoting ahead, called",
            faults: 2,
            calls: 1,
            callable: [Call::all(2), Call::reload(2)].concat(),
            ahead: true,
            ..settled.clone()
        },
        Scenario {
            name: "three, counted",
            rules: counted(unchecked(rules())),
            faults: 3,
            ..three.clone()
        },
        Scenario {
            name: "three on two servers, counted",
            rules: counted(unchecked(rules())),
            servers: Servers::Fixed(2),
            ..three.clone()
        },
        Scenario {
            name: "three on two servers, checked, called",
            rules: counted(rules()),
            servers: Servers::Fixed(2),
            faults: 1,
            calls: 2,
            callable: Call::all(3),
            ..three.clone()
        },
        Scenario {
            name: "three on one server, counted, called",
            rules: counted(unchecked(rules())),
            servers: Servers::Fixed(1),
            faults: 2,
            calls: 1,
            callable: Call::all(3),
            ..three.clone()
        },
        Scenario {
            name: "three behind a balancer, counted",
            rules: counted(unchecked(rules())),
            servers: Servers::Shifting(2),
            ..three.clone()
        },
        Scenario {
            name: "three on two servers, all",
            rules: unchecked(rules()),
            servers: Servers::Fixed(2),
            ..three.clone()
        },
        Scenario {
            name: "three, counted and checked",
            rules: counted(rules()),
            ..three.clone()
        },
        Scenario {
            name: "three of one weight",
            weights: &[1.0, 1.0, 1.0],
            rules: unchecked(rules()),
            faults: 4,
            ..three.clone()
        },
        Scenario {
            name: "two, reconfigured",
            faults: 1,
            calls: 2,
            callable: Call::reload(3),
            ..settled.clone()
        },
        Scenario {
            name: "two, counted, unchecked, reconfigured",
            rules: counted(unchecked(rules())),
            faults: 2,
            calls: 2,
            callable: Call::reload(3),
            ..settled.clone()
        },
        Scenario {
            name: "one, reconfigured and called",
            weights: &[1.0],
            faults: 1,
            calls: 3,
            callable: [Call::reload(2), Call::all(2)].concat(),
            ..settled.clone()
        },
        Scenario {
            name: "two, counted, unchecked, told of each other",
            rules: counted(unchecked(rules())),
            faults: 2,
            calls: 2,
            callable: Call::told(3),
            ..settled.clone()
        },
        Scenario {
            name: "three, counted, from the start, called",
            rules: counted(unchecked(rules())),
            faults: 2,
            calls: 1,
            callable: Call::all(3),
            settled: false,
            ..three.clone()
        },
        Scenario {
            name: "three, passive only, called",
            rules: Rules {
                lame_duck: LameDuck {
                    action: LameDuckAction::PassiveOnly,
                    drain_window: Duration::from_secs(2),
                },
                ..unchecked(rules())
            },
            faults: 1,
            calls: 2,
            callable: Call::all(3),
            ..three.clone()
        },
        Scenario {
            name: "three, draining, no failback",
            rules: Rules {
                lame_duck: LameDuck {
                    action: LameDuckAction::DrainToPassive,
                    drain_window: Duration::from_secs(2),
                },
                failback: Failback {
                    enabled: false,
                    grace: Duration::ZERO,
                    ..rules().failback
                },
                ..counted(rules())
            },
            ..three
        },
    ]
}
