//! When a group may start: the gate beside the walk by weight.

/// How the members stand while a group starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartupTally {
    /// Members that take part.
    pub total: usize,
    /// Connected, and healthy where checks are configured.
    pub available: usize,
    /// Refused, timed out or unhealthy.
    pub failed: usize,
}

impl StartupTally {
    /// Not yet known.
    pub fn pending(&self) -> usize {
        self.total - self.available - self.failed
    }
}

/// What a policy says to a tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartupVerdict {
    /// Not enough is known.
    Wait,
    /// The group may start, as soon as the best available member is known.
    Ready,
    /// It cannot start any more.
    Fail,
}

/// A user's own startup policy.
pub trait StartupPolicy: Send + Sync + 'static {
    /// Asked whenever a member's answer arrives. Pure.
    fn decide(&self, tally: StartupTally) -> StartupVerdict;
}
