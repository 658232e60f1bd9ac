//! Every bound that the checker knows, in one table: name, value, unit, and why it is not smaller or larger.
//!
//! A promise takes its bounds from here and has no number of its own. What depends on the settings of the run (`silence`,
//! `failback.stable`) is in the record; what is here is added to it. Bounds are part of the promise: a run that needs a
//! larger one has found something.

use crate::record::Micros;

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) name: &'static str,
    pub(crate) value: u32,
    pub(crate) unit: Unit,
    pub(crate) why: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Milliseconds,
    Kibibytes,
    Count,
}

impl Unit {
    pub(crate) fn short(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Kibibytes => "KiB",
            Self::Count => "",
        }
    }
}

impl Bound {
    /// For bounds in milliseconds.
    pub(crate) fn micros(self) -> Micros {
        assert_eq!(self.unit, Unit::Milliseconds, "{} is no time", self.name);
        self.value * 1000
    }
}

macro_rules! table {
    ($($name:ident = $value:literal $unit:ident, $why:literal;)*) => {
        $(pub(crate) const $name: Bound = Bound {
            name: stringify!($name),
            value: $value,
            unit: Unit::$unit,
            why: $why,
        };)*
        /// All of them, for the report.
        pub(crate) const ALL: &[Bound] = &[$($name),*];
    };
}

table! {
    WITHOUT_SERVICE = 250 Milliseconds, "beyond `silence`: the round trips of the move, on a busy machine";
    LONG_NEED = 10_000 Milliseconds, "after so long without a fit member the delay between dials grows to `reconnect.max`";
    IDLE = 100 Milliseconds, "when no call is under way for so long, the workload rests and the service is not asked";
    LATE_ANSWER = 250 Milliseconds, "beyond a call's patience: its task waits for a core";
    LATE_EVENT = 100 Milliseconds, "an event of the group may be recorded so much later than what it tells";
    MOVES = 4 Count, "moves away from an active that accepts dials, before the budget is empty";
    SILENT_FOR_GOOD = 4 Count, "times `silence`: then a silent active is left even with an empty budget";
    DIALS = 20 Count, "dials a second and member";
    STALL = 100 Milliseconds, "a stall this much shorter than `silence` replaces nothing: one tick of the engine";
    AFTER_FAULT = 2_000 Milliseconds, "a connection that a fault broke may be given up so much later, beyond `silence`";
    CALM = 5_000 Milliseconds, "after a fault a cluster needs so long to spread its subscriptions again";
    ON_THE_WAY = 1_000 Milliseconds, "a message that was sent so shortly before a fault may be lost with it";
    COMES_AGAIN = 1_000 Milliseconds, "beyond `ack_wait`: the way of a message that a consumer gets again";
    DEDUPED = 131_072 Count, "messages that a subscription remembers by their header";
    DEDUPED_FOR = 2_000 Milliseconds, "how long a message is remembered by its content";
    TASKS = 8 Count, "tasks more at the end than at the beginning: what happens to run just then";
    THREADS = 2 Count, "threads more at the end: a blocking thread lives on for ten seconds";
    SOCKETS = 12 Count, "sockets more at the end: four connections kept for blocking commands, each with two ends in a proxy of this process";
    MEMORY = 32_768 Kibibytes, "memory more at the end: full tables of known messages, and what the allocator keeps";
    SAMPLES = 3 Count, "samples in a quiet spell, so that their median says something";
    OPERATIONS = 1_000 Count, "operations a second, or the run does not count";
    FAULTS = 5 Count, "faults of each kind asked for, or the run does not count";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_bound_has_a_name_of_its_own_a_value_and_a_reason() {
        let names: BTreeSet<_> = ALL.iter().map(|bound| bound.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert!(
            ALL.iter()
                .all(|bound| bound.value > 0 && !bound.why.is_empty())
        );
    }
}
