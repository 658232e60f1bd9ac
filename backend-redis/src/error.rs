//! What the server and the driver say, in the words of the contract, and back.
//!
//! Decisions are made on codes and kinds, never on a text, with two exceptions that Redis leaves no code for (marked
//! below). Nothing here may quote arguments, URLs or credentials.

use std::error::Error as StdError;
use std::io;
use std::sync::Arc;

use backend_api::{Error, ErrorKind, Fate};
use redis::{RedisError, ServerError, ServerErrorKind};

use crate::target::Address;

/// Puts one of our errors into the driver's type, so that it passes through redis-rs's traits. Found again by [`cause`].
pub(crate) fn wrap(error: Error) -> RedisError {
    let kind = match error.kind() {
        ErrorKind::Timeout => io::ErrorKind::TimedOut,
        ErrorKind::Retired => io::ErrorKind::ConnectionAborted,
        ErrorKind::NoActive | ErrorKind::Closed => io::ErrorKind::NotConnected,
        ErrorKind::Unsupported => io::ErrorKind::Unsupported,
        ErrorKind::Moved => io::ErrorKind::Other,
        _ => io::ErrorKind::BrokenPipe,
    };
    io::Error::new(kind, error).into()
}

/// Our error inside a [`RedisError`]: two downcasts deep, since redis-rs holds foreign errors in an `Arc`.
pub(crate) fn cause(error: &RedisError) -> Option<&Error> {
    let held = error.source()?;
    let held = held
        .downcast_ref::<Arc<dyn StdError + Send + Sync>>()
        .map_or(held, |arc| &**arc);
    held.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref()
}

/// What became of an operation that failed like this. Only what is certain is called not applied.
pub(crate) fn fate(error: &RedisError) -> Option<Fate> {
    if let Some(ours) = cause(error) {
        return ours.fate();
    }
    let refused = match error.kind() {
        // Never sent.
        redis::ErrorKind::Client | redis::ErrorKind::InvalidClientConfig => true,
        // EXEC refused the whole.
        redis::ErrorKind::Server(ServerErrorKind::ExecAbort) => true,
        // Of a pipeline others were applied; only the error of a single command has a source.
        _ => error
            .source()
            .and_then(|source| source.downcast_ref())
            .is_some_and(is_refusal),
    };
    Some(if refused {
        Fate::NotApplied
    } else {
        Fate::MayHaveBeenApplied
    })
}

/// The codes with which Redis refuses a command, beside those that redis-rs knows by a kind.
const REFUSALS: [&str; 9] = [
    "WRONGTYPE",
    "OOM",
    "MISCONF",
    "NOREPLICAS",
    "NOAUTH",
    "BUSY",
    "BUSYKEY",
    "BUSYGROUP",
    "NOGROUP",
];

/// One command was refused. What a script answers is told by the place in it that the server adds (by its beginning, before
/// Redis 7): there is no code for that.
fn is_refusal(said: &ServerError) -> bool {
    let details = said.details().unwrap_or_default();
    let of_script = details.contains("script: ") || details.starts_with("Error running script");
    (said.kind().is_some() || REFUSALS.contains(&said.code())) && !of_script
}

/// Why a connection could not be opened.
pub(crate) fn of_setup(error: &RedisError, address: &Address, with_password: bool) -> Error {
    let (kind, text) = if error.is_timeout() {
        (ErrorKind::Timeout, "does not answer".to_owned())
    } else if error.is_connection_refusal() {
        (ErrorKind::Refused, "refused the connection".to_owned())
    } else if error.is_connection_dropped() {
        (
            ErrorKind::Lost,
            "ended the connection during the handshake".to_owned(),
        )
    } else {
        match (error.kind(), error.code()) {
            (_, Some("NOAUTH")) => (ErrorKind::Auth, "a password is needed".to_owned()),
            (redis::ErrorKind::AuthenticationFailed, _) | (_, Some("WRONGPASS")) => (
                ErrorKind::Auth,
                "refused the user name or password".to_owned(),
            ),
            // The old way to say it has no code of its own.
            _ if with_password
                && error
                    .detail()
                    .is_some_and(|detail| detail.contains("without any password")) =>
            {
                (
                    ErrorKind::Auth,
                    "refused the password: it has none configured".to_owned(),
                )
            }
            (_, Some("NOPERM")) => (
                ErrorKind::Auth,
                "does not permit this user to connect (NOPERM)".to_owned(),
            ),
            (redis::ErrorKind::Server(kind), _) if state_of_kind(kind).is_some() => (
                ErrorKind::Unhealthy,
                format!("cannot serve: {}", detail_of(error)),
            ),
            (redis::ErrorKind::Server(_) | redis::ErrorKind::Extension, _) => (
                ErrorKind::Unhealthy,
                format!("refused the handshake: {}", detail_of(error)),
            ),
            _ => (
                ErrorKind::Protocol,
                "did not answer as a Redis server does".to_owned(),
            ),
        }
    };
    Error::new(kind, format!("{address} {text}")).with_operation("connect")
}

/// A server's own text. It may quote what we sent (never a secret: AUTH and HELLO are not quoted), so only its first
/// line is used.
fn detail_of(error: &RedisError) -> String {
    let detail = error.detail().unwrap_or_default();
    let first = detail.lines().next().unwrap_or_default();
    match error.code() {
        Some(code) if code != "ERR" => format!("{code} {first}"),
        _ => first.to_owned(),
    }
}

/// An error of the operating system on the way to a stream.
pub(crate) fn of_io(error: &io::Error, address: &Address) -> Error {
    let (kind, text) = match error.kind() {
        io::ErrorKind::ConnectionRefused => (ErrorKind::Refused, "refused the connection"),
        io::ErrorKind::NotFound => (ErrorKind::Refused, "does not exist"),
        io::ErrorKind::TimedOut => (ErrorKind::Timeout, "does not answer"),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            (ErrorKind::Refused, "cannot be reached")
        }
        _ => (ErrorKind::Lost, "cannot be connected to"),
    };
    Error::new(kind, format!("{address} {text}: {error}")).with_operation("connect")
}

/// The state in which a server says that it serves nobody, with the kind that condemns it.
pub(crate) fn state(error: &ServerError) -> Option<ErrorKind> {
    if let Some(kind) = error.kind() {
        return match kind {
            ServerErrorKind::ExecAbort => state_behind_abort(error.details()?),
            kind => state_of_kind(kind),
        };
    }
    // Blocked clients of a master that becomes a replica; CLIENT UNBLOCK has the same code, only the text differs.
    let demoted = error.code() == "UNBLOCKED"
        && error
            .details()
            .is_some_and(|text| text.contains("state changed"));
    demoted.then_some(ErrorKind::ReadOnly)
}

fn state_of_kind(kind: ServerErrorKind) -> Option<ErrorKind> {
    match kind {
        ServerErrorKind::ReadOnly => Some(ErrorKind::ReadOnly),
        ServerErrorKind::BusyLoading
        | ServerErrorKind::MasterDown
        | ServerErrorKind::ClusterDown => Some(ErrorKind::Unhealthy),
        _ => None,
    }
}

/// EXEC itself was refused: `Transaction discarded because of: READONLY ..`.
fn state_behind_abort(details: &str) -> Option<ErrorKind> {
    let (_, reason) = details.split_once("because of: ")?;
    match reason.trim_start_matches('-').split(' ').next()? {
        "READONLY" => Some(ErrorKind::ReadOnly),
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" => Some(ErrorKind::Unhealthy),
        _ => None,
    }
}

/// The error that condemns a member which answered like this.
pub(crate) fn condemnation(kind: ErrorKind, answer: &ServerError) -> Error {
    let text = match kind {
        ErrorKind::ReadOnly => "the server is a read-only replica",
        _ => "the server cannot serve",
    };
    Error::new(kind, format!("{text} ({})", answer.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_error(line: &str) -> ServerError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let redis::Value::ServerError(error) = value else {
            panic!("{value:?}")
        };
        error
    }

    // P156
    #[test]
    fn states_are_told_from_answers() {
        for (line, expected) in [
            ("READONLY You can't write", Some(ErrorKind::ReadOnly)),
            ("LOADING Redis is loading", Some(ErrorKind::Unhealthy)),
            ("MASTERDOWN Link", Some(ErrorKind::Unhealthy)),
            ("CLUSTERDOWN Hash slot", Some(ErrorKind::Unhealthy)),
            (
                "EXECABORT Transaction discarded because of: READONLY You",
                Some(ErrorKind::ReadOnly),
            ),
            (
                "EXECABORT Transaction discarded because of previous errors.",
                None,
            ),
            (
                "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
                Some(ErrorKind::ReadOnly),
            ),
            ("UNBLOCKED client unblocked via CLIENT UNBLOCK", None),
            ("WRONGTYPE Operation", None),
            ("ERR unknown command", None),
        ] {
            assert_eq!(state(&server_error(line)), expected, "{line}");
        }
    }

    #[test]
    fn our_error_is_found_inside_the_drivers() {
        let error = wrap(Error::new(ErrorKind::Moved, "start again"));
        assert_eq!(cause(&error).unwrap().kind(), ErrorKind::Moved);
        assert!(error.to_string().contains("start again"));
        assert!(cause(&server_error("ERR x").into()).is_none());
        let io: RedisError = io::Error::from(io::ErrorKind::BrokenPipe).into();
        assert!(cause(&io).is_none());
        assert!(wrap(Error::new(ErrorKind::Timeout, "late")).is_timeout());
        assert!(wrap(Error::new(ErrorKind::Lost, "gone")).is_connection_dropped());
    }

    // P161
    #[test]
    fn refusals_of_the_handshake_are_told_apart() {
        let address = Address::Tcp("h".into(), 1);
        for (line, kind, text) in [
            ("NOAUTH HELLO must", ErrorKind::Auth, "a password is needed"),
            (
                "WRONGPASS invalid",
                ErrorKind::Auth,
                "refused the user name or password",
            ),
            (
                "ERR AUTH <password> called without any password configured",
                ErrorKind::Auth,
                "has none configured",
            ),
            ("LOADING Redis is loading", ErrorKind::Unhealthy, "LOADING"),
            (
                "ERR max number of clients reached",
                ErrorKind::Unhealthy,
                "max number",
            ),
        ] {
            let error = of_setup(&server_error(line).into(), &address, true);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(text), "{error}");
        }
    }
}
