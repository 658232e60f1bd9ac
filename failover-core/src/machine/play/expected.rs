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
pub(in crate::machine) const EXPECTED: &[Expected] = &[];

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
