//! What a backend can do, as data: the engine and the conformance suite read it.

/// Built with methods, so that fields can be added without breaking backends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    announces_lame_duck: bool,
    discovers_members: bool,
    serves_again_after_drain: bool,
    promotes_ahead: bool,
}

impl Capabilities {
    /// Nothing beyond the required methods.
    pub const fn new() -> Self {
        Self {
            announces_lame_duck: false,
            discovers_members: false,
            serves_again_after_drain: false,
            promotes_ahead: false,
        }
    }

    /// Members of this kind announce their own shutdown.
    #[must_use]
    pub const fn announcing_lame_duck(mut self) -> Self {
        self.announces_lame_duck = true;
        self
    }

    /// Connections of this kind tell of further members, with [`Signals::discovered`](crate::Signals::discovered).
    #[must_use]
    pub const fn discovering_members(mut self) -> Self {
        self.discovers_members = true;
        self
    }

    /// A connection that was drained to its end can become a standby and be promoted again.
    #[must_use]
    pub const fn serving_again_after_drain(mut self) -> Self {
        self.serves_again_after_drain = true;
        self
    }

    /// Once the active is lost, a standby may be promoted before it is decided that the traffic goes there: beside the one
    /// redial of the lost member, and without a proof. For this, [`promote`](crate::Backend::promote) is a proof as well: it
    /// makes a round trip to `to`, before anything that cannot be taken back. It can be begun again where it was dropped,
    /// and called off even when it is done: then [`drain`](crate::Backend::drain) follows, and `to` is a standby as before.
    ///
    /// Asks for [`serving_again_after_drain`](Self::serving_again_after_drain), without which it is not done.
    #[must_use]
    pub const fn promoting_ahead(mut self) -> Self {
        self.promotes_ahead = true;
        self
    }

    /// See [`announcing_lame_duck`](Self::announcing_lame_duck).
    pub const fn announces_lame_duck(&self) -> bool {
        self.announces_lame_duck
    }

    /// See [`discovering_members`](Self::discovering_members).
    pub const fn discovers_members(&self) -> bool {
        self.discovers_members
    }

    /// See [`serving_again_after_drain`](Self::serving_again_after_drain).
    pub const fn serves_again_after_drain(&self) -> bool {
        self.serves_again_after_drain
    }

    /// See [`promoting_ahead`](Self::promoting_ahead).
    pub const fn promotes_ahead(&self) -> bool {
        self.promotes_ahead && self.serves_again_after_drain
    }
}
