//! What only an engine constructs: the owner's side of slots and signals. For engines, and for the unit tests of
//! backends; the front door of the engine does not re-export it.

pub use crate::signals::Heard;
pub use crate::slot::{SlotOwner, Tally};
use crate::sync::mpsc;
use crate::{Generation, MemberName, Signals};

/// Makes the [`Signals`] of a group's connections.
#[derive(Debug)]
pub struct SignalSource<S> {
    sink: mpsc::UnboundedSender<Heard<S>>,
}

impl<S> SignalSource<S> {
    /// The voice of one connection.
    pub fn signals(&self, member: MemberName, generation: Generation) -> Signals<S> {
        Signals::new(member, generation, self.sink.clone())
    }
}

/// A channel for what the connections of a group say. Its memory is bounded by the number of connections.
pub fn signal_channel<S>() -> (SignalSource<S>, mpsc::UnboundedReceiver<Heard<S>>) {
    let (sink, receiver) = mpsc::unbounded_channel();
    (SignalSource { sink }, receiver)
}
