//! How a state's number is made of its parts: each kind of value in its own way. What is made of which field says
//! `canonical`.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use backend_api::Generation;

use super::flight::Servers;
use super::world::Horizon;
use crate::config::{
    Breaker, Failback, HealthRules, LameDuck, MemberRules, Reconnect, Rules, Timeouts,
};
use crate::machine::{Machine, Op, Request, RequestId, Time};

/// Proofs and checks are not repeated within 20 ms. Longer ago is all the same.
pub(super) const SPACING: Duration = Duration::from_millis(50);

/// Backoff doubles a delay until it meets its cap, which is at most 32 times the first one in all that is searched.
pub(super) const DOUBLINGS: u32 = 6;

/// A hasher for short keys: every word is mixed into all bits. Chance makes two of ten million states meet less than once
/// in a hundred thousand searches.
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        self.0 = mixed ^ (mixed >> 29);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// The number of a state while it is being made.
pub(in crate::machine) struct Canon {
    now: Time,
    /// When the traffic began to look for another place, if it does: proofs are compared with that.
    since: Option<Time>,
    /// When there was an active last, if there is none: the next move begins then.
    lost_at: Option<Time>,
    rounds: u32,
    horizon: Horizon,
    servers: Servers,
    generations: Vec<Generation>,
    ops: Vec<Op>,
    requests: Vec<RequestId>,
    hasher: Mix,
}

impl Canon {
    pub(super) fn new(machine: &Machine, horizon: Horizon, servers: Servers) -> Self {
        Self {
            now: machine.now,
            since: machine.switch.as_ref().map(|switch| switch.since),
            lost_at: machine.active.is_none().then_some(machine.lost_at),
            rounds: machine.attempts,
            horizon,
            servers,
            generations: Vec::with_capacity(8),
            ops: Vec::with_capacity(8),
            requests: Vec::new(),
            hasher: Mix(0),
        }
    }

    pub(super) fn finish(&self) -> u64 {
        self.hasher.finish()
    }

    pub(super) fn horizon(&self) -> Horizon {
        self.horizon
    }

    pub(super) fn servers(&self) -> Servers {
        self.servers
    }

    pub(in crate::machine) fn put(&mut self, value: &(impl Hash + ?Sized)) {
        value.hash(&mut self.hasher);
    }

    /// How long ago, and all the same from `most` on.
    pub(super) fn ago(&mut self, at: Time, most: Duration) {
        self.put(&self.now.since(at).min(most));
    }

    /// How long until then; what is over is over.
    pub(in crate::machine) fn until(&mut self, at: Option<Time>) {
        self.put(&at.map(|at| at.since(self.now)));
    }

    /// Connections are told apart, and nothing else is made of their numbers: which of two is older shows from who holds
    /// it, since a member has one connection at a time. Behind a balancer the number also says where a dial ends.
    pub(in crate::machine) fn generation(&mut self, generation: Generation) {
        let place = place(&mut self.generations, generation);
        self.put(&place);
        if let Servers::Shifting(count) = self.servers {
            self.put(&(generation.0 % u64::from(count)));
        }
    }

    pub(in crate::machine) fn op(&mut self, op: Op) {
        let place = place(&mut self.ops, op);
        self.put(&place);
    }

    pub(super) fn caller(&mut self, request: RequestId) {
        let place = place(&mut self.requests, request);
        self.put(&place);
    }

    /// A proof counts for the move under way, for the next one, or as fresh.
    pub(in crate::machine) fn proven(&mut self, at: Option<Time>) {
        let Some(at) = at else {
            return self.put(&0);
        };
        self.ago(at, SPACING);
        let (since, lost_at) = (self.since, self.lost_at);
        self.put(&(
            since.map(|since| at >= since),
            lost_at.map(|lost| at >= lost),
        ));
    }

    /// Unbroken health is compared with `failback.stable`.
    pub(in crate::machine) fn stable(&mut self, since: Time) {
        self.ago(since, self.horizon.stable);
    }

    /// Whether traffic came back lately is asked within one grace.
    pub(in crate::machine) fn returned(&mut self, at: Option<Time>) {
        self.put(&at.is_some());
        if let Some(at) = at {
            self.ago(at, self.horizon.grace);
        }
    }

    /// Samples older than the window are forgotten before anything is made of them.
    pub(in crate::machine) fn window(
        &mut self,
        of: Option<Generation>,
        samples: impl Iterator<Item = (Time, u32, u32)>,
    ) {
        // Of no connection that is still held, they are dropped before the next sample is taken.
        let held = of.is_some_and(|of| self.generations.contains(&of));
        for (at, success, failure) in samples {
            if held && self.now.since(at) < self.horizon.window {
                self.put(&(self.now.since(at), success, failure));
            }
        }
        self.put(&0);
    }

    /// A delay that is over holds nobody back; how often it was doubled shows in the next one.
    pub(in crate::machine) fn refused(&mut self, rules: &MemberRules, times: u32, at: Time) {
        self.put(&times.min(DOUBLINGS));
        if times > 0 {
            self.ago(at, rules.reconnect.max);
        }
    }

    /// See [`DOUBLINGS`].
    pub(in crate::machine) fn rounds(&self) -> u32 {
        self.rounds.min(DOUBLINGS)
    }

    /// Takes several things whose order does not matter.
    pub(in crate::machine) fn bag<T>(
        &mut self,
        things: impl Iterator<Item = T>,
        mut take: impl FnMut(&mut Self, T),
    ) {
        let outer = std::mem::replace(&mut self.hasher, Mix(0));
        let mut sum = 0_u64;
        for thing in things {
            self.hasher = Mix(1);
            take(self, thing);
            sum = sum.wrapping_add(self.hasher.finish());
        }
        self.hasher = outer;
        self.put(&sum);
    }

    pub(in crate::machine) fn request(&mut self, id: RequestId, request: &Request) {
        self.caller(id);
        self.put(&std::mem::discriminant(request));
        match request {
            Request::SwitchTo { to, end, force } => self.put(&(to, end, force)),
            Request::SwitchToPassive { end } => self.put(end),
            Request::Remove(id)
            | Request::Enable(id)
            | Request::Disable(id)
            | Request::Mark(id)
            | Request::ClearMark(id)
            | Request::KeepAsIs(id) => self.put(id),
            // These are answered when they are taken, and never kept.
            Request::Close
            | Request::Add(_)
            | Request::SetWeight(..)
            | Request::Pin
            | Request::Release
            | Request::Rehome
            | Request::PhaseOut { .. }
            | Request::Untold { .. }
            | Request::Replace { .. }
            | Request::SetRules(..)
            | Request::SetGroupRules(_) => {}
        }
    }

    pub(in crate::machine) fn rules(&mut self, rules: &Rules) {
        let Rules {
            // For people.
            name: _,
            // Never changed while a group runs.
            startup: _,
            standby,
            pool,
            failback,
            lame_duck,
            // The client's.
            unavailable_wait: _,
            loss_redial,
            switch_grace,
            member,
        } = rules;
        let Failback {
            enabled,
            grace,
            stable,
            jitter,
        } = failback;
        let LameDuck {
            action,
            drain_window,
        } = lame_duck;
        self.put(&(standby, pool.name(), enabled, grace, stable, jitter));
        self.put(&(std::mem::discriminant(action), drain_window));
        self.put(&(loss_redial, switch_grace));
        self.member_rules(member);
    }

    pub(in crate::machine) fn member_rules(&mut self, rules: &MemberRules) {
        let MemberRules {
            health,
            breaker,
            reconnect,
            timeouts,
        } = rules;
        let HealthRules {
            checks,
            // What a probe is, and how probes make a verdict, is not known to the machine.
            combine: _,
            policy: _,
            interval,
            timeout,
            probes,
            probe_delay,
        } = health;
        let Breaker {
            window,
            failure_rate,
            min_failures,
        } = breaker;
        let Reconnect { initial, max } = reconnect;
        let Timeouts {
            connect,
            prove,
            // The driver's.
            operation: _,
        } = timeouts;
        self.put(checks);
        self.put(&(interval, timeout, probes, probe_delay));
        self.put(&(window, failure_rate.to_bits(), min_failures));
        self.put(&(initial, max, connect, prove));
    }
}

fn place<T: PartialEq>(met: &mut Vec<T>, value: T) -> usize {
    met.iter()
        .position(|seen| *seen == value)
        .unwrap_or_else(|| {
            met.push(value);
            met.len() - 1
        })
}
