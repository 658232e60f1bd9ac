//! Which commands cannot simply share a socket, and what becomes of them.
//!
//! Looked at for every command, so it compares bytes in place: no allocation, no string. Whether a command reads or writes
//! is not asked here but in [`commands`](crate::redis_rs::commands), and only after a failure.

use std::time::Duration;

use redis::{Arg, Cmd, Pipeline};

/// Where a command goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Route {
    /// The shared socket.
    Shared,
    /// The shared socket, and its cursor is looked after.
    Scan,
    /// A dedicated socket, for as long as the command itself says; `None` is for ever.
    Blocking(Option<Duration>),
    /// Blocking, and about the writes of its own socket: only together with them.
    Wait(Option<Duration>),
    Watch,
    Unwatch,
    /// Nowhere; the text says what to use.
    Refused(&'static str),
}

const MULTI: &str = "transactions run as an atomic pipeline: redis::pipe().atomic()";
const SESSION: &str = "the connection is shared: user, password, database and protocol belong into the member's settings";
const CLIENT: &str = "it would change a connection that others share; a name is set by `client_name` in the member's settings";
const PUBSUB: &str = "subscriptions have a connection of their own: use FailoverConnection::subscribe, psubscribe or ssubscribe";
const ENDS: &str = "it would end or take over a connection that others share: open one of your own with redis::Client";
const CLUSTER: &str = "it would change a connection that others share; a member that is a cluster follows redirections by itself";
const WAIT: &str = "it answers for the writes of its own socket: put it behind them in one pipeline (not an atomic one)";
const WATCH: &str =
    "WATCH inside a pipeline cannot be kept apart from others: send it as a command of its own";
const DEBUG: &str = "the script debugger takes over a connection that others share";

/// Where one command goes.
pub(super) fn of(command: &Cmd) -> Route {
    let mut words = command.args_iter();
    let Some(Arg::Simple(name)) = words.next() else {
        return Route::Shared;
    };
    // Nothing special is shorter than `exec` or longer than `unsubscribe` with a letter in front.
    if !(4..=12).contains(&name.len()) {
        return Route::Shared;
    }
    let mut lower = [0; 12];
    let lower = &mut lower[..name.len()];
    lower.copy_from_slice(name);
    lower.make_ascii_lowercase();
    match &*lower {
        b"scan" | b"sscan" | b"hscan" | b"zscan" => Route::Scan,
        b"blpop" | b"brpop" | b"blmove" | b"brpoplpush" | b"bzpopmin" | b"bzpopmax" => {
            Route::Blocking(time(words.last().as_ref(), SECONDS))
        }
        b"blmpop" | b"bzmpop" => Route::Blocking(time(words.next().as_ref(), SECONDS)),
        b"xread" | b"xreadgroup" => {
            while let Some(word) = words.next() {
                match word {
                    Arg::Simple(word) if word.eq_ignore_ascii_case(b"block") => {
                        return Route::Blocking(time(words.next().as_ref(), MILLISECONDS));
                    }
                    Arg::Simple(word) if word.eq_ignore_ascii_case(b"streams") => break,
                    _ => {}
                }
            }
            Route::Shared
        }
        b"wait" | b"waitaof" => Route::Wait(time(words.last().as_ref(), MILLISECONDS)),
        b"watch" => Route::Watch,
        b"unwatch" => Route::Unwatch,
        b"multi" | b"exec" | b"discard" => Route::Refused(MULTI),
        b"select" | b"auth" | b"hello" | b"reset" => Route::Refused(SESSION),
        b"subscribe" | b"psubscribe" | b"ssubscribe" | b"unsubscribe" | b"punsubscribe"
        | b"sunsubscribe" => Route::Refused(PUBSUB),
        b"quit" | b"monitor" | b"sync" | b"psync" => Route::Refused(ENDS),
        b"readonly" | b"readwrite" | b"asking" => Route::Refused(CLUSTER),
        b"client" => match words.next() {
            Some(Arg::Simple(sub)) if changes_the_client(sub) => Route::Refused(CLIENT),
            _ => Route::Shared,
        },
        b"script" => match words.next() {
            Some(Arg::Simple(sub)) if sub.eq_ignore_ascii_case(b"debug") => Route::Refused(DEBUG),
            _ => Route::Shared,
        },
        _ => Route::Shared,
    }
}

/// What a single command may do; in a pipeline it can differ.
pub(super) fn of_command(command: &Cmd) -> Route {
    match of(command) {
        Route::Wait(_) => Route::Refused(WAIT),
        route => route,
    }
}

/// Where a pipeline goes, as a whole.
pub(super) fn of_pipeline(pipeline: &Pipeline) -> Route {
    let mut whole = Route::Shared;
    for command in pipeline.cmd_iter() {
        match of(command) {
            Route::Shared | Route::Unwatch => {}
            Route::Refused(text) => return Route::Refused(text),
            Route::Watch => return Route::Refused(WATCH),
            // Inside MULTI nothing blocks.
            Route::Blocking(_) | Route::Wait(_) if pipeline.is_transaction() => {}
            Route::Blocking(time) | Route::Wait(time) => {
                let before = match whole {
                    Route::Blocking(before) => before,
                    _ => Some(Duration::ZERO),
                };
                whole = Route::Blocking(before.zip(time).map(|(a, b)| a.saturating_add(b)));
            }
            Route::Scan => {
                if whole == Route::Shared {
                    whole = Route::Scan;
                }
            }
        }
    }
    whole
}

fn changes_the_client(sub: &[u8]) -> bool {
    [
        "reply",
        "tracking",
        "caching",
        "setname",
        "setinfo",
        "no-evict",
        "no-touch",
        "maint_notifications",
    ]
    .iter()
    .any(|word| sub.eq_ignore_ascii_case(word.as_bytes()))
}

const SECONDS: f64 = 1.0;
const MILLISECONDS: f64 = 1e-3;

/// Zero is for ever. A server refuses what is no time at once, so that counts as none at all.
fn time(word: Option<&Arg<&[u8]>>, unit: f64) -> Option<Duration> {
    let number = match word {
        Some(Arg::Simple(bytes)) => std::str::from_utf8(bytes).ok(),
        _ => None,
    };
    match number.and_then(|text| text.parse().ok()) {
        Some(0.0) => None,
        Some(number) if number > 0.0 => {
            Some(Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
        }
        _ => Some(Duration::ZERO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> Cmd {
        let mut command = Cmd::new();
        for word in line.split(' ') {
            command.arg(word);
        }
        command
    }

    fn refused(line: &str) -> bool {
        matches!(of_command(&command(line)), Route::Refused(_))
    }

    #[test]
    fn ordinary_commands_share() {
        for line in [
            "GET k",
            "SET k v",
            "INCR k",
            "EVALSHA x 0",
            "CLIENT LIST",
            "CLIENT ID",
            "SCRIPT LOAD x",
            "XREAD COUNT 1 STREAMS block 0",
            "INFO",
            "PUBLISH c m",
            "HGETALL k",
        ] {
            assert_eq!(of_command(&command(line)), Route::Shared, "{line}");
        }
        assert_eq!(of_command(&Cmd::new()), Route::Shared);
        assert_eq!(of_command(&command("sScAn k 0")), Route::Scan);
        assert_eq!(of_command(&command("WATCH k")), Route::Watch);
    }

    #[test]
    fn what_changes_a_connection_is_refused() {
        for line in [
            "MULTI",
            "exec",
            "DISCARD",
            "SELECT 1",
            "AUTH x",
            "HELLO 3",
            "RESET",
            "QUIT",
            "MONITOR",
            "SUBSCRIBE c",
            "PSUBSCRIBE c",
            "SSUBSCRIBE c",
            "PUNSUBSCRIBE",
            "CLIENT REPLY OFF",
            "client tracking on",
            "CLIENT SETNAME x",
            "CLIENT NO-EVICT on",
            "CLIENT MAINT_NOTIFICATIONS OFF",
            "SCRIPT DEBUG YES",
            "READONLY",
            "ASKING",
            "WAIT 1 0",
            "WAITAOF 1 1 0",
            "PSYNC ? -1",
        ] {
            assert!(refused(line), "{line}");
        }
    }

    // P153
    #[test]
    fn blocking_commands_say_how_long() {
        let ms = |ms| Some(Duration::from_millis(ms));
        for (line, expected) in [
            ("BLPOP a b 1.5", ms(1500)),
            ("brpop a 0", None),
            ("BLMOVE a b LEFT LEFT 2", ms(2000)),
            ("BLMPOP 3 1 a LEFT", ms(3000)),
            ("BZPOPMIN a 1", ms(1000)),
            ("BLPOP a soon", ms(0)),
            ("BLPOP a -1", ms(0)),
            ("XREAD BLOCK 250 STREAMS s $", ms(250)),
            ("XREADGROUP GROUP g c COUNT 1 block 0 STREAMS s >", None),
        ] {
            assert_eq!(
                of_command(&command(line)),
                Route::Blocking(expected),
                "{line}"
            );
        }
    }

    #[test]
    fn pipelines_go_as_a_whole() {
        let mut pipeline = redis::pipe();
        pipeline.cmd("GET").arg("k");
        assert_eq!(of_pipeline(&pipeline), Route::Shared);
        pipeline
            .cmd("BLPOP")
            .arg("k")
            .arg(1)
            .cmd("WAIT")
            .arg(1)
            .arg(500);
        let expected = Route::Blocking(Some(Duration::from_millis(1500)));
        assert_eq!(of_pipeline(&pipeline), expected);
        pipeline.atomic();
        assert_eq!(of_pipeline(&pipeline), Route::Shared);
        pipeline.cmd("SELECT").arg(1);
        assert!(matches!(of_pipeline(&pipeline), Route::Refused(_)));
    }
}
