//! What is known to be wrong today, and which work will mend it. A run fails if one of these does not fail any more: then
//! the line goes.

/// What will mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the table may be empty")]
pub(in crate::machine) enum Work {
    /// What the machine concludes from what it sees.
    Verdicts,
    /// What becomes of operations.
    Operations,
    /// What is kept of the past.
    History,
}

/// A scenario, a part of what its violation says, and what will mend it.
pub(in crate::machine) type Expected = (&'static str, &'static str, Work);

/// See the [module](self).
pub(in crate::machine) const EXPECTED: &[Expected] = &[];
