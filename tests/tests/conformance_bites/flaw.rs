//! The ways in which a backend goes wrong: each is a mistake that somebody makes, or has made.
//!
//! One that is not here cannot be made: `Lost` is never heard twice of one connection, since its voice says it only once.

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// None: the wrapper itself must change nothing.
    None,
    /// All settings are equal.
    EqualSettings,
    /// Its own settings are refused.
    PickyValidation,
    /// The default check is one that does not exist.
    UnknownCheck,
    /// The default check asks nobody.
    BlindCheck,
    /// It connects nobody.
    Hermit,
    /// A dial takes the time it wants.
    PatientConnect,
    /// A dial that is refused is tried again until the time is up.
    StubbornConnect,
    /// A dial goes on in a task of its own.
    LingeringConnect,
    /// A refusal is told as a loss.
    MisnamedRefusal,
    /// A server is called something else whenever it is asked for.
    RestlessIdentity,
    /// Every connection is a server of its own.
    FreshIdentity,
    /// All servers are one.
    CommonIdentity,
    /// A proof asks nobody.
    HollowProof,
    /// A proof that is dropped takes its connection along.
    FragileProof,
    /// Losses are kept secret.
    NeverLost,
    /// Losses are told a second late, as by a poll.
    LateLost,
    /// A connection that is not used for a moment says that it is lost.
    LostWhenIdle,
    /// After a loss it connects again by itself.
    Reconnects,
    /// All connections of a member speak with the voice of the first.
    FirstVoice,
    /// All connections of a member are one.
    OneConnection,
    /// Announced shutdowns are kept secret.
    DeafToLameDucks,
    /// A connection that is well cannot be promoted.
    RefusedPromotion,
    /// A promotion first asks the old connection.
    ClingingPromotion,
    /// A promotion that fails ends the old connection.
    VengefulPromotion,
    /// A promotion of a dead connection panics.
    PanickingPromotion,
    /// A promotion does not ask the new connection.
    BlindPromotion,
    /// Arming does not end.
    EndlessArming,
    /// A drain waits for nobody.
    HastyDrain,
    /// A drain does not end.
    EndlessDrain,
    /// A drain ends its connection, and says that it can serve again.
    FinalDrain,
    /// Retiring does nothing.
    EmptyRetire,
    /// Retiring says goodbye and waits for the answer.
    PoliteRetire,
    /// A second socket, which nobody ends.
    Phantom,
    /// What was retired is told as something else.
    MumbledEnd,
}
