//! What happened in a run, as plain data: the only thing that the checker reads.
//!
//! The workload, the faults and the servers write it; the checker never asks a server. So a forged record is as good as a
//! real one, and each promise can be tried on a record that breaks it. An operation takes 12 bytes: ten minutes at
//! twenty thousand operations a second fit into 150 MB.
//!
//! What must never come in: a clock, a socket, a judgement.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Microseconds since the run began. A run is at most an hour long, which fits.
pub(crate) type Micros = u32;

/// A member, by its place in [`Record::members`].
pub(crate) type Member = u8;

/// What the run was done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Two or more independent Redis servers, through redis-rs.
    Redis,
    /// The same servers, through fred.
    Fred,
    /// Three nodes of one NATS cluster, with JetStream.
    Nats,
    /// Two Redis servers of which one replicates the other, through redis-rs.
    Pair,
}

impl Target {
    /// As the command line and the report call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Redis => "redis",
            Self::Fred => "fred",
            Self::Nats => "nats",
            Self::Pair => "pair",
        }
    }

    /// How many members its group has.
    pub(crate) fn members(self) -> Member {
        match self {
            Self::Redis | Self::Fred | Self::Pair => 2,
            Self::Nats => 3,
        }
    }
}

/// What an operation was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A read whose answer is known beforehand.
    Read,
    /// A write that counts itself: applied twice, it shows.
    Write,
    /// A pipeline with such a write in it.
    Pipeline,
    /// A transaction with such a write in it.
    Transaction,
    /// A script that writes.
    Script,
    /// A blocking command.
    Blocking,
    /// A numbered message that nobody acknowledges.
    Publish,
    /// A request to a service that answers with what it was asked.
    Request,
    /// A numbered message that a stream acknowledges.
    StreamPublish,
}

/// How an operation ended, as its caller saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Outcome {
    /// The answer belongs to the question.
    Right,
    /// There was an answer, and it belongs to something else.
    Wrong,
    /// An error whose fate is: not applied.
    NotApplied,
    /// An error whose fate is: may have been applied.
    MayHaveBeenApplied,
    /// An error without a fate.
    NoFate,
    /// It had not ended when the run was over.
    Unended,
}

/// One operation of one worker. Its number is its place in the worker's log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) begun: Micros,
    pub(crate) took: Micros,
    pub(crate) kind: Kind,
    pub(crate) outcome: Outcome,
}

/// Names one operation: its worker and its place in that worker's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OperationId {
    pub(crate) worker: u16,
    pub(crate) number: u32,
}

/// A fault that was done to a member, or to this process where `member` is none.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: &'static str,
    pub(crate) member: Option<Member>,
    pub(crate) during: Range<Micros>,
}

/// A span in which a member could have served: it ran, it was writable, and the way to it was open.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub(crate) member: Member,
    pub(crate) during: Range<Micros>,
}

/// The traffic moved, says an event of the group.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) at: Micros,
    pub(crate) from: Option<Member>,
    pub(crate) to: Member,
    /// The event's word for why.
    pub(crate) reason: String,
    /// The member that was left refused dials at that time: such a move is free.
    pub(crate) refused: bool,
}

/// A connection to a member was opened or lost, says an event of the group.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) at: Micros,
    pub(crate) member: Member,
    pub(crate) opened: bool,
}

/// What this process used at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Micros,
    pub(crate) tasks: u32,
    pub(crate) threads: u32,
    pub(crate) sockets: u32,
    pub(crate) kibibytes: u32,
}

/// What one subscription received, in its order.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The delivery that was asked for, in the words of its settings.
    pub(crate) delivery: &'static str,
    pub(crate) messages: Vec<(Micros, OperationId)>,
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) target: Target,
    pub(crate) seed: u64,
    pub(crate) length: Micros,
    pub(crate) members: Vec<String>,
    /// `timeouts.silence` in the sense of the bounds, or what stands for it: the longest that a frozen member may go unseen.
    pub(crate) silence: Micros,
    /// The longest that a call may take: `unavailable.wait`, `timeouts.operation` and one repetition.
    pub(crate) patience: Micros,
    pub(crate) workers: Vec<Vec<Operation>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) fit: Vec<Fit>,
    /// Spans in which this process did not run, by its own clock or because it was stopped.
    pub(crate) stops: Vec<Range<Micros>>,
    pub(crate) moves: Vec<Move>,
    pub(crate) links: Vec<Link>,
    /// When something dialled a member, as its proxy saw it.
    pub(crate) dials: Vec<(Micros, Member)>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) heard: Vec<Heard>,
    /// How often each operation was applied, over all servers that must have kept it, read at the end.
    pub(crate) applied: BTreeMap<OperationId, u32>,
    /// Operations that a server had applied and gave up when it was made the replica of another one, which had not. That is
    /// what asynchronous replication loses: in a promotion, or because the traffic had moved to a server with old data. They
    /// count in [`applied`](Self::applied) only if the other server got them as well.
    pub(crate) lost_to_old_data: BTreeSet<OperationId>,
    /// Distinct errors, and how often each was seen.
    pub(crate) errors: BTreeMap<String, u64>,
}
