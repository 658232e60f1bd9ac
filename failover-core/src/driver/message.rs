//! What reaches the driver beside signals: answers of its own tasks, and calls of control operations.

use std::time::Duration;

use backend_api::{Backend, Error, Generation, MemberName, Weight};
use tokio::sync::{mpsc, oneshot};

use crate::config::{GroupConfig, MemberConfig};
use crate::machine::{End, Input, MemberId, Op};
use crate::reload::Reloaded;

/// An answer of a task that the driver spawned.
pub(super) enum Answered<B: Backend> {
    /// A connection, which is somebody's to retire from here on.
    Connected(MemberId, Generation, Op, B::Connection),
    /// Anything else, with what the member said.
    Plain(Input, MemberId, Option<Error>),
    /// A proof passed, and how long it took.
    Proven(MemberId, Op, Duration),
}

/// What handles send.
pub(crate) enum Call<B: Backend> {
    /// A control operation.
    Control {
        what: Control<B>,
        reply: oneshot::Sender<Result<Moved, Error>>,
    },
    /// A new configuration, or why there is none.
    Reload {
        config: Result<Box<GroupConfig<B::Settings>>, Error>,
        reply: oneshot::Sender<Result<Reloaded, Error>>,
    },
    /// Something that runs beside the group until the group ends.
    #[cfg(feature = "watch")]
    Watch(std::pin::Pin<Box<dyn Future<Output = ()> + Send>>),
}

/// What a control operation did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// Where the traffic was, if it moved.
    pub from: Option<MemberName>,
    /// Where it is now, if it moved.
    pub to: Option<MemberName>,
}

/// A control operation, by names.
pub(crate) enum Control<B: Backend> {
    SwitchTo {
        to: MemberName,
        end: End,
        force: bool,
    },
    SwitchToPassive {
        end: End,
    },
    Add(Box<MemberConfig<B::Settings>>),
    Remove(MemberName),
    SetWeight(MemberName, Weight),
    Enable(MemberName),
    Disable(MemberName),
    Pin,
    Release,
    MarkLameDuck(MemberName),
    ClearLameDuck(MemberName),
    RehomeStandby,
    Close,
}

/// Answers for a task even if it panics: dropped unused, it reports the failure that was prepared.
pub(super) struct Reply<B: Backend> {
    sink: mpsc::UnboundedSender<Answered<B>>,
    otherwise: Option<(Input, MemberId, &'static str)>,
}

impl<B: Backend> Reply<B> {
    pub(super) fn new(
        sink: mpsc::UnboundedSender<Answered<B>>,
        otherwise: Input,
        member: MemberId,
        operation: &'static str,
    ) -> Self {
        Self {
            sink,
            otherwise: Some((otherwise, member, operation)),
        }
    }

    pub(super) fn send(mut self, answer: Answered<B>) {
        self.otherwise = None;
        // The driver outlives its tasks; if it does not, there is nobody to tell.
        let _ = self.sink.send(answer);
    }
}

impl<B: Backend> Drop for Reply<B> {
    fn drop(&mut self) {
        if let Some((input, member, operation)) = self.otherwise.take() {
            // An action that was cancelled gets here too: its answer is not awaited and will be ignored.
            let error = std::thread::panicking().then(|| {
                Error::new(
                    backend_api::ErrorKind::Panicked,
                    "the backend panicked; see its message above",
                )
                .with_operation(operation)
            });
            let _ = self.sink.send(Answered::Plain(input, member, error));
        }
    }
}
