//! Which member next: the order in which the engine considers members.
//!
//! A pool is a pure order over records that the engine keeps. It holds no state, so that the engine's state can
//! be copied, compared and searched, and it cannot break the hard rules (never a disabled member, never a
//! read-only replica, never one that is marked while another is not): those stand in the engine.

use std::cmp::Ordering;
use std::time::Duration;

use crate::Weight;

/// What a member is considered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// To carry the traffic.
    Active,
    /// To be kept connected and ready.
    Standby,
}

/// What the engine knows of a member when it asks for an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its weight.
    pub weight: Weight,
    /// Its place in the configuration, from 0; later for members that were added or discovered.
    pub declared: u32,
    /// Failed dials and lost connections since it last worked for a while.
    pub failures: u32,
    /// How long ago the last of them was.
    pub last_failure: Option<Duration>,
    /// A number drawn anew for every dial of this member: sorting by it shuffles.
    pub ticket: u64,
    /// It has a connection.
    pub connected: bool,
}

impl Candidate {
    /// A member that nothing is known of but its weight and place.
    pub fn new(weight: Weight, declared: u32) -> Self {
        Self {
            weight,
            declared,
            failures: 0,
            last_failure: None,
            ticket: 0,
            connected: false,
        }
    }
}

/// An order over candidates, best first.
pub trait Pool: Send + Sync + 'static {
    /// Its name in `pool = ".."`.
    fn name(&self) -> &str;

    /// `Less` means that `a` is considered before `b`. Must be a total order; the engine breaks remaining ties
    /// by the declared order.
    fn compare(&self, role: Role, a: &Candidate, b: &Candidate) -> Ordering;
}

/// Highest weight first, the declared order among equals. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weighted;

impl Pool for Weighted {
    fn name(&self) -> &'static str {
        "weighted"
    }

    fn compare(&self, _role: Role, a: &Candidate, b: &Candidate) -> Ordering {
        b.weight.cmp(&a.weight).then(a.declared.cmp(&b.declared))
    }
}

/// Those that failed least first, shuffled among equals: where many clients must not share one member because it
/// is named first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotating;

impl Pool for Rotating {
    fn name(&self) -> &'static str {
        "rotating"
    }

    fn compare(&self, _role: Role, a: &Candidate, b: &Candidate) -> Ordering {
        a.failures
            .cmp(&b.failures)
            .then(a.ticket.cmp(&b.ticket))
            .then(a.declared.cmp(&b.declared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(weight: f64, declared: u32) -> Candidate {
        Candidate::new(Weight::new(weight).unwrap(), declared)
    }

    #[test]
    fn weighted_takes_the_heaviest_and_then_the_first_declared() {
        let pool = Weighted;
        let compare = |a, b| pool.compare(Role::Active, &a, &b);
        assert_eq!(
            compare(candidate(1.0, 5), candidate(0.5, 0)),
            Ordering::Less
        );
        assert_eq!(
            compare(candidate(1.0, 1), candidate(1.0, 0)),
            Ordering::Greater
        );
    }

    #[test]
    fn rotating_puts_failed_members_last_and_shuffles_the_rest() {
        let pool = Rotating;
        let mut failed = candidate(9.0, 0);
        failed.failures = 1;
        let mut lucky = candidate(1.0, 1);
        lucky.ticket = 1;
        let mut unlucky = candidate(1.0, 2);
        unlucky.ticket = 2;
        let mut all = [failed, unlucky, lucky];
        all.sort_by(|a, b| pool.compare(Role::Standby, a, b));
        assert_eq!(all, [lucky, unlucky, failed]);
    }
}
