//! What fails today, in one table, for the plays and for the exhaustive search: by the name of the play or scenario, and
//! the name of the promise or invariant.
//!
//! Whatever fails and does not stand here fails the run, with its shortest history. What stands here and does not fail
//! fails the run too: then its line is to be removed. In the end the table is empty.

/// What will mend a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "the table may have none of a kind")]
pub(in crate::machine) enum Work {
    /// What the engine concludes from what it sees.
    Verdicts,
    /// What becomes of operations whose connection fails under them.
    Operations,
    /// What a group remembers of its members.
    History,
}

/// What shows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Tool {
    /// A timed play.
    Play,
    /// A scenario of the exhaustive search.
    Search,
}

/// A failure that is known.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Expected {
    pub(in crate::machine) tool: Tool,
    /// The play or the scenario.
    pub(in crate::machine) name: &'static str,
    /// The promise or the invariant.
    pub(in crate::machine) promise: &'static str,
    pub(in crate::machine) work: Work,
    pub(in crate::machine) why: &'static str,
}

const ASLEEP: &str = "the time of a stall counts in the timeout of an operation";
const STALL: &str = "a stall of this process begins the wait for a proof anew";
const TIMEOUT: &str =
    "a proof that times out condemns the active, though nobody else was heard either";
const BACKOFF: &str =
    "redials back off up to `reconnect.max` however long the last connection served";
const DOUBLES: &str = "a refused redial doubles the delay from the first one on";
const TRIED: &str = "what failed before the loss counts as tried since";
const DELAYS: &str = "most of the time passes in delays beside a server that is up";
const NEEDED: &str = "a delay of up to `reconnect.max` runs on although the member is needed";
const GRACE: &str = "a lame duck is not left for a member in grace";
const NAME: &str = "an unfit connection is kept, and the name is not asked again";
const ADDRESS: &str =
    "a dial that hears nothing holds up the next one for the whole of `timeouts.connect`";
const INTERVAL: &str = "in need the checks go on at their interval";
const SICK: &str = "a connection whose proof was answered with an error is never active";
const IN_TURN: &str =
    "in an outage members are dialled in turn, and a dial that hangs holds up the others";
const RARELY: &str =
    "a candidate for failback is checked at the interval of its rules, whatever `stable` is";
const WINDOW: &str = "each new connection empties the window of the breaker";
const REDIAL: &str = "a redial that is answered keeps the traffic any number of times";
const UNPACED: &str = "redials of a lost active are not paced";
const FEW: &str = "less than ten failures in two seconds open no breaker";
const DRIPS: &str = "a proof is bounded in time, although bytes arrive";
const UNPROVEN: &str = "a silent connection is ended before another one to its member is proven";
const SWAPS: &str = "two members whose checks fail in turn swap for ever";
const REFUSED: &str = "a move to a connection that is not proven yet is refused";
const PLANNED: &str = "a planned move gives its target up after `timeouts.prove` of silence";
const DRAIN: &str = "a drain window goes on while this process does not run";
const LATE: &str =
    "one late answer and a late proof end a connection, although the member is only slow";
const SINGLE: &str = "several faults at once; each has a play of its own";

/// The table.
pub(in crate::machine) const EXPECTED: &[Expected] = &[
    play(
        "silent while this process is blocked",
        "patience",
        Work::Verdicts,
        ASLEEP,
    ),
    play(
        "silent while this process is blocked",
        "silence",
        Work::Verdicts,
        STALL,
    ),
    play("both freeze", "own network", Work::Verdicts, TIMEOUT),
    play("a flapping survivor", "need", Work::Verdicts, BACKOFF),
    play("a flapping survivor", "survivor", Work::Verdicts, DOUBLES),
    play("a flapping survivor", "all down", Work::Verdicts, TRIED),
    play("a flapping survivor", "share", Work::Verdicts, DELAYS),
    play(
        "a survivor that is away as long as it is up",
        "need",
        Work::Verdicts,
        BACKOFF,
    ),
    play(
        "a survivor that is away as long as it is up",
        "survivor",
        Work::Verdicts,
        DOUBLES,
    ),
    play(
        "a survivor that is away as long as it is up",
        "all down",
        Work::Verdicts,
        TRIED,
    ),
    play(
        "started again and then needed",
        "need",
        Work::Verdicts,
        NEEDED,
    ),
    play(
        "started again and then needed",
        "survivor",
        Work::Verdicts,
        DOUBLES,
    ),
    play(
        "started again and then needed",
        "all down",
        Work::Verdicts,
        TRIED,
    ),
    play(
        "in grace and the only fit one",
        "need",
        Work::Verdicts,
        GRACE,
    ),
    play(
        "in grace and the only fit one",
        "noticed",
        Work::Verdicts,
        GRACE,
    ),
    play(
        "in grace and the only fit one",
        "grace yields",
        Work::Verdicts,
        GRACE,
    ),
    play("lame ducks in turn", "need", Work::Verdicts, GRACE),
    play("lame ducks in turn", "noticed", Work::Verdicts, GRACE),
    play("lame ducks in turn", "grace yields", Work::Verdicts, GRACE),
    play("demoted behind a name", "need", Work::Verdicts, NAME),
    play("a name with two addresses", "need", Work::Verdicts, ADDRESS),
    play(
        "demoted before the other is promoted",
        "need",
        Work::Verdicts,
        INTERVAL,
    ),
    play(
        "demoted before the other is promoted",
        "noticed",
        Work::Verdicts,
        INTERVAL,
    ),
    play(
        "demoted before the other is promoted",
        "failing",
        Work::Verdicts,
        INTERVAL,
    ),
    play(
        "a sole member that is sick",
        "last resort",
        Work::Verdicts,
        SICK,
    ),
    play(
        "one standby of two is kept warm",
        "need",
        Work::Verdicts,
        IN_TURN,
    ),
    play(
        "one standby of two is kept warm",
        "own network",
        Work::Verdicts,
        TIMEOUT,
    ),
    play("back after rare checks", "failback", Work::Verdicts, RARELY),
    play(
        "connections that end after k operations",
        "failing",
        Work::Verdicts,
        WINDOW,
    ),
    play(
        "connections that end after k operations",
        "second loss",
        Work::Verdicts,
        REDIAL,
    ),
    play(
        "connections that end after k operations",
        "dials",
        Work::Verdicts,
        UNPACED,
    ),
    play(
        "a server that closes on every operation",
        "failing",
        Work::Verdicts,
        WINDOW,
    ),
    play(
        "a server that closes on every operation",
        "second loss",
        Work::Verdicts,
        REDIAL,
    ),
    play(
        "a server that closes on every operation",
        "dials",
        Work::Verdicts,
        UNPACED,
    ),
    play(
        "published and closed untold",
        "second loss",
        Work::Verdicts,
        REDIAL,
    ),
    play(
        "published and closed untold",
        "dials",
        Work::Verdicts,
        UNPACED,
    ),
    play("a poisoned client", "failing", Work::Verdicts, WINDOW),
    play("a poisoned client", "second loss", Work::Verdicts, REDIAL),
    play("a poisoned client", "dials", Work::Verdicts, UNPACED),
    play(
        "operations that are never answered",
        "failing",
        Work::Verdicts,
        FEW,
    ),
    play(
        "operations that are refused",
        "failing",
        Work::Verdicts,
        FEW,
    ),
    play("writes that hang", "failing", Work::Verdicts, WINDOW),
    play("a dripping connection", "patience", Work::Verdicts, DRIPS),
    play(
        "a half-open connection",
        "own network",
        Work::Verdicts,
        UNPROVEN,
    ),
    play(
        "checks that fail under traffic",
        "budget",
        Work::Verdicts,
        SWAPS,
    ),
    play(
        "a move to a member that is being proven",
        "accepted",
        Work::Verdicts,
        REFUSED,
    ),
    play(
        "moves while servers die",
        "patience",
        Work::Verdicts,
        PLANNED,
    ),
    play(
        "moves while this process is blocked",
        "window",
        Work::Verdicts,
        DRAIN,
    ),
    play(
        "a rolling restart, 4 s apart",
        "need",
        Work::Verdicts,
        GRACE,
    ),
    play("both members slow", "patience", Work::Verdicts, LATE),
    play("weather", "need", Work::Verdicts, SINGLE),
    play("weather", "noticed", Work::Verdicts, SINGLE),
    play("weather", "grace yields", Work::Verdicts, SINGLE),
    play("weather", "survivor", Work::Verdicts, SINGLE),
    play("weather", "all down", Work::Verdicts, SINGLE),
    play("weather", "second loss", Work::Verdicts, SINGLE),
    play("weather", "patience", Work::Verdicts, SINGLE),
    play("weather", "own network", Work::Verdicts, SINGLE),
    play("weather", "dials", Work::Verdicts, SINGLE),
    play("weather", "last resort", Work::Verdicts, SINGLE),
    play("weather", "failing", Work::Verdicts, SINGLE),
    play("weather", "silence", Work::Verdicts, SINGLE),
    play("weather", "window", Work::Verdicts, SINGLE),
    play("weather", "accepted", Work::Verdicts, SINGLE),
];

const fn play(
    name: &'static str,
    promise: &'static str,
    work: Work,
    why: &'static str,
) -> Expected {
    Expected {
        tool: Tool::Play,
        name,
        promise,
        work,
        why,
    }
}

#[allow(dead_code, reason = "the table may have none of a kind")]
const fn scenario(
    name: &'static str,
    promise: &'static str,
    work: Work,
    why: &'static str,
) -> Expected {
    Expected {
        tool: Tool::Search,
        ..play(name, promise, work, why)
    }
}

/// Compares what failed in one play or scenario with the table: what was not expected, with its history, and what was
/// expected and did not fail.
pub(in crate::machine) fn judge(tool: Tool, name: &str, failed: &[(&str, String)]) -> Vec<String> {
    judge_by(EXPECTED, tool, name, failed)
}

fn judge_by(table: &[Expected], tool: Tool, name: &str, failed: &[(&str, String)]) -> Vec<String> {
    let lines = || {
        table
            .iter()
            .filter(|line| (line.tool, line.name) == (tool, name))
    };
    let new = failed
        .iter()
        .filter(|(promise, _)| !lines().any(|line| line.promise == *promise))
        .map(|(promise, history)| format!("{name}: `{promise}` is broken:\n{history}"));
    let passes = lines()
        .filter(|line| !failed.iter().any(|(promise, _)| *promise == line.promise))
        .map(|line| {
            let Expected {
                promise, work, why, ..
            } = line;
            format!(
                "{name}: `{promise}` is kept now: remove the line from the table ({work:?}: {why})"
            )
        });
    new.chain(passes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Expected] = &[Expected {
        tool: Tool::Play,
        name: "a play",
        promise: "need",
        work: Work::Verdicts,
        why: "it is so",
    }];

    #[test]
    fn what_is_expected_passes_and_nothing_else_does() {
        let failed = |promise: &'static str| vec![(promise, String::from("0.000 s  it began"))];
        assert!(judge_by(TABLE, Tool::Play, "a play", &failed("need")).is_empty());
        let new = judge_by(
            TABLE,
            Tool::Play,
            "a play",
            &[failed("need"), failed("dials")].concat(),
        );
        assert_eq!(new.len(), 1);
        assert!(new[0].contains("`dials` is broken") && new[0].contains("it began"));
        let elsewhere = judge_by(TABLE, Tool::Play, "another play", &failed("need"));
        assert_eq!(elsewhere.len(), 1);
        let searched = judge_by(TABLE, Tool::Search, "a play", &failed("need"));
        assert_eq!(searched.len(), 1);
    }

    #[test]
    fn an_expected_failure_that_passes_fails_the_run() {
        let kept = judge_by(TABLE, Tool::Play, "a play", &[]);
        assert_eq!(kept.len(), 1);
        assert!(kept[0].contains("remove the line"));
    }

    #[test]
    fn no_line_stands_twice() {
        for (index, line) in EXPECTED.iter().enumerate() {
            let again = |other: &&Expected| {
                other.tool == line.tool && (other.name, other.promise) == (line.name, line.promise)
            };
            assert_eq!(
                EXPECTED.iter().position(|other| again(&other)),
                Some(index),
                "{line:?}"
            );
        }
    }
}
