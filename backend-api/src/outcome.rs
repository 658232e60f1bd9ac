//! How an operation ended, in the three words that decisions need.

/// What one operation says about the member that served it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The member answered, whatever the answer was.
    Success,
    /// The member failed: connection, time, or a state in which it serves nobody.
    Failure,
    /// Says nothing about the member: the caller's own mistake, or a cancellation.
    Neutral,
}
