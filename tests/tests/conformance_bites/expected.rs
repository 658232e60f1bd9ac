//! Which lines each mistake fails: those of the contract, and what the engine over it then cannot do.

use crate::flaw::Flaw;

/// One mistake and its lines.
pub(crate) struct Case {
    pub(crate) flaw: Flaw,
    contract: &'static [&'static str],
    engine: &'static [&'static str],
}

impl Case {
    /// In the order of the report.
    pub(crate) fn lines(&self) -> Vec<&'static str> {
        [self.contract, self.engine].concat()
    }
}

/// What a backend can do that connects nobody.
pub(crate) const NEED_NO_CONNECTION: &[&str] = &[
    "settings: those of one place are equal, those of two places are not",
    "settings: a backend accepts the settings of its members",
    "checks: the default ones exist, and their names are unique",
    "connect: a dead member refuses at once",
    "connect: a frozen member is given up within the timeout",
    "connect: nothing is left of a dial that timed out",
    "connect: nothing is left of a dial that was dropped",
];

const START: &str = "engine: a group starts on its heaviest member and keeps the other warm";
const JOIN: &str = "engine: a member that was down at the start joins when it comes";
const KILL: &str = "engine: operations work again after the active was killed";
const IDLE: &str = "engine: an idle group leaves a killed active by itself";
const FREEZE: &str = "engine: operations work again after the active was frozen";
const DUCK: &str = "engine: an announced shutdown moves the traffic before the end";
const DRAIN: &str = "engine: traffic is drained back without one failed operation";
const LATE: &str = "engine: the end of a connection that carries nothing moves nothing";
const OUTAGE: &str = "engine: a whole outage ends when the members are back";
const CLOSED: &str = "engine: operations on a closed group end with Closed";
const CLOSED_LEAVES: &str = "engine: a closed group leaves nothing at its members";
const DROPPED_LEAVES: &str = "engine: a dropped group leaves nothing at its members";

/// Without a group nothing of it can be tried.
const NO_GROUP: &[&str] = &[
    START,
    JOIN,
    KILL,
    IDLE,
    FREEZE,
    DUCK,
    DRAIN,
    LATE,
    OUTAGE,
    CLOSED,
    CLOSED_LEAVES,
    DROPPED_LEAVES,
];

const IDENTITY: &[&str] =
    &["identity: all connections to a member name one server, and those to another member another"];

const LOSS: &[&str] = &[
    "loss: an idle connection says in time that its member died",
    "loss: it is said once, also when operations and proofs meet it",
    "signals: a second connection to a member speaks with its own generation",
    "signals: two members of one group are not taken for each other",
];

pub(crate) const EXPECTED: &[Case] = &[
    Case {
        flaw: Flaw::EqualSettings,
        contract: &["settings: those of one place are equal, those of two places are not"],
        engine: &[],
    },
    Case {
        flaw: Flaw::PickyValidation,
        contract: &["settings: a backend accepts the settings of its members"],
        engine: NO_GROUP,
    },
    Case {
        flaw: Flaw::UnknownCheck,
        contract: &["checks: the default ones exist, and their names are unique"],
        engine: &[],
    },
    Case {
        flaw: Flaw::BlindCheck,
        contract: &["checks: the default ones pass a member that is well, and not a frozen one"],
        engine: &[],
    },
    Case {
        flaw: Flaw::PatientConnect,
        contract: &["connect: a frozen member is given up within the timeout"],
        engine: &[],
    },
    Case {
        flaw: Flaw::StubbornConnect,
        contract: &["connect: a frozen member is given up within the timeout"],
        engine: &[],
    },
    Case {
        flaw: Flaw::LingeringConnect,
        contract: &[
            "connect: nothing is left of a dial that timed out",
            "connect: nothing is left of a dial that was dropped",
        ],
        engine: &[],
    },
    Case {
        flaw: Flaw::MisnamedRefusal,
        contract: &["connect: a dead member refuses at once"],
        engine: &[],
    },
    Case {
        flaw: Flaw::RestlessIdentity,
        contract: IDENTITY,
        engine: &[],
    },
    Case {
        flaw: Flaw::FreshIdentity,
        contract: IDENTITY,
        engine: &[],
    },
    Case {
        flaw: Flaw::CommonIdentity,
        contract: IDENTITY,
        engine: &[],
    },
    Case {
        flaw: Flaw::HollowProof,
        contract: &[
            "prove: a frozen member does not pass, however often it is asked",
            "prove: a connection whose member died does not pass",
            "checks: the default ones pass a member that is well, and not a frozen one",
            "retire: an idle clone is answered with an error, quickly",
        ],
        engine: &[FREEZE],
    },
    Case {
        flaw: Flaw::FragileProof,
        contract: &["prove: one that was dropped harms neither the next nor an operation"],
        engine: &[],
    },
    Case {
        flaw: Flaw::NeverLost,
        contract: LOSS,
        engine: &[IDLE, OUTAGE],
    },
    Case {
        flaw: Flaw::LateLost,
        contract: LOSS,
        engine: &[IDLE, OUTAGE],
    },
    Case {
        flaw: Flaw::LostWhenIdle,
        contract: &[
            "loss: a healthy connection has nothing to say",
            "signals: two members of one group are not taken for each other",
            "signals: two connections to one member are independent",
            "signals: an announced shutdown is heard in time",
        ],
        engine: &[DRAIN],
    },
    Case {
        flaw: Flaw::Reconnects,
        contract: &["loss: nothing reconnects by itself"],
        engine: &[],
    },
    Case {
        flaw: Flaw::FirstVoice,
        contract: &["signals: a second connection to a member speaks with its own generation"],
        engine: &[],
    },
    Case {
        flaw: Flaw::OneConnection,
        contract: &[
            "signals: a second connection to a member speaks with its own generation",
            "signals: two connections to one member are independent",
        ],
        engine: &[],
    },
    Case {
        flaw: Flaw::DeafToLameDucks,
        contract: &["signals: an announced shutdown is heard in time"],
        engine: &[DUCK],
    },
    Case {
        flaw: Flaw::RefusedPromotion,
        contract: &[
            "promote: a standby is armed, promoted and serves",
            "promote: it works over a connection whose member died",
            "promote: one that was called off is drained and serves later",
            "drain: a connection whose drain was given up serves again",
            "drain: a drained connection serves again",
        ],
        engine: NO_GROUP,
    },
    Case {
        flaw: Flaw::ClingingPromotion,
        contract: &[
            "promote: it works over a connection whose member died",
            "promote: one that was called off is drained and serves later",
            "drain: a connection whose drain was given up serves again",
        ],
        engine: &[KILL, IDLE, FREEZE, DRAIN, OUTAGE],
    },
    Case {
        flaw: Flaw::VengefulPromotion,
        contract: &["promote: a failure harms neither connection"],
        engine: &[],
    },
    Case {
        flaw: Flaw::PanickingPromotion,
        contract: &["promote: a failure harms neither connection"],
        engine: &[],
    },
    Case {
        flaw: Flaw::BlindPromotion,
        contract: &["promote: ahead of the decision it is a proof"],
        engine: &[],
    },
    Case {
        flaw: Flaw::EndlessArming,
        contract: &[
            "promote: a standby is armed, promoted and serves",
            "promote: one that was called off is drained and serves later",
        ],
        engine: NO_GROUP,
    },
    Case {
        flaw: Flaw::HastyDrain,
        contract: &["drain: it does not end before the operations under way"],
        engine: &[],
    },
    Case {
        flaw: Flaw::EndlessDrain,
        contract: &[
            "promote: one that was called off is drained and serves later",
            "drain: it ends when they have ended",
            "drain: a drained connection serves again",
        ],
        engine: &[],
    },
    Case {
        flaw: Flaw::FinalDrain,
        contract: &[
            "promote: one that was called off is drained and serves later",
            "drain: a drained connection serves again",
        ],
        engine: &[],
    },
    Case {
        flaw: Flaw::EmptyRetire,
        contract: &[
            "retire: the member sees no connection afterwards, though clones are held",
            "retire: the same from a frozen member, and within the bound",
            "retire: an idle clone is answered with an error, quickly",
            "retire: an operation on a retired connection ends with Retired, or finds no other",
            "retire: an operation under way ends with Retired",
        ],
        engine: &[CLOSED_LEAVES, DROPPED_LEAVES],
    },
    Case {
        flaw: Flaw::PoliteRetire,
        contract: &[
            "retire: the same from a frozen member, and within the bound",
            "retire: an operation under way ends with Retired",
        ],
        engine: &[],
    },
    Case {
        flaw: Flaw::Phantom,
        contract: &[
            "retire: the member sees no connection afterwards, though clones are held",
            "retire: the same from a frozen member, and within the bound",
        ],
        engine: &[CLOSED_LEAVES, DROPPED_LEAVES],
    },
    Case {
        flaw: Flaw::MumbledEnd,
        contract: &[
            "retire: an operation on a retired connection ends with Retired, or finds no other",
            "retire: an operation under way ends with Retired",
        ],
        engine: &[],
    },
];
