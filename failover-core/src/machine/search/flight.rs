//! What is under way around a machine, and how it can end.

use backend_api::Generation;

use super::event::Trouble;
use crate::machine::{Identity, Input, MemberId, Op, Verdict};

/// Something that will be answered, or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::machine) enum Flight {
    Dial(MemberId, Generation, Op),
    /// A dial that was given up, and may come back all the same.
    Late(MemberId, Generation, Op),
    Task(Work, MemberId, Generation, Op),
    Check(MemberId, Generation, Op),
    Retire(MemberId, Generation),
    /// A task or a check that was given up, and is answered all the same.
    LateTask(Work, MemberId, Generation, Op),
    LateCheck(MemberId, Generation, Op),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::machine) enum Work {
    Prove,
    Arm,
    Promote,
    Drain,
}

impl Flight {
    pub(super) fn well(self, servers: Servers) -> Input {
        match self {
            Flight::Dial(id, generation, op) | Flight::Late(id, generation, op) => {
                Input::Connected(id, generation, op, servers.of(id, generation))
            }
            Flight::Task(_, id, _, op) | Flight::LateTask(_, id, _, op) => Input::Done(id, op),
            Flight::Check(id, _, op) | Flight::LateCheck(id, _, op) => {
                Input::Checked(id, op, Verdict::Healthy)
            }
            Flight::Retire(id, generation) => Input::Retired(id, generation),
        }
    }

    /// How it can end otherwise; what can not, ends well.
    pub(super) fn badly(self, trouble: Trouble, servers: Servers) -> Input {
        match self {
            Flight::Dial(id, _, op) => Input::ConnectFailed(id, op),
            Flight::Check(id, _, op) | Flight::LateCheck(id, _, op) => {
                Input::Checked(id, op, trouble.verdict())
            }
            Flight::Task(_, id, _, op) | Flight::LateTask(_, id, _, op) => {
                Input::Failed(id, op, trouble.failure())
            }
            Flight::Late(..) | Flight::Retire(..) => self.well(servers),
        }
    }

    /// Whom it is about.
    pub(super) fn member(self) -> MemberId {
        match self {
            Flight::Dial(id, ..)
            | Flight::Late(id, ..)
            | Flight::Task(_, id, ..)
            | Flight::LateTask(_, id, ..)
            | Flight::Check(id, ..)
            | Flight::LateCheck(id, ..)
            | Flight::Retire(id, _) => id,
        }
    }

    /// In which ways of these.
    pub(super) fn can(self, trouble: Trouble) -> bool {
        use Trouble::{Dead, Inconclusive, ReadOnly, Unhealthy};
        match self {
            Flight::Dial(..) | Flight::Task(Work::Drain, ..) => trouble == Dead,
            Flight::Task(..) | Flight::LateTask(..) => {
                matches!(trouble, Dead | Unhealthy | ReadOnly)
            }
            Flight::Check(..) | Flight::LateCheck(..) => {
                matches!(trouble, Unhealthy | ReadOnly | Inconclusive)
            }
            Flight::Late(..) | Flight::Retire(..) => false,
        }
    }

    /// A dial makes one connection, and whoever dials knows it.
    pub(super) fn can_come_twice(self) -> bool {
        !matches!(self, Flight::Dial(..) | Flight::Late(..))
    }

    /// Nobody waits for it.
    pub(super) fn is_late(self) -> bool {
        matches!(
            self,
            Flight::Late(..) | Flight::LateTask(..) | Flight::LateCheck(..)
        )
    }
}

/// At which servers connections end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Servers {
    /// Nobody can tell.
    Unknown,
    /// So many, the members in turn; those of one are all the same.
    Fixed(u32),
    /// So many, and each dial ends at the next one, as behind a load balancer.
    Shifting(u32),
}

impl Servers {
    pub(super) fn of(self, id: MemberId, generation: Generation) -> Option<Identity> {
        match self {
            Servers::Unknown => None,
            Servers::Fixed(count) => Some(u64::from(id.0 / 2 % count)),
            Servers::Shifting(count) => Some((u64::from(id.0) + generation.0) % u64::from(count)),
        }
        .map(Identity)
    }
}
