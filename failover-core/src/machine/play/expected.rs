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

/// A failure that is known.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Expected {
    /// The play or the scenario.
    pub(in crate::machine) play: &'static str,
    /// The promise or the invariant.
    pub(in crate::machine) promise: &'static str,
    pub(in crate::machine) work: Work,
    pub(in crate::machine) why: &'static str,
}

/// The table.
pub(in crate::machine) const EXPECTED: &[Expected] = &[
    line(
        "silent while this process is blocked",
        "silence",
        Work::Verdicts,
        "a stall of this process begins the wait for a proof anew",
    ),
    line(
        "both freeze",
        "own network",
        Work::Verdicts,
        "a proof that times out condemns the active, though nobody else was heard either",
    ),
    line(
        "a flapping survivor",
        "need",
        Work::Verdicts,
        "redials back off up to `reconnect.max` however long the last connection served",
    ),
    line(
        "a flapping survivor",
        "survivor",
        Work::Verdicts,
        "a refused redial doubles the delay from the first one on",
    ),
    line(
        "a flapping survivor",
        "all down",
        Work::Verdicts,
        "what failed before the loss counts as tried since",
    ),
    line(
        "a flapping survivor",
        "share",
        Work::Verdicts,
        "most of the time passes in delays beside a server that is up",
    ),
    line(
        "a survivor that is away as long as it is up",
        "need",
        Work::Verdicts,
        "redials back off up to `reconnect.max` however long the last connection served",
    ),
    line(
        "a survivor that is away as long as it is up",
        "survivor",
        Work::Verdicts,
        "a refused redial doubles the delay from the first one on",
    ),
    line(
        "a survivor that is away as long as it is up",
        "all down",
        Work::Verdicts,
        "what failed before the loss counts as tried since",
    ),
    line(
        "started again and then needed",
        "need",
        Work::Verdicts,
        "a delay of up to `reconnect.max` runs on although the member is needed",
    ),
    line(
        "started again and then needed",
        "survivor",
        Work::Verdicts,
        "a refused redial doubles the delay from the first one on",
    ),
    line(
        "started again and then needed",
        "all down",
        Work::Verdicts,
        "what failed before the loss counts as tried since",
    ),
    line(
        "in grace and the only fit one",
        "need",
        Work::Verdicts,
        "a lame duck is not left for a member in grace",
    ),
    line(
        "in grace and the only fit one",
        "noticed",
        Work::Verdicts,
        "a lame duck is not left for a member in grace",
    ),
    line(
        "in grace and the only fit one",
        "grace yields",
        Work::Verdicts,
        "a lame duck is not left for a member in grace",
    ),
    line(
        "lame ducks in turn",
        "need",
        Work::Verdicts,
        "a lame duck is not left for a member in grace",
    ),
    line(
        "lame ducks in turn",
        "noticed",
        Work::Verdicts,
        "a lame duck is not left for a member in grace",
    ),
    line(
        "lame ducks in turn",
        "grace yields",
        Work::Verdicts,
        "a lame duck is not left for a member in grace",
    ),
    line(
        "demoted behind a name",
        "need",
        Work::Verdicts,
        "an unfit connection is kept, and the name is not asked again",
    ),
    line(
        "a name with two addresses",
        "need",
        Work::Verdicts,
        "a dial that hears nothing holds up the next one for the whole of `timeouts.connect`",
    ),
    line(
        "demoted before the other is promoted",
        "need",
        Work::Verdicts,
        "in need the checks go on at their interval",
    ),
    line(
        "demoted before the other is promoted",
        "noticed",
        Work::Verdicts,
        "in need the checks go on at their interval",
    ),
    line(
        "demoted before the other is promoted",
        "failing",
        Work::Verdicts,
        "in need the checks go on at their interval",
    ),
    line(
        "a sole member that is sick",
        "last resort",
        Work::Verdicts,
        "a connection whose proof was answered with an error is never active",
    ),
    line(
        "one standby of two is kept warm",
        "need",
        Work::Verdicts,
        "in an outage members are dialled in turn, and a dial that hangs holds up the others",
    ),
    line(
        "one standby of two is kept warm",
        "own network",
        Work::Verdicts,
        "a proof that times out condemns the active, though nobody else was heard either",
    ),
    line(
        "back after rare checks",
        "failback",
        Work::Verdicts,
        "a candidate for failback is checked at the interval of its rules, whatever `stable` is",
    ),
    line(
        "connections that end after k operations",
        "failing",
        Work::Verdicts,
        "each new connection empties the window of the breaker",
    ),
    line(
        "connections that end after k operations",
        "second loss",
        Work::Verdicts,
        "a redial that is answered keeps the traffic any number of times",
    ),
    line(
        "connections that end after k operations",
        "dials",
        Work::Verdicts,
        "redials of a lost active are not paced",
    ),
    line(
        "a server that closes on every operation",
        "failing",
        Work::Verdicts,
        "each new connection empties the window of the breaker",
    ),
    line(
        "a server that closes on every operation",
        "second loss",
        Work::Verdicts,
        "a redial that is answered keeps the traffic any number of times",
    ),
    line(
        "a server that closes on every operation",
        "dials",
        Work::Verdicts,
        "redials of a lost active are not paced",
    ),
    line(
        "published and closed untold",
        "second loss",
        Work::Verdicts,
        "a redial that is answered keeps the traffic any number of times",
    ),
    line(
        "published and closed untold",
        "dials",
        Work::Verdicts,
        "redials of a lost active are not paced",
    ),
    line(
        "a poisoned client",
        "failing",
        Work::Verdicts,
        "each new connection empties the window of the breaker",
    ),
    line(
        "a poisoned client",
        "second loss",
        Work::Verdicts,
        "a redial that is answered keeps the traffic any number of times",
    ),
    line(
        "a poisoned client",
        "dials",
        Work::Verdicts,
        "redials of a lost active are not paced",
    ),
    line(
        "operations that are never answered",
        "failing",
        Work::Verdicts,
        "less than ten failures in two seconds open no breaker",
    ),
    line(
        "operations that are refused",
        "failing",
        Work::Verdicts,
        "less than ten failures in two seconds open no breaker",
    ),
    line(
        "writes that hang",
        "failing",
        Work::Verdicts,
        "each new connection empties the window of the breaker, and answers its proof",
    ),
    line(
        "a dripping connection",
        "patience",
        Work::Verdicts,
        "a proof is bounded in time, although bytes arrive",
    ),
    line(
        "a half-open connection",
        "own network",
        Work::Verdicts,
        "a silent connection is ended before another one to its member is proven",
    ),
    line(
        "checks that fail under traffic",
        "budget",
        Work::Verdicts,
        "two members whose checks fail in turn swap for ever",
    ),
    line(
        "a move to a member that is being proven",
        "accepted",
        Work::Verdicts,
        "a move to a connection that is not proven yet is refused",
    ),
    line(
        "moves while servers die",
        "patience",
        Work::Verdicts,
        "a planned move gives its target up after `timeouts.prove` of silence",
    ),
    line(
        "moves while this process is blocked",
        "window",
        Work::Verdicts,
        "a drain window goes on while this process does not run",
    ),
    line(
        "a rolling restart, 4 s apart",
        "need",
        Work::Verdicts,
        "a lame duck is not left for a member in grace",
    ),
    line(
        "both members slow",
        "patience",
        Work::Verdicts,
        "one late answer and a late proof end a connection, although the member is only slow",
    ),
    line(
        "weather",
        "need",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "noticed",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "grace yields",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "survivor",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "all down",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "second loss",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "patience",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "own network",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "dials",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "last resort",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "failing",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "silence",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "window",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
    line(
        "weather",
        "accepted",
        Work::Verdicts,
        "as in the plays of single faults",
    ),
];

const fn line(
    play: &'static str,
    promise: &'static str,
    work: Work,
    why: &'static str,
) -> Expected {
    Expected {
        play,
        promise,
        work,
        why,
    }
}

/// Compares what failed in one play or scenario with the table: what was not expected, with its history, and what was
/// expected and did not fail.
pub(in crate::machine) fn judge(play: &str, failed: &[(&str, String)]) -> Vec<String> {
    judge_by(EXPECTED, play, failed)
}

fn judge_by(table: &[Expected], play: &str, failed: &[(&str, String)]) -> Vec<String> {
    let lines = || table.iter().filter(|line| line.play == play);
    let new = failed
        .iter()
        .filter(|(promise, _)| !lines().any(|line| line.promise == *promise))
        .map(|(promise, history)| format!("{play}: `{promise}` is broken:\n{history}"));
    let passes = lines()
        .filter(|line| !failed.iter().any(|(promise, _)| *promise == line.promise))
        .map(|line| {
            let Expected {
                promise, work, why, ..
            } = line;
            format!(
                "{play}: `{promise}` is kept now: remove the line from the table ({work:?}: {why})"
            )
        });
    new.chain(passes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Expected] = &[Expected {
        play: "a play",
        promise: "need",
        work: Work::Verdicts,
        why: "it is so",
    }];

    #[test]
    fn what_is_expected_passes_and_nothing_else_does() {
        let failed = |promise: &'static str| vec![(promise, String::from("0.000 s  it began"))];
        assert!(judge_by(TABLE, "a play", &failed("need")).is_empty());
        let new = judge_by(TABLE, "a play", &[failed("need"), failed("dials")].concat());
        assert_eq!(new.len(), 1);
        assert!(new[0].contains("`dials` is broken") && new[0].contains("it began"));
        let elsewhere = judge_by(TABLE, "another play", &failed("need"));
        assert_eq!(elsewhere.len(), 1);
    }

    #[test]
    fn an_expected_failure_that_passes_fails_the_run() {
        let kept = judge_by(TABLE, "a play", &[]);
        assert_eq!(kept.len(), 1);
        assert!(kept[0].contains("remove the line"));
    }

    #[test]
    fn no_line_stands_twice() {
        for (index, line) in EXPECTED.iter().enumerate() {
            let again =
                |other: &&Expected| (other.play, other.promise) == (line.play, line.promise);
            assert_eq!(
                EXPECTED.iter().position(|other| again(&other)),
                Some(index),
                "{line:?}"
            );
        }
    }
}
