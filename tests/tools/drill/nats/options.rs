//! What the command line says about the stream: how much is published, and how the group listens to it.
//!
//! Only what the backend itself would take silently is refused here; the rest it refuses when the drill subscribes.

use failover_core::nats::{Dedupe, Delivery};

/// No publisher here is faster than a message a microsecond.
const FASTEST: u32 = 1_000_000;

/// The stream of a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// Messages per second.
    pub(crate) rate: u32,
    pub(crate) delivery: Mode,
    pub(crate) dedupe: Dedupe,
    pub(crate) ordered: bool,
    /// Listens as the only member of a queue group.
    pub(crate) queue: bool,
    /// The group publishes as well, without pause.
    pub(crate) publish: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rate: 20_000,
            delivery: Mode::AtLeastOnce,
            dedupe: Dedupe::None,
            ordered: false,
            queue: false,
            publish: false,
        }
    }
}

/// What a move may do to the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    AtMostOnce,
    AtLeastOnce,
    Mirrored,
}

impl Options {
    pub(crate) fn delivery(&self) -> Delivery {
        match self.delivery {
            Mode::AtMostOnce => Delivery::AtMostOnce,
            Mode::AtLeastOnce => Delivery::AtLeastOnce {
                dedupe: self.dedupe,
                ordered: self.ordered,
            },
            Mode::Mirrored => Delivery::mirrored(self.dedupe),
        }
    }

    /// What would have no effect, or cannot be.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let Self {
            delivery,
            dedupe,
            ordered,
            queue,
            ..
        } = *self;
        match delivery {
            Mode::AtMostOnce if dedupe != Dedupe::None => {
                Err("--dedupe has no effect on at-most-once, which doubles nothing")
            }
            Mode::AtMostOnce | Mode::Mirrored if ordered => {
                Err("--ordered is a choice of at-least-once alone")
            }
            Mode::Mirrored if dedupe == Dedupe::None => {
                Err("mirrored needs --dedupe header or --dedupe content")
            }
            Mode::Mirrored if queue => Err("a queue group cannot be mirrored"),
            Mode::AtLeastOnce if ordered && dedupe == Dedupe::None && !queue => {
                Err("--ordered needs --dedupe header or --dedupe content")
            }
            _ => Ok(()),
        }
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let delivery = match self.delivery {
            Mode::AtMostOnce => "at most once",
            Mode::AtLeastOnce => "at least once",
            Mode::Mirrored => "mirrored",
        };
        let dedupe = match self.dedupe {
            Dedupe::None => "",
            Dedupe::Header => ", deduped by header",
            Dedupe::Content => ", deduped by content",
        };
        let also = [
            (self.ordered, ", ordered"),
            (self.queue, ", queue group"),
            (self.publish, ", the group publishes too"),
        ];
        let also: String = also
            .iter()
            .filter_map(|(on, text)| on.then_some(*text))
            .collect();
        format!("{} messages/s {delivery}{dedupe}{also}", self.rate)
    }
}

pub(crate) fn rate(text: &str) -> Result<u32, &'static str> {
    match text.parse() {
        Ok(rate) if (1..=FASTEST).contains(&rate) => Ok(rate),
        _ => Err("it must be a number of messages per second, at most 1000000"),
    }
}

pub(crate) fn delivery(text: &str) -> Result<Mode, &'static str> {
    match text {
        "at-most-once" => Ok(Mode::AtMostOnce),
        "at-least-once" => Ok(Mode::AtLeastOnce),
        "mirrored" => Ok(Mode::Mirrored),
        _ => Err("a delivery is at-most-once, at-least-once or mirrored"),
    }
}

pub(crate) fn dedupe(text: &str) -> Result<Dedupe, &'static str> {
    match text {
        "none" => Ok(Dedupe::None),
        "header" => Ok(Dedupe::Header),
        "content" => Ok(Dedupe::Content),
        _ => Err("duplicates are told by none, header or content"),
    }
}
