//! What a switch may do to a subscription: the subscriber's choice, made where it subscribes.

use backend_api::{Error, ErrorKind};

/// What a switch may do to a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// No message twice and none out of order; those under way while the traffic moves may be lost.
    AtMostOnce,
    /// Old and new connection overlap: a planned move loses nothing, and what arrives on both is doubled unless `dedupe` says
    /// how to tell. When the active is killed, what its server had not delivered is lost. In a queue group nothing is doubled.
    AtLeastOnce {
        /// How a message is known that was delivered before.
        dedupe: Dedupe,
        /// Whether the new connection's messages wait until the old one's are delivered. Needs a `dedupe`, since what arrives
        /// on both would be repeated later otherwise.
        ordered: bool,
    },
    /// Subscribed on the active and on every standby all the time: nothing is lost even when the active is killed, and every
    /// message travels as many times. Needs a `dedupe`. Not for queue groups, whose servers choose one receiver.
    Mirrored {
        /// How a message is known that was delivered before.
        dedupe: Dedupe,
    },
}

/// How a message is known that was delivered before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dedupe {
    /// Not at all.
    #[default]
    None,
    /// By its header `Nats-Msg-Id`, among the last 131,072 messages of the subscription. A message without it always counts
    /// as new.
    Header,
    /// By subject, reply subject, headers and payload, and only over two connections: what arrives twice on the same one was
    /// published twice. For two seconds.
    Content,
}

impl Default for Delivery {
    fn default() -> Self {
        Self::AtLeastOnce {
            dedupe: Dedupe::None,
            ordered: false,
        }
    }
}

impl Delivery {
    /// At least once, without `ordered`.
    pub const fn at_least_once(dedupe: Dedupe) -> Self {
        Self::AtLeastOnce {
            dedupe,
            ordered: false,
        }
    }

    /// At least once, in order.
    pub const fn ordered(dedupe: Dedupe) -> Self {
        Self::AtLeastOnce {
            dedupe,
            ordered: true,
        }
    }

    /// Mirrored.
    pub const fn mirrored(dedupe: Dedupe) -> Self {
        Self::Mirrored { dedupe }
    }

    pub(crate) fn dedupe(self) -> Dedupe {
        match self {
            Self::AtMostOnce => Dedupe::None,
            Self::AtLeastOnce { dedupe, .. } | Self::Mirrored { dedupe } => dedupe,
        }
    }

    pub(crate) fn is_mirrored(self) -> bool {
        matches!(self, Self::Mirrored { .. })
    }

    pub(crate) fn is_ordered(self) -> bool {
        matches!(self, Self::AtLeastOnce { ordered: true, .. })
    }

    /// What goes together.
    pub(crate) fn check(self, queue: bool) -> Result<(), Error> {
        let refuse =
            |text| Err(Error::new(ErrorKind::Unsupported, text).with_operation("subscribe"));
        match self {
            Self::Mirrored { .. } if queue => refuse(
                "a queue group cannot be mirrored: use AtLeastOnce, which loses and doubles nothing there",
            ),
            Self::Mirrored {
                dedupe: Dedupe::None,
            } => refuse("Mirrored needs a dedupe: every message arrives once for each connection"),
            Self::AtLeastOnce {
                dedupe: Dedupe::None,
                ordered: true,
            } if !queue => refuse(
                "ordered needs a dedupe: what arrives on both connections would be repeated later",
            ),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_together_is_refused() {
        let none = Dedupe::None;
        for (delivery, queue, fits) in [
            (Delivery::default(), false, true),
            (Delivery::default(), true, true),
            (Delivery::AtMostOnce, true, true),
            (Delivery::ordered(none), false, false),
            (Delivery::ordered(none), true, true),
            (Delivery::ordered(Dedupe::Content), false, true),
            (Delivery::mirrored(none), false, false),
            (Delivery::mirrored(Dedupe::Header), false, true),
            (Delivery::mirrored(Dedupe::Header), true, false),
        ] {
            assert_eq!(delivery.check(queue).is_ok(), fits, "{delivery:?} {queue}");
        }
    }
}
