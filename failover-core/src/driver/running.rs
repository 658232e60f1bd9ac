//! The actions under way: what is needed to drop one, and to say why it was dropped.
//!
//! The machine sets the deadlines and only says "cancel". That an action had used up its time is what people want to read
//! as the reason, so it is remembered here how long each was given.

use std::collections::HashMap;
use std::time::Duration;

use backend_api::{Error, ErrorKind, Generation};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::machine::{MemberId, Op};

/// What an action is, for whoever reads why it ended.
pub(super) struct Errand {
    pub(super) member: MemberId,
    pub(super) name: &'static str,
    /// How long it may take, if the machine bounds it.
    pub(super) bound: Option<Duration>,
    /// The connection that a dial makes.
    pub(super) dials: Option<Generation>,
}

impl Errand {
    pub(super) fn new(member: MemberId, name: &'static str) -> Self {
        Self {
            member,
            name,
            bound: None,
            dials: None,
        }
    }

    pub(super) fn within(mut self, bound: Duration) -> Self {
        self.bound = Some(bound);
        self
    }
}

struct Running {
    errand: Errand,
    began: Instant,
    task: AbortHandle,
}

/// All actions under way.
#[derive(Default)]
pub(super) struct Errands(HashMap<Op, Running>);

impl Errands {
    pub(super) fn begin(&mut self, op: Op, errand: Errand, task: AbortHandle) {
        let began = Instant::now();
        self.0.insert(
            op,
            Running {
                errand,
                began,
                task,
            },
        );
    }

    /// It has answered.
    pub(super) fn end(&mut self, op: Op) -> Option<Errand> {
        self.0.remove(&op).map(|running| running.errand)
    }

    /// Drops it. If its time was over, that is the reason, which says so.
    pub(super) fn cancel(&mut self, op: Op) -> Option<(Errand, Option<Error>)> {
        let Running {
            errand,
            began,
            task,
        } = self.0.remove(&op)?;
        task.abort();
        let bound = errand.bound.filter(|bound| began.elapsed() >= *bound);
        let overdue = bound.map(|bound| {
            Error::new(ErrorKind::Timeout, format!("no answer within {bound:?}"))
                .with_operation(errand.name)
        });
        Some((errand, overdue))
    }
}
