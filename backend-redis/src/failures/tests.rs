//! The table of failures, line by line. The last column says how to see a line on a server.

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

fn answered(code: &str) -> Cause {
    Cause::Answered(code.to_owned())
}

const NOT: Option<Fate> = Some(Fate::NotApplied);
const MAY: Option<Fate> = Some(Fate::MayHaveBeenApplied);

#[test]
fn every_cause_has_one_verdict() {
    use ErrorKind as K;
    use Member as M;
    use Socket as S;
    let late = || Cause::Late;
    // cause, sent, socket | member, fate, again, kind | how to see it
    let lines = [
        (
            condemned(),
            Sent::Alone,
            S::Shared,
            M::Condemned,
            NOT,
            true,
            K::ReadOnly,
            "REPLICAOF a live server, then SET",
        ),
        (
            condemned(),
            Sent::Among,
            S::Shared,
            M::Condemned,
            MAY,
            false,
            K::ReadOnly,
            "a pipeline of SET, REPLICAOF and SET",
        ),
        (
            condemned(),
            Sent::Unseen,
            S::Shared,
            M::Condemned,
            NOT,
            true,
            K::ReadOnly,
            "the same through fred: a closure with one SET",
        ),
        (
            condemned(),
            Sent::Alone,
            S::Dedicated,
            M::Condemned,
            NOT,
            true,
            K::ReadOnly,
            "BLPOP on a server that is made a replica: UNBLOCKED, or READONLY at once",
        ),
        (
            condemned(),
            Sent::Alone,
            S::Watch,
            M::Condemned,
            NOT,
            true,
            K::ReadOnly,
            "WATCH on a server that loads (key-load-delay)",
        ),
        (
            answered("ERR"),
            Sent::Alone,
            S::Shared,
            M::Answers,
            NOT,
            false,
            K::Other,
            "SET with one argument",
        ),
        (
            answered("WRONGPASS"),
            Sent::Unseen,
            S::Shared,
            M::Answers,
            None,
            false,
            K::Auth,
            "through fred: AUTH with a wrong password",
        ),
        (
            answered("ERR"),
            Sent::Among,
            S::Shared,
            M::Answers,
            MAY,
            false,
            K::Other,
            "a pipeline of SET, INCR of a text and SET",
        ),
        (
            answered("ERR"),
            Sent::Perhaps,
            S::Shared,
            M::Answers,
            MAY,
            false,
            K::Other,
            "EVAL that writes and then returns redis.error_reply",
        ),
        (
            answered("WRONGTYPE"),
            Sent::Unseen,
            S::Shared,
            M::Answers,
            None,
            false,
            K::Other,
            "through fred: INCR of a list. What the closure had written before is not seen",
        ),
        (
            Cause::Unread,
            Sent::Unseen,
            S::Shared,
            M::Answers,
            None,
            false,
            K::Other,
            "through fred: GET of a text as a number",
        ),
        (
            Cause::Ended,
            Sent::Perhaps,
            S::Shared,
            M::Lost,
            MAY,
            false,
            K::Lost,
            "DEBUG SLEEP, an INCR behind it, and SIGKILL",
        ),
        (
            Cause::Ended,
            Sent::Perhaps,
            S::Dedicated,
            M::Failed,
            MAY,
            false,
            K::Lost,
            "CLIENT KILL of the socket of a BLPOP",
        ),
        (
            Cause::Ended,
            Sent::Perhaps,
            S::Watch,
            M::Failed,
            MAY,
            true,
            K::Lost,
            "a proxy that lets the handshake pass and ends the socket at WATCH",
        ),
        (
            Cause::Ended,
            Sent::Perhaps,
            S::Node,
            M::Failed,
            MAY,
            false,
            K::Lost,
            "SIGKILL of one master of a cluster under load",
        ),
        (
            Cause::GivenUp,
            Sent::Perhaps,
            S::Shared,
            M::Failed,
            MAY,
            false,
            K::Lost,
            "through fred: the same SIGKILL; its watcher says that the connection is lost",
        ),
        (
            Cause::Unreadable,
            Sent::Perhaps,
            S::Shared,
            M::Failed,
            MAY,
            false,
            K::Protocol,
            "a proxy that answers with HTTP",
        ),
        (
            late(),
            Sent::Perhaps,
            S::Shared,
            M::Failed,
            MAY,
            false,
            K::Timeout,
            "SIGSTOP",
        ),
        (
            late(),
            Sent::Perhaps,
            S::Dedicated,
            M::Failed,
            MAY,
            false,
            K::Timeout,
            "BLPOP of one second, and SIGSTOP",
        ),
        (
            late(),
            Sent::Perhaps,
            S::Watch,
            M::Failed,
            MAY,
            true,
            K::Timeout,
            "SIGSTOP, then WATCH on a socket that was kept",
        ),
        (
            late(),
            Sent::Perhaps,
            S::Node,
            M::Failed,
            MAY,
            false,
            K::Timeout,
            "SIGSTOP of one master of a cluster",
        ),
        (
            Cause::NothingCame,
            Sent::Unseen,
            S::Dedicated,
            M::Answers,
            None,
            false,
            K::Timeout,
            "through fred: BLPOP of one second on an empty list",
        ),
        (
            Cause::Full,
            Sent::Nothing,
            S::Shared,
            M::Failed,
            NOT,
            true,
            K::Timeout,
            "through fred: SIGSTOP, and more commands than its queue holds",
        ),
        (
            Cause::AlreadyEnded,
            Sent::Nothing,
            S::Shared,
            M::Nothing,
            NOT,
            true,
            K::Lost,
            "SIGKILL, and a command before another member is active",
        ),
        (
            Cause::NoSocket(K::Unhealthy),
            Sent::Nothing,
            S::Dedicated,
            M::Failed,
            NOT,
            true,
            K::Unhealthy,
            "CONFIG SET maxclients to what is connected, then BLPOP",
        ),
        (
            Cause::NoSocket(K::Timeout),
            Sent::Nothing,
            S::Dedicated,
            M::Failed,
            NOT,
            true,
            K::Timeout,
            "SIGSTOP, then BLPOP",
        ),
        (
            Cause::NoSocket(K::Lost),
            Sent::Nothing,
            S::Dedicated,
            M::Failed,
            NOT,
            true,
            K::Lost,
            "a proxy that takes connections and ends them, then BLPOP",
        ),
        (
            Cause::NoSocket(K::Retired),
            Sent::Nothing,
            S::Dedicated,
            M::Nothing,
            NOT,
            true,
            K::Retired,
            "BLPOP while the connection is retired",
        ),
        (
            Cause::NoSocket(K::Unsupported),
            Sent::Nothing,
            S::Dedicated,
            M::Nothing,
            NOT,
            false,
            K::Unsupported,
            "BLPOP on a cluster",
        ),
        (
            Cause::Mistake,
            Sent::Nothing,
            S::Shared,
            M::Nothing,
            NOT,
            false,
            K::Other,
            "an empty pipeline",
        ),
        (
            Cause::Mistake,
            Sent::Unseen,
            S::Shared,
            M::Nothing,
            None,
            false,
            K::Other,
            "through fred: an error of the closure's own",
        ),
        (
            answered("NOPERM"),
            Sent::Alone,
            S::Subscriptions,
            M::Nothing,
            NOT,
            true,
            K::Auth,
            "ACL SETUSER resetchannels, then SUBSCRIBE",
        ),
        (
            answered("ERR"),
            Sent::Alone,
            S::Subscriptions,
            M::Nothing,
            NOT,
            true,
            K::Unsupported,
            "SSUBSCRIBE on Redis 6",
        ),
        (
            Cause::Ended,
            Sent::Perhaps,
            S::Subscriptions,
            M::Suspect,
            None,
            true,
            K::Lost,
            "CLIENT KILL TYPE pubsub",
        ),
        (
            late(),
            Sent::Perhaps,
            S::Subscriptions,
            M::Suspect,
            None,
            true,
            K::Timeout,
            "a proxy that stops forwarding",
        ),
        (
            Cause::Unreadable,
            Sent::Perhaps,
            S::Subscriptions,
            M::Suspect,
            None,
            true,
            K::Protocol,
            "a proxy that answers with twenty thousand nested arrays",
        ),
        (
            Cause::NoSocket(K::Timeout),
            Sent::Nothing,
            S::Subscriptions,
            M::Suspect,
            NOT,
            true,
            K::Timeout,
            "SIGSTOP, then the first SUBSCRIBE",
        ),
        (
            Cause::NoSocket(K::Auth),
            Sent::Nothing,
            S::Subscriptions,
            M::Nothing,
            NOT,
            true,
            K::Auth,
            "ACL SETUSER resetpass, then CLIENT KILL TYPE pubsub",
        ),
    ];
    for (cause, sent, socket, member, fate, again, kind, seen) in lines {
        let case = match socket {
            S::Subscriptions => Case {
                work: Work::Reads,
                ..WRITE
            },
            _ => WRITE,
        };
        let verdict = judged(&cause, sent, socket, &case);
        let found = (verdict.member, verdict.fate, verdict.again, verdict.kind);
        assert_eq!(found, (member, fate, again, kind), "{seen}: {cause:?}");
    }
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
