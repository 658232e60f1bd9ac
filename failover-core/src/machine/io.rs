//! What goes into the machine and what comes out: the whole interface to the driver, as data.

use std::sync::Arc;
use std::time::Duration;

use backend_api::{ErrorKind, Generation, Weight};

use crate::config::{MemberRules, Rules};

/// A member, by a number that is never used again. The driver knows the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u32);

/// A server, as its own identity tells it from others, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(pub u64);

/// One asynchronous action; its answer carries the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(pub u64);

/// One call of a control operation; it gets exactly one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// How an asynchronous action failed, as far as decisions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The connection is of no use.
    Dead,
    /// The member answered that it cannot serve.
    Unhealthy,
    /// The member is a read-only replica.
    ReadOnly,
}

impl From<ErrorKind> for Failure {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::ReadOnly => Failure::ReadOnly,
            ErrorKind::Unhealthy => Failure::Unhealthy,
            _ => Failure::Dead,
        }
    }
}

/// What a whole check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Fit to serve.
    Healthy,
    /// Not fit.
    Unhealthy {
        /// A replica: never promoted.
        read_only: bool,
    },
    /// Not found out.
    Inconclusive,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// Only time has passed.
    Tick,
    /// [`Action::Connect`] succeeded, and where the connection ended, as far as anybody knows.
    Connected(MemberId, Generation, Op, Option<Identity>),
    /// [`Action::Connect`] failed.
    ConnectFailed(MemberId, Op),
    /// [`Action::Prove`], [`Action::Arm`], [`Action::Promote`] or [`Action::Drain`] ended well.
    Done(MemberId, Op),
    /// [`Action::Prove`], [`Action::Arm`] or [`Action::Promote`] failed.
    Failed(MemberId, Op, Failure),
    /// [`Action::Check`] ended.
    Checked(MemberId, Op, Verdict),
    /// [`Action::Retire`] ended.
    Retired(MemberId, Generation),
    /// The connection ended.
    Lost(MemberId, Generation),
    /// An operation on the connection failed.
    Suspect(MemberId, Generation),
    /// The member says that it cannot serve.
    Condemned(MemberId, Generation, Failure),
    /// The member announced its shutdown.
    LameDuck(MemberId, Generation),
    /// Operations that ended on the connection since the last sample.
    Outcomes {
        /// Whose.
        member: MemberId,
        /// Which connection.
        generation: Generation,
        /// How many succeeded.
        success: u32,
        /// How many failed.
        failure: u32,
    },
    /// The driver itself was late: what timed out meanwhile says nothing about members.
    Stalled,
    /// A control operation was called.
    Request(RequestId, Request),
}

/// How the old connection ends after a planned move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// As soon as operations and hand-overs are done, at most `switch_grace`.
    Steal,
    /// It may finish for so long.
    Drain(Duration),
}

/// A member as it is added.
#[derive(Clone, Debug)]
pub struct NewMember {
    /// Its number.
    pub id: MemberId,
    /// Its weight.
    pub weight: Weight,
    /// Whether it takes part.
    pub enabled: bool,
    /// Its rules.
    pub rules: Arc<MemberRules>,
}

/// A control operation.
#[derive(Clone, Debug)]
pub enum Request {
    /// Move to a member.
    SwitchTo {
        /// The target.
        to: MemberId,
        /// How the old connection ends.
        end: End,
        /// Also to one that is held back by checks, breaker, grace or mark.
        force: bool,
    },
    /// Move to the best standby.
    SwitchToPassive {
        /// How the old connection ends.
        end: End,
    },
    /// End the group.
    Close,
    /// Take a member in.
    Add(NewMember),
    /// Remove a member; the active moves away first.
    Remove(MemberId),
    /// Change a weight.
    SetWeight(MemberId, Weight),
    /// Let a member take part.
    Enable(MemberId),
    /// Keep a member out; the active moves away first.
    Disable(MemberId),
    /// No failback until released.
    Pin,
    /// Failback may go on.
    Release,
    /// An operator's lame-duck mark: planned maintenance.
    Mark(MemberId),
    /// The operator's mark is taken away.
    ClearMark(MemberId),
    /// Replace the standbys by fresh connections.
    Rehome,
    /// Remove a member, or keep it out, as soon as the group can do without it: answered at once, never refused for want
    /// of a standby. [`Request::Enable`] takes it back.
    PhaseOut {
        /// Who.
        member: MemberId,
        /// Removed, not only kept out.
        remove: bool,
    },
    /// A connection does not tell of a member any more: it is to be removed as by [`Request::PhaseOut`], if the connection
    /// is the active one, and otherwise nothing is changed.
    Untold {
        /// Who.
        member: MemberId,
        /// Whose word it is.
        by: Generation,
    },
    /// Put a member in the place of another, once it is proven and fit. An earlier one for the same place is dropped.
    Replace {
        /// Who serves until then.
        old: MemberId,
        /// Who comes.
        new: NewMember,
    },
    /// Drop whoever was to replace this member.
    KeepAsIs(MemberId),
    /// Change the rules of a member, and of whoever is to replace it. Whether it is checked at all is not changed so.
    SetRules(MemberId, Arc<MemberRules>),
    /// Change the rules of the group. Those of its start stay.
    SetGroupRules(Arc<Rules>),
}

/// What a control operation is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// Done.
    Done,
    /// Traffic moved.
    Switched {
        /// From there.
        from: Option<MemberId>,
        /// To there.
        to: MemberId,
    },
    /// Nothing was changed, and why.
    Refused(Refusal),
}

/// Why a control operation changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No such member.
    Unknown,
    /// There is such a member.
    Duplicate,
    /// Held back by checks, breaker, grace or mark, or disabled.
    NotEligible(MemberId),
    /// There is no standby to move to.
    NoStandby,
    /// The target's connection failed, or it was removed, while the move was under way.
    Aborted(MemberId),
    /// The last member cannot go.
    LastMember,
    /// The group is closing.
    Closed,
}

/// Why traffic moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The first active of a group.
    Startup,
    /// The active's connection ended, or failed its proof.
    Lost,
    /// The active failed its checks or said that it cannot serve.
    Health,
    /// Too many operations on the active failed.
    Breaker,
    /// The active announced its shutdown.
    LameDuck,
    /// A member of higher weight is fit again.
    Failback,
    /// An operator moved it.
    Manual,
    /// The active was removed or disabled.
    Removed,
    /// The active got other connection settings, and goes on with them.
    Reconfigured,
}

/// How the old connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// There was none, or it was lost.
    Failover,
    /// Quickly.
    Steal,
    /// After a window.
    Drain,
}

/// News for people and programs. Names and causes are added by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// A member was added.
    Added(MemberId),
    /// A connection was opened and proven.
    Connected(MemberId, Generation),
    /// A connection ended by itself.
    Lost(MemberId, Generation),
    /// A dial failed.
    DialFailed(MemberId),
    /// A member's health changed.
    Health(MemberId, bool),
    /// A breaker opened or closed.
    Breaker(MemberId, bool),
    /// A lame-duck mark was set or cleared.
    LameDuck(MemberId, bool),
    /// Traffic moved.
    Switched {
        /// From there.
        from: Option<MemberId>,
        /// To there.
        to: MemberId,
        /// Why.
        reason: Reason,
        /// How the old connection ends.
        kind: Kind,
        /// From the cause to the move.
        took: Duration,
    },
    /// A move was given up.
    SwitchAborted(MemberId, Reason),
    /// A connection became a standby.
    StandbyArmed(MemberId, Generation),
    /// The group is without its standby, or without an active.
    Degraded,
    /// It has both again.
    Whole,
    /// Every member was tried in vain, for the nth time.
    AllDown(u32),
    /// A drain began.
    DrainStarted(MemberId, Duration),
    /// A drain ended, and whether the connection lives on as a standby.
    DrainEnded(MemberId, bool),
    /// The process was stalled: what timed out meanwhile condemned nobody.
    Stalled,
    /// Whoever is to replace a member could not be connected, or is not fit.
    ReplacementFailed(MemberId),
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Action {
    /// Dial; answer with [`Input::Connected`] or [`Input::ConnectFailed`].
    Connect(MemberId, Generation, Op, Duration),
    /// Prove a connection; answer with [`Input::Done`] or [`Input::Failed`], as for the next three.
    Prove(MemberId, Generation, Op),
    /// Make it a warm standby.
    Arm(MemberId, Generation, Op),
    /// Bring over what must live on the active. The last is the connection that was active last.
    Promote(MemberId, Generation, Op, Option<Generation>),
    /// Let it finish; [`Input::Done`] when its operations have ended.
    Drain(MemberId, Generation, Op),
    /// Check the member; answer with [`Input::Checked`].
    Check(MemberId, Generation, Op),
    /// Drop an action whose answer is not awaited any more.
    Cancel(Op),
    /// New traffic goes to this connection.
    Activate(MemberId, Generation),
    /// New traffic waits.
    Deactivate,
    /// End a connection; answer with [`Input::Retired`].
    Retire(MemberId, Generation),
    /// Startup is complete.
    Started,
    /// Startup failed; everything is being closed.
    StartFailed,
    /// Answer a control operation.
    Answer(RequestId, Answer),
    /// A member is gone; its number will not come again.
    Forget(MemberId),
    /// The first gives its place, and its name, to the second.
    Replaced(MemberId, MemberId),
    /// Tell people and programs.
    Tell(News),
    /// Nothing is left.
    Closed,
}
