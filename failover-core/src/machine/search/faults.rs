//! Broken machines, to show that the search bites. The machine's own code is not touched: a machine is broken from outside,
//! by other rules than its owner gave it, by what it hears and says, or by what is changed in its state behind its back.
//! The observer is told nothing of that.
//!
//! `tests` runs this table: each fault is found, in the scenario and by the property that stand beside it.

mod tamper;

/// What is wrong with a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Fault {
    // Connections.
    /// Every proof passes at once, and nobody was asked.
    SkipProof,
    /// The active is retired as soon as its successor is being proven.
    RetireBeforePromote,
    /// Connections that ended are not retired.
    ForgetRetire,
    /// A connection that drains and ends takes the active with it.
    ActOnDrainingLoss,
    /// A member is dialled twice.
    DoubleDial,
    /// A dial has no deadline.
    NoDialDeadline,
    /// A failed member is never dialled again.
    NeverRedial,
    /// There is no delay between dials.
    NoBackoff,
    /// The count of rounds in vain is never set back.
    KeepAttempts,
    /// A drain may take a hundred times as long.
    LongDrains,
    // Health.
    /// A replica is only unhealthy.
    PromoteReadOnly,
    /// A connection that drained and is chosen again is not checked.
    ForgetChecks,
    /// An uncertain check counts as a failed one.
    DistrustUncertain,
    /// The breaker never opens.
    NeverBreak,
    /// An open breaker closes with the next check that passes.
    HoldNoBreaker,
    /// A stall excuses nothing.
    BlameStalls,
    /// There is no grace.
    IgnoreGrace,
    /// The grace is never doubled.
    NeverDouble,
    // Failback.
    /// Traffic goes back at once.
    ReturnUnstable,
    /// Traffic goes back although that is disabled.
    ReturnDisabled,
    /// Traffic goes back to a member of the same weight.
    ReturnToEqual,
    /// A pin is answered, and does nothing.
    IgnorePin,
    /// A release is answered, and does nothing.
    IgnoreRelease,
    /// A move by hand suspends nothing.
    NeverSuspend,
    // Operators.
    /// The caller of a move that is given up is never told.
    DropAnswer,
    /// Every move by hand is a forced one.
    ForceAll,
    /// A move by hand to a member in grace is refused.
    RefuseGrace,
    /// What was forced is forgotten.
    ForgetForce,
    /// When an announcement expires, the operator's mark goes with it.
    ExpireOperator,
    /// An active that should ride out an announcement does not.
    LeaveLameDucks,
    // Moves.
    /// A refusal of the redial is not heard.
    MissRefusal,
    /// Whoever was promoted ahead does not wait for the redial.
    MoveAhead,
    /// What was promoted ahead, in vain, stands by with what was brought over.
    KeepPromoted,
    /// A start waits for nobody.
    StartImpatiently,
    // Membership.
    /// A replacement takes over as soon as it is connected.
    ReplaceUnproven,
    /// A member goes on anybody's word.
    BelieveAnybody,
    /// Nobody looks at which server a connection ended.
    ShareServer,
    /// The same, where traffic could leave the active's server.
    MoveToTwin,
    /// Where a connection ended is forgotten with it.
    ForgetServer,
}

/// Every fault, a scenario that finds it, and what its property says.
pub(super) const FAULTS: &[(Fault, &str, &str)] = &[
    (Fault::SkipProof, "start: refused", "became active as"),
    (
        Fault::RetireBeforePromote,
        "two: verdicts",
        "the open active",
    ),
    (Fault::ForgetRetire, "two: lost", "the machine holds"),
    (
        Fault::ActOnDrainingLoss,
        "two, once only: moved by hand",
        "an old connection moved traffic",
    ),
    (Fault::DoubleDial, "two: lost", "was dialled twice"),
    (Fault::NoDialDeadline, "two: lost", "is not set"),
    (Fault::NeverRedial, "two: lost", "never well again"),
    (Fault::NoBackoff, "start: refused", "is dialled again after"),
    (
        Fault::KeepAttempts,
        "one: down again and again",
        "all were down for the",
    ),
    (Fault::LongDrains, "two: moved by hand", "drains for"),
    (Fault::PromoteReadOnly, "two: verdicts", "was said to be"),
    (
        Fault::ForgetChecks,
        "two: moved back in a drain",
        "is not set",
    ),
    (Fault::DistrustUncertain, "two: verdicts", "was said to be"),
    (Fault::NeverBreak, "two: breaker", "did not open"),
    (Fault::HoldNoBreaker, "one: breaker", "closed too soon"),
    (
        Fault::BlameStalls,
        "two: stalled, refused",
        "a stall explains",
    ),
    (Fault::IgnoreGrace, "two: lost", "the grace of"),
    (
        Fault::NeverDouble,
        "two: lost again and again",
        "the grace of",
    ),
    (
        Fault::ReturnUnstable,
        "two: lost, no grace",
        "not yet stable",
    ),
    (
        Fault::ReturnDisabled,
        "two: no failback",
        "though it is disabled",
    ),
    (
        Fault::ReturnToEqual,
        "three of one weight: lost",
        "weighs no more",
    ),
    (Fault::IgnorePin, "two: pinned", "shown as suspended"),
    (Fault::IgnoreRelease, "two: pinned", "shown as suspended"),
    (
        Fault::NeverSuspend,
        "two: moved by hand",
        "shown as suspended",
    ),
    (Fault::DropAnswer, "two: moved by hand", "never well again"),
    (Fault::ForceAll, "two: moved to the marked", "unforced"),
    (
        Fault::RefuseGrace,
        "two: moved by hand, then lost",
        "nothing but grace",
    ),
    (
        Fault::ForgetForce,
        "two: forced to the broken",
        "was forced to",
    ),
    (Fault::ExpireOperator, "two: marked", "the mark of"),
    (
        Fault::LeaveLameDucks,
        "two: passive only",
        "a mark moves traffic",
    ),
    (Fault::MissRefusal, "two: lost", "waits on"),
    (Fault::MoveAhead, "three, ahead: lost", "was redialled"),
    (Fault::KeepPromoted, "three, ahead: lost", "stands by as"),
    (
        Fault::StartImpatiently,
        "start: refused",
        "without waiting for",
    ),
    (Fault::ReplaceUnproven, "two: replaced", "was not proven"),
    (
        Fault::BelieveAnybody,
        "two, one standby: told of each other",
        "on the word of",
    ),
    (
        Fault::ShareServer,
        "three on two servers: lost",
        "never well again",
    ),
    (
        Fault::MoveToTwin,
        "three on two servers, all: failing",
        "on the same server",
    ),
    (
        Fault::ForgetServer,
        "three on one server: lost",
        "to share the active's server",
    ),
];
