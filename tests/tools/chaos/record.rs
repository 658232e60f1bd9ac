//! What happened in a run, as plain data: the only thing that the checker reads.
//!
//! The workload, the faults and the servers write it; the checker never asks a server. So a forged record is as good as a
//! real one, and each promise can be tried on a record that breaks it. An operation takes 12 bytes: ten minutes at
//! twenty thousand operations a second fit into 150 MB. Each list is in the order of its times, and a worker's log in the
//! order in which its operations began.
//!
//! What must never come in: a clock, a socket, a judgement.

use std::collections::BTreeMap;
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
    /// An error without a fate. A refusal by the server itself (READONLY, OOM, a payload that is too long) is `NotApplied`.
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

/// What may run again after its connection ended, as the group was configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the checker knows all of them, and a run has one")]
pub(crate) enum Replay {
    Never,
    Reads,
    All,
}

/// Which published messages go to the next active, as the group was configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the checker knows all of them, and a run has one")]
pub(crate) enum Carry {
    None,
    Unsent,
    Unconfirmed,
}

/// A fault that was done to a member, or to this process where `member` is none. A planned move is a fault of a kind of
/// its own.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: &'static str,
    pub(crate) member: Option<Member>,
    /// It ends connections as soon as it begins: a kill, a cut, CLIENT KILL, changed settings.
    pub(crate) ends_connections: bool,
    /// The framework knows of it beforehand: a lame duck, a move by hand, a reload.
    pub(crate) planned: bool,
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
    /// The event's word for why, as it is serialized: `lost`, `lame_duck`.
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

/// A server's data got another history.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) member: Member,
    /// From the order to its answer; for a restart, from the start to the first answer.
    pub(crate) during: Range<Micros>,
    pub(crate) into: History,
}

/// What a server's data is from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum History {
    /// Its own: a replica that was promoted, or a server that came back as a master with what it had kept.
    Own,
    /// A copy of this member's: it follows, and what it alone had is gone.
    Of(Member),
    /// Nothing: it was emptied, or came back without what it had.
    Nothing,
}

/// What this process used at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Micros,
    pub(crate) tasks: u32,
    pub(crate) threads: u32,
    pub(crate) sockets: u32,
    /// Resident memory, without what the recorder itself holds.
    pub(crate) kibibytes: u32,
}

/// What a subscription was promised, in the words of its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    AtMostOnce,
    AtLeastOnce {
        dedupe: Dedupe,
        ordered: bool,
    },
    Mirrored {
        dedupe: Dedupe,
    },
    /// Redis pub/sub.
    PubSub,
    /// A JetStream consumer whose messages are acknowledged.
    Consumer,
}

/// How a message is known that was delivered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the checker knows all of them, and a run has one")]
pub(crate) enum Dedupe {
    None,
    Header,
    Content,
}

/// What one subscription received, in its order.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) delivery: Delivery,
    /// Its queue group. Those of one name share the messages.
    pub(crate) queue: Option<&'static str>,
    /// What it listens to: operations of this kind by these workers.
    pub(crate) kind: Kind,
    pub(crate) from: Range<u16>,
    /// Those workers publish over connections of their own that no fault touches, not through the group.
    pub(crate) steady: bool,
    /// After how long a message comes again that was not acknowledged: `ack_wait` of a consumer, zero for others.
    pub(crate) again: Micros,
    /// From when it was confirmed to when it was given up.
    pub(crate) during: Range<Micros>,
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
    /// The same for kinds whose calls may take longer or not as long.
    pub(crate) patience_of: BTreeMap<Kind, Micros>,
    /// `failback.stable`, `failback.grace`, `reconnect.max`, and the longest window of a planned move.
    pub(crate) stable: Micros,
    pub(crate) grace: Micros,
    pub(crate) reconnect: Micros,
    pub(crate) window: Micros,
    pub(crate) replay: Replay,
    pub(crate) carry: Carry,
    /// The kinds of faults that the run was asked for.
    pub(crate) asked: Vec<&'static str>,
    /// Two spells without faults and with the usual load, at the beginning and at the end.
    pub(crate) quiet: [Range<Micros>; 2],
    pub(crate) workers: Vec<Vec<Operation>>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) fit: Vec<Fit>,
    /// Of servers that replicate: who promoted whom and who followed whom. Of all: who lost what it had.
    pub(crate) turns: Vec<Turn>,
    /// Spans in which this process did not run, by its own clock or because it was stopped.
    pub(crate) stops: Vec<Range<Micros>>,
    pub(crate) moves: Vec<Move>,
    pub(crate) links: Vec<Link>,
    /// When something dialled a member, as its proxy saw it.
    pub(crate) dials: Vec<(Micros, Member)>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) heard: Vec<Heard>,
    /// How often each operation was applied, in the shape of `workers`, read at the end from every server that has a
    /// history of its own, and added up. 255 stands for more too. A log that is too short says: not applied.
    pub(crate) applied: Vec<Vec<u8>>,
    /// Distinct errors, and how often each was seen.
    pub(crate) errors: BTreeMap<String, u64>,
}
