//! The table of failures, line by line: `table.md` beside this file. Its last column says how to see a line on a server.

use backend_api::{ErrorKind, Fate};

use super::*;

/// What is not said is a write on the shared socket, with the policy `reads`.
struct Case {
    work: Work,
    replay: Replay,
    retired: bool,
    excused: bool,
}

const WRITE: Case = Case {
    work: Work::Writes,
    replay: Replay::Reads,
    retired: false,
    excused: false,
};

fn judged(cause: &Cause, sent: Sent, socket: Socket, case: &Case) -> Verdict {
    judge(&Failure {
        cause,
        sent,
        socket,
        work: case.work,
        replay: case.replay,
        retired: case.retired,
        excused: case.excused,
    })
}

fn condemned() -> Cause {
    Cause::Condemned(ErrorKind::ReadOnly, "READONLY".to_owned())
}

/// So that a line that is lost is missed.
const LINES: usize = 38;

/// A word of the table as a value, by the name that the value shows itself.
fn one<T: Copy + std::fmt::Debug>(all: &[T], word: &str) -> T {
    let found = all.iter().find(|value| format!("{value:?}") == word);
    *found.unwrap_or_else(|| panic!("{word} is not in {all:?}"))
}

fn cause(text: &str) -> Cause {
    let (name, of) = text.split_once(' ').unwrap_or((text, ""));
    match name {
        "Condemned" => condemned(),
        "Answered" => Cause::Answered(of.to_owned()),
        "NoSocket" => {
            use ErrorKind as K;
            let kinds = [
                K::Unhealthy,
                K::Timeout,
                K::Lost,
                K::Retired,
                K::Unsupported,
                K::Auth,
            ];
            Cause::NoSocket(one(&kinds, of))
        }
        "Unread" => Cause::Unread,
        "Ended" => Cause::Ended,
        "GivenUp" => Cause::GivenUp,
        "Unreadable" => Cause::Unreadable,
        "Late" => Cause::Late,
        "NothingCame" => Cause::NothingCame,
        "Full" => Cause::Full,
        "AlreadyEnded" => Cause::AlreadyEnded,
        "Mistake" => Cause::Mistake,
        other => panic!("{other} is no cause"),
    }
}

// What is not said in a line: the policy `reads`, and a write. The subscriptions' work is a read.
#[test]
fn every_cause_has_one_verdict() {
    use Sent as T;
    use Socket as S;
    let sents = [T::Nothing, T::Perhaps, T::Alone, T::Among, T::Unseen];
    let sockets = [S::Shared, S::Dedicated, S::Watch, S::Node, S::Subscriptions];
    let mut lines = 0;
    for line in include_str!("table.md").lines().skip(2) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [what, sent, socket, expected @ .., seen] = cells.as_slice() else {
            panic!("{line}");
        };
        assert!(!seen.is_empty(), "{line}");
        let socket = one(&sockets, socket);
        let case = match socket {
            S::Subscriptions => Case {
                work: Work::Reads,
                ..WRITE
            },
            _ => WRITE,
        };
        let verdict = judged(&cause(what), one(&sents, sent), socket, &case);
        let found = [
            format!("{:?}", verdict.member),
            verdict
                .fate
                .map_or("-".to_owned(), |fate| format!("{fate:?}")),
            if verdict.again { "yes" } else { "no" }.to_owned(),
            format!("{:?}", verdict.kind),
        ];
        assert_eq!(found, expected, "{line}");
        lines += 1;
    }
    assert_eq!(lines, LINES);
}

#[test]
fn what_may_have_been_applied_runs_again_as_the_policy_says() {
    let cases = [
        (Replay::Never, Work::Reads, false),
        (Replay::Never, Work::Repeatable, false),
        (Replay::Never, Work::Writes, false),
        (Replay::Reads, Work::Reads, true),
        (Replay::Reads, Work::Repeatable, true),
        (Replay::Reads, Work::Writes, false),
        (Replay::All, Work::Reads, true),
        (Replay::All, Work::Repeatable, true),
        (Replay::All, Work::Writes, true),
    ];
    for (replay, work, expected) in cases {
        let case = Case {
            work,
            replay,
            ..WRITE
        };
        let again = |cause, socket| judged(&cause, Sent::Perhaps, socket, &case).again;
        for cause in [Cause::Ended, Cause::GivenUp, Cause::Late] {
            assert_eq!(again(cause.clone(), Socket::Shared), expected, "{cause:?}");
            assert!(!again(cause.clone(), Socket::Dedicated), "{cause:?}");
            assert!(again(cause, Socket::Watch));
        }
        assert_eq!(again(Cause::Ended, Socket::Node), expected);
        assert!(!again(Cause::Late, Socket::Node));
        // There is nothing to apply in a read; what may be applied twice is none.
        let fate = judged(&Cause::Ended, Sent::Perhaps, Socket::Shared, &case).fate;
        assert_eq!(
            fate,
            (work != Work::Reads).then_some(Fate::MayHaveBeenApplied)
        );
    }
}

#[test]
fn what_the_engine_ended_and_what_the_member_looks_at_is_nothing_against_it() {
    let retired = Case {
        retired: true,
        ..WRITE
    };
    let excused = Case {
        excused: true,
        ..WRITE
    };
    for cause in [Cause::Ended, Cause::GivenUp, Cause::Late] {
        for socket in [Socket::Shared, Socket::Dedicated] {
            let verdict = judged(&cause, Sent::Perhaps, socket, &retired);
            assert_eq!(verdict.member, Member::Nothing, "{cause:?}");
            assert_eq!(verdict.kind, ErrorKind::Retired, "{cause:?}");
            assert!(!verdict.doubtful, "{cause:?}");
            let verdict = judged(&cause, Sent::Perhaps, socket, &excused);
            assert_eq!(verdict.member, Member::Nothing, "{cause:?}");
            assert_ne!(verdict.kind, ErrorKind::Retired, "{cause:?}");
        }
    }
    let member = |cause, case| judged(&cause, Sent::Alone, Socket::Shared, case).member;
    assert_eq!(member(condemned(), &excused), Member::Nothing);
    // A server that says it of itself is believed, whoever ended the connection.
    assert_eq!(member(condemned(), &retired), Member::Condemned);
    let no_socket = Cause::NoSocket(ErrorKind::Unhealthy);
    assert_eq!(member(no_socket.clone(), &excused), Member::Nothing);
    assert_eq!(member(no_socket, &retired), Member::Failed);
}

#[test]
fn the_next_attempt_knows_what_never_left_and_what_only_lacks_an_answer() {
    let past = |cause| {
        let past = judged(&cause, Sent::Perhaps, Socket::Shared, &WRITE).past(Epoch(3));
        assert_eq!(past.epoch, Epoch(3));
        (past.unsent, past.doubtful)
    };
    assert_eq!(past(Cause::Late), (false, true));
    assert_eq!(past(Cause::Ended), (false, false));
    assert_eq!(past(condemned()), (false, false));
    assert_eq!(past(Cause::Full), (true, true));
    assert_eq!(past(Cause::AlreadyEnded), (true, false));
    assert_eq!(past(Cause::NoSocket(ErrorKind::Timeout)), (true, true));
    assert_eq!(past(Cause::NoSocket(ErrorKind::Lost)), (true, false));
    assert_eq!(
        past(Cause::NoSocket(ErrorKind::Unsupported)),
        (false, false)
    );
}
