//! Deliberate faults, to show that the invariants bite. In a build without tests every question here is answered with a
//! constant `false`. No rule may ever depend on it.

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mutation {
    /// A target is promoted without its proof.
    SkipProof,
    /// The active is retired as soon as its successor is being proven.
    RetireBeforePromote,
    /// A lost connection is not retired.
    ForgetRetire,
    /// A member in grace counts as fit.
    IgnoreGrace,
    /// A draining connection that ends takes the active with it.
    ActOnDrainingLoss,
    /// A member is dialled although a dial is under way.
    DoubleDial,
    /// The caller of a move that is given up is never told.
    DropAnswer,
    /// Traffic goes back to a member of the same weight.
    FailbackToEqual,
    /// A dial has no deadline.
    NoDialDeadline,
    /// A read-only replica may be active.
    PromoteReadOnly,
    /// A failed member is never dialled again.
    NeverRedial,
    /// A connection that drained and is active again is not checked.
    ForgetChecks,
    /// A replacement takes over as soon as it is connected.
    ReplaceUnproven,
    /// A member goes on anybody's word.
    BelieveAnybody,
    /// A standby on the active's server is as good as any.
    ShareServer,
    /// Where a connection ended is forgotten with it.
    ForgetServer,
    /// Traffic moves to the active's own server although it could leave it.
    MoveToTwin,
    /// Whoever was promoted ahead does not wait for the redial.
    MoveAhead,
    /// What was promoted ahead, in vain, stands by with what was brought over.
    KeepPromoted,
}

impl super::Machine {
    /// Whether the fault is seeded.
    #[cfg(test)]
    pub(super) fn mutated(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    /// Never outside tests.
    #[cfg(not(test))]
    #[allow(clippy::unused_self)]
    pub(super) fn mutated(&self, _: Mutation) -> bool {
        false
    }
}
