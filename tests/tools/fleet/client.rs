//! One client: a real machine of the engine, and what a driver would keep beside it. Its actions become dials and
//! answers that come after a round trip. No decision is taken here.
//!
//! Checks are left out (`checks = []`: a proven connection counts as healthy): they run over connections that are open
//! and cost no broker a dial, and ten thousand clients would spend most of the simulated time on them.

use std::sync::Arc;

use failover_core::api::{Capabilities, Generation, Pool, Rotating, Weight, Weighted};
use failover_core::config::{MemberRules, Rules, Standby};
use failover_core::machine::{Action, Input, Machine, MemberId, NewMember, Op, Time};

use crate::brokers::{BROKERS, Micros};

/// How the members are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Equal brokers, used in turns: the members of one cluster.
    Rotating,
    /// The first is preferred to the second, and that to the third.
    Weighted,
}

/// The rules of the whole fleet: the defaults, but for what the layout says and for checks.
pub(crate) fn rules(layout: Layout) -> Arc<Rules> {
    let pool: Arc<dyn Pool> = match layout {
        Layout::Rotating => Arc::new(Rotating),
        Layout::Weighted => Arc::new(Weighted),
    };
    let mut member = MemberRules::default();
    member.health.checks = Some(Vec::new());
    Arc::new(Rules {
        standby: Standby::Count(1),
        pool,
        member,
        ..Rules::default()
    })
}

/// What a driver knows of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    None,
    Dialling { generation: Generation, op: Op },
    Open(Generation),
}

/// One of the fleet.
pub(crate) struct Client {
    machine: Machine,
    pub(crate) links: [Link; BROKERS],
    /// When it will be woken by a wake-up that is already queued.
    pub(crate) woken_at: Option<Micros>,
}

impl Client {
    pub(crate) fn new(layout: Layout, rules: &Arc<Rules>, seed: u64) -> Self {
        let members = (0..BROKERS).map(|broker| NewMember {
            id: MemberId(broker as u32),
            weight: match layout {
                Layout::Rotating => Weight::default(),
                Layout::Weighted => {
                    Weight::new((BROKERS - broker) as f64).expect("a positive number")
                }
            },
            enabled: true,
            rules: Arc::new(rules.member.clone()),
        });
        let capabilities = Capabilities::new()
            .announcing_lame_duck()
            .serving_again_after_drain();
        Self {
            // Zero would mean no jitter.
            machine: Machine::new(rules.clone(), capabilities, members, seed.max(1)),
            links: [Link::None; BROKERS],
            woken_at: None,
        }
    }

    pub(crate) fn handle(&mut self, now: Micros, input: Input) -> Vec<Action> {
        self.machine.handle(Time(now), [input])
    }

    pub(crate) fn next_deadline(&self) -> Option<Micros> {
        self.machine.next_deadline().map(|at| at.0)
    }

    /// An answer to this dial is still awaited.
    pub(crate) fn dials(&self, broker: usize, dialled: Op) -> bool {
        matches!(self.links[broker], Link::Dialling { op, .. } if op == dialled)
    }

    /// How many dials are under way.
    pub(crate) fn dialling(&self) -> usize {
        let dials = |link: &&Link| matches!(link, Link::Dialling { .. });
        self.links.iter().filter(dials).count()
    }

    /// The dial that this number belongs to is given up.
    pub(crate) fn cancel(&mut self, op: Op) {
        for broker in 0..BROKERS {
            if self.dials(broker, op) {
                self.links[broker] = Link::None;
            }
        }
    }
}
